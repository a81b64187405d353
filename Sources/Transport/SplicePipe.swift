internal import CLinux
internal import Glibc

/// A pipe through which bytes go from socket to socket without passing through this process (splice(2)).
public final class SplicePipe {
    private let output: Descriptor
    private let input: Descriptor
    /// Bytes in it.
    public private(set) var count = 0

    /// Nearly as fast as the largest that is to be had, and what a slow reader makes the kernel hold.
    private static let size: Int32 = 256 * 1024
    public static let capacity = Int(SplicePipe.size)

    /// Nil when the system gives no more.
    public init?() {
        var ends: (Int32, Int32) = (-1, -1)
        let result = unsafe withUnsafeMutableBytes(of: &ends) { bytes in
            unsafe clinux_pipe(bytes.bindMemory(to: Int32.self).baseAddress)
        }
        guard result == 0 else { return nil }
        output = Descriptor(owning: ends.0)
        input = Descriptor(owning: ends.1)
        // Smaller than asked for is slower, not wrong.
        _ = clinux_set_pipe_size(ends.1, Self.size)
    }

    /// Takes up to `limit` bytes from a socket. Only into an empty pipe, so that `wouldBlock` speaks of the socket.
    public func fill(from socket: Int32, atMost limit: Int) -> IOResult {
        precondition(count == 0, "a pipe is filled when it is empty")
        let result = SystemCalls.splice(from: socket, to: input.number, length: min(limit, Self.capacity), more: true)
        if case .bytes(let moved) = result { count = moved }
        return result
    }

    /// Hands on what is in it, as far as the socket takes it.
    public func drain(to socket: Int32, more: Bool) -> IOResult {
        let result = SystemCalls.splice(from: output.number, to: socket, length: count, more: more)
        if case .bytes(let moved) = result { count -= moved }
        return result
    }
}
