internal import HTTP

/// `proxy:` made ready: one object that an exchange refers to, where copying the definition would count its many references.
public final class ProxyPlan {
    public enum RedirectMode: Sendable { case pass, rewrite, follow }

    public let definition: ProxyDefinition
    public let upstream: Int
    public let preserveHost: ProxyDefinition.PreserveHost
    public let redirectMode: RedirectMode
    public let retries: Int
    public let responseTimeout: Int?
    public let responseIdleTimeout: Int?
    public let connectTimeout: Int?
    /// The largest content that is kept for a redirect that asks for it again.
    public let bodyBuffer: Int
    private let upgrades: [[UInt8]]

    public init(_ definition: ProxyDefinition) {
        self.definition = definition
        upstream = definition.upstream
        preserveHost = definition.preserveHost
        redirectMode =
            switch definition.redirects.mode {
            case .pass: .pass
            case .rewrite: .rewrite
            case .follow: .follow
            }
        retries = definition.retries
        responseTimeout = definition.responseTimeout
        responseIdleTimeout = definition.responseIdleTimeout
        connectTimeout = definition.connectTimeout
        bodyBuffer = definition.redirects.bodyBuffer
        upgrades = definition.upgrades.map { Array($0.utf8) }
    }

    /// Whether a protocol of the client's Upgrade, in any case, is let through.
    public func allowsUpgrade(_ token: Span<UInt8>) -> Bool {
        for allowed in upgrades where RuleBytes.equal(token, ignoringCase: allowed.span) { return true }
        return false
    }
}
