internal import HTTP

/// A request as the demo origin shows it: what was sent towards the origin, where each part came from, and what was left out.
///
/// Nothing in it is a secret: a value that holds one is given as its source, such as `Bearer ${env:API_TOKEN}`.
struct DemoRequestView {
    var method: [UInt8]
    /// The request target as sent, after the rules' edits of path and query.
    var target: [UInt8]
    /// In the order of the wire.
    var fields: [DemoField] = []
    /// What the client sent and the origin does not see.
    var removed: [DemoRemoval] = []
    /// What rules or credentials would add, and did not this time.
    var withheld: [DemoRemoval] = []
    /// Put before a path of the demo origin, it is the path by which the client reaches it: empty, or a `strip_prefix`.
    var base: [UInt8] = []

    /// The first value under this name, in any case.
    func value(of name: StaticString) -> [UInt8]? {
        fields.first { HTTP1.equalsIgnoringCase($0.name.span, name) }?.value
    }

    var injectedCount: Int { fields.count { $0.origin.isInjected } }
}

/// One field line that the origin received.
struct DemoField {
    var name: [UInt8]
    var value: [UInt8]
    var origin: Origin

    init(name: [UInt8], value: [UInt8], origin: Origin) {
        self.name = name
        self.value = value
        self.origin = origin
    }

    init(name: String, value: String, origin: Origin) {
        self.init(name: Array(name.utf8), value: Array(value.utf8), origin: origin)
    }

    enum Origin: Equatable {
        case client
        /// `verb` as the configuration has it: set, append, default, rename, cookies.
        case rule(name: String, verb: String)
        case credential(name: String)
        /// What the proxy itself adds: the forwarded family, Via, CDN-Loop, X-Request-Id, framing.
        case authproxy

        /// The configuration put it there.
        var isInjected: Bool {
            switch self {
            case .client, .authproxy: false
            case .rule, .credential: true
            }
        }
    }
}

/// One field that did not reach the origin.
struct DemoRemoval {
    var name: [UInt8]
    /// A short phrase: `hop-by-hop`, `rule api sets it`.
    var reason: String

    init(name: [UInt8], reason: String) {
        self.name = name
        self.reason = reason
    }

    init(name: String, reason: String) { self.init(name: Array(name.utf8), reason: reason) }
}
