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
            current, plan: plan, context: context, instance: worker.instance.span, forwarded: worker.forwarded,
            hops: redirects.hops > 0 ? redirects.chain.cookies : nil, demoParameters, to: out)
    }

    /// The name by which a credential's `hosts` and the configuration know the demo origin.
    private func setDemoDestination() {
        context.destination = Destination(authority: "demo", host: "demo", port: 80, scheme: .http)
        context.isUpstreamOrigin = !redirects.isAway
        context.withheld = 0
    }

    /// How the rule changes the path; nil for not at all.
    var demoPaths: PathMapping? {
        guard redirects.hops == 0, let proxy = plan?.proxy?.definition, proxy.stripPrefix != nil || proxy.addPrefix != nil else {
            return nil
        }
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

    private var demoParameters: RequestWriter.Parameters {
        RequestWriter.Parameters(
            framing: sentFraming, upgrade: nil, expectsContinue: false, isFirstSend: redirects.hops == 0, paths: demoPaths,
            preservesHost: redirects.hops > 0 || plan?.proxy?.preserveHost != .no, tellsClient: true,
            page: plan?.page.map { PageRequest.sent(current, $0) })
    }

    /// What an upstream would have been sent, with where each part comes from and secrets as their sources.
    /// Precondition: `injectForDemo` has passed.
    func demoRequestView() -> DemoRequestView {
        guard let plan,
            let description = try? RequestWriter.describe(
                current, plan: plan, context: context, instance: worker.instance.span,
                hops: redirects.hops > 0 ? redirects.chain.cookies : nil, demoParameters)
        else { return DemoRequestView(method: [], target: []) }
        var view = DemoRequestView(method: Array(description.method.utf8), target: Array(description.target.utf8))
        view.base = demoBase
        let cookieSetter = plan.rules.map { snapshot.configuration.rules[$0] }.last { !$0.cookies.set.isEmpty }
        view.fields = description.lines.map { line in
            var field = DemoField(name: line.name, value: line.value, origin: DemoField.Origin(provenance: line.provenance))
            if HTTP1.fieldID(field.name.span) == .cookie, let rule = cookieSetter {
                field.origin = .rule(name: rule.name, verb: "cookies")
            }
            return field
        }
        view.removed = description.removed.map { DemoRemoval(name: $0.name, reason: $0.reason) }
        view.withheld = description.withheld.map { DemoRemoval(name: $0.name, reason: $0.reason) }
        return view
    }

    /// What stands before the demo origin's paths as the client sees them.
    private var demoBase: [UInt8] {
        guard let paths = demoPaths else { return [] }
        let out = ByteBuffer()
        guard paths.appendClientPath(Array("/headers".utf8).span, to: out) else { return [] }
        return Array(copying: out.span.extracting(0..<max(0, out.count - 8)))
    }
}

extension DemoField.Origin {
    /// From the words of a ``RequestDescription``: `client`, `client, rule NAME rename`, `rule NAME VERB`, `credential NAME`,
    /// `authproxy`.
    init(provenance: String) {
        let words = provenance.hasPrefix("client, ") ? provenance.dropFirst(8) : provenance[...]
        if provenance == RequestDescription.ownProvenance {
            self = .authproxy
        } else if words.hasPrefix("credential ") {
            self = .credential(name: String(words.dropFirst(11)))
        } else if words.hasPrefix("rule "), let space = words.dropFirst(5).lastIndex(of: " ") {
            let name = words[..<space].dropFirst(5)
            self = .rule(name: String(name), verb: String(words[words.index(after: space)...]))
        } else {
            self = .client
        }
    }
}
