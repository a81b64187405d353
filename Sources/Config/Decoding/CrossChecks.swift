internal import Policy
internal import Proxy

extension ConfigurationDecoder {
    /// The destinations of an upstream's servers, as credentials' `hosts` name them.
    private func destinations(of upstream: UpstreamDefinition) -> [DestinationPattern] {
        if upstream.isDemo { return [DestinationPattern(host: .exact("demo"), port: 80)] }
        return upstream.servers.map {
            switch $0.address {
            case .tcp(let host, let port):
                DestinationPattern(host: .exact(host.contains(":") ? "[\(host)]" : host), port: port)
            case .unix: DestinationPattern(host: .exact("localhost"), port: 80)
            }
        }
    }

    /// The upstreams that requests of a rule may go to: a rule without an action counts for all.
    private func upstreams(of rule: DecodedRule, _ table: UpstreamTable) -> [UpstreamDefinition] {
        guard rule.hasAction, !rule.definition.mayFallThrough else { return table.definitions }
        guard case .proxy(let proxy)? = rule.definition.action, table.definitions.indices.contains(proxy.upstream) else {
            return []
        }
        return [table.definitions[proxy.upstream]]
    }

    /// Gives credentials without `hosts` the servers that they are for, and finds the ones that could never be sent.
    func placeCredentials(_ rules: [DecodedRule], _ upstreams: UpstreamTable, _ credentials: inout CredentialTable) {
        for rule in rules {
            let targets = self.upstreams(of: rule, upstreams)
            for (index, place) in zip(rule.definition.credentials, rule.credentialPlaces) {
                let places = targets.flatMap(destinations)
                guard credentials.entries[index].hasHosts else {
                    for destination in places
                    where !(credentials.entries[index].definition?.hosts.contains(destination) ?? true) {
                        credentials.entries[index].definition?.hosts.append(destination)
                    }
                    continue
                }
                guard let definition = credentials.entries[index].definition, let target = targets.first else { continue }
                let refused = places.filter { place in !definition.hosts.contains { permits($0, place) } }
                // Any server of the rule's upstream will be chosen at times; of a rule without an action it is not known
                // which upstream its requests go to.
                guard !refused.isEmpty, rule.hasAction || refused.count == places.count else { continue }
                let servers = listing(refused.map { "`\(shown($0))`" }, "and")
                fail(
                    place, "`\(quoted(definition.name))` may never be sent to the upstream `\(quoted(target.name))`",
                    hint: "add \(servers) to its `hosts`, or leave `hosts` out")
            }
        }
    }

    private func permits(_ pattern: DestinationPattern, _ destination: DestinationPattern) -> Bool {
        if let port = pattern.port, port != destination.port { return false }
        guard case .exact(let host) = destination.host else { return false }
        switch pattern.host {
        case .any: return true
        case .exact(let exact): return exact == host
        case .subdomains(let parent): return host.hasSuffix("." + parent)
        }
    }

    private func shown(_ destination: DestinationPattern) -> String {
        guard case .exact(let host) = destination.host else { return "" }
        return destination.port.map { "\(host):\($0)" } ?? host
    }

    /// An upstream must be there if any rule sends requests to one.
    func requireUpstream(_ root: Fields, _ rules: [DecodedRule], _ upstreams: UpstreamTable) {
        guard let rule = rules.first(where: \.needsUpstream), !upstreams.isDeclared else { return }
        if suggestedKeys.contains("upstream") || suggestedKeys.contains("upstreams") { return }
        let place = rule.action ?? root.whole
        fail(
            place.node, "", "`upstream` is missing",
            hint: "add `upstream: http://127.0.0.1:3000`, or `upstream: demo` to see what would be sent")
    }

    func warnAboutRules(_ root: Fields, _ rules: [DecodedRule], _ upstreams: UpstreamTable, _ credentials: CredentialTable) {
        if let value = root["rules"], value.node.items != nil, !rules.contains(where: \.hasAction) {
            warn(root.key("rules") ?? value, "no rule has an action, so every request gets 404")
        }
        if let index = rules.firstIndex(where: {
            $0.hasAction && !$0.definition.mayFallThrough && $0.place.node["match"] == nil
        }), index + 1 < rules.count {
            warn(
                rules[index + 1].place,
                "never reached: the rule `\(quoted(rules[index].definition.name))` above takes every request")
        }
        for rule in rules {
            guard let action = rule.action, action.path.split(separator: ".").last != "proxy", rule.hasAction,
                !rule.definition.mayFallThrough
            else { continue }
            let name = action.node.text ?? ""
            if let place = rule.credentialPlaces.first {
                warn(place, "not sent: the rule's action is `\(name)`, which sends nothing to an upstream")
            }
            if let place = rule.requestPlace {
                warn(place, "without effect: the rule's action is `\(name)`, which sends nothing to an upstream")
            }
        }
        warnAboutUnused(rules, upstreams, credentials)
    }

    private func warnAboutUnused(_ rules: [DecodedRule], _ upstreams: UpstreamTable, _ credentials: CredentialTable) {
        var usedUpstreams: Set<Int> = []
        var usedCredentials: Set<Int> = []
        for rule in rules {
            usedCredentials.formUnion(rule.definition.credentials)
            if case .proxy(let proxy)? = rule.definition.action { usedUpstreams.insert(proxy.upstream) }
        }
        for (index, upstream) in upstreams.definitions.enumerated() where !usedUpstreams.contains(index) {
            // The short form may stand in a file whose rules happen to need none.
            guard upstreams.places[index].path != "upstream" else { continue }
            warn(upstreams.places[index], "no rule sends anything to the upstream `\(quoted(upstream.name))`")
        }
        for (index, entry) in credentials.entries.enumerated() where !usedCredentials.contains(index) {
            warn(entry.place, "no rule uses the credential `\(quoted(entry.name))`")
        }
    }
}
