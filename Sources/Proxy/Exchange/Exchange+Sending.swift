internal import HTTP
internal import Policy
internal import Transport

// MARK: 3 Inject: each time a loader sends, the head is made anew from the client's canonical request

extension Exchange {
    /// Appends the request head for a connection to the server.
    func writeRequestHead(for server: UpstreamServer, to out: ByteBuffer) throws(Rejection) {
        try withPlan { (plan) throws(Rejection) in
            guard let plan else { throw .internalError }
            guard let hop, redirects.hops > 0 else { return try write(request, plan, for: server, to: out) }
            try write(hop, plan, for: server, to: out)
        }
    }

    private func write(
        _ current: CanonicalRequest, _ plan: ChainPlan, for server: UpstreamServer, to out: ByteBuffer
    ) throws(Rejection) {
        setDestination(server.destination, current)
        let proxy = plan.proxy
        let isFirst = redirects.hops == 0
        upgradeToken = head.asksForUpgrade ? proxy.flatMap { allowedUpgrade($0) } : nil
        if upgradeToken == nil, client?.demandsTunnel ?? false { throw .notImplemented }
        // Made where they are handed over: a name for them would be a copy, with a reference counted for each of its parts.
        try RequestWriter.write(
            current, plan: plan, context: context, instance: instance.span, forwarded: forwarded,
            hops: isFirst ? nil : redirects.chain.cookies,
            RequestWriter.Parameters(
                framing: sentFraming, upgrade: upgradeToken,
                expectsContinue: head.expectsContinue && isFirst && !contentIsComplete, isFirstSend: isFirst,
                paths: isFirst ? snapshot.paths(rule: plan.actionRule, server: server) : nil,
                preservesHost: !isFirst || preservesHost(proxy, server), tellsClient: !redirects.isAway,
                page: plan.page.map { PageRequest.sent(current, $0) }),
            to: out)
    }

    @inline(always) private func setDestination(_ destination: Destination, _ current: CanonicalRequest) {
        if context.destination !== destination { context.destination = destination }
        if context.withheld > 0 { context.staysDropped = true }
        context.isUpstreamOrigin = !redirects.isAway && !context.staysDropped
        context.leavesCredentialsBehind = current.leavesCredentialsBehind
        context.withheld = 0
    }

    @inline(always) private func preservesHost(_ proxy: ProxyPlan?, _ server: UpstreamServer) -> Bool {
        switch proxy?.preserveHost ?? .auto {
        case .yes: true
        case .no: false
        case .auto: server.prefersClientHost
        }
    }

    /// Of the client's Upgrade, the first protocol that the rule lets through; `h2c` never is one.
    private func allowedUpgrade(_ proxy: ProxyPlan) -> ByteRange? {
        guard redirects.hops == 0, head.framing == .none else { return nil }
        for line in head.lines where line.id == .upgrade {
            let value = head.bytes.span(line.value)
            var elements = ListCursor()
            while let range = elements.next(in: value) {
                if proxy.allowsUpgrade(value.extracting(range)) {
                    return ByteRange(Int(line.value.start) + range.lowerBound, range.count)
                }
            }
        }
        return nil
    }

    func requestWasSent(overReusedConnection wasReused: Bool) {
        record.upstreamAsked(at: worker.microseconds(), overReusedConnection: wasReused)
        if wasReused { metrics.upstreamConnectionReused() }
        countInjections()
    }

    private func countInjections() {
        withPlan { plan in
            guard let plan, !plan.credentialIndexes.isEmpty else { return }
            for credential in plan.credentialIndexes {
                metrics.credential(indexes.credentials[credential], context.withheld > 0 ? .withheld : .injected)
            }
        }
    }

    func writeRequestTrailers(_ trailers: TrailerSection, to out: ByteBuffer) {
        if let plan { RequestWriter.writeTrailers(trailers, plan: plan, to: out) }
    }

    // MARK: The response's head

    /// Nothing of it is left in the output when this throws.
    func writeResponseHead(
        _ head: ResponseHead, framing: BodyFraming, keeps: Bool, _ page: PageResponse?, to client: ClientEnd
    ) throws(Rejection) {
        try withOutput(of: client) { (out) throws(Rejection) in
            let mark = out.count
            do throws(Rejection) {
                try withPlan { (plan) throws(Rejection) in
                    try write(head, plan, framing: framing, keeps: keeps, page, to: out)
                }
            } catch {
                out.truncate(to: mark)
                throw error
            }
        }
    }

    /// Uses the plan without counting a reference: the rules keep it for longer than any call.
    @inline(always) func withPlan<R, E>(_ body: (ChainPlan?) throws(E) -> R) throws(E) -> R {
        if plan == nil { return try body(nil) }
        return try uncounted(plan.unsafelyUnwrapped) { (plan) throws(E) in try body(plan) }
    }

    private func write(
        _ head: ResponseHead, _ plan: ChainPlan?, framing: BodyFraming, keeps: Bool, _ page: PageResponse?, to out: ByteBuffer
    ) throws(Rejection) {
        let isProxied = plan?.proxy != nil || redirects.hops > 0
        var mapping: OriginMapping?
        if isProxied, plan?.proxy?.redirectMode != .pass, namesURLs(head), loader.asksOrigin {
            redirects.chain.origin.set(
                scheme: context.destination.scheme, authority: context.destination.authority.span,
                sentHost: context.sentHost.span)
            redirects.mapping.begin(client: request, paths: plan?.path == nil && redirects.hops == 0 ? sentPaths : nil)
            mapping = redirects.mapping
        }
        let injected = isProxied && (plan?.injectsAuthorization ?? false)
        var change = CacheStoragePolicy.change(plan?.cacheStorage ?? .auto, isAuthorised: injected, response: head)
        if let page, page.isPersonal, change == .none {
            change = CacheStoragePolicy.changeForPersonal(plan?.cacheStorage ?? .auto, response: head)
        }
        let lines = redirects.pendingCookies
        try responseWriter.write(
            head, plan: plan, context: context, mapping: mapping,
            location: redirects.hops > 0 && redirects.hasResolvedLocation ? redirects.chain.url : nil, dates: &worker.dates,
            extraLines: lines,
            ResponseWriter.Parameters(
                framing: framing, keeps: keeps, version: self.head.version, cacheChange: change,
                tellsLength: current.method == .head || head.status == 304, isSwitching: head.status == 101,
                passesTrailers: takesTrailers && page == nil, page: page,
                pageDependence: plan?.page == nil ? nil : pageDependence(head, isEdited: page != nil)),
            to: out)
    }

    /// How the rule and the server have changed the path.
    var sentPaths: PathMapping? {
        if case .demo = loader { return demoPaths }
        return upstreamLoader.server.flatMap { snapshot.paths(rule: plan?.actionRule ?? -1, server: $0) }
    }

    /// Whether there is a field that may name the upstream's origin.
    private func namesURLs(_ head: ResponseHead) -> Bool {
        for line in head.lines {
            switch line.id {
            case .location, .contentLocation, .refresh, .setCookie: return true
            default: continue
            }
        }
        return false
    }

    /// HTTP/2 has trailers without being asked.
    var takesTrailers: Bool { head.takesTrailers || (client?.isHTTP2 ?? false) }

    func writeResponseTrailers(_ trailers: TrailerSection, to out: ByteBuffer) {
        ResponseWriter.writeTrailers(trailers, plan: plan, to: out)
    }
}
