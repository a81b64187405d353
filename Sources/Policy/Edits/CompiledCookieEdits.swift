public import HTTP

/// The cookie edits of a chain, merged: which of the client's cookies stay, and which are written anew.
///
/// Whoever writes the Cookie line asks ``admits(_:)`` of each client cookie and lets ``writeSets(_:separator:into:)``
/// append the rest (RFC 6265 section 4.2.1).
public final class CompiledCookieEdits {
    /// A cookie stays when every list has it.
    private var keeps: [[[UInt8]]] = []
    private var removed: [[UInt8]] = []
    private(set) var sets: [BoundValue] = []
    private let secrets: SecretTable

    init(_ rules: [RuleDefinition], actionRuleName: String, secrets: SecretTable) {
        self.secrets = secrets
        for rule in rules {
            if let keep = rule.cookies.keep {
                let names = keep.map { Array($0.utf8) }
                keeps.append(names)
                sets.removeAll { !names.contains($0.name) }
            }
            let names = rule.cookies.remove.map { Array($0.utf8) }
            removed += names
            sets.removeAll { names.contains($0.name) }
            for edit in rule.cookies.set {
                let name = Array(edit.name.utf8)
                removed.append(name)
                sets.removeAll { $0.name == name }
                sets.append(
                    BoundValue(edit, ruleName: rule.name, actionRuleName: actionRuleName, onMissing: rule.onMissing))
            }
        }
    }

    public var isEmpty: Bool { keeps.isEmpty && removed.isEmpty }
    public var setsCookies: Bool { !sets.isEmpty }

    /// Whether a cookie of the client, or one that an earlier hop set, is sent.
    public func admits(_ name: Span<UInt8>) -> Bool {
        for other in removed where RuleBytes.equal(name, other) { return false }
        for names in keeps {
            var isKept = false
            for other in names where RuleBytes.equal(name, other) { isKept = true }
            if !isKept { return false }
        }
        return true
    }

    /// Appends `name=value` pairs; `separator` says that a pair stands before the first. Returns whether one does now.
    public func writeSets(
        _ context: SendContext, separator: Bool, into out: ByteBuffer
    ) throws(Rejection) -> Bool {
        var separator = separator
        for index in sets.indices {
            let start = out.count
            if separator { out.append("; ") }
            out.append(sets[index].name)
            out.append(UInt8(ascii: "="))
            let valueStart = out.count
            guard try sets[index].write(context, secrets, into: out) else {
                out.truncate(to: start)
                continue
            }
            let value = out.span(ByteRange(valueStart, out.count - valueStart))
            // A semicolon would begin another cookie.
            for position in value.indices where value[position] == UInt8(ascii: ";") { throw .internalError }
            guard RuleBytes.isFieldValue(value) else { throw .internalError }
            separator = true
        }
        return separator
    }
}

extension CompiledCookieEdits: CookieFilter {}
