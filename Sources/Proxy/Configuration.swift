public import HTTP
public import Policy
public import Transport

/// A whole configuration as typed values: what Config reads, and what each worker compiles for itself.
public struct Configuration: Sendable {
    public var file: String?
    public var listeners: [ListenerDefinition] = []
    public var trustedProxies: [AddressRange] = []
    public var upstreams: [UpstreamDefinition] = []
    public var credentials: [CredentialDefinition] = []
    public var secrets: [SecretDefinition] = []
    public var rules: [RuleDefinition] = []
    public var limits = Limits()
    public var timeouts = Timeouts()
    public var canonical = CanonicalSettings()
    public var workers: Int?  // nil: one per core
    public var instance: String?  // nil: random per process
    public var admin = AdminDefinition()
    public var log = LogDefinition()
    /// The text of the system's table of media types; empty when there is none, or when no rule serves files.
    public var mediaTypes: [UInt8] = []
    /// Not errors, but worth a line in the log and in `check`.
    public var warnings: [String] = []

    public init() {}
}

public struct ListenerDefinition: Sendable, Hashable {
    public enum Address: Sendable, Hashable {
        case tcp(host: String, port: UInt16)  // host is a literal address; "" is all addresses, both families
        case unix(path: String, mode: UInt32?)
        case inherited(descriptor: Int32)  // socket activation
    }
    public var address: Address
    /// As the configuration has it: `127.0.0.1:8080`.
    public var display: String
    public var tls: ListenerTLS?
    /// Each connection begins with the PROXY protocol, and comes from a trusted proxy.
    public var takesProxyProtocol = false
    /// HTTP/2 without TLS, for clients that know (RFC 9113 section 3.3).
    public var h2c = false
    /// Clients may speak HTTP/2 here.
    public var takesHTTP2: Bool { h2c }
    public init(address: Address, display: String) {
        self.address = address
        self.display = display
    }

    /// What is said of a socket may change over a reload, which the socket survives.
    public func hasSocket(of other: ListenerDefinition) -> Bool {
        switch (address, other.address) {
        case (.unix(let path, _), .unix(let otherPath, _)): path == otherPath
        case (.inherited(let number), .inherited(let otherNumber)): number == otherNumber
        default: address == other.address && display == other.display
        }
    }

    /// Both can not be open at once.
    public func overlaps(_ other: ListenerDefinition) -> Bool {
        guard case .tcp(let host, let port) = address, case .tcp(let otherHost, let otherPort) = other.address else {
            return hasSocket(of: other)
        }
        // Port 0 becomes another one each time.
        guard port == otherPort, port != 0 else { return false }
        guard let one = IPAddress.parse(host), let two = IPAddress.parse(otherHost) else { return true }
        return one == two || one.includes(two) || two.includes(one)
    }
}

extension IPAddress {
    /// Listening here is listening there: `0.0.0.0` is all of IPv4, and `::` of both families.
    fileprivate func includes(_ other: IPAddress) -> Bool { isUnspecified && (!isIPv4 || other.isIPv4) }
}

public struct UpstreamDefinition: Sendable {
    public enum Balance: Sendable { case roundRobin, leastRequests, random }
    public var name: String
    public var servers: [ServerDefinition]
    public var balance = Balance.roundRobin
    public var timeouts = UpstreamTimeouts()
    public var pool = PoolLimits()
    /// `upstream: demo`: answered by the built-in demo origin, no servers.
    public var isDemo = false
    public var tls = UpstreamTLS()
    /// What is spoken to the servers.
    public enum Choice: Sendable {
        case auto  // with TLS what the handshake settles, else HTTP/1.1
        case http1
        case h2
        case h2c  // HTTP/2 without TLS
    }
    public var applicationProtocol = Choice.auto
    /// Each connection tells the server whose it is; nil: none does.
    public var proxyProtocol: ProxyHeader.Version?
    public init(name: String, servers: [ServerDefinition]) {
        self.name = name
        self.servers = servers
    }
}

/// One server of an upstream, from its URL.
public struct ServerDefinition: Sendable, Hashable {
    public enum Address: Sendable, Hashable {
        case tcp(host: String, port: UInt16)  // host: a name, or a literal without brackets
        case unix(path: String)
    }
    public var scheme: Scheme
    public var address: Address
    /// What goes into Host and stands in the URL: `app.internal`, `[::1]:3000`, `localhost` for a unix socket.
    public var authority: String
    /// The path of the URL without a trailing slash; put before every path.
    public var basePath: String
    public init(scheme: Scheme, address: Address, authority: String, basePath: String) {
        self.scheme = scheme
        self.address = address
        self.authority = authority
        self.basePath = basePath
    }
}

/// Milliseconds all.
public struct UpstreamTimeouts: Sendable, Hashable {
    public var connect = 5_000
    public var response = 60_000
    public var responseIdle = 300_000
    public var idle = 90_000
    public init() {}
}

public struct PoolLimits: Sendable, Hashable {
    public var maximumConnections = 256
    public var maximumIdle = 64
    public init() {}
}

public struct Limits: Sendable {
    public var head = HeadLimits()
    public var body: UInt64?  // nil: none
    public var connections = 65_536
    /// Streams at a time on one connection of HTTP/2.
    public var streams = 128
    public init() {}
}

/// Milliseconds all.
public struct Timeouts: Sendable {
    public var header = 10_000
    public var bodyIdle = 30_000
    public var writeIdle = 30_000
    public var keepalive = 75_000
    public var tunnelIdle = 3_600_000
    public var shutdown = 30_000
    public init() {}
}

public struct AdminDefinition: Sendable {
    public var listen: ListenerDefinition?
    public var token: SecretID?
    public var socket: String?  // nil: in $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR
    public init() {}
}

public struct LogDefinition: Sendable {
    public enum Level: Int, Sendable, CaseIterable { case error, warn, info, debug }
    public enum Format: Sendable { case auto, text, json }
    public enum Destination: Sendable, Hashable { case stderr, stdout, file(String) }
    public var level = Level.info
    public var format = Format.auto
    public var access = true
    public var destination = Destination.stderr
    public init() {}
}
