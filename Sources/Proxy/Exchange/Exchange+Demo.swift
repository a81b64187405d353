internal import HTTP
internal import Policy

extension Exchange {
    /// What an upstream would be sent now, with where each part comes from and secrets as their sources.
    func demoRequestView() -> DemoRequestView {
        guard let plan, let proxy = proxyDefinition else { return DemoRequestView(method: [], target: []) }
        context.upstreamAuthority.clear()
        context.upstreamAuthority.append("demo")
        context.destinationHost.clear()
        context.destinationHost.append("demo")
        context.destinationPort = 80
        context.isUpstreamOrigin = true
        let parameters = RequestWriter.Parameters(
            framing: sentFraming, upgrade: nil, expectsContinue: false, isFirstSend: true,
            paths: PathMapping(stripPrefix: proxy.stripPrefix, addPrefix: proxy.addPrefix),
            preservesHost: proxy.preserveHost != .no)
        guard
            let description = try? RequestWriter.describe(
                current, plan: plan, context: context, instance: worker.instance.span, parameters)
        else { return DemoRequestView(method: Array("?".utf8), target: Array("a rule's value is not a legal field".utf8)) }
        var view = DemoRequestView(method: Array(description.method.utf8), target: Array(description.target.utf8))
        view.fields = description.lines.map {
            DemoField(name: $0.name, value: $0.value, origin: DemoField.Origin(provenance: $0.provenance))
        }
        view.removed = description.removed.map { DemoRemoval(name: $0.name, reason: $0.reason) }
        return view
    }
}

extension DemoField.Origin {
    /// From the words of a description: `client`, `rule NAME set`, `credential NAME`, `authproxy`.
    init(provenance: String) {
        if let name = provenance.afterPrefix("credential ") {
            self = .credential(name: name)
        } else if let words = provenance.afterPrefix("rule "), let space = words.lastIndex(of: " ") {
            self = .rule(name: String(words[..<space]), verb: String(words[words.index(after: space)...]))
        } else if provenance.hasPrefix("client") {
            self = .client
        } else {
            self = .authproxy
        }
    }
}

extension String {
    fileprivate func afterPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
