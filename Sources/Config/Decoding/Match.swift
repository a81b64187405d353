internal import Policy
internal import Transport

extension ConfigurationDecoder {
    func match(_ value: Value) -> MatchDefinition? {
        guard let fields = fields(value, .match) else { return nil }
        if let entries = value.node.entries, entries.isEmpty {
            fail(value, "`match` is empty", hint: "leave it out to match every request")
        }
        var match = MatchDefinition()
        match.hosts = patterns(fields, "host") { destination($0, takesPort: false)?.host }
        match.paths = patterns(fields, "path") { glob($0) }
        match.pathRegex = patterns(fields, "path_regex") { pathRegex($0) }
        match.extensions = patterns(fields, "extension") { fileExtension($0) }
        match.methods = patterns(fields, "method") { method($0) }
        match.schemes = patterns(fields, "scheme") { word($0).map { $0 == "https" ? .https : .http } }
        match.headers = fieldMatches(fields, "header")
        match.query = fieldMatches(fields, "query")
        match.cookies = fieldMatches(fields, "cookie")
        match.clientIP = patterns(fields, "client_ip") { range($0) }
        match.urlLists = patterns(fields, "url_list") { urlList($0) } ?? []
        match.not = patterns(fields, "not") { self.match($0) } ?? []
        return match
    }

    /// The entries of a list that holds when one of them does; an empty one would never hold.
    private func patterns<T>(_ fields: Fields, _ key: String, _ decode: (Value) -> T?) -> [T]? {
        guard let value = fields[key], let items = list(value) else { return nil }
        if items.isEmpty { fail(value, "an empty list matches nothing", hint: "leave `\(key)` out to match everything") }
        return items.compactMap(decode)
    }

    /// An anchored glob on the canonical path.
    private func glob(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        guard text.hasPrefix("/") else {
            expected(
                value, hint: text.hasPrefix("**") || text.hasPrefix("*") ? "write `/\(quoted(text))`" : "it begins with `/`")
            return nil
        }
        if text.contains("***") {
            fail(value, "`***` has no meaning", hint: "`*` is within a segment, `**` across segments")
            return nil
        }
        if text.contains("?") || text.contains("#") {
            warn(value, "a path has no `?` and `#`, so this never matches", hint: "the query is `match.query`")
        } else {
            guard let canonical = CanonicalGlob.canonical(text, mergesSlashes: mergesSlashes) else {
                fail(value, "no canonical path is like this: \(pathProblem(text) ?? "clients are refused such paths")")
                return nil
            }
            return canonical
        }
        return text
    }

    private func pathRegex(_ value: Value) -> String? {
        guard let pattern = regex(value) else { return nil }
        if pattern.hasPrefix("^") {
            warn(value, "the whole path must match: the leading `^` says nothing")
        }
        let isOpen = [".*", ".+", "$", "\\z"].contains { pattern.contains($0) }
        if !isOpen {
            warn(
                value, "the whole path must match: without `.*` at its end this matches no longer path",
                hint: "end it in `.*`, or in `$` if that is what you mean")
        }
        return pattern
    }

    private func regex(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        do {
            _ = try BytePattern(text)
            return text
        } catch {
            fail(
                value, "not a regular expression: \(quoted(error.message))",
                hint: "the syntax is RE2's, without back-references")
            return nil
        }
    }

    private func fileExtension(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        guard !text.isEmpty, !text.contains("."), !text.contains("/"), !text.contains("*") else {
            let bare = text.hasPrefix(".") ? text.split(separator: ".").last.map(String.init) : nil
            expected(value, hint: bare.map { "write `\(quoted($0))`" })
            return nil
        }
        return text.lowercased()
    }

    private func method(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        guard isToken(text) else {
            expected(value)
            return nil
        }
        let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
        if !known.contains(text), known.contains(text.uppercased()) {
            fail(value, "methods are case-sensitive", hint: "write `\(text.uppercased())`")
            return nil
        }
        if text == "CONNECT" || text == "TRACE" { warn(value, "`\(text)` is always refused, so this never matches") }
        return text
    }

    private func fieldMatches(_ fields: Fields, _ key: String) -> [(name: String, value: ValueMatch)] {
        let entries = fields.entries(key)
        if let value = fields[key], entries.isEmpty, value.node.entries != nil { fail(value, "`\(key)` is empty") }
        return entries.compactMap { name, value in
            let text = key == "query" ? text(name) : token(name)
            guard let match = fieldMatch(value), let text else { return nil }
            return (name: text, value: match)
        }
    }

    private func fieldMatch(_ value: Value) -> ValueMatch? {
        if value.node.isPlain, let text = value.node.text, text == "true" || text == "false" {
            return text == "true" ? .present : .absent
        }
        guard value.node.entries != nil else { return text(value).map { .exact($0) } }
        guard let fields = fields(value, .fieldMatch) else { return nil }
        if fields.keys.count != 1, fields.keys.count == value.node.entries?.count {
            fail(value, "one of `glob` and `regex` is expected")
            return nil
        }
        if let glob = fields["glob"] { return text(glob).map { .glob($0) } }
        return fields["regex"].flatMap(regex).map { .regex($0) }
    }

    private func urlList(_ value: Value) -> URLListDefinition? {
        var file = value
        var format = URLListDefinition.Format.url
        if value.node.entries != nil {
            guard let fields = fields(value, .urlList) else { return nil }
            switch fields.word("format") {
            case "hosts": format = .hosts
            case "adblock": format = .adblock
            default: format = .url
            }
            guard let given = fields["file"] else { return nil }
            file = given
        }
        guard let path = text(file).map(absolute), contents(of: path, for: file, limit: FileContent.listLimit) != nil else {
            return nil
        }
        return URLListDefinition(path: path, format: format)
    }
}
