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

    /// Who may connect.
    private static let ownMode: UInt32 = 0o600

    public static func setMode(_ mode: UInt32?, of path: String) { chmod(path, mode_t(mode ?? ownMode)) }

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
