import Glibc
import Testing

/// A folder of a test's own, removed with it.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/transport-tests-XXXXXX".utf8CString)
        path = try #require(template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
    }

    deinit { _ = Self.run("rm", ["-rf", path]) }

    func write(_ name: String, _ text: String) {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
        close(file)
    }

    func make(_ name: String) { mkdir("\(path)/\(name)", 0o700) }
    func link(_ name: String, to target: String) { symlink(target, "\(path)/\(name)") }
    func move(_ name: String, to other: String) { rename("\(path)/\(name)", "\(path)/\(other)") }
    func remove(_ name: String) { Glibc.remove("\(path)/\(name)") }

    @discardableResult
    static func run(_ program: String, _ arguments: [String]) -> Int32 {
        var process = pid_t()
        var pointers: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        guard posix_spawnp(&process, program, nil, nil, &pointers, environ) == 0 else { return -1 }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        return status
    }
}
