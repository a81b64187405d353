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

    /// Of a socket and of nothing else that may have taken its place: a link, or what a link points at.
    public static func setMode(_ mode: UInt32?, of path: String) throws(SystemError) {
        let number = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
        if number < 0 { throw SystemError("open", errno) }
        let file = Descriptor(owning: number)
        var status = stat()
        if fstat(file.number, &status) < 0 { throw SystemError("fstat", errno) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError("not a socket", ENOTSOCK) }
        // A descriptor of this kind has no fchmod; by its name here the very file is reached.
        if chmod("/proc/self/fd/\(file.number)", mode_t(mode ?? ownMode)) < 0 { throw SystemError("chmod", errno) }
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
