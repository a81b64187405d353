internal import Policy

/// One value of a YAML document with its place; aliases are already replaced by what they stand for.
///
/// A node may also come from a flag (``ConfigurationOverrides``): its location then names the flag and has line 0.
struct Node: Sendable {
    enum Content: Sendable {
        case scalar(String, Style)
        case sequence([Node])
        case mapping([Entry])
    }

    /// Only a plain scalar can be a number, a Boolean or null (YAML 1.2 section 10.3); any other style is text.
    enum Style: Sendable { case plain, quoted }

    struct Entry: Sendable {
        var key: Node
        var value: Node
        /// The key's text; only scalars are keys.
        var name: String
    }

    var content: Content
    var location: SourceLocation
    /// Columns to underline in a message.
    var length: Int
    /// The last line that the value touches.
    var endLine: Int
    /// How many nodes it has, itself and repeated aliases included; what the budget counts.
    var weight: Int

    init(_ content: Content, at location: SourceLocation, length: Int = 1, endLine: Int? = nil, weight: Int = 1) {
        self.content = content
        self.location = location
        self.length = max(length, 1)
        self.endLine = endLine ?? location.line
        self.weight = weight
    }

    var entries: [Entry]? {
        if case .mapping(let entries) = content { return entries }
        return nil
    }

    var items: [Node]? {
        if case .sequence(let items) = content { return items }
        return nil
    }

    var text: String? {
        if case .scalar(let text, _) = content { return text }
        return nil
    }

    var isPlain: Bool {
        if case .scalar(_, .plain) = content { return true }
        return false
    }

    /// Null in the core schema.
    var isNull: Bool {
        guard isPlain, let text else { return false }
        return text.isEmpty || text == "~" || text == "null" || text == "Null" || text == "NULL"
    }

    /// The node under a key of a mapping.
    subscript(name: String) -> Node? { entries?.first { $0.name == name }?.value }

    /// What it is, for messages.
    var kind: String {
        switch content {
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .scalar(let text, _): text.isEmpty || isNull ? "nothing" : "`\(quoted(text))`"
        }
    }
}

/// A text fit to stand in a one-line message: shortened, control characters escaped.
func quoted(_ text: String, limit: Int = 80) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
        if count == limit { return result + "…" }
        count += 1
        switch scalar {
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        default:
            if scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029 {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
    return result
}
