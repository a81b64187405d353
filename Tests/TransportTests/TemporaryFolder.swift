import Glibc
import Testing

/// A folder of a test's own, removed with it.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/transport-tests-XXXXXX".utf8CString)
        path = try #require(
            template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
    }

    /// Without a child process: its end would be a signal that other tests wait for.
    deinit { Self.removeTree(path) }

    private static func removeTree(_ path: String) {
        if Glibc.remove(path) == 0 { return }
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { removeTree("\(path)/\(name)") }
        }
        closedir(folder)
        Glibc.remove(path)
    }

    func write(_ name: String, _ text: String) {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
        close(file)
    }

    /// Of the folder itself.
    func setTimeOfChange(_ seconds: Int) {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        utimensat(AT_FDCWD, path, [time, time], 0)
    }

    func make(_ name: String) { mkdir("\(path)/\(name)", 0o700) }
    func link(_ name: String, to target: String) { symlink(target, "\(path)/\(name)") }
    func move(_ name: String, to other: String) { rename("\(path)/\(name)", "\(path)/\(other)") }
    func remove(_ name: String) { Glibc.remove("\(path)/\(name)") }
}
