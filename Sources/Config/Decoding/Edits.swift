internal import Policy

extension ConfigurationDecoder {
    func edits(_ fields: Fields, isRequest: Bool) -> EditsDefinition {
        var edits = EditsDefinition()
        edits.remove = fields.list("remove").compactMap { headerPattern($0, isRequest: isRequest) }
        let renames = fields.entries("rename")
        checkUnique(renames.compactMap { entry in entry.name.node.text.map { ($0, entry.name) } })
        for (name, value) in renames {
            let from = headerName(name, for: .rename, isRequest: isRequest)
            guard let to = headerName(value, for: .rename, isRequest: isRequest), let from else { continue }
            if foldedName(from) == foldedName(to), from.lowercased() != to.lowercased() {
                warn(value, "`\(from)` and `\(to)` count as one name")
            }
            edits.rename.append((from: from, to: to))
        }
        edits.set = values(fields, "set", .set, isRequest: isRequest)
        edits.append = values(fields, "append", .append, isRequest: isRequest)
        edits.defaults = values(fields, "default", .setDefault, isRequest: isRequest)
        return edits
    }

    private func values(
        _ fields: Fields, _ key: String, _ use: HeaderUse, isRequest: Bool
    ) -> [(name: String, value: ValueTemplate)] {
        headers(fields, key, use, isRequest: isRequest) { name in
            guard isRequest else { return .response }
            return Self.isSensitive(name) ? .sensitiveRequest : .request
        }
    }

    /// A mapping from header names to values.
    func headers(
        _ fields: Fields, _ key: String, _ use: HeaderUse, isRequest: Bool, _ rules: (String) -> TemplateRules
    ) -> [(name: String, value: ValueTemplate)] {
        var result: [(name: String, value: ValueTemplate)] = []
        var names: [(name: String, value: Value)] = []
        for (name, value) in fields.entries(key) {
            let text = headerName(name, for: use, isRequest: isRequest)
            // A value is checked even if its name is faulty, to find all errors in one go.
            let template = template(value, rules(text ?? name.node.text ?? ""))
            guard let text else { continue }
            names.append((text, name))
            if let template { result.append((name: text, value: template)) }
        }
        checkUnique(names)
        return result
    }

    /// The headers whose values are secrets wherever they come from.
    static func isSensitive(_ name: String) -> Bool {
        switch name.lowercased() {
        case "authorization", "cookie", "proxy-authorization": true
        default: false
        }
    }

    func queryEdits(_ fields: Fields?) -> QueryEditsDefinition {
        var edits = QueryEditsDefinition()
        guard let fields else { return edits }
        edits.remove = fields.list("remove").compactMap { parameterName($0) }
        for (name, value) in fields.entries("set") {
            guard let text = parameterName(name), let template = template(value, .request) else { continue }
            edits.set.append((name: text, value: template))
        }
        return edits
    }

    private func parameterName(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        guard !text.isEmpty else {
            expected(value, "a parameter's name")
            return nil
        }
        return text
    }

    func cookieEdits(_ fields: Fields?) -> CookieEditsDefinition {
        var edits = CookieEditsDefinition()
        guard let fields else { return edits }
        if let keep = fields["keep"] {
            if let remove = fields.key("remove") { fail(remove, "`keep` is given too", hint: "keep one of the two") }
            edits.keep = (list(keep) ?? []).compactMap { token($0) }
        }
        edits.remove = fields.list("remove").compactMap { token($0) }
        for (name, value) in fields.entries("set") {
            let text = token(name)
            guard let template = template(value, .request), let text else { continue }
            // RFC 6265 section 4.1.1: what would end the pair.
            if let resolved = resolvedBytes(value, in: .secret),
                resolved.contains(where: { $0 == 0x3b || $0 == 0x22 || $0 == 0x2c })
            {
                fail(value, "a cookie's value has no `;`, `,` and `\"`", hint: "encode it")
                continue
            }
            edits.set.append((name: text, value: template))
        }
        return edits
    }
}
