internal import Policy

/// Reads one YAML document into a tree of ``Node``, strictly: one document, UTF-8, no merge keys, no tags of its own,
/// no key twice, bounded depth and size.
struct YAMLReader {
    /// Deeper than any configuration nests.
    static let depthLimit = 48
    /// So many nodes may come from aliases, each counted with all that it stands for: a few lines can not become billions of
    /// nodes. What is written out is bounded by the size of the file.
    static let aliasLimit = 100_000

    private let events: YAMLEvents
    private let file: String
    /// What each anchor stands for; nil while the anchored value is still being read.
    private var anchors: [String: Node?] = [:]
    private var aliased = 0
    /// What is wrong but did not stop the reading.
    private(set) var problems: [ConfigurationError] = []

    init(_ bytes: [UInt8], file: String) {
        events = YAMLEvents(bytes)
        self.file = file
    }

    /// The document's root; an empty document is an empty mapping.
    mutating func document() throws(ConfigurationError) -> Node {
        var root = Node(.mapping([]), at: SourceLocation(file: file, line: 1, column: 1))
        var documents = 0
        while true {
            let event = try next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .streamEnd: return root
            case .documentStart:
                documents += 1
                guard documents == 1 else {
                    throw error(
                        event, "", "a second document begins here", hint: "a configuration is one document; remove the `---`")
                }
                let node = try node(try next(), path: "", depth: 0)
                if !node.isNull { root = node }
            default: throw error(event, "", "a value outside of the document")
            }
        }
    }

    private mutating func node(_ event: YAMLEvent, path: String, depth: Int) throws(ConfigurationError) -> Node {
        guard depth <= Self.depthLimit else {
            throw error(event, path, "nested more than \(Self.depthLimit) levels deep")
        }
        if case .alias(let name) = event.kind { return try alias(name, event, path: path) }
        if let anchor = event.anchor { anchors[anchor] = .some(nil) }
        var result: Node
        switch event.kind {
        case .scalar(let text, let isPlain):
            result = scalar(text, isPlain: isPlain, event, path: path)
        case .sequenceStart:
            check(tag: event, allowed: "seq", path: path)
            result = try sequence(event, path: path, depth: depth)
        case .mappingStart:
            check(tag: event, allowed: "map", path: path)
            result = try mapping(event, path: path, depth: depth)
        default: throw error(event, path, "a value is missing here")
        }
        if let anchor = event.anchor { anchors[anchor] = result }
        return result
    }

    private mutating func alias(_ name: String, _ event: YAMLEvent, path: String) throws(ConfigurationError) -> Node {
        guard let anchor = anchors[name] else {
            let near = Suggestions.nearest(to: name, in: anchors.keys.sorted())
            throw error(
                event, path, "`*\(quoted(name))` refers to no anchor above it", hint: near.map { "did you mean `*\($0)`?" })
        }
        guard let node = anchor else {
            throw error(event, path, "`*\(quoted(name))` stands inside what it refers to")
        }
        try spend(node.weight, event, path: path)
        return node
    }

    private mutating func spend(_ nodes: Int, _ event: YAMLEvent, path: String) throws(ConfigurationError) {
        aliased += nodes
        guard aliased <= Self.aliasLimit else {
            throw error(event, path, "more than \(Self.aliasLimit) values through aliases, counted with all that they stand for")
        }
    }

    private mutating func scalar(_ text: String, isPlain: Bool, _ event: YAMLEvent, path: String) -> Node {
        var style = isPlain ? Node.Style.plain : .quoted
        if let tag = event.tag {
            switch tag {
            case "!", "tag:yaml.org,2002:str": style = .quoted
            case "tag:yaml.org,2002:int", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", "tag:yaml.org,2002:float":
                style = .plain
            default: refuse(tag: tag, event, path: path)
            }
        }
        return Node(.scalar(text, style), at: location(event), length: length(event), endLine: event.endLine)
    }

    private mutating func sequence(_ start: YAMLEvent, path: String, depth: Int) throws(ConfigurationError) -> Node {
        var items: [Node] = []
        var weight = 1
        while true {
            let event = try next()
            if case .sequenceEnd = event.kind {
                return Node(
                    .sequence(items), at: location(start), length: length(start), endLine: event.endLine, weight: weight)
            }
            let item = try node(event, path: "\(path)[\(items.count)]", depth: depth + 1)
            weight += item.weight
            items.append(item)
        }
    }

    private mutating func mapping(_ start: YAMLEvent, path: String, depth: Int) throws(ConfigurationError) -> Node {
        var entries: [Node.Entry] = []
        var seen: [String: SourceLocation] = [:]
        var weight = 1
        while true {
            let event = try next()
            if case .mappingEnd = event.kind {
                return Node(
                    .mapping(entries), at: location(start), length: length(start), endLine: event.endLine, weight: weight)
            }
            let key = try node(event, path: path, depth: depth + 1)
            guard let name = key.text else {
                throw error(event, path, "a key must be a text, found \(key.kind)")
            }
            let keyPath = joined(path, name)
            let value = try node(try next(), path: keyPath, depth: depth + 1)
            weight += key.weight + value.weight
            if name == "<<", key.isPlain {
                note(
                    event, path, "merge keys (`<<`) are not supported",
                    hint: "write the keys out, or use an alias for a whole value")
            } else if let first = seen[name] {
                note(event, keyPath, "duplicate key `\(quoted(name))`", hint: "it is first set on line \(first.line)")
            } else {
                seen[name] = key.location
                entries.append(Node.Entry(key: key, value: value, name: name))
            }
        }
    }

    private mutating func check(tag event: YAMLEvent, allowed: String, path: String) {
        guard let tag = event.tag, tag != "!", tag != "tag:yaml.org,2002:\(allowed)" else { return }
        refuse(tag: tag, event, path: path)
    }

    private mutating func refuse(tag: String, _ event: YAMLEvent, path: String) {
        let core = "tag:yaml.org,2002:"
        let shown = tag.hasPrefix(core) ? "!!" + tag.dropFirst(core.count) : tag
        note(event, path, "the tag `\(quoted(shown))` is not supported", hint: "remove it")
    }

    private func next() throws(ConfigurationError) -> YAMLEvent {
        do {
            return try events.next()
        } catch {
            throw error.explained(file: file)
        }
    }

    private func location(_ event: YAMLEvent) -> SourceLocation {
        SourceLocation(file: file, line: event.line, column: event.column)
    }

    private func length(_ event: YAMLEvent) -> Int {
        event.line == event.endLine ? max(event.endColumn - event.column, 1) : 1
    }

    private mutating func note(_ event: YAMLEvent, _ path: String, _ message: String, hint: String? = nil) {
        problems.append(error(event, path, message, hint: hint))
    }

    private func error(_ event: YAMLEvent, _ path: String, _ message: String, hint: String? = nil) -> ConfigurationError {
        ConfigurationError(.error, at: location(event), length: length(event), path: path, message, hint: hint)
    }
}

/// `rules[2].proxy`, `request.set`; a key that is no plain word is quoted: `request.set."X-A b"`.
func joined(_ path: String, _ name: String) -> String {
    let isWord = !name.isEmpty && name.utf8.allSatisfy { isTokenByte($0) && $0 != UInt8(ascii: ".") }
    let step = isWord ? name : "\"\(quoted(name))\""
    return path.isEmpty ? step : path + "." + step
}
