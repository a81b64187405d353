internal import Policy

/// Turns the tree of a configuration file into typed values and collects everything that is wrong with it.
///
/// A function that decodes a value returns nil after it has noted why; its caller goes on with a default, so that all
/// errors of a file are found in one go. The result counts only when `problems` has no error.
final class ConfigurationDecoder {
    let file: String
    /// Relative paths begin here.
    let folder: String
    let environment: (String) -> String?
    let source: SourceText
    private(set) var problems: [ConfigurationError] = []
    /// Files whose change asks for a reload, the configuration itself apart.
    private(set) var files: [String] = []
    let secrets = SecretCollector()
    /// An unknown key that was probably meant to be `upstream`: its lack is then no second error.
    var suggestedKeys: Set<String> = []
    /// `canonical.merge_slashes`: whether a path may hold `//`.
    var mergesSlashes = true

    init(file: String, folder: String, environment: @escaping (String) -> String?, source: SourceText) {
        self.file = file
        self.folder = folder
        self.environment = environment
        self.source = source
    }

    var hasErrors: Bool { problems.contains { $0.severity == .error } }

    func note(_ more: [ConfigurationError]) { problems += more }

    func fail(_ node: Node, _ path: String, _ message: String, hint: String? = nil) {
        problems.append(ConfigurationError(.error, at: node.location, length: node.length, path: path, message, hint: hint))
    }

    func fail(_ value: Value, _ message: String, hint: String? = nil) { fail(value.node, value.path, message, hint: hint) }

    /// At a part of a scalar, by the offset of its first character.
    func fail(_ value: Value, at offset: Int, length: Int, _ message: String, hint: String? = nil) {
        guard let location = location(of: value.node, offset: offset, length: length) else {
            return fail(value, message, hint: hint)
        }
        problems.append(ConfigurationError(.error, at: location, length: length, path: value.path, message, hint: hint))
    }

    func warn(_ value: Value, _ message: String, hint: String? = nil) { warn(value.node, value.path, message, hint: hint) }

    func warn(_ node: Node, _ path: String, _ message: String, hint: String? = nil) {
        problems.append(ConfigurationError(.warning, at: node.location, length: node.length, path: path, message, hint: hint))
    }

    /// `expected a duration such as ..., found `abc``; the value is shown as the file has it, never what it stands for.
    func expected(_ value: Value, _ expectation: String? = nil, found: String? = nil, hint: String? = nil) {
        let found = found ?? value.node.kind
        let hint = hint ?? (value.node.isNull ? "leave the key out for its default" : nil)
        fail(value, "expected \(expectation ?? value.shape.expectation(for: value.node)), found \(found)", hint: hint)
    }

    func depends(on path: String) {
        if !files.contains(path) { files.append(path) }
    }

    func absolute(_ path: String) -> String { FileReader.absolute(path, in: folder) }

    /// Reads a file that a key names.
    func contents(of path: String, for value: Value, limit: Int = FileReader.fileLimit) -> [UInt8]? {
        depends(on: path)
        do {
            return try FileReader.read(path, limit: limit, mustBeRegular: true)
        } catch {
            fail(value, "`\(quoted(value.node.text ?? path))` can not be read: \(error.reason)")
            return nil
        }
    }

    /// The place of a character of a scalar, if the scalar stands in the file as its text has it.
    private func location(of node: Node, offset: Int, length: Int) -> SourceLocation? {
        guard let text = node.text, var characters = source.characters(at: node.location) else { return nil }
        var column = node.location.column + offset
        if let first = characters.first, first == "\"" || first == "'", !node.isPlain {
            characters = characters.dropFirst()
            column += 1
        }
        guard characters.prefix(offset + length).elementsEqual(text.unicodeScalars.prefix(offset + length)) else { return nil }
        return SourceLocation(file: node.location.file, line: node.location.line, column: column)
    }
}

/// A node that is being decoded: what it should be, and the path that messages name.
struct Value {
    var node: Node
    var path: String
    var shape: Shape
}

/// The keys of a closed mapping, each known and in this version.
struct Fields {
    let decoder: ConfigurationDecoder
    let object: ObjectName
    let node: Node
    let path: String
    fileprivate(set) var values: [String: Value] = [:]
    /// The keys as nodes, in the file's order, those of later versions included.
    fileprivate(set) var keys: [Node.Entry] = []

    subscript(name: String) -> Value? { values[name] }

    func has(_ name: String) -> Bool { keys.contains { $0.name == name } }

    /// The mapping as a value, for messages about it as a whole.
    var whole: Value { Value(node: node, path: path, shape: .object(object)) }

    /// A key as a node, to put a message at.
    func key(_ name: String) -> Value? {
        guard let entry = keys.first(where: { $0.name == name }), let shape = object.schema[name]?.shape else { return nil }
        return Value(node: entry.key, path: joined(path, name), shape: shape)
    }

