internal import CLinux
internal import Glibc

/// What became of one non-blocking read or write.
public enum IOResult: Equatable {
    case bytes(Int)
    case wouldBlock
    /// Read: the peer sends no more.
    case end
    case failed(Int32)
}

/// An errno with the call that gave it.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    public let call: StaticString
    public let number: Int32

    public init(_ call: StaticString, _ number: Int32) {
        self.call = call
        self.number = number
    }

    public var text: String { "\(call): \(String(cString: strerror(number)))" }

    public var description: String { text }

    public static func == (left: SystemError, right: SystemError) -> Bool {
        left.number == right.number && left.call.description == right.call.description
    }
}

/// The calls on descriptors that the data path makes. errno is read here, before anything else can run, and EINTR looped here.
public enum SystemCalls {
    /// Repeats a call that a signal has interrupted, and says what came of it. A reading call that brings nothing has met an end;
    /// sending calls are made with something to send.
    @inline(__always)
    private static func repeating(_ call: () -> Int) -> IOResult {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            let number = errno
            if number != EINTR { return number == EAGAIN ? .wouldBlock : .failed(number) }
        }
    }

    @inline(never)
    public static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        repeating { unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0) }
    }

    /// Whether there is something to be read, or an end; takes nothing.
    @inline(never)
    public static func hasInput(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        while true {
            if unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0 { return true }
            let number = errno
            if number != EINTR { return number != EAGAIN }
        }
    }

    /// Reads without taking anything.
    public static func peek(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        repeating { unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK)) }
    }

    @inline(never)
    public static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        repeating { unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Two parts in one call: a head and what follows it.
    @inline(never)
    public static func send(
        _ descriptor: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) -> IOResult {
        var parts = unsafe (
            iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
            iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
        )
        return unsafe withUnsafeMutablePointer(to: &parts) { pointer in
            var message = msghdr()
            unsafe message.msg_iov = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: iovec.self)
            unsafe message.msg_iovlen = 2
            return repeating { unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) }
        }
    }

    @inline(never)
    public static func splice(from: Int32, to: Int32, length: Int, more: Bool) -> IOResult {
        repeating { clinux_splice(from, to, length, more ? 1 : 0) }
    }

    /// From a file into a socket, without passing through this process (sendfile(2)). `end`: the file ends before `offset`.
    @inline(never)
    public static func sendFile(_ file: Int32, from offset: UInt64, to socket: Int32, length: Int) -> IOResult {
        repeating { clinux_sendfile(socket, file, Int64(bitPattern: offset), length) }
    }

    /// Reads a file at `offset`; `end`: it ends there.
    @inline(never)
    public static func read(_ file: Int32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        repeating { unsafe pread(file, buffer.baseAddress, buffer.count, off_t(bitPattern: UInt(offset))) }
    }

    @inline(never)
    public static func finishSending(_ descriptor: Int32) {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_WR))
    }

    @inline(never)
    public static func close(_ descriptor: Int32) {
        // EINTR leaves the descriptor closed on Linux: never tried again.
        _ = Glibc.close(descriptor)
    }

    @inline(never)
    static func waitForEvents(
        _ epoll: Int32, _ events: UnsafeMutableBufferPointer<epoll_event>, milliseconds: Int32
    ) -> Int {
        let count = unsafe epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)
        return count < 0 ? 0 : Int(count)
    }

    /// A socket that the service manager passed: as our own are.
    public static func prepareInherited(_ descriptor: Int32) {
        _ = clinux_set_nonblocking(descriptor)
        _ = clinux_set_close_on_exec(descriptor, 1)
        _ = clinux_no_delay(descriptor)
    }

    /// Makes a closing connection answer with RST instead of waiting for what was not sent.
    public static func resetOnClose(_ descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    /// Lets the kernel find out whether a peer that has finished sending is still there.
    public static func probeLiveness(_ descriptor: Int32) {
        _ = clinux_set_flag(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        _ = clinux_set_flag(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 5)
        _ = clinux_set_flag(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5)
        _ = clinux_set_flag(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
    }
}

/// Owns a file descriptor; closed with its owner.
public struct Descriptor: ~Copyable {
    public let number: Int32

    public init(owning number: Int32) { self.number = number }

    deinit { SystemCalls.close(number) }

    /// Hands the descriptor over to someone who closes it.
    public consuming func take() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// Clocks: monotonic ones for deadlines and durations, the wall clock for what people read.
public enum SystemClock {
    /// Milliseconds, precise to the scheduler's tick (4 ms): cheap enough for each turn of a loop.
    public static func coarseMilliseconds() -> Int64 { clinux_monotonic_coarse_ms() }
    public static func microseconds() -> Int64 { clinux_monotonic_us() }
    /// Since the epoch, precise to the scheduler's tick.
    public static func wallMilliseconds() -> Int64 { clinux_realtime_ms() }
}
