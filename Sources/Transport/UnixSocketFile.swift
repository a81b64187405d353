internal import CLinux
internal import Glibc

/// A listening unix socket and its file: made with its permissions from the start, and not taken from one that lives.
public enum UnixSocketFile {
    public static func listen(path: String, mode: UInt32?) throws -> Int32 {
        let address = try SocketAddress(unixPath: path)
        if isStale(path, address) { unlink(path) }
        let mask = umask(mode_t(0o777 & ~(mode ?? ownMode)))
        defer { umask(mask) }
        return try Socket.listen(on: address, sharesPort: false)
    }

    /// Without a mode: this user alone may connect.
    private static let ownMode: UInt32 = 0o600

    /// Of a socket that has been made here; what a symbolic link in its place points at is not touched.
    public static func setMode(_ mode: UInt32?, of path: String) throws(SystemError) {
        if fchmodat(AT_FDCWD, path, mode_t(mode ?? ownMode), AT_SYMLINK_NOFOLLOW) < 0 { throw SystemError("fchmodat", errno) }
    }

    public static func remove(_ path: String) { unlink(path) }

    /// A socket file that nobody answers is left over from a process that was killed.
    private static func isStale(_ path: String, _ address: SocketAddress) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        guard let probe = try? Socket.connect(to: address) else { return true }
        SystemCalls.close(probe.descriptor)
        return false
    }
}
