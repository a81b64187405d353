internal import CLinux
internal import Glibc

/// Sockets as they are opened here: non-blocking, closed on exec, without Nagle's delay.
public enum Socket {
    /// Begins to connect. `isConnected` is false while the handshake goes on; its end is a writable event.
    public static func connect(to address: SocketAddress) throws(SystemError) -> (descriptor: Int32, isConnected: Bool) {
        let family = address.family
        let number = clinux_stream_socket(
            family == .unix ? AF_UNIX : family == .ipv6 ? AF_INET6 : AF_INET)
        if number < 0 { throw SystemError("socket", errno) }
        let descriptor = Descriptor(owning: number)
        if family != .unix { _ = clinux_no_delay(number) }
        while true {
            let result = unsafe address.withSockaddr { unsafe Glibc.connect(number, $0, $1) }
            if result == 0 { return (descriptor.take(), true) }
            let error = errno
            if error == EINTR { continue }
            if error == EINPROGRESS { return (descriptor.take(), false) }
            throw SystemError("connect", error)
        }
    }

    /// Why a connection attempt failed; 0 when it did not.
    public static func pendingError(_ descriptor: Int32) -> Int32 { clinux_socket_error(descriptor) }

    /// Opens a listening socket. With `sharesPort` other sockets of this process may listen on the same address, and the
    /// kernel spreads connections over them.
    public static func listen(
        on address: SocketAddress, sharesPort: Bool, backlog: Int32 = 4096
    ) throws(SystemError) -> Int32 {
        let family = address.family
        let number = clinux_stream_socket(
            family == .unix ? AF_UNIX : family == .ipv6 ? AF_INET6 : AF_INET)
        if number < 0 { throw SystemError("socket", errno) }
        let descriptor = Descriptor(owning: number)
        if family != .unix {
            _ = clinux_set_flag(number, SOL_SOCKET, SO_REUSEADDR, 1)
            if sharesPort { _ = clinux_set_flag(number, SOL_SOCKET, SO_REUSEPORT, 1) }
            // Accepted sockets inherit it.
            _ = clinux_no_delay(number)
            if family == .ipv6 { _ = clinux_set_flag(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, address.isAny ? 0 : 1) }
        }
        if unsafe address.withSockaddr({ unsafe Glibc.bind(number, $0, $1) }) < 0 { throw SystemError("bind", errno) }
        if backlog > 0, Glibc.listen(number, backlog) < 0 { throw SystemError("listen", errno) }
        return descriptor.take()
    }

    public static func isListening(_ descriptor: Int32) -> Bool {
        var answer: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &answer, &length) == 0 && answer != 0
    }

    /// A listening TCP socket takes no more connections but those that are being made; who begins one now tries again within a
    /// second, and finds whoever listens then. Best effort.
    public static func refuseConnectionsToCome(_ descriptor: Int32) { _ = clinux_drop_connections_to_come(descriptor) }

    /// The next waiting connection; nil when there is none.
    public static func accept(_ listener: Int32) throws(SystemError) -> (descriptor: Int32, peer: SocketAddress)? {
        while true {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let number = unsafe clinux_accept(listener, &storage, &length)
            if number >= 0 { return (number, SocketAddress(storage: storage, length: length)) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            case let error: throw SystemError("accept4", error)
            }
        }
    }

    /// The address that a socket is bound to: tells the port where 0 was asked for.
    public static func localAddress(_ descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? SocketAddress(storage: storage, length: length) : nil
    }
}
