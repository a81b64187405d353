package import HTTP
package import Policy
package import Transport

/// A whole configuration as typed values: what Config reads, and what each worker compiles for itself.
package struct Configuration: Sendable {
    package var file: String?
    package var listeners: [ListenerDefinition] = []
    package var trustedProxies: [AddressRange] = []
    package var upstreams: [UpstreamDefinition] = []
    package var credentials: [CredentialDefinition] = []
    package var secrets: [SecretDefinition] = []
    package var rules: [RuleDefinition] = []
    package var limits = Limits()
    package var timeouts = Timeouts()
    package var canonical = CanonicalSettings()
    package var workers: Int?  // nil: one per core
    package var instance: String?  // nil: random per process
    package var admin = AdminDefinition()
    package var log = LogDefinition()
    /// The text of the system's table of media types; empty when there is none, or when no rule serves files.
    package var mediaTypes: [UInt8] = []
    /// Not errors, but worth a line in the log and in `check`.
    package var warnings: [String] = []

    package init() {}
}

package struct ListenerDefinition: Sendable, Hashable {
    package enum Address: Sendable, Hashable {
        case tcp(host: String, port: UInt16)  // host is a literal address; "" is all addresses, both families
        case unix(path: String, mode: UInt32?)
        case inherited(descriptor: Int32)  // socket activation
    }
    package var address: Address
    /// As the configuration has it: `127.0.0.1:8080`.
    package var display: String
    package var tls: ListenerTLS?
    /// Each connection begins with the PROXY protocol, and comes from a trusted proxy.
    package var takesProxyProtocol = false
    /// HTTP/2 without TLS, for clients that know (RFC 9113 section 3.3).
    package var h2c = false
    /// Clients may speak HTTP/2 here.
    package var takesHTTP2: Bool { h2c }
    package init(address: Address, display: String) {
        self.address = address
        self.display = display
    }

    /// What is said of a socket may change over a reload, which the socket survives.
    package func hasSocket(of other: ListenerDefinition) -> Bool { address == other.address && display == other.display }
}

package struct UpstreamDefinition: Sendable {
    package enum Balance: Sendable { case roundRobin, leastRequests, random }
    package var name: String
    package var servers: [ServerDefinition]
    package var balance = Balance.roundRobin
    package var timeouts = UpstreamTimeouts()
    package var pool = PoolLimits()
    /// `upstream: demo`: answered by the built-in demo origin, no servers.
    package var isDemo = false
    package var tls = UpstreamTLS()
    /// What is spoken to the servers.
    package enum Choice: Sendable {
        case auto  // with TLS what the handshake settles, else HTTP/1.1
        case http1
        case h2
        case h2c  // HTTP/2 without TLS
    }
    package var applicationProtocol = Choice.auto
    /// Each connection tells the server whose it is; nil: none does.
    package var proxyProtocol: ProxyHeader.Version?
    package init(name: String, servers: [ServerDefinition]) {
        self.name = name
        self.servers = servers
    }
}

/// One server of an upstream, from its URL.
package struct ServerDefinition: Sendable, Hashable {
    package enum Address: Sendable, Hashable {
        case tcp(host: String, port: UInt16)  // host: a name, or a literal without brackets
        case unix(path: String)
    }
    package var scheme: Scheme
    package var address: Address
    /// What goes into Host and stands in the URL: `app.internal`, `[::1]:3000`, `localhost` for a unix socket.
    package var authority: String
    /// The path of the URL without a trailing slash; put before every path.
    package var basePath: String
    package init(scheme: Scheme, address: Address, authority: String, basePath: String) {
        self.scheme = scheme
        self.address = address
        self.authority = authority
        self.basePath = basePath
    }
}

/// Milliseconds all.
package struct UpstreamTimeouts: Sendable, Hashable {
    package var connect = 5_000
    package var response = 60_000
    package var responseIdle = 300_000
    package var idle = 90_000
    package init() {}
}

package struct PoolLimits: Sendable, Hashable {
    package var maximumConnections = 256
    package var maximumIdle = 64
    package init() {}
}

package struct Limits: Sendable {
    package var head = HeadLimits()
    package var body: UInt64?  // nil: none
    package var connections = 65_536
    /// Streams at a time on one connection of HTTP/2.
    package var streams = 128
    package init() {}
}

/// Milliseconds all.
package struct Timeouts: Sendable {
    package var header = 10_000
    package var bodyIdle = 30_000
    package var writeIdle = 30_000
    package var keepalive = 75_000
    package var tunnelIdle = 3_600_000
    package var shutdown = 30_000
    package init() {}
}

package struct AdminDefinition: Sendable {
    package var listen: ListenerDefinition?
    package var token: SecretID?
    package var socket: String?  // nil: in $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR
    package init() {}
}

package struct LogDefinition: Sendable {
    package enum Level: Int, Sendable, CaseIterable { case error, warn, info, debug }
    package enum Format: Sendable { case auto, text, json }
    package enum Destination: Sendable, Hashable { case stderr, stdout, file(String) }
    package var level = Level.info
    package var format = Format.auto
    package var access = true
    package var destination = Destination.stderr
    package init() {}
}
