internal import Policy
public import Proxy

/// What flags and `AUTHPROXY_*` variables say instead of the file; each is checked as if it stood there.
public struct ConfigurationOverrides: Sendable {
    /// A text, and what messages call the place that it comes from: `--listen`, `AUTHPROXY_LISTEN`.
    public struct Setting: Sendable {
        public var text: String
        public var origin: String
        public init(_ text: String, from origin: String) {
            self.text = text
            self.origin = origin
        }
    }

    public var listen: Setting?
    public var upstream: Setting?
    /// `Name: value`, set on every request.
    public var headers: [Setting] = []
    public var workers: Setting?
    public var logLevel: Setting?
    public var logFormat: Setting?
    /// `--tls`: what listeners without `tls` of their own show.
    public var certificate: CertificateFiles?

    public init() {}

    /// The tree of the file as it would be if it said what the flags say.
    func applied(to root: Node) -> (root: Node, problems: [ConfigurationError]) {
        var root = root
        var problems: [ConfigurationError] = []
        if let listen {
            root.remove("listeners")
            root.set("listen", scalar(listen))
        }
        if let certificate { apply(certificate, to: &root) }
        if let upstream { apply(upstream, to: &root) }
        if let workers { root.set("workers", scalar(workers)) }
        if logLevel != nil || logFormat != nil {
            var log = root["log"] ?? Node(.mapping([]), at: root.location)
            if let logLevel { log.set("level", scalar(logLevel)) }
            if let logFormat { log.set("format", scalar(logFormat)) }
            root.set("log", log)
        }
        for header in headers {
            let text = header.text
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
                problems.append(
                    ConfigurationError(
                        .error, at: place(header), path: "", "expected `Name: value`, found a text without a colon"))
                continue
            }
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            let name = Node(.scalar(String(text[..<colon]), .quoted), at: place(header))
            add(
                Node.Entry(key: name, value: scalar(Setting(String(value), from: header.origin)), name: name.text ?? ""),
                to: &root)
        }
        return (root, problems)
    }

    /// Gives TLS to each listener that has none.
    private func apply(_ certificate: CertificateFiles, to root: inout Node) {
        let origin = "--tls"
        let place = SourceLocation(file: origin, line: 0, column: 0)
        func mapping(_ entries: [(name: String, value: Node)]) -> Node {
            let entries = entries.map { Node.Entry(key: Node(.scalar($0.name, .plain), at: place), value: $0.value, name: $0.name) }
            return Node(.mapping(entries), at: place)
        }
        // The path is meant as it is, also with `${` in it.
        func text(_ path: String) -> Node { scalar(Setting(path.replacing("${", with: "$${"), from: origin)) }
        let files = mapping([("cert", text(certificate.certificate)), ("key", text(certificate.key))])
        let tls = mapping([("certificates", Node(.sequence([files]), at: place))])
        let standard = scalar(Setting(ConfigurationLoader.defaultListen, from: origin))
        let known = root["listeners"]?.items ?? [root["listen"] ?? standard]
        let listeners = known.map { listener in
            guard listener.entries != nil else { return mapping([("address", listener), ("tls", tls)]) }
            var listener = listener
            if listener["tls"] == nil { listener.set("tls", tls) }
            return listener
        }
        root.remove("listen")
        root.set("listeners", Node(.sequence(listeners), at: root["listeners"]?.location ?? place))
    }

    /// Replaces the default upstream, whichever way the file spells it.
    private func apply(_ setting: Setting, to root: inout Node) {
        if var upstreams = root["upstreams"], upstreams["default"] != nil {
            upstreams.set("default", scalar(setting))
            root.set("upstreams", upstreams)
        } else {
            root.set("upstream", scalar(setting))
        }
    }

    /// The header is set by each rule, so that it is there whichever takes the request.
    private func add(_ header: Node.Entry, to root: inout Node) {
        guard let rules = root["rules"], let items = rules.items else { return root.setHeader(header) }
        let changed = items.map { item in
            var rule = item
            rule.setHeader(header)
            return rule
        }
        root.set("rules", Node(.sequence(changed), at: rules.location, length: rules.length, endLine: rules.endLine))
    }

    private func scalar(_ setting: Setting) -> Node {
        // As text a value may be empty; where a number belongs quotes do not matter to a flag.
        Node(.scalar(setting.text, setting.text.isEmpty ? .quoted : .plain), at: place(setting))
    }

    private func place(_ setting: Setting) -> SourceLocation {
        SourceLocation(file: setting.origin, line: 0, column: 0)
    }
}

extension Node {
    fileprivate mutating func remove(_ name: String) {
        guard let entries else { return }
        content = .mapping(entries.filter { $0.name != name })
    }

    /// Replaces the value under a key, or adds it. A node that is no mapping stays what it is, for its own message.
    fileprivate mutating func set(_ name: String, _ value: Node) {
        guard var entries else { return }
        if let index = entries.firstIndex(where: { $0.name == name }) {
            entries[index].value = value
            if value.location.line == 0 { entries[index].key.location = value.location }
        } else {
            entries.append(Entry(key: Node(.scalar(name, .plain), at: value.location), value: value, name: name))
        }
        content = .mapping(entries)
    }

    /// `request.set` of a rule, with every spelling of the name that the file has replaced.
    fileprivate mutating func setHeader(_ header: Entry) {
        var request = self["request"] ?? Node(.mapping([]), at: header.key.location)
        var set = request["set"] ?? Node(.mapping([]), at: header.key.location)
        guard request.entries != nil, let entries = set.entries else { return }
        let name = foldedName(header.name)
        set.content = .mapping(entries.filter { foldedName($0.name) != name } + [header])
        request.set("set", set)
        self.set("request", request)
    }
}