    func text(_ name: String) -> String? { self[name].flatMap(decoder.text) }
    func boolean(_ name: String) -> Bool? { self[name].flatMap(decoder.boolean) }
    func integer(_ name: String) -> Int? { self[name].flatMap(decoder.integer) }
    func duration(_ name: String) -> Int? { self[name].flatMap(decoder.duration) }
    func size(_ name: String) -> Int? { self[name].flatMap(decoder.size) }
    func word(_ name: String) -> String? { self[name].flatMap { decoder.word($0) } }
    func fields(_ name: String) -> Fields? { self[name].flatMap { decoder.fields($0) } }
    func list(_ name: String) -> [Value] { self[name].flatMap { decoder.list($0) } ?? [] }
    func entries(_ name: String) -> [(name: Value, value: Value)] { self[name].flatMap { decoder.entries($0) } ?? [] }
}

extension ConfigurationDecoder {
    /// The keys of a mapping; unknown ones and those of a later version are noted, and left out.
    func fields(_ value: Value, _ name: ObjectName? = nil) -> Fields? {
        guard let name = name ?? value.shape.object, let entries = value.node.entries else {
            expected(value)
            return nil
        }
        var fields = Fields(decoder: self, object: name, node: value.node, path: value.path)
        let schema = name.schema
        for entry in entries {
            let path = joined(value.path, entry.name)
            guard let key = schema[entry.name] else {
                unknown(entry, in: name, path: path)
                continue
            }
            fields.keys.append(entry)
            guard let feature = key.later else {
                fields.values[entry.name] = Value(node: entry.value, path: path, shape: key.shape)
                continue
            }
            if !key.harmless.contains(compact(entry.value)) {
                fail(entry.key, path, "`\(entry.name)` is not in this version", hint: "\(feature) comes later")
            }
        }
        for key in schema.keys where key.isRequired && !fields.has(key.name) {
            fail(value.node, value.path, "`\(key.name)` is missing", hint: "it is \(key.shape.expectation)")
        }
        return fields
    }

    private func unknown(_ entry: Node.Entry, in name: ObjectName, path: String) {
        let schema = name.schema
        let names = schema.keys.map(\.name)
        var hint: String
        if name == .configuration, entry.name == "match" || entry.name == "name" {
            hint = "a file without `rules` is one rule for every request; write `rules:` with a list of rules"
        } else if let near = Suggestions.nearest(to: entry.name, in: names) ?? Suggestions.synonym(of: entry.name, in: names) {
            suggestedKeys.insert(near)
            hint = "did you mean `\(near)`?"
        } else if let home = ObjectName.allCases.first(where: {
            $0.schema[entry.name]?.later == nil && $0.schema[entry.name] != nil
        }) {
            hint = "it belongs to \(Self.homes[home] ?? "`\(home.rawValue)`")"
        } else {
            hint = "known here: \(listing(shown(schema), "and"))"
        }
        fail(entry.key, path, "unknown key `\(quoted(entry.name))`", hint: hint)
    }

    private func shown(_ schema: ObjectSchema) -> [String] { schema.currentKeys.map { "`\($0.name)`" } }

    /// Objects by where they stand in a file.
    private static let homes: [ObjectName: String] = [
        .configuration: "the top of the file", .listener: "an entry of `listeners`", .listenerTLS: "a listener's `tls`",
        .certificate: "an entry of `certificates`", .upstreamTLS: "an upstream's `tls`", .upstream: "an entry of `upstreams`",
        .upstreamTimeouts: "an upstream's `timeouts`", .pool: "an upstream's `pool`", .credential: "an entry of `credentials`",
        .basicCredential: "a credential's `basic`", .headerCredential: "a credential's `header`", .rule: "a rule",
        .match: "`match`", .fieldMatch: "a header, query or cookie of `match`", .urlList: "`url_list`",
        .requestEdits: "`request`", .responseEdits: "`response`", .queryEdits: "`request.query`",
        .cookieEdits: "`request.cookies`", .proxyTimeouts: "`proxy.timeouts`", .redirects: "`proxy.redirects`",
        .serve: "`serve`",
    ]

    /// The elements of a list; one that may stand alone counts as a list of one.
    func list(_ value: Value) -> [Value]? {
        let (shape, isList, mayStandAlone) = value.shape.element
        guard isList, let items = value.node.items else {
            if isList && mayStandAlone && !value.node.isNull {
                return [Value(node: value.node, path: value.path, shape: shape)]
            }
            expected(value)
            return nil
        }
        return items.enumerated().map { Value(node: $1, path: "\(value.path)[\($0)]", shape: shape) }
    }

    /// The entries of a mapping whose keys are the user's.
    func entries(_ value: Value) -> [(name: Value, value: Value)]? {
        guard let names = value.shape.names, let shape = value.shape.values, let entries = value.node.entries else {
            expected(value)
            return nil
        }
        return entries.map {
            let path = joined(value.path, $0.name)
            return (Value(node: $0.key, path: path, shape: .text(names)), Value(node: $0.value, path: path, shape: shape))
        }
    }

    /// `[]`, `{}`, `[a,b]` or the text: what a harmless value is compared with.
    private func compact(_ node: Node) -> String {
        switch node.content {
        case .scalar(let text, _): text
        case .sequence(let items): "[" + items.map(compact).joined(separator: ",") + "]"
        case .mapping(let entries): "{" + entries.map { "\($0.name):\(compact($0.value))" }.joined(separator: ",") + "}"
        }
    }
}
