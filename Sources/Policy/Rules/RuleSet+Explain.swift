internal import HTTP

/// What one rule says to a request, for a person.
public struct RuleExplanation: Sendable, Equatable {
    public let rule: Int
    public let name: String
    /// Every key holds.
    public let matches: Bool
    /// An earlier rule's action ends the chain before this one.
    public let isBehindTheAction: Bool
    /// The first key that does not hold and what it asks for; nil when the rule matches.
    public let refusal: String?
    /// What is worth telling of a match: the line of a URL list.
    public let evidence: String?
}

extension RuleSet {
    /// Looks at every rule in order; those in `fallenThrough` have no file for the request. Not for the request path.
    public func explain(
        _ request: CanonicalRequest, fallenThrough: Set<Int> = []
    ) -> [RuleExplanation] {
        var isBehind = false
        return definitions.indices.map { rule in
            let matches = holds(rule, request)
            let explanation = RuleExplanation(
                rule: rule, name: definitions[rule].name, matches: matches, isBehindTheAction: isBehind,
                refusal: matches ? nil : self.matches[rule].flatMap { $0.refusal(request) },
                evidence: matches ? self.matches[rule].flatMap { $0.evidence(request) } : nil)
            if matches && definitions[rule].action != nil && !fallenThrough.contains(rule) { isBehind = true }
            return explanation
        }
    }
}

extension CompiledMatch {
    /// The first key that does not hold, in words; values of the client's fields are not repeated.
    func refusal(_ request: CanonicalRequest) -> String? {
        guard let key = firstRefusal(request) else { return nil }
        switch key {
        case .host: return "host: \(RuleBytes.text(request.host)) is not \(alternatives(hostTexts))"
        case .path: return "path: \(RuleBytes.text(request.path)) is not \(alternatives(definition.paths ?? []))"
        case .pathRegex:
            return
                "path_regex: \(RuleBytes.text(request.path)) does not match \(alternatives(definition.pathRegex ?? []))"
        case .extension:
            let written = RuleBytes.text(request.target.span(request.pathExtension))
            return
                "extension: \(written.isEmpty ? "there is none" : written), not \(alternatives(definition.extensions ?? []))"
        case .method:
            return "method: \(RuleBytes.text(request.methodName)) is not \(alternatives(definition.methods ?? []))"
        case .scheme:
            return "scheme: \(request.scheme) is not \(alternatives((definition.schemes ?? []).map { "\($0)" }))"
        case .clientIP: return "client_ip: \(clientText(request)) is in none of the ranges"
        case .header(let index): return "header: \(headers[index].display) is not \(headers[index].wish)"
        case .query(let index): return "query: \(query[index].display) is not \(query[index].wish)"
        case .cookie(let index): return "cookie: \(cookies[index].display) is not \(cookies[index].wish)"
        case .urlList(let index): return "url_list: \(definition.urlLists[index].path) does not list the URL"
        case .not: return "not: what is excluded holds"
        }
    }

    /// Which line of which list holds the URL.
    func evidence(_ request: CanonicalRequest) -> String? {
        for (definition, list) in zip(definition.urlLists, lists) {
            if let line = urlLists.line(list, listing: request) { return "url_list: \(definition.path), line \(line)" }
        }
        return nil
    }

    private func clientText(_ request: CanonicalRequest) -> String {
        request.clientAddress == nil ? "a client without address" : RuleBytes.text(request.clientAddressText.span)
    }

    private var hostTexts: [String] {
        (definition.hosts ?? []).map { pattern in
            switch pattern {
            case .exact(let name): name
            case .subdomains(let name): "*.\(name)"
            case .any: "*"
            }
        }
    }

    private func alternatives(_ texts: [String]) -> String {
        let shown = texts.prefix(5).joined(separator: " or ")
        return texts.count > 5 ? "\(shown) or \(texts.count - 5) more" : shown
    }
}
