internal import CLinux
internal import Glibc

/// Whole files of modest size, for the control plane.
public enum FileContent {
    /// Of a URL list, when it is first read and when it has changed.
    public static let listLimit = 64 * 1024 * 1024

    /// Whether users that are neither the owner nor of the group may read it.
    public static func isReadableByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    public static func read(_ path: String, limit: Int) throws(FileSystemError) -> [UInt8] {
        let number = clinux_open_read(path)
        guard number >= 0 else { throw FileSystemError(operation: "open", code: errno) }
        let descriptor = Descriptor(owning: number)
        guard clinux_is_regular(number) == 1 else {
            throw FileSystemError(operation: "read of what is no regular file", code: EINVAL)
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor.number, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw FileSystemError(operation: "read", code: errno) }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[0..<count])
            if bytes.count > limit { throw FileSystemError(operation: "read", code: EFBIG) }
        }
        // What was read may be a secret; the copy that stays is the caller's to wipe.
        for index in chunk.indices { chunk[index] = 0 }
        return bytes
    }
}
