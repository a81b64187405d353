/// Index of a secret in the configuration's list; the value itself is looked up per worker.
public struct SecretID: Sendable, Hashable {
    public let index: Int
    public init(_ index: Int) { self.index = index }
}

/// What `{name}` may stand for; each is replaced once per request and the result is never scanned again.
public enum Variable: Sendable, Hashable {
    case requestMethod, requestScheme, requestHost, requestAuthority, requestPath, requestQuery, requestTarget, requestID
    case requestHeader(String)  // lower-cased
    case requestCookie(String)
    case clientIP, clientPort, clientUser, clientGroups
    case clientClaim(String)
    case clientCertificateSubject, clientCertificateSAN
    case upstreamHost
    case ruleName
    case timeUnix, timeRFC3339, uuid
}

/// A value of the configuration with its variables and secrets in place: `Bearer ${env:TOKEN}`, `{request.host}`.
public struct ValueTemplate: Sendable {
    public enum Part: Sendable {
        case literal([UInt8])
        case secret(SecretID)
        case variable(Variable)
    }

    public var parts: [Part]
    /// The text as the configuration has it, secrets by their source (`Bearer ${env:TOKEN}`), fit to be shown.
    /// A literal in a place that holds secrets (a credential, a set Authorization) is shown as `***`.
    public var display: String
    /// Holds a secret, or stands in a place that makes it one; bound to the rule's upstream, never shown.
    public var isSecret: Bool

    public init(parts: [Part], display: String, isSecret: Bool) {
        self.parts = parts
        self.display = display
        self.isSecret = isSecret
    }

    public init(literal text: String) {
        self.init(parts: [.literal(Array(text.utf8))], display: text, isSecret: false)
    }
}

/// Where a secret comes from, and the value that it had when the configuration was loaded.
public struct SecretDefinition: Sendable {
    public enum Source: Sendable, Hashable {
        case environment(String)
        case file(String)  // absolute path; watched
        case literal
    }

    public var source: Source
    public var value: Secret

    public init(source: Source, value: Secret) {
        self.source = source
        self.value = value
    }
}
