internal import HTML
internal import Policy

extension ConfigurationDecoder {
    /// `html:`
    func html(_ value: Value) -> HTMLDefinition? {
        guard let fields = fields(value) else { return nil }
        var html = HTMLDefinition()
        html.mode = fields.word("csp") == "leave" ? .leave : .nonce
        html.insertions = fields.list("inject").compactMap(insertion)
        if let inject = fields["inject"], let items = inject.node.items, items.isEmpty {
            warn(inject, "an empty list inserts nothing")
        }
        return html
    }

    private func insertion(_ value: Value) -> InsertionDefinition? {
        guard let fields = fields(value) else { return nil }
        let kinds = ["css", "js", "css_url", "js_url", "html"]
        let given = fields.keys.filter { kinds.contains($0.name) }
        if given.isEmpty {
            fail(value, "nothing to insert", hint: "give one of \(listing(kinds.map { "`\($0)`" }))")
        }
        for more in given.dropFirst() {
            fail(more.key, joined(fields.path, more.name), "`\(given[0].name)` is given too", hint: "write an entry for each")
        }
        let point = fields.word("at").flatMap { name in InsertionPoint.allCases.first { $0.name == name } }
        guard let kind = given.first?.name, let source = fields[kind], let content = content(kind, source), let point else {
            return nil
        }
        let written = source.node.text ?? ""
        let shown = written.count > 60 ? "\(written.prefix(60))…" : written
        return InsertionDefinition(
            point: point, content: content, display: "\(kind) \(shown.split(separator: "\n").joined(separator: " "))")
    }

    private func content(_ kind: String, _ value: Value) -> InsertionDefinition.Content? {
        switch kind {
        case "html":
            guard let text = shownText(value) else { return nil }
            return .html(Array(text.utf8))
        case "css_url", "js_url":
            guard let text = shownText(value) else { return nil }
            guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f }) else {
                fail(value, "a URL has no white space", hint: "such as `/assets/brand.css`, served by this proxy or by the site")
                return nil
            }
            return kind == "css_url" ? .cssURL(text) : .javascriptURL(text)
        default:
            guard let path = text(value).map(absolute), let bytes = contents(of: path, for: value) else { return nil }
            guard String(validating: bytes, as: UTF8.self) != nil else {
                fail(
                    value, "`\(quoted(value.node.text ?? ""))` is not UTF-8", hint: "save it as UTF-8; pages of any charset get it")
                return nil
            }
            return kind == "css" ? .css(bytes) : .javascript(bytes)
        }
    }

    /// A text that clients see.
    private func shownText(_ value: Value) -> String? {
        guard value.node.text != nil else {
            expected(value)
            return nil
        }
        return resolvedText(value, in: .response)
    }
}
