internal import Policy

extension ConfigurationDecoder {
    func serve(_ value: Value) -> ServeDefinition? {
        guard let fields = fields(value), let source = source(fields, value) else { return nil }
        var serve = ServeDefinition(source: source)
        serve.stripPrefix = fields["strip_prefix"].flatMap(prefix)
        serve.isFlat = fields.boolean("flat") ?? false
        if serve.isFlat, let key = fields.key("strip_prefix") {
            fail(key, "`flat` is given too, which looks at the last segment only", hint: "keep one of the two")
        }
        serve.ignoresCase = fields.boolean("ignore_case") ?? false
        if fields.has("index") { serve.index = fields.list("index").compactMap(indexName) }
        serve.spaFallback = fields.boolean("spa_fallback") ?? false
        if serve.spaFallback, serve.index.isEmpty, let key = fields.key("spa_fallback") {
            fail(key, "without an `index` there is nothing to fall back to")
        }
        serve.fallsThrough = fields.boolean("fallthrough") ?? false
        serve.servesHidden = fields.boolean("hidden") ?? false
        serve.cacheControl = fields["cache_control"].flatMap(constant)
        serve.compresses = fields.boolean("compress") ?? true
        switch fields.word("cors") {
        case "all": serve.crossOrigin = .all
        case "none": serve.crossOrigin = .none
        default: serve.crossOrigin = .auto
        }
        if let charset = fields["charset"].flatMap({ token($0) }) { serve.charset = charset == "none" ? nil : charset }
        return serve
    }

    private static let folderKeys = ["strip_prefix", "flat", "ignore_case", "index", "spa_fallback", "hidden"]

    private func source(_ fields: Fields, _ value: Value) -> ServeDefinition.Source? {
        guard let file = fields["file"] else {
            guard let folder = fields["dir"] else {
                if !fields.has("dir") { fail(value, "`file` or `dir` is missing", hint: "such as `serve: {dir: public}`") }
                return nil
            }
            return text(folder).flatMap { servedPath($0, folder, wanted: .folder) }.map { .folder($0) }
        }
        if let key = fields.key("dir") {
            fail(key, "`file` is given too", hint: "keep one of the two")
            return nil
        }
        for name in Self.folderKeys {
            if let key = fields.key(name) { fail(key, "`\(name)` is for `dir`; a `file` is sent whatever the path") }
        }
        return text(file).flatMap { servedPath($0, file, wanted: .file) }.map { .file($0) }
    }

    /// Absolute, without a slash at its end. What is not there yet may come: a warning.
    private func servedPath(_ text: String, _ value: Value, wanted: FileReader.Kind) -> String? {
        var path = absolute(text)
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        if path.utf8.contains(0) {
            fail(value, "a path has no NUL in it")
            return nil
        }
        let shown = quoted(value.node.text ?? path)
        switch FileReader.kind(of: path) {
        case wanted: break
        case .missing: warn(value, "`\(shown)` is not there; requests get 404 or go on until it is")
        case .folder:
            fail(value, "`\(shown)` is a folder", hint: "write `dir` for the files in it")
            return nil
        case .file:
            fail(value, "`\(shown)` is a file", hint: "write `file` to answer with it")
            return nil
        case .other:
            fail(value, "`\(shown)` is neither a file nor a folder")
            return nil
        }
        return path
    }

    private func indexName(_ value: Value) -> String? {
        guard let name = text(value) else { return nil }
        if name.isEmpty || name.contains("/") || name == "." || name == ".." || name.utf8.contains(0) {
            expected(value, hint: "the name alone, such as `index.html`")
            return nil
        }
        return name
    }
}
