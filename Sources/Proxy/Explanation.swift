internal import HTML
public import HTTP
public import Policy
internal import Transport

/// What would be done with a request, found out by the code that would do it; for `authproxy explain`.
public struct Explanation {
    public var rules: [RuleExplanation] = []
    /// Nil when no rule takes the request, or none of them sends it anywhere.
    public var request: RequestDescription?
    public var action = ""
    /// Rules that had no file for the request, and why it went on.
    public var passed: [String] = []
    public var upstream = ""
    public var redirects = ""
    public var cacheStorage = ""
    public var response = PlanDescription()
    /// What is inserted if the answer is a page, and where; empty for nothing.
    public var insertions: [String] = []
    /// The request is refused before any rule.
    public var rejection: Rejection?
    public var canonicalURL = ""

    /// `head` is a request head as a client would send it; `client` its address.
    public init(head bytes: ByteBuffer, client facts: ClientFacts, configuration: Configuration, urlLists: [URLListSource]) {
        let snapshot = Snapshot(
            Adoption(configuration: configuration, urlLists: urlLists, indexes: MetricIndexes()))
        let request = CanonicalRequest()
        let context = SendContext(request: request, client: facts)
        let instance = ByteBuffer()
        instance.append(text: configuration.instance ?? "instance")
        do throws(Rejection) {
            let consumed: Int?
            do {
                consumed = try HTTP1.parseRequest(bytes.span, limits: configuration.limits.head, into: request.head)
            } catch {
                throw Rejection(error)
            }
            guard consumed != nil else { throw .badRequest }
            try request.canonicalise(
                client: facts, trusted: configuration.trustedProxies, settings: snapshot.canonical, instance: instance.span)
            canonicalURL = Self.text(request)
            let decision = Decision()
            snapshot.rules.take(request, into: decision)
            var fallen: Set<Int> = []
            while let rule = decision.action, let serve = snapshot.rules.plan(for: decision).serve {
                let answer = FileExplanation(serve, rule: rule, request, snapshot.files)
                action = answer.action
                guard answer.fallsThrough else { break }
                passed.append("\(snapshot.rules.name(rule)): \(answer.action)")
                fallen.insert(rule)
                snapshot.rules.takeOn(request, into: decision)
            }
            rules = snapshot.rules.explain(request, fallenThrough: fallen)
            guard decision.action != nil else { throw fallen.isEmpty ? .noRule : .notFound }
            try describe(snapshot.rules.plan(for: decision), request, context, instance, configuration)
        } catch {
            rejection = error
        }
    }

    private static func text(_ request: CanonicalRequest) -> String {
        let authority = String(decoding: Array(copying: request.authority.span), as: UTF8.self)
        let target = String(decoding: Array(copying: request.target.span), as: UTF8.self)
        return "\(request.scheme)://\(authority)\(target)"
    }

    private mutating func describe(
        _ plan: ChainPlan, _ request: CanonicalRequest, _ context: SendContext, _ instance: ByteBuffer,
        _ configuration: Configuration
    ) throws(Rejection) {
        cacheStorage = Self.text(plan.cacheStorage, plan.injectsAuthorization)
        insertions = Self.insertions(plan, request, configuration)
        switch plan.action {
        case .proxy(let proxy):
            let upstream = configuration.upstreams[proxy.upstream]
            action = "proxy"
            self.upstream =
                "\(upstream.name) (\(upstream.isDemo ? "demo" : upstream.servers.map(Self.url).joined(separator: ", ")))"
            redirects = Self.text(proxy.redirects)
            self.request = try describe(plan, proxy, upstream.servers.first, request, context, instance)
        case .block(let block): action = "block, status \(block.status.map(String.init) ?? "200 or 204 by type")"
        case .serve: break
        case .respond(let respond): action = "respond, status \(respond.status)"
        case .redirect(let redirect): action = "redirect to \(redirect.to.display), status \(redirect.status)"
        case nil: break
        }
    }

    private func describe(
        _ plan: ChainPlan, _ proxy: ProxyDefinition, _ server: ServerDefinition?, _ request: CanonicalRequest,
        _ context: SendContext, _ instance: ByteBuffer
    ) throws(Rejection) -> RequestDescription {
        let authority = server?.authority ?? "demo"
        let parsed = Authority.parse(authority)
        let scheme = server?.scheme ?? .http
        context.destination = Destination(
            authority: authority, host: parsed.map { String($0.text.prefix($0.hostLength)) } ?? authority,
            port: parsed?.port ?? scheme.defaultPort, scheme: scheme)
        context.unixTime = Int(SystemClock.wallMilliseconds() / 1000)
        context.requestID.append("(new for each request)")
        let hasName = parsed.map { IPAddress.parse(String($0.text.prefix($0.hostLength))) == nil } ?? true
        let sendsUpstreamHost = proxy.preserveHost == .no || proxy.preserveHost == .auto && server?.scheme == .https && hasName
        let parameters = RequestWriter.Parameters(
            framing: request.head.framing, upgrade: nil, expectsContinue: false, isFirstSend: true,
            paths: PathMapping(
                stripPrefix: proxy.stripPrefix, addPrefix: proxy.addPrefix, basePath: server?.basePath ?? ""),
            preservesHost: !sendsUpstreamHost, tellsClient: true,
            page: plan.page.map { PageRequest.sent(request, $0) })
        return try RequestWriter.describe(request, plan: plan, context: context, instance: instance.span, parameters)
    }

    private static func insertions(
        _ plan: ChainPlan, _ request: CanonicalRequest, _ configuration: Configuration
    ) -> [String] {
        guard let page = plan.page else { return [] }
        guard let asked = PageRequest(request, page) else { return ["nothing: the request asks for no document"] }
        let parts = plan.rules.compactMap { configuration.rules[$0].html }.flatMap(\.insertions)
        let policies = page.mode == .nonce ? "nonce: policies get a fresh one" : "leave: what policies forbid is not inserted"
        let condition = asked.isCertain ? "if the answer is HTML" : "if the answer is HTML (no Sec-Fetch-Dest says what for)"
        return parts.map { "\($0.point.name) \($0.display)" } + ["\(condition); csp \(policies)"]
    }

    private static func url(_ server: ServerDefinition) -> String {
        if case .unix(let path) = server.address { return "unix:\(path)" }
        return "\(server.scheme)://\(server.authority)\(server.basePath)"
    }

    private static func text(_ redirects: RedirectsDefinition) -> String {
        switch redirects.mode {
        case .pass: return "pass: as they come"
        case .rewrite: return "rewrite: what names the upstream is mapped to this proxy, the client follows"
        case .follow(let scope):
            let whither =
                switch scope {
                case .sameOrigin: "within the upstream's origin"
                case .listed: "to the upstream's origin and the listed hosts"
                case .any: "to any origin; credentials only to their hosts"
                }
            return "follow \(whither), at most \(redirects.maximum) hops, content up to \(redirects.bodyBuffer) bytes is replayed"
        }
    }

    private static func text(_ storage: CacheStorage, _ injects: Bool) -> String {
        switch storage {
        case .allowed: "allowed: passed as it comes"
        case .notAllowed: "not_allowed: no-store"
        case .auto:
            injects
                ? "auto: `private` is added unless the origin allows shared storage (a credential is injected)"
                : "auto: passed as it comes (no credential is injected)"
        }
    }
}
