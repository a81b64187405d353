public import HTTP

/// Decides whether a redirect is followed here, handed to the client, or has gone round in circles.
///
/// Pure: what is known of the hops so far stands in the ``RedirectChain``, and addresses are judged where they are
/// connected to (``permitsAddress(_:upstreamIsPrivate:)``).
public enum RedirectPolicy {
    public struct Hop: Sendable, Equatable {
        public var method: Method
        /// The content is replayed; else the hop has none.
        public var keepsBody: Bool
        /// It goes through the configured upstream; else to the URL's own server.
        public var isUpstreamOrigin: Bool
    }

    /// Where a hop away from the upstream's origin can be sent at all; what is out of reach is for the client to follow.
    public struct Reach: Sendable {
        /// Hops to private addresses are no step inside.
        public var upstreamIsPrivate = true

        public init(upstreamIsPrivate: Bool = true) {
            self.upstreamIsPrivate = upstreamIsPrivate
        }

        /// Names are judged when they are resolved, address literals here.
        func includes(_ url: ResolvedURL) -> Bool {
            var host = url.host
            if host.count > 2, host[0] == UInt8(ascii: "[") { host = host.extracting(1..<host.count - 1) }
            guard let address = IPAddress.parse(host) else { return true }
            return permitsAddress(address, upstreamIsPrivate: upstreamIsPrivate)
        }
    }

    public enum Verdict: Sendable, Equatable {
        /// The hop's URL is `chain.url`; see
        /// ``CanonicalRequest/becomeHop(of:url:method:keepsBody:leavesCredentialsBehind:)``.
        case follow(Hop)
        /// The response goes to the client, rewritten.
        case handBack
        /// 508 `redirect_loop`.
        case loop
    }

    /// `current` is the request that `response` answers: the client's own or the last hop. `now` dates the cookies of
    /// the hop.
    ///
    /// `base` is what a relative Location is resolved against where the path that was sent is not `current`'s.
    /// A verdict to follow is entered in the chain; the caller acts on it or gives the exchange up.
    public static func decide(
        _ response: ResponseHead, to current: CanonicalRequest, by definition: RedirectsDefinition,
        bodyIsReplayable: Bool, reach: Reach = Reach(), base: CanonicalRequest? = nil, now: Int,
        chain: RedirectChain
    ) -> Verdict {
        guard case .follow(let scope) = definition.mode, let client = chain.client,
            let change = change(of: current.method, status: response.status)
        else { return .handBack }
        let hasContent = current.head.framing != .none && current.head.framing != .length(0) && !chain.hasLostBody
        let keepsBody = change.keepsBody && hasContent
        if keepsBody && !bodyIsReplayable { return .handBack }
        guard let location = location(of: response) else { return .handBack }
        guard chain.url.resolve(response.bytes.span(response.lines[location].value), against: base ?? current) else {
            return .handBack
        }

        let isUpstreamOrigin = chain.origin.isOrigin(chain.url, client: client)
        guard isPermitted(chain.url, scope, definition.hosts, isUpstreamOrigin: isUpstreamOrigin),
            !isDowngrade(to: chain.url, from: current, chain, isUpstreamOrigin: isUpstreamOrigin)
        else { return .handBack }
        if !isUpstreamOrigin && !reach.includes(chain.url) { return .handBack }
        if chain.hopCount >= definition.maximum { return .loop }
        chain.cookies.absorb(response, to: current, client: client, now: now)
        let hop = Hop(method: change.method, keepsBody: keepsBody, isUpstreamOrigin: isUpstreamOrigin)
        return chain.enter(hop, client: client, keptContent: change.keepsBody) ? .follow(hop) : .loop
    }

    /// RFC 9110 section 15.4; nil for what is no redirect that can be followed.
    private static func change(of method: Method, status: Int) -> (method: Method, keepsBody: Bool)? {
        switch status {
        case 301, 302: method == .post ? (.get, false) : (method, true)
        case 303: (method == .head ? .head : .get, false)
        case 307, 308: (method, true)
        default: nil
        }
    }

    /// The one Location line; none or several say nothing definite.
    private static func location(of response: ResponseHead) -> Int? {
        var found: Int?
        for line in 0..<response.lines.count where response.lines[line].id == .location {
            if found != nil { return nil }
            found = line
        }
        return found
    }

    private static func isPermitted(
        _ url: ResolvedURL, _ scope: RedirectsDefinition.Follow, _ hosts: [DestinationPattern], isUpstreamOrigin: Bool
    ) -> Bool {
        if isUpstreamOrigin { return true }
        switch scope {
        case .sameOrigin: return false
        case .any: return true
        case .listed:
            for pattern in hosts where pattern.port == nil || pattern.port == url.port {
                if matches(pattern.host, url.host) { return true }
            }
            return false
        }
    }

    private static func matches(_ pattern: HostPattern, _ host: Span<UInt8>) -> Bool {
        switch pattern {
        case .any: return true
        case .exact(let name): return host.count == name.utf8.count && hasSuffix(host, name)
        case .subdomains(let apex):
            let length = apex.utf8.count
            return host.count > length + 1 && host[host.count - length - 1] == UInt8(ascii: ".")
                && hasSuffix(host, apex)
        }
    }

    private static func hasSuffix(_ host: Span<UInt8>, _ name: String) -> Bool {
        var index = host.count - name.utf8.count
        if index < 0 { return false }
        for byte in name.utf8 {
            if host[index] != CanonicalBytes.lowered(byte) { return false }
            index += 1
        }
        return true
    }

    /// https to http, by the URLs as by the connections that they lead over. The upstream's own URL is http where TLS
    /// ends here; that is no step down as long as it is where the request went before.
    private static func isDowngrade(
        to url: ResolvedURL, from current: CanonicalRequest, _ chain: RedirectChain, isUpstreamOrigin: Bool
    ) -> Bool {
        let connection = isUpstreamOrigin ? chain.origin.scheme : url.scheme
        if chain.lastScheme == .https && connection == .http { return true }
        if isUpstreamOrigin && chain.origin.isURL(url.scheme, url.host, url.port) { return false }
        return current.scheme == .https && url.scheme == .http
    }

    /// Asked for each address that a hop away from the upstream's origin would connect to.
    public static func permitsAddress(_ address: IPAddress, upstreamIsPrivate: Bool) -> Bool {
        if address.isLinkLocal { return false }
        return upstreamIsPrivate || !address.isPrivate
    }
}
