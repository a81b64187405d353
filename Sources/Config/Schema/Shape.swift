/// The form that a value must have; what is decoded, what messages expect and what the JSON Schema says all come from it.
indirect enum Shape: Sendable {
    /// A text of the file; a plain scalar's source text counts (`X-Version: 2` is the text 2).
    case text(TextForm)
    case boolean
    case integer(ClosedRange<Int>)
    /// In milliseconds.
    case duration(ClosedRange<Int>)
    /// In bytes.
    case size(ClosedRange<Int>)
    case word([Word])
    case list(Shape)
    /// A list, or its only element without brackets.
    case oneOrMore(Shape)
    /// Names of the user's choice to values.
    case map(names: TextForm, Shape)
    case object(ObjectName)
    case either([Shape])

    static let anyDuration = Shape.duration(1...7 * 86_400_000)

    static func words(_ names: String...) -> Shape { .word(names.map { Word(name: $0) }) }

    /// The first shape of a kind among the alternatives.
    func first<T>(_ pick: (Shape) -> T?) -> T? {
        if let found = pick(self) { return found }
        guard case .either(let shapes) = self else { return nil }
        for shape in shapes { if let found = pick(shape) { return found } }
        return nil
    }

    var object: ObjectName? { first { if case .object(let name) = $0 { name } else { nil } } }
    var words: [Word] { first { if case .word(let words) = $0 { words } else { nil } } ?? [] }
    var integers: ClosedRange<Int>? { first { if case .integer(let range) = $0 { range } else { nil } } }
    var durations: ClosedRange<Int>? { first { if case .duration(let range) = $0 { range } else { nil } } }
    var sizes: ClosedRange<Int>? { first { if case .size(let range) = $0 { range } else { nil } } }
    var values: Shape? { first { if case .map(_, let shape) = $0 { shape } else { nil } } }
    var names: TextForm? { first { if case .map(let form, _) = $0 { form } else { nil } } }
    var takesList: Bool { element.isList }

    /// What a list of this shape holds, and whether it may stand alone.
    var element: (shape: Shape, isList: Bool, mayStandAlone: Bool) {
        let found: (Shape, Bool, Bool)? = first {
            switch $0 {
            case .list(let shape): (shape, true, false)
            case .oneOrMore(let shape): (shape, true, true)
            default: nil
            }
        }
        return found ?? (self, false, true)
    }

    /// `a duration such as `250ms`, `10s`, `5m` or `1h``: what messages say is expected.
    var expectation: String {
        switch self {
        case .text(let form): form.expectation
        case .boolean: "`true` or `false`"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .duration: "a duration such as `250ms`, `10s`, `5m` or `1h`"
        case .size: "a size such as `512B`, `16KiB`, `1MiB` or `2GiB`"
        case .word(let words): listing(words.filter { $0.later == nil }.map { "`\($0.name)`" })
        case .list(let shape): "a list of \(shape.plural)"
        case .oneOrMore(let shape): "\(shape.expectation), or a list of them"
        case .map(let names, let shape): "a mapping from \(names.plural) to \(shape.plural)"
        case .object(let name): "a mapping with \(listing(name.schema.currentKeys.prefix(4).map { "`\($0.name)`" }))"
        case .either(let shapes): listing(shapes.map(\.expectation))
        }
    }

    /// What is expected in a node's stead: of alternatives only those of its kind, so that a faulty text is told about texts.
    func expectation(for node: Node) -> String {
        guard case .either(let shapes) = self else { return expectation }
        let isScalar = node.text != nil && !node.isNull
        let near = shapes.filter { $0.isScalar == isScalar }
        return near.isEmpty ? expectation : listing(near.map(\.expectation))
    }

    private var isScalar: Bool {
        switch self {
        case .text, .boolean, .integer, .duration, .size, .word, .oneOrMore: true
        case .list, .map, .object, .either: false
        }
    }

    var plural: String {
        switch self {
        case .text(let form): form.plural
        case .object(let name): name.schema.plural
        case .either(let shapes):
            listing(shapes.map(\.plural).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } })
        default: "values"
        }
    }
}

/// One of a closed set of texts.
struct Word: Sendable {
    var name: String
    /// What it needs that is not in this version.
    var later: String?
}

/// Texts with a syntax of their own.
enum TextForm: Sendable {
    case any, name, headerName, headerPattern, headerValue, value, method, host, destination, path, pathPrefix, glob, regex
    case address, url, range, file, fileName, mode, token, extensionName, secret

