extension ConfigurationSchema {
    /// The schema as JSON Schema 2020-12, for editors; keys of later versions are not in it.
    public static func jsonSchema() -> String {
        var root = members(configuration)
        root.insert(("$schema", .text("https://json-schema.org/draft/2020-12/schema")), at: 0)
        root.insert(("title", .text("authproxy configuration")), at: 1)
        let definitions = ObjectName.allCases.filter { $0 != .configuration }.map {
            ($0.rawValue, JSON.object(members($0.schema)))
        }
        root.append(("$defs", .object(definitions + quantities)))
        return JSON.object(root).printed() + "\n"
    }

    /// Wherever a number or a Boolean is expected, a reference may stand.
    private static let quantities: [(String, JSON)] = [
        ("reference", .object([("type", .text("string")), ("pattern", .text("\\$\\{(env|file):"))])),
        ("duration", .object([("type", .text("string")), ("pattern", .text("^([0-9]+(ms|s|m|h))+$|\\$\\{(env|file):"))])),
        ("size", .object([("type", .text("string")), ("pattern", .text("^[0-9]+(B|KiB|MiB|GiB)$|\\$\\{(env|file):"))])),
        ("scalar", .object([("type", .array(["string", "number", "boolean"].map(JSON.text)))])),
    ]

    private static func members(_ object: ObjectSchema) -> [(String, JSON)] {
        let properties = object.currentKeys.map { key in
            var members = members(key.shape)
            members.append(("description", .text(key.description)))
            if let text = key.defaultText, let value = defaultValue(text, key.shape) { members.append(("default", value)) }
            return (key.name, JSON.object(members))
        }
        var result: [(String, JSON)] = [
            ("description", .text(object.description)), ("type", .text("object")), ("additionalProperties", .boolean(false)),
            ("properties", .object(properties)),
        ]
        let required = object.currentKeys.filter(\.isRequired).map { JSON.text($0.name) }
        if !required.isEmpty { result.append(("required", .array(required))) }
        return result
    }

    private static func members(_ shape: Shape) -> [(String, JSON)] {
        switch shape {
        case .text(let form): return text(form)
        case .boolean: return either([.object([("type", .text("boolean"))]), reference("reference")])
        case .integer(let range):
            let number = JSON.object([
                ("type", .text("integer")), ("minimum", .number(range.lowerBound)), ("maximum", .number(range.upperBound)),
            ])
            return either([number, reference("reference")])
        case .duration: return [("$ref", .text("#/$defs/duration"))]
        case .size: return [("$ref", .text("#/$defs/size"))]
        case .word(let words):
            let values = words.filter { $0.later == nil }.map { $0.name == "true" ? JSON.boolean(true) : .text($0.name) }
            return either([.object([("enum", .array(values))]), reference("reference")])
        case .list(let element): return [("type", .text("array")), ("items", .object(members(element)))]
        case .oneOrMore(let element):
            let list = JSON.object([("type", .text("array")), ("items", .object(members(element)))])
            return either([.object(members(element)), list])
        case .map(let names, let value):
            var result: [(String, JSON)] = [("type", .text("object"))]
            if let pattern = names.pattern { result.append(("propertyNames", .object([("pattern", .text(pattern))]))) }
            return result + [("additionalProperties", .object(members(value)))]
        case .object(let name): return [("$ref", .text("#/$defs/\(name.rawValue)"))]
        case .either(let shapes): return either(shapes.map { .object(members($0)) })
        }
    }

    private static func text(_ form: TextForm) -> [(String, JSON)] {
        switch form {
        // A plain number or Boolean is its source text.
        case .any, .value, .headerValue, .secret, .mode, .name, .fileName, .token, .extensionName:
            return [("$ref", .text("#/$defs/scalar"))]
        default:
            guard let pattern = form.pattern else { return [("type", .text("string"))] }
            return [("type", .text("string")), ("pattern", .text(pattern))]
        }
    }

    private static func either(_ shapes: [JSON]) -> [(String, JSON)] { [("anyOf", .array(shapes))] }
    private static func reference(_ name: String) -> JSON { .object([("$ref", .text("#/$defs/\(name)"))]) }

    private static func defaultValue(_ text: String, _ shape: Shape) -> JSON? {
        if text.hasPrefix("[") {
            let items = text.dropFirst().dropLast().split(separator: ",").map { JSON.text(String($0)) }
            return .array(items)
        }
        if text == "true" || text == "false" { return .boolean(text == "true") }
        if shape.integers != nil, let number = Int(text) { return .number(number) }
        return text == "rule-N" ? nil : .text(text)
    }
}

/// As much of JSON (RFC 8259) as the schema's output needs; members keep their order.
private indirect enum JSON: Sendable {
    case text(String)
    case number(Int)
    case boolean(Bool)
    case array([JSON])
    case object([(String, JSON)])

    func printed(indent: String = "") -> String {
        let inner = indent + "  "
        switch self {
        case .text(let text): return Self.escaped(text)
        case .number(let number): return String(number)
        case .boolean(let value): return value ? "true" : "false"
        case .array(let items):
            return "[" + items.map { $0.printed(indent: inner) }.joined(separator: ", ") + "]"
        case .object(let members):
            if members.isEmpty { return "{}" }
            let lines = members.map { "\(inner)\(Self.escaped($0.0)): \($0.1.printed(indent: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
