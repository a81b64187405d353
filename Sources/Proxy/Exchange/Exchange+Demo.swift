internal import HTTP
internal import Policy

// MARK: 3 Inject, for the demo origin: the head is made as for any upstream, and then shown instead of sent

extension Exchange {
    /// Makes the head that an upstream would be sent, so that what can go wrong with it does, and forgets it: it holds secrets.
    func injectForDemo() throws(Rejection) {
        guard let plan else { throw .internalError }
        setDemoDestination()
        let parameters = RequestWriter.Parameters(
            framing: sentFraming, upgrade: nil, expectsContinue: false, isFirstSend: redirects.hops == 0, paths: demoPaths,
            preservesHost: redirects.hops > 0 || proxyDefinition?.preserveHost != .no)
        let out = ByteBuffer(capacity: 16 * 1024)
        defer { out.wipe() }
        try RequestWriter.write(
            current, plan: plan, context: context, instance: worker.instance.span,
            hops: redirects.hops > 0 ? redirects.chain.cookies : nil, parameters, to: out)
    }

    /// The name by which a credential's `hosts` and the configuration know the demo origin.
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

    /// What an upstream would have been sent, with where each part comes from and secrets as their sources. Made from what the
    /// rules say, never from a head that holds a secret. Precondition: `injectForDemo` has passed.
    func demoRequestView() -> DemoRequestView {
        guard let plan else { return DemoRequestView(method: [], target: []) }
        var view = DemoRequestView(method: Array(copying: current.methodName), target: demoTarget(plan))
        view.base = demoBase
        let description = plan.request.describe(current, context)
        let fields = description.lines.map { line in
            DemoField(name: line.name, value: line.value, origin: DemoField.Origin(provenance: line.provenance))
        }
        addHost(fields, to: &view)
        addClientLines(fields, plan, to: &view)
        addOwnLines(to: &view)
        view.fields += fields.filter { $0.origin.isInjected && !$0.isRenamed && $0.id != .host }
        addFraming(to: &view)
        view.removed += description.removed.compactMap { removal in
            Self.reason(removal).map { DemoRemoval(name: removal.name, reason: $0) }
        }
        view.withheld = description.withheld.map { DemoRemoval(name: $0.name, reason: $0.reason) }
        return view
    }

    // MARK: Request line

    private func demoTarget(_ plan: ChainPlan) -> [UInt8] {
        let out = ByteBuffer()
        if let path = proxyDefinition?.path {
            if path.isSecret || (try? plan.path?.write(context, into: out)) == nil {
                out.clear()
                out.append(text: path.display)
            }
        } else if let paths = demoPaths {
            paths.appendUpstreamPath(current.path, to: out)
        } else {
            out.append(current.path)
        }
        let hasQuery = current.target.count > current.pathLength
        let mark = out.count
        if hasQuery || !plan.query.isEmpty { out.append(UInt8(ascii: "?")) }
        if plan.query.isEmpty { out.append(current.query) } else { appendQuery(plan, to: out) }
        if !plan.query.isEmpty && out.count == mark + 1 { out.truncate(to: mark) }
        return Array(copying: out.span)
    }

    /// The edited query; one that is given a secret is shown as the client's, with the parameters that are set behind it.
    private func appendQuery(_ plan: ChainPlan, to out: ByteBuffer) {
        let edits = plan.rules.map { snapshot.configuration.rules[$0].query }
        let sets = edits.flatMap(\.set)
        guard sets.contains(where: \.value.isSecret) else {
            let mark = out.count
            if (try? plan.query.apply(query: current.query, context, into: out)) == nil { out.truncate(to: mark) }
            return
        }
        let named = Set(edits.flatMap(\.remove) + sets.map(\.name))
        let query = String(decoding: Array(copying: current.query), as: UTF8.self)
        let kept = query.split(separator: "&").filter { piece in
            !named.contains(String(piece.prefix { $0 != "=" }))
        }
        let shown = kept.map(String.init) + sets.map { "\($0.name)=\($0.value.display)" }
        out.append(text: shown.joined(separator: "&"))
    }

    /// What stands before the demo origin's paths as the client sees them.
    private var demoBase: [UInt8] {
        guard let paths = demoPaths else { return [] }
        let out = ByteBuffer()
        guard paths.appendClientPath(Array("/headers".utf8).span, to: out) else { return [] }
        return Array(copying: out.span.extracting(0..<max(0, out.count - 8)))
    }

    // MARK: Fields

