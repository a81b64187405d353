internal import CLinux
internal import Glibc

/// Files for what only this user may read.
public enum PrivateFile {
    /// Puts a file with this content in the place of what was there, in one step.
    public static func write(_ content: [UInt8], to path: String, mode: UInt32 = 0o600) throws(FileSystemError) {
        let fresh = "\(path).\(getpid())"
        unlink(fresh)
        let number = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard number >= 0 else { throw FileSystemError(operation: "open", code: errno) }
        let descriptor = Descriptor(owning: number)
        var position = 0
        while position < content.count {
            let count = unsafe content.withUnsafeBytes {
                unsafe Glibc.write(descriptor.number, $0.baseAddress.map { unsafe $0 + position }, $0.count - position)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failed("write", leaving: fresh) }
            position += count
        }
        guard rename(fresh, path) == 0 else { throw failed("rename", leaving: fresh) }
    }

    /// What was written of it is not left behind.
    private static func failed(_ operation: String, leaving path: String) -> FileSystemError {
        let error = FileSystemError(operation: operation, code: errno)
        unlink(path)
        return error
    }
}
