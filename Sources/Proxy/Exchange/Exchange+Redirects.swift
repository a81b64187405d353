internal import HTTP
internal import Policy
internal import Transport

/// What an exchange knows of the hops that it has made.
struct RedirectState {
    var hops = 0
    /// The present send goes to another origin than the configured upstream's.
    var isAway = false
    /// `chain.url` is the Location of the response at hand, resolved.
    var hasResolvedLocation = false
    let chain = RedirectChain()
    let mapping: OriginMapping
    /// Set-Cookie lines of hops, for the client; nil until there is one.
    var pendingCookies: ByteBuffer?
    /// Why a response that was being delivered could not be.
    var failure: Rejection?
    var hop: RedirectPolicy.Hop?
    /// Those of the first send: what a hop that no rule takes is sent by.
    var lastProxy: ProxyPlan?
    var upstream: Upstream?

    init() { mapping = OriginMapping(origin: chain.origin) }

    mutating func reset() {
        // Most requests have never come near a redirect.
        guard upstream != nil || failure != nil || hops > 0 else { return }
        chain.end()
        mapping.end()
        pendingCookies?.wipe()
        hops = 0
        isAway = false
        hasResolvedLocation = false
        failure = nil
        hop = nil
        lastProxy = nil
        upstream = nil
    }
}

extension Exchange {
    /// True when the response is a redirect that is followed here: the loader is to cancel, then the request is issued anew.
    func followsRedirect(_ response: ResponseHead) -> Bool {
        guard response.status >= 301, response.status <= 308, let proxy = plan?.proxy ?? redirects.lastProxy,
            proxy.redirectMode == .follow, loader.asksOrigin
        else { return false }
        if redirects.hops == 0 {
            redirects.chain.origin.set(
                scheme: context.destination.scheme, authority: context.destination.authority.span, sentHost: context.sentHost.span)
            redirects.chain.begin(request, settings: snapshot.canonical)
            redirects.upstream = upstream
        }
        var base: CanonicalRequest?
        if redirects.hops == 0, let paths = sentPaths, !paths.isIdentity {
            let sent = CanonicalRequest()
            sent.becomeSent(request, paths: paths)
            base = sent
        }
        let verdict = RedirectPolicy.decide(
            response, to: current, by: proxy.definition.redirects, bodyIsReplayable: contentCanBeReplayed,
            reach: RedirectPolicy.Reach(upstreamIsPrivate: redirects.upstream?.isPrivate ?? false), base: base,
            now: context.unixTime, chain: redirects.chain)
        switch verdict {
        case .follow(let hop):
            redirects.hop = hop
            redirects.lastProxy = proxy
            keepCookies(of: response)
            metrics.redirected(.followed)
            return true
        case .handBack:
            redirects.hasResolvedLocation = redirects.hops > 0 && hasResolvableLocation(response)
            metrics.redirected(.handedBack)
            return false
        case .loop:
            redirects.failure = .redirectLoop
            metrics.redirected(.loop)
            return true
        }
    }

    private func hasResolvableLocation(_ response: ResponseHead) -> Bool {
        let lines = response.lines.filter { $0.id == .location }
        return lines.count == 1 && redirects.chain.url.resolve(response.bytes.span(lines[0].value), against: current)
    }

    /// The client gets every Set-Cookie of the way.
    private func keepCookies(of response: ResponseHead) {
        for line in response.lines where line.id == .setCookie {
            let buffer = redirects.pendingCookies ?? ByteBuffer(capacity: 256)
            redirects.pendingCookies = buffer
            let value = response.bytes.span(line.value)
            guard buffer.count + value.count < worker.limits.head.headerBytes else { return }
            buffer.append("Set-Cookie: ")
            redirects.mapping.begin(client: request, paths: nil)
            if !redirects.mapping.append(value, of: .setCookie, to: buffer) { buffer.append(value) }
            buffer.append("\r\n")
        }
    }

    /// Makes the hop the request that the chain sees.
    func becomeHop(_ hop: RedirectPolicy.Hop) {
        let request = self.hop ?? CanonicalRequest()
        self.hop = request
        redirects.hops += 1
        redirects.hop = nil
        redirects.isAway = !hop.isUpstreamOrigin
        record.hops = redirects.hops
        request.becomeHop(
            of: self.request, url: redirects.chain.url, method: hop.method, keepsBody: hop.keepsBody,
            leavesCredentialsBehind: redirects.chain.hasLeftOrigin)
        current = request
        if !hop.keepsBody { discardContent() }
    }

    /// The upstream that a hop goes to: the configured one where the hop names its origin, else the origin itself, over TLS
    /// verified by the system's authorities where the URL says https.
    func upstreamForHop(_ configured: Upstream) -> Upstream {
        guard redirects.isAway else { return configured }
        let url = redirects.chain.url
        let isPrivate = configured.isPrivate
        let authority = String(decoding: Array(copying: url.authority.span), as: UTF8.self)
        let host = String(decoding: Array(copying: url.host), as: UTF8.self)
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let server = ServerDefinition(
            scheme: url.scheme, address: .tcp(host: name, port: url.port), authority: authority, basePath: "")
        return snapshot.hopUpstream(
            Snapshot.HopKey(scheme: url.scheme, authority: authority, permitsPrivate: isPrivate), like: configured,
            server: server
        ) { address in
            guard let bits = address.ipBits else { return false }
            return RedirectPolicy.permitsAddress(
                IPAddress(high: bits.high, low: bits.low), upstreamIsPrivate: isPrivate)
        }
    }

    /// A hop that no rule takes: sent as it is, without edits and credential.
    func sendUntakenHop() {
        guard let configured = redirects.upstream else { return fail(.internalError) }
        let upstream = upstreamForHop(configured)
        plan = snapshot.rules.planWithoutRule(towards: configured.index)
        startUpstream(upstream, redirects.lastProxy ?? ProxyPlan(ProxyDefinition()))
    }
}
