internal import HTTP
internal import Policy

// MARK: 3 Inject, for the demo origin: the head is made as for any upstream, and then shown instead of sent

extension Exchange {
    /// Makes the head that an upstream would be sent, so that what can go wrong with it does, and forgets it: it holds secrets.
    func injectForDemo() throws(Rejection) {
        guard let plan else { throw .internalError }
        setDemoDestination()
        let out = ByteBuffer(capacity: 16 * 1024)
        defer { out.wipe() }
        try RequestWriter.write(
            current, plan: plan, context: context, instance: worker.instance.span,
            hops: redirects.hops > 0 ? redirects.chain.cookies : nil, demoParameters, to: out)
    }

    /// The name by which the configuration, and so a credential's `hosts`, knows the demo origin.
    private func setDemoDestination() {
        context.upstreamAuthority.clear()
        context.upstreamAuthority.append("demo")
        context.destinationHost.clear()
        context.destinationHost.append("demo")
        context.destinationPort = 80
        context.destinationScheme = .http
        context.isUpstreamOrigin = !redirects.isAway
        context.withheld = 0
    }

    private var demoParameters: RequestWriter.Parameters {
        RequestWriter.Parameters(
            framing: sentFraming, upgrade: nil, expectsContinue: false, isFirstSend: redirects.hops == 0, paths: demoPaths,
            preservesHost: redirects.hops > 0 || proxyDefinition?.preserveHost != .no)
    }

    /// How the rule changes the path; nil for not at all.
    var demoPaths: PathMapping? {
        guard redirects.hops == 0, let proxy = proxyDefinition, proxy.stripPrefix != nil || proxy.addPrefix != nil else { return nil }
        return PathMapping(stripPrefix: proxy.stripPrefix, addPrefix: proxy.addPrefix)
    }

    /// By the client's path, else by the one that is sent.
    var demoRoute: DemoRoute {
        let route = DemoRoute(path: current.path)
        guard route == .page, let paths = demoPaths else { return route }
        let out = ByteBuffer()
        paths.appendUpstreamPath(current.path, to: out)
        return DemoRoute(path: out.span)
    }

    /// What stands before the demo origin's paths as the client sees them.
    private var demoBase: [UInt8] {
        guard let paths = demoPaths else { return [] }
        let out = ByteBuffer()
        guard paths.appendClientPath(Array("/headers".utf8).span, to: out) else { return [] }
        return Array(copying: out.span.extracting(0..<max(0, out.count - 8)))
    }

    // MARK: What is shown

    /// What an upstream would have been sent, with where each part comes from and secrets as their sources. Made from the rules'
    /// words, never from the head that held the secrets. Precondition: `injectForDemo` has passed.
    func demoRequestView() -> DemoRequestView {
        guard let plan,
            let description = try? RequestWriter.describe(
                current, plan: plan, context: context, instance: worker.instance.span, demoParameters)
        else { return DemoRequestView(method: [], target: []) }
        var view = DemoRequestView(method: Array(description.method.utf8), target: Array(description.target.utf8))
        view.base = demoBase
        for line in description.lines {
            var field = DemoField(name: line.name, value: line.value, origin: DemoField.Origin(provenance: line.provenance))
            if field.id == .cookie, let rule = cookieSetter(plan) { field.origin = .rule(name: rule, verb: "cookies") }
            if let reason = reasonForStaying(field) {
                view.removed.append(DemoRemoval(name: field.name, reason: reason))
            } else {
                view.fields.append(field)
            }
        }
        if !plan.cookies.isEmpty { addRemovedCookies(plan, to: &view) }
        view.removed += description.removed.compactMap { removal in
            Self.reason(removal).map { DemoRemoval(name: removal.name, reason: $0) }
        }
        view.withheld = description.withheld.map { DemoRemoval(name: $0.name, reason: $0.reason) }
        return view
    }

    /// Why a line of the client's that the rules let pass does not go on.
    private func reasonForStaying(_ field: DemoField) -> String? {
        guard field.origin == .client else { return nil }
        switch field.id {
        case .xRequestID: return "the proxy gives each request its own"
        case .authorization, .cookie, .proxyAuthorization: return current.leavesCredentialsBehind ? "not for another origin" : nil
        default: return nil
        }
    }

    /// The last rule that sets a cookie.
    private func cookieSetter(_ plan: ChainPlan) -> String? {
        plan.rules.map { snapshot.configuration.rules[$0] }.last { !$0.cookies.set.isEmpty }?.name
    }

    private func addRemovedCookies(_ plan: ChainPlan, to view: inout DemoRequestView) {
        var pairs = CookiePairs(request)
        while let pair = pairs.next() {
            let name = request.head.bytes.span(pair.name)
            if plan.cookies.admits(name) { continue }
            let shown = String(decoding: Array(copying: name), as: UTF8.self)
            view.removed.append(DemoRemoval(name: "Cookie \(shown)", reason: "the rules' cookies edits"))
        }
    }

    /// Why a line of the client's did not go on; nil for one that did, in the proxy's own words.
    private static func reason(_ removal: PlanDescription.Omission) -> String? {
        let name = Array(removal.name.utf8)
        switch HTTP1.fieldID(name.span) {
        case .contentLength, .transferEncoding, .via, .cdnLoop: return nil
        case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xForwardedPort, .xForwardedOther, .xRealIP:
            return "the proxy says itself where a request comes from"
        default: break
        }
        guard removal.reason.hasPrefix("ends at the proxy") else { return removal.reason }
        let isStrict = name.allSatisfy { $0 == 0x2d || (0x30...0x39).contains($0) || (0x41...0x5a).contains($0 & 0xdf) }
        return isStrict ? "hop-by-hop: it ends at the proxy" : "not a strict name: letters, digits and hyphens"
    }
}

extension DemoField {
    fileprivate var id: FieldID { HTTP1.fieldID(name.span) }
}

extension DemoField.Origin {
    /// From the words of a description: `client`, `client, rule NAME rename`, `rule NAME VERB`, `credential NAME`, `authproxy`.
    init(provenance: String) {
        let words = provenance.hasPrefix("client, ") ? provenance.dropFirst(8) : provenance[...]
        if words.hasPrefix("credential ") {
            self = .credential(name: String(words.dropFirst(11)))
        } else if words.hasPrefix("rule "), let space = words.dropFirst(5).lastIndex(of: " ") {
            self = .rule(name: String(words[..<space].dropFirst(5)), verb: String(words[words.index(after: space)...]))
        } else {
            self = words == RequestDescription.ownProvenance ? .authproxy : .client
        }
    }
}
