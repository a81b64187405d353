public import HTML

/// Where something stands in a configuration file, for messages: lines and columns count from 1.
public struct SourceLocation: Sendable, Hashable {
    public var file: String
    public var line: Int
    public var column: Int

    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}

/// One of `rules:` as typed values; Policy compiles a list of them into a ``RuleSet`` per worker.
public struct RuleDefinition: Sendable {
    public var name: String
    public var location: SourceLocation
    public var match: MatchDefinition?
    public var request = EditsDefinition()
    public var query = QueryEditsDefinition()
    public var cookies = CookieEditsDefinition()
    /// Indexes into the configuration's credentials, in the order of injection.
    public var credentials: [Int] = []
    public var onMissing = OnMissing.fail
    public var action: ActionDefinition?
    public var response = EditsDefinition()
    public var cacheStorage = CacheStorage.auto
    public var html: HTMLDefinition?

    public init(name: String, location: SourceLocation) {
        self.name = name
        self.location = location
    }

    public enum OnMissing: Sendable { case fail, pass }

    /// Requests that it has no file for go on to the next rule, as if it had no action.
    public var mayFallThrough: Bool {
        if case .serve(let serve) = action { serve.fallsThrough } else { false }
    }
}

/// `html:`; what is inserted into pages.
public struct HTMLDefinition: Sendable {
    public var insertions: [InsertionDefinition] = []
    public var mode = PolicyMode.nonce
    public init() {}
}

/// RFC 9111 section 3.5 on behalf of the shared caches in front of us.
public enum CacheStorage: Sendable { case auto, allowed, notAllowed }

/// `match:`; every key that is given must hold, a list holds when one of its entries does.
public struct MatchDefinition: Sendable {
    public var hosts: [HostPattern]?
    public var paths: [String]?  // anchored globs on the canonical path
    public var pathRegex: [String]?  // full match
    public var extensions: [String]?  // lower-cased, without dot
    public var methods: [String]?
    public var schemes: [Scheme]?
    public var headers: [(name: String, value: ValueMatch)] = []
    public var query: [(name: String, value: ValueMatch)] = []
    public var cookies: [(name: String, value: ValueMatch)] = []
    public var clientIP: [AddressRange]?
    public var urlLists: [URLListDefinition] = []
    public var not: [MatchDefinition] = []

    public init() {}
}

public enum Scheme: UInt8, Sendable {
    case http, https
    public var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// `api.example.com`, or `*.example.org` (any depth, not the apex); lower-cased, without port.
public enum HostPattern: Sendable, Hashable {
    case exact(String)
    case subdomains(of: String)
    case any
}

public enum ValueMatch: Sendable {
    case exact(String)  // exactly one value, equal to this
    case present
    case absent
    case glob(String)
    case regex(String)
}

public struct URLListDefinition: Sendable {
    public enum Format: Sendable { case url, hosts, adblock }
    public var path: String  // absolute
    public var format: Format
    public init(path: String, format: Format) {
        self.path = path
        self.format = format
    }
}

/// The header verbs in their fixed order: remove, rename, set, append, default. Names as written; `remove` may end in `*`.
public struct EditsDefinition: Sendable {
    public var remove: [String] = []
    public var rename: [(from: String, to: String)] = []
    public var set: [(name: String, value: ValueTemplate)] = []
    public var append: [(name: String, value: ValueTemplate)] = []
    public var defaults: [(name: String, value: ValueTemplate)] = []

    public init() {}

    public var isEmpty: Bool {
        remove.isEmpty && rename.isEmpty && set.isEmpty && append.isEmpty && defaults.isEmpty
    }
}

public struct QueryEditsDefinition: Sendable {
    public var remove: [String] = []
    public var set: [(name: String, value: ValueTemplate)] = []
    public init() {}
    public var isEmpty: Bool { remove.isEmpty && set.isEmpty }
}

public struct CookieEditsDefinition: Sendable {
    public var keep: [String]?
    public var remove: [String] = []
    public var set: [(name: String, value: ValueTemplate)] = []
    public init() {}
    public var isEmpty: Bool { keep == nil && remove.isEmpty && set.isEmpty }
}

public enum ActionDefinition: Sendable {
    case proxy(ProxyDefinition)
    case block(BlockDefinition)
    case serve(ServeDefinition)
    case respond(RespondDefinition)
    case redirect(RedirectDefinition)
}

public struct ProxyDefinition: Sendable {
    public var upstream: Int = 0  // index into the configuration's upstreams
    public var stripPrefix: String?
    public var addPrefix: String?
    public var path: ValueTemplate?
    public var preserveHost = PreserveHost.auto
    public var upgrades: [String] = ["websocket"]  // lower-cased
    public var responseTimeout: Int?  // milliseconds; overrides the upstream's
    public var responseIdleTimeout: Int?
    public var connectTimeout: Int?
    public var redirects = RedirectsDefinition()
    public var retries = 1

    public init() {}
    public enum PreserveHost: Sendable { case yes, no, auto }
}

public struct RedirectsDefinition: Sendable {
    public enum Mode: Sendable { case pass, rewrite, follow(Follow) }
    public enum Follow: Sendable { case sameOrigin, listed, any }
    public var mode = Mode.rewrite
    public var hosts: [DestinationPattern] = []
    public var maximum = 10
    public var bodyBuffer = 1024 * 1024
    public init() {}
}

/// One of `hosts:`: a host pattern, and a port or any port.
public struct DestinationPattern: Sendable, Hashable {
    public var host: HostPattern
    public var port: UInt16?
    public init(host: HostPattern, port: UInt16?) {
        self.host = host
        self.port = port
    }
}

public struct BlockDefinition: Sendable {
    public var status: Int?
    public var cacheControl: String?
    public init() {}
}

public struct RespondDefinition: Sendable {
    public var status = 200
    public var headers: [(name: String, value: ValueTemplate)] = []
    public var body: [UInt8] = []
    /// From the file's extension, or text/plain for a text; nil when `headers` has a Content-Type or there is no body.
    public var contentType: String?
    public init() {}
}

public struct RedirectDefinition: Sendable {
    public var to: ValueTemplate
    public var status = 308
    public init(to: ValueTemplate) { self.to = to }
}

/// One of `credentials:`; kinds to come have their place here.
public struct CredentialDefinition: Sendable {
    public enum Kind: Sendable {
        case bearer(ValueTemplate)
        case basic(user: ValueTemplate, password: ValueTemplate)
        case header(name: String, value: ValueTemplate)
    }

    public var name: String
    public var kind: Kind
    /// Where it may be sent; nil: the servers of the upstreams of the rules that use it, which Config fills in.
    public var hosts: [DestinationPattern]

    public init(name: String, kind: Kind, hosts: [DestinationPattern]) {
        self.name = name
        self.kind = kind
        self.hosts = hosts
    }

    /// The field that it writes.
    public var fieldName: String {
        switch kind {
        case .bearer, .basic: "Authorization"
        case .header(let name, _): name
        }
    }
}
