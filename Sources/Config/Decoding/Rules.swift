internal import Policy
internal import Proxy

/// A rule as decoded, with what the checks across rules need to know.
struct DecodedRule {
    var definition: RuleDefinition
    var place: Value
    /// The key of the action, to put messages at.
    var action: Value?
    /// An action is there, be it faulty: the rule does not hand on.
    var hasAction = false
    var needsUpstream = false
    /// Where `credential` names each of the definition's credentials.
    var credentialPlaces: [Value] = []
    /// `request` as written, nil when it comes from flags only.
    var requestPlace: Value?
}

extension ConfigurationDecoder {
    static let actions = ["proxy", "block", "serve", "respond", "redirect"]

    func rules(_ root: Fields, _ upstreams: UpstreamTable, _ credentials: CredentialTable) -> [DecodedRule] {
        guard root.has("rules") else {
            var rule = rule(root, name: "default", place: root.whole, upstreams, credentials)
            if !rule.hasAction {
                rule.needsUpstream = true
                var proxy = ProxyDefinition()
                proxy.upstream = defaultUpstream(upstreams, at: nil) ?? 0
                rule.definition.action = .proxy(proxy)
                rule.hasAction = true
            }
            return [rule] + restRule(behind: rule, root, upstreams)
        }
        let ruleKeys = ConfigurationSchema.ruleKeys.map(\.name)
        for entry in root.keys where ruleKeys.contains(entry.name) && entry.key.location.line > 0 {
            fail(
                entry.key, entry.name, "`\(entry.name)` can not stand at the top of a file with `rules`",
                hint: "move it into a rule; a rule without an action edits and hands on to the next")
        }
        var rules: [DecodedRule] = []
        var names: [String: Int] = [:]
        for (index, item) in root.list("rules").enumerated() {
            guard let fields = fields(item, .rule) else { continue }
            var name = "rule-\(index + 1)"
            if let given = fields["name"], let text = self.name(given) {
                name = text
                if let line = names[text] {
                    fail(given, "the name `\(quoted(text))` is taken by the rule on line \(line)", hint: "names are unique")
                }
                names[text] = given.node.location.line
            }
            var rule = rule(fields, name: name, place: item, upstreams, credentials)
            rule.definition.match = fields["match"].flatMap { match($0) }
            rules.append(rule)
        }
        return rules
    }

    /// A file without `rules` whose one rule falls through: what is no file goes to the upstream, where there is one.
    private func restRule(behind rule: DecodedRule, _ root: Fields, _ upstreams: UpstreamTable) -> [DecodedRule] {
        guard rule.definition.mayFallThrough, upstreams.isDeclared else { return [] }
        var rest = DecodedRule(
            definition: RuleDefinition(name: "upstream", location: rule.place.node.location), place: rule.place)
        var proxy = ProxyDefinition()
        proxy.upstream = defaultUpstream(upstreams, at: nil) ?? 0
        rest.definition.action = .proxy(proxy)
        rest.hasAction = true
        rest.needsUpstream = true
        return [rest]
    }

    private func rule(
        _ fields: Fields, name: String, place: Value, _ upstreams: UpstreamTable, _ credentials: CredentialTable
    ) -> DecodedRule {
        var rule = DecodedRule(definition: RuleDefinition(name: name, location: place.node.location), place: place)
        if let request = fields["request"], let edits = self.fields(request) {
            rule.definition.request = self.edits(edits, isRequest: true)
            rule.definition.query = queryEdits(edits.fields("query"))
            rule.definition.cookies = cookieEdits(edits.fields("cookies"))
            if let key = fields.key("request"), key.node.location.line > 0 { rule.requestPlace = key }
        }
        for item in fields.list("credential") {
            guard let text = text(item) else { continue }
            guard let index = credentials.index(of: text) else {
                reference(item, to: text, among: credentials.names, of: "credentials")
                continue
            }
            if rule.definition.credentials.contains(index) {
                fail(item, "`\(quoted(text))` is named twice")
                continue
            }
            rule.definition.credentials.append(index)
            rule.credentialPlaces.append(item)
        }
        checkFields(of: rule, credentials)
        if fields.word("on_missing") == "pass" { rule.definition.onMissing = .pass }
        if let response = fields.fields("response") { rule.definition.response = edits(response, isRequest: false) }
        switch fields.word("cache_storage") {
        case "allowed": rule.definition.cacheStorage = .allowed
        case "not_allowed": rule.definition.cacheStorage = .notAllowed
        default: rule.definition.cacheStorage = .auto
        }
        rule.definition.html = fields["html"].flatMap(html)
        action(fields, upstreams, into: &rule)
        return rule
    }

    /// Two credentials of a rule that write the same field would undo each other.
    private func checkFields(of rule: DecodedRule, _ credentials: CredentialTable) {
        var writers: [[UInt8]: String] = [:]
        for (index, place) in zip(rule.definition.credentials, rule.credentialPlaces) {
            guard let credential = credentials.entries[index].definition else { continue }
            if let first = writers.updateValue(credential.name, forKey: foldedName(credential.fieldName)) {
                fail(
                    place, "`\(first)` and `\(credential.name)` both write `\(credential.fieldName)`",
                    hint: "keep one of the two")
            }
        }
    }

    private func action(_ fields: Fields, _ upstreams: UpstreamTable, into rule: inout DecodedRule) {
        let given = fields.keys.filter { Self.actions.contains($0.name) }
        rule.hasAction = !given.isEmpty
        for more in given.dropFirst() {
            fail(
                more.key, joined(fields.path, more.name),
                "a rule has one action, and `\(given[0].name)` is given on line \(given[0].key.location.line)",
                hint: "write a rule for each")
        }
        rule.action = given.first.flatMap { fields.key($0.name) }
        if let value = fields["proxy"] {
            rule.needsUpstream = true
            rule.definition.action = proxy(value, upstreams).map { .proxy($0) }
        }
        if let value = fields["block"], let block = block(value) { rule.definition.action = .block(block) }
        if let value = fields["serve"], let serve = serve(value) { rule.definition.action = .serve(serve) }
        if let value = fields["respond"], let respond = respond(value) { rule.definition.action = .respond(respond) }
        if let value = fields["redirect"], let redirect = redirect(value) { rule.definition.action = .redirect(redirect) }
    }

    /// The upstream that need not be named; nil with a message if it must be.
    func defaultUpstream(_ upstreams: UpstreamTable, at value: Value?) -> Int? {
        if let index = upstreams.index(of: "default") { return index }
        if upstreams.definitions.count == 1 { return 0 }
        if upstreams.definitions.isEmpty { return nil }
        let names = listing(upstreams.names.map { "`\($0)`" })
        if let value {
            fail(value, "which upstream? there are several and none is called `default`", hint: "`upstream` is \(names)")
        } else if let place = upstreams.places.first {
            fail(
                place.node, "upstreams", "which upstream? there are several and none is called `default`",
                hint: "add `proxy: {upstream: ...}` with \(names), or `rules`")
        }
        return nil
    }

    func reference(_ value: Value, to name: String, among names: [String], of section: String) {
        let shown = isReference(value) ? value.node.text ?? "" : name
        var hint: String
        if let near = Suggestions.nearest(to: name, in: names), !isReference(value) {
            hint = "did you mean `\(near)`?"
        } else if names.isEmpty {
            hint = "there are no `\(section)` in this file"
        } else {
            hint = "there is \(listing(names.prefix(8).map { "`\(quoted($0))`" }, "and"))"
        }
        fail(value, "`\(quoted(shown))` is not in `\(section)`", hint: hint)
    }
}