    private func addHost(_ fields: [DemoField], to view: inout DemoRequestView) {
        if let host = fields.first(where: { $0.id == .host && $0.origin.isInjected }) { return view.fields.append(host) }
        let sent = Array(copying: context.sentHost.span)
        let isClients = sent == Array(copying: current.authority.span)
        view.fields.append(DemoField(name: Array("Host".utf8), value: sent, origin: isClients ? .client : .authproxy))
    }

    private func addClientLines(_ fields: [DemoField], _ plan: ChainPlan, to view: inout DemoRequestView) {
        let editsCookies = !plan.cookies.isEmpty || redirects.hops > 0 && !redirects.chain.cookies.isEmpty
        for field in fields where field.origin == .client || field.isRenamed {
            switch field.id {
            case .xRequestID: view.removed.append(DemoRemoval(name: field.name, reason: "the proxy gives each request its own"))
            case .cookie where editsCookies: continue
            case .authorization where current.leavesCredentialsBehind, .cookie where current.leavesCredentialsBehind,
                .proxyAuthorization where current.leavesCredentialsBehind:
                view.removed.append(DemoRemoval(name: field.name, reason: "not for another origin"))
            default: view.fields.append(field)
            }
        }
        if editsCookies { addCookies(plan, to: &view) }
    }

    private func addCookies(_ plan: ChainPlan, to view: inout DemoRequestView) {
        let out = ByteBuffer()
        let kept = Cookies.append(
            of: current, client: request, hops: redirects.hops > 0 ? redirects.chain.cookies : nil, edits: plan.cookies, to: out)
        var setter: String?
        var isFirst = kept == 0
        for index in plan.rules {
            let rule = snapshot.configuration.rules[index]
            for cookie in rule.cookies.set {
                out.append(text: "\(isFirst ? "" : "; ")\(cookie.name)=\(cookie.value.display)")
                isFirst = false
                setter = rule.name
            }
        }
        if !out.isEmpty {
            let origin = setter.map { DemoField.Origin.rule(name: $0, verb: "cookies") } ?? .client
            view.fields.append(DemoField(name: Array("Cookie".utf8), value: Array(copying: out.span), origin: origin))
        }
        var pairs = CookiePairs(request)
        while let pair = pairs.next() {
            let name = request.head.bytes.span(pair.name)
            if plan.cookies.admits(name) { continue }
            let shown = String(decoding: Array(copying: name), as: UTF8.self)
            view.removed.append(DemoRemoval(name: "Cookie \(shown)", reason: "the rules' cookies edits"))
        }
    }

    /// The forwarded family, Via, CDN-Loop and the request's id, as they are written.
    private func addOwnLines(to view: inout DemoRequestView) {
        let out = ByteBuffer()
        ForwardedWriter.append(request, client: context.client, instance: worker.instance.span, to: out)
        out.append("X-Request-Id: ")
        out.append(context.requestID.span)
        out.append("\r\n")
        let lines = Array(copying: out.span).split(separator: UInt8(ascii: "\n")).map { $0.dropLast() }
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            view.fields.append(
                DemoField(name: Array(line[..<colon]), value: Array(line[(colon + 1)...].dropFirst()), origin: .authproxy))
        }
    }

    private func addFraming(to view: inout DemoRequestView) {
        switch sentFraming {
        case .none, .untilClose: break
        case .length(let length): view.fields.append(DemoField(name: "Content-Length", value: "\(length)", origin: .client))
        case .chunked: view.fields.append(DemoField(name: "Transfer-Encoding", value: "chunked", origin: .client))
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
    /// The client's, under another name.
    var isRenamed: Bool {
        if case .rule(_, "rename") = origin { return true }
        return false
    }

    var id: FieldID { HTTP1.fieldID(name.span) }
}

extension DemoField.Origin {
    /// From the words of a ``PlanDescription``: `client`, `client, rule NAME rename`, `rule NAME VERB`, `credential NAME`.
    init(provenance: String) {
        let words = provenance.hasPrefix("client, ") ? provenance.dropFirst(8) : provenance[...]
        if words.hasPrefix("credential ") {
            self = .credential(name: String(words.dropFirst(11)))
        } else if words.hasPrefix("rule "), let space = words.dropFirst(5).lastIndex(of: " ") {
            let name = words[..<space].dropFirst(5)
            self = .rule(name: String(name), verb: String(words[words.index(after: space)...]))
        } else {
            self = .client
        }
    }
}
