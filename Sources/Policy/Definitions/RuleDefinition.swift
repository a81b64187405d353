package import HTML

/// Where something stands in a configuration file, for messages: lines and columns count from 1.
package struct SourceLocation: Sendable, Hashable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}

/// One of `rules:` as typed values; Policy compiles a list of them into a ``RuleSet`` per worker.
package struct RuleDefinition: Sendable {
    package var name: String
    package var location: SourceLocation
    package var match: MatchDefinition?
    package var request = EditsDefinition()
    package var query = QueryEditsDefinition()
    package var cookies = CookieEditsDefinition()
    /// Indexes into the configuration's credentials, in the order of injection.
    package var credentials: [Int] = []
    package var onMissing = OnMissing.fail
    package var action: ActionDefinition?
    package var response = EditsDefinition()
    package var cacheStorage = CacheStorage.auto
    package var html: HTMLDefinition?

    package init(name: String, location: SourceLocation) {
        self.name = name
        self.location = location
    }

    package enum OnMissing: Sendable { case fail, pass }

    /// Requests that it has no file for go on to the next rule, as if it had no action.
    package var mayFallThrough: Bool {
        if case .serve(let serve) = action { serve.fallsThrough } else { false }
    }
}

/// `html:`; what is inserted into pages.
package struct HTMLDefinition: Sendable {
    package var insertions: [InsertionDefinition] = []
    package var mode = PolicyMode.nonce
    package init() {}
}

/// RFC 9111 section 3.5 on behalf of the shared caches in front of us.
package enum CacheStorage: Sendable { case auto, allowed, notAllowed }

/// `match:`; every key that is given must hold, a list holds when one of its entries does.
package struct MatchDefinition: Sendable {
    package var hosts: [HostPattern]?
    package var paths: [String]?  // anchored globs on the canonical path
    package var pathRegex: [String]?  // full match
    package var extensions: [String]?  // lower-cased, without dot
    package var methods: [String]?
    package var schemes: [Scheme]?
    package var headers: [(name: String, value: ValueMatch)] = []
    package var query: [(name: String, value: ValueMatch)] = []
    package var cookies: [(name: String, value: ValueMatch)] = []
    package var clientIP: [AddressRange]?
    package var urlLists: [URLListDefinition] = []
    package var not: [MatchDefinition] = []

    package init() {}
}

package enum Scheme: UInt8, Sendable {
    case http, https
    package var defaultPort: UInt16 { self == .http ? 80 : 443 }
}

/// `api.example.com`, or `*.example.org` (any depth, not the apex); lower-cased, without port.
package enum HostPattern: Sendable, Hashable {
    case exact(String)
    case subdomains(of: String)
    case any
}

package enum ValueMatch: Sendable {
    case exact(String)  // exactly one value, equal to this
    case present
    case absent
    case glob(String)
    case regex(String)
}

package struct URLListDefinition: Sendable {
    package enum Format: Sendable { case url, hosts, adblock }
    package var path: String  // absolute
    package var format: Format
    package init(path: String, format: Format) {
        self.path = path
        self.format = format
    }
}

/// The header verbs in their fixed order: remove, rename, set, append, default. Names as written; `remove` may end in `*`.
package struct EditsDefinition: Sendable {
    package var remove: [String] = []
    package var rename: [(from: String, to: String)] = []
    package var set: [(name: String, value: ValueTemplate)] = []
    package var append: [(name: String, value: ValueTemplate)] = []
    package var defaults: [(name: String, value: ValueTemplate)] = []

    package init() {}

    package var isEmpty: Bool {
        remove.isEmpty && rename.isEmpty && set.isEmpty && append.isEmpty && defaults.isEmpty
    }
}

package struct QueryEditsDefinition: Sendable {
    package var remove: [String] = []
    package var set: [(name: String, value: ValueTemplate)] = []
    package init() {}
    package var isEmpty: Bool { remove.isEmpty && set.isEmpty }
}

package struct CookieEditsDefinition: Sendable {
    package var keep: [String]?
    package var remove: [String] = []
    package var set: [(name: String, value: ValueTemplate)] = []
    package init() {}
    package var isEmpty: Bool { keep == nil && remove.isEmpty && set.isEmpty }
}

package enum ActionDefinition: Sendable {
    case proxy(ProxyDefinition)
    case block(BlockDefinition)
    case serve(ServeDefinition)
    case respond(RespondDefinition)
    case redirect(RedirectDefinition)
}

package struct ProxyDefinition: Sendable {
    package var upstream: Int = 0  // index into the configuration's upstreams
    package var stripPrefix: String?
    package var addPrefix: String?
    package var path: ValueTemplate?
    package var preserveHost = PreserveHost.auto
    package var upgrades: [String] = ["websocket"]  // lower-cased
    package var responseTimeout: Int?  // milliseconds; overrides the upstream's
    package var responseIdleTimeout: Int?
    package var connectTimeout: Int?
    package var redirects = RedirectsDefinition()
    package var retries = 1

    package init() {}
    package enum PreserveHost: Sendable { case yes, no, auto }
}

package struct RedirectsDefinition: Sendable {
    package enum Mode: Sendable { case pass, rewrite, follow(Follow) }
    package enum Follow: Sendable { case sameOrigin, listed, any }
    package var mode = Mode.rewrite
    package var hosts: [DestinationPattern] = []
    package var maximum = 10
    package var bodyBuffer = 1024 * 1024
    package init() {}
}

/// One of `hosts:`: a host pattern, and a port or any port.
package struct DestinationPattern: Sendable, Hashable {
    package var host: HostPattern
    package var port: UInt16?
    package init(host: HostPattern, port: UInt16?) {
        self.host = host
        self.port = port
    }
}

package struct BlockDefinition: Sendable {
    package var status: Int?
    package var cacheControl: String?
    package init() {}
}

package struct RespondDefinition: Sendable {
    package var status = 200
    package var headers: [(name: String, value: ValueTemplate)] = []
    package var body: [UInt8] = []
    /// From the file's extension, or text/plain for a text; nil when `headers` has a Content-Type or there is no body.
    package var contentType: String?
    package init() {}
}

package struct RedirectDefinition: Sendable {
    package var to: ValueTemplate
    package var status = 308
    package init(to: ValueTemplate) { self.to = to }
}

/// One of `credentials:`; kinds to come have their place here.
package struct CredentialDefinition: Sendable {
    package enum Kind: Sendable {
        case bearer(ValueTemplate)
        case basic(user: ValueTemplate, password: ValueTemplate)
        case header(name: String, value: ValueTemplate)
    }

    package var name: String
    package var kind: Kind
    /// Where it may be sent; nil: the servers of the upstreams of the rules that use it, which Config fills in.
    package var hosts: [DestinationPattern]

    package init(name: String, kind: Kind, hosts: [DestinationPattern]) {
        self.name = name
        self.kind = kind
        self.hosts = hosts
    }

    /// The field that it writes.
    package var fieldName: String {
        switch kind {
        case .bearer, .basic: "Authorization"
        case .header(let name, _): name
        }
    }
}
