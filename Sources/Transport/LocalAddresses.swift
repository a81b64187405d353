internal import CLinux
internal import Glibc

/// The addresses of this machine.
public enum LocalAddresses {
    /// Asked by binding to it: the system refuses what is not its own. Not for each request.
    public static func contains(_ address: SocketAddress) -> Bool {
        guard address.family != .unix, let own = SocketAddress(literal: address.host, port: 0) else { return false }
        guard let probe = try? Socket.listen(on: own, sharesPort: true, backlog: 0) else { return false }
        SystemCalls.close(probe)
        return true
    }
}