    var expectation: String {
        switch self {
        case .any, .value: "a text"
        case .name: "a name"
        case .headerName: "a header name"
        case .headerPattern: "a header name, which may end in `*`"
        case .headerValue: "a header value"
        case .method: "a method such as `GET`"
        case .host: "a host such as `api.example.com` or `*.example.org`"
        case .destination: "a host such as `api.example.com`, `*.example.org` or `api.example.com:8080`"
        case .path, .pathPrefix: "a path such as `/v1`"
        case .glob: "a path glob such as `/v1/**`"
        case .regex: "a regular expression"
        case .address: "an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`"
        case .url: "a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`"
        case .range: "an IP address or a range such as `10.0.0.0/8`"
        case .file: "a file's path"
        case .fileName: "a file's name such as `index.html`"
        case .mode: "a mode in octal such as `0660`"
        case .token: "a token"
        case .extensionName: "a file name extension such as `png`"
        case .secret: "a secret such as `${env:NAME}` or `${file:PATH}`"
        }
    }

    var plural: String {
        switch self {
        case .any: "texts"
        case .value: "values"
        case .name: "names"
        case .headerName: "header names"
        case .headerPattern: "header names"
        case .headerValue: "header values"
        case .method: "methods"
        case .host, .destination: "hosts"
        case .path, .pathPrefix: "paths"
        case .glob: "path globs"
        case .regex: "regular expressions"
        case .address: "addresses"
        case .url: "URLs"
        case .range: "IP addresses or ranges"
        case .file: "paths of files"
        case .fileName: "names of files"
        case .mode: "modes"
        case .token: "tokens"
        case .extensionName: "extensions"
        case .secret: "secrets"
        }
    }

    /// For editors; what is decided by a parser of our own is left to `check`.
    var pattern: String? {
        switch self {
        case .headerName: "^([!#$%&'*+.^_`|~0-9A-Za-z-]+|.*\\$\\{(env|file):.*)$"
        case .headerPattern: "^([!#$%&'*+.^_`|~0-9A-Za-z-]+\\*?|.*\\$\\{(env|file):.*)$"
        case .path, .pathPrefix, .glob: "^(/|\\$\\{)"
        case .url: "^(https?://|unix:|demo$|\\$\\{)"
        default: nil
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
func listing<S: BidirectionalCollection<String>>(_ items: S, _ conjunction: String = "or") -> String {
    guard let last = items.last, items.count > 1 else { return items.last ?? "" }
    return items.dropLast().joined(separator: ", ") + " \(conjunction) \(last)"
}

/// One key of an object.
struct KeySchema: Sendable {
    var name: String
    var shape: Shape
    /// As it would stand in the file.
    var defaultText: String?
    var description: String
    var isRequired = false
    /// What it belongs to that is not in this version; such a key is refused by name and is not in the JSON Schema.
    var later: String?
    /// Of a later key: the value that says what is so anyway, and is taken.
    var harmless: [String] = []

    init(_ name: String, _ shape: Shape, default defaultText: String? = nil, required: Bool = false, _ description: String) {
        self.name = name
        self.shape = shape
        self.defaultText = defaultText
        self.description = description
        isRequired = required
    }

    static func later(_ name: String, _ feature: String, harmless: [String] = []) -> KeySchema {
        var key = KeySchema(name, .text(.any), feature)
        key.later = feature
        key.harmless = harmless
        return key
    }
}

/// A closed mapping.
struct ObjectSchema: Sendable {
    var keys: [KeySchema]
    /// `rules`, for messages about lists of them.
    var plural = "mappings"
    var description: String

    init(_ description: String, plural: String = "mappings", _ keys: [KeySchema]) {
        self.keys = keys
        self.plural = plural
        self.description = description
    }

    subscript(name: String) -> KeySchema? { keys.first { $0.name == name } }
    var currentKeys: [KeySchema] { keys.filter { $0.later == nil } }
}

/// The objects of the schema, by the names that the JSON Schema's `$defs` have.
enum ObjectName: String, Sendable, CaseIterable {
    case configuration, listener, upstream, upstreamTimeouts, pool, credential, basicCredential, headerCredential
    case rule, match, fieldMatch, urlList, requestEdits, responseEdits, queryEdits, cookieEdits
    case proxy, proxyTimeouts, redirects, block, serve, respond, redirect, html, insertion
    case listenerTLS, certificate, upstreamTLS
    case limits, timeouts, canonical, admin, log

    var schema: ObjectSchema { ConfigurationSchema.object(self) }
}
