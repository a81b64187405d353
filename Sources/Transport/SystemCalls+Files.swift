internal import CLinux
internal import Glibc

/// A call on a file or descriptor that the system refused: which call, and the errno it left.
public struct FileSystemError: Error, Sendable, Equatable, CustomStringConvertible {
    public let operation: String
    public let code: Int32

    public init(operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    public var description: String { "\(operation): \(String(cString: strerror(code)))" }
}

/// What a descriptor leads to, as far as writing to it without waiting depends on it.
public enum DescriptorKind: Sendable { case file, pipe, socket, terminal, other }

/// The outcome of one attempt to write.
public enum WriteOutcome: Sendable, Equatable {
    case wrote(Int)
    case wouldWait
    case failed(Int32)
}

/// What tells one state of a file from another without reading it.
public struct FileIdentity: Sendable, Equatable {
    public let device: UInt64
    public let inode: UInt64
    public let size: Int
    /// Since the epoch.
    public let modifiedNanoseconds: Int64
    let changedNanoseconds: Int64
    public let isRegular: Bool
    public let isFolder: Bool

    /// Of content or metadata, whichever was later.
    public var lastTouchedNanoseconds: Int64 { max(modifiedNanoseconds, changedNanoseconds) }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int(status.st_size)
        modifiedNanoseconds = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        changedNanoseconds = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
        isRegular = clinux_file_type(status.st_mode) == S_IFREG
        isFolder = clinux_file_type(status.st_mode) == S_IFDIR
    }
}

/// The system calls of logs, watched files and the service manager; errno is read here, EINTR is looped here.
public enum FileSystemCalls {
    /// One system call, repeated while signals interrupt it; the value is negative when it failed, then `code` says why.
    @inline(never)
    private static func repeating(_ call: () -> Int) -> (value: Int, code: Int32) {
        while true {
            let value = call()
            if value >= 0 { return (value, 0) }
            let code = errno
            if code != EINTR { return (value, code) }
        }
    }

    private static func descriptor(_ operation: String, _ call: () -> Int32) throws(FileSystemError) -> Int32 {
        let result = repeating { Int(call()) }
        if result.value < 0 { throw FileSystemError(operation: operation, code: result.code) }
        return Int32(truncatingIfNeeded: result.value)
    }

    public static func openAppending(_ path: String) throws(FileSystemError) -> Int32 {
        try descriptor("open \(path)") { clinux_open_log(path) }
    }

    static func openWatched(_ path: String) throws(FileSystemError) -> Int32 {
        try descriptor("open \(path)") { clinux_open_watched(path) }
    }

    /// A repeated close could hit a descriptor that another thread was given meanwhile, so EINTR ends it too.
    public static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    static func makeWakeDescriptor(counting: Bool) throws(FileSystemError) -> Int32 {
        try descriptor("eventfd") { counting ? clinux_semaphore() : clinux_eventfd() }
    }

    static func makeWatchDescriptor() throws(FileSystemError) -> Int32 {
        try descriptor("inotify_init") { clinux_inotify() }
    }

    static func makeSignalDescriptor(_ mask: sigset_t) throws(FileSystemError) -> Int32 {
        try descriptor("signalfd") { withUnsafePointer(to: mask) { clinux_signalfd($0) } }
    }

    /// Bytes read; 0 at the end, nil when there is nothing now or the read failed.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let result = repeating { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
        return result.value < 0 ? nil : result.value
    }

    /// May wait on a pipe or terminal that takes less; see ``isWritable(_:within:)``.
    public static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
        outcome(repeating { Glibc.write(descriptor, bytes.baseAddress, bytes.count) })
    }

    /// Sockets only: never waits, even when the descriptor is shared with others and therefore blocking.
    public static func sendNow(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
        outcome(repeating { clinux_send_now(descriptor, bytes.baseAddress, bytes.count) })
    }

    private static func outcome(_ result: (value: Int, code: Int32)) -> WriteOutcome {
        if result.value >= 0 { return .wrote(result.value) }
        return result.code == EAGAIN || result.code == EWOULDBLOCK ? .wouldWait : .failed(result.code)
    }

    /// Waits until the descriptor takes bytes, or fails at once when used; -1 waits for ever.
    public static func isWritable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        repeating { Int(clinux_poll(descriptor, Int16(POLLOUT), milliseconds)) }.value > 0
    }

    public static func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        repeating { Int(clinux_poll(descriptor, Int16(POLLIN), milliseconds)) }.value > 0
    }

    public static func kind(of descriptor: Int32) -> DescriptorKind {
        if isatty(descriptor) == 1 { return .terminal }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .other }
        return switch clinux_file_type(status.st_mode) {
        case S_IFREG: .file
        case S_IFIFO: .pipe
        case S_IFSOCK: .socket
        default: .other
        }
    }

    /// nil when there is no such file, or none that may be seen.
    static func identity(ofPath path: String) -> FileIdentity? {
        var status = stat()
        return repeating { Int(stat(path, &status)) }.value < 0 ? nil : FileIdentity(status)
    }

    /// The same for a path below a folder; links are followed.
    static func identity(in folder: Int32, _ path: UnsafePointer<CChar>) -> FileIdentity? {
        var status = stat()
        return repeating { Int(unsafe fstatat(folder, path, &status, 0)) }.value < 0 ? nil : FileIdentity(status)
    }

    static func identity(of descriptor: Int32) -> FileIdentity? {
        var status = stat()
        return repeating { Int(fstat(descriptor, &status)) }.value < 0 ? nil : FileIdentity(status)
    }

    enum LinkStatus: Equatable {
        case link(target: String)
        case noLink
        case missing
    }

    static func link(_ path: String) -> LinkStatus {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let base = buffer.baseAddress else { return .missing }
            let result = repeating { unsafe readlink(path, base, buffer.count) }
            if result.value < 0 { return result.code == EINVAL ? .noLink : .missing }
            let target = unsafe UnsafeRawBufferPointer(start: base, count: result.value)
            return .link(target: String(decoding: target, as: UTF8.self))
        }
    }

    /// The watch's number; the same one for a folder that is watched already. nil when it can not be watched.
    static func watch(folder: String, with descriptor: Int32) -> Int32? {
        let events =
            UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_DELETE)
            | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK)
        let result = repeating { Int(inotify_add_watch(descriptor, folder, events)) }
        return result.value < 0 ? nil : Int32(truncatingIfNeeded: result.value)
    }

    static func unwatch(_ watch: Int32, with descriptor: Int32) { _ = inotify_rm_watch(descriptor, watch) }

    static func isOpen(_ descriptor: Int32) -> Bool { clinux_is_open(descriptor) == 1 }

    static func setCloseOnExec(_ descriptor: Int32) { _ = clinux_set_close_on_exec(descriptor, 1) }

    /// Sends one datagram to a unix socket, within a second.
    static func sendDatagram(_ bytes: [UInt8], to address: SocketAddress) throws(FileSystemError) {
        let socket = try descriptor("socket") { clinux_datagram_socket() }
        defer { close(socket) }
        _ = clinux_send_timeout(socket, 1_000)
        let result = repeating {
            address.withSockaddr { address, length in
                sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
        if result.value < 0 { throw FileSystemError(operation: "sendto", code: result.code) }
    }

    public static var monotonicMilliseconds: Int64 { clinux_monotonic_us() / 1_000 }
    public static var realtimeMilliseconds: Int64 { clinux_realtime_ms() }
}
