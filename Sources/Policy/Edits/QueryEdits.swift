public import HTTP

/// A value that a query parameter or cookie is given, with what decides whether it may be sent.
final class BoundValue {
    let name: [UInt8]
    let template: CompiledTemplate
    let ruleName: String
    let onMissing: RuleDefinition.OnMissing

    init(
        _ edit: (name: String, value: ValueTemplate), ruleName: String, actionRuleName: String,
        onMissing: RuleDefinition.OnMissing
    ) {
        name = Array(edit.name.utf8)
        template = CompiledTemplate(edit.value, ruleName: actionRuleName)
        self.ruleName = ruleName
        self.onMissing = onMissing
    }

    var isBound: Bool { template.isSecret || template.holdsSecrets }

    /// Appends the value; false when it is left out, which is counted when a secret stays behind.
    func write(_ context: SendContext, _ secrets: SecretTable, into out: ByteBuffer) throws(Rejection) -> Bool {
        if isBound && !context.isUpstreamOrigin {
            context.withheld += 1
            return false
        }
        if isBound && context.isDescribing {
            out.append(text: template.display)
            return true
        }
        switch TemplateWriter.write(template, context, secrets, into: out) {
        case .written: return true
        case .absent: return false
        case .unavailable:
            if onMissing == .fail { throw .credentialUnavailable }
            return false
        }
    }
}

/// The query edits of a chain, merged: parameters that are not named pass byte for byte, in their places.
///
/// Names are compared decoded (`%XX` and `+`). A set parameter takes the place of the client's first one of that name, or the
/// end; its value is escaped, so that it stays one parameter.
public final class QueryEdits {
    private struct Edit {
        let name: [UInt8]
        /// Of ``values``; -1: the parameter is removed.
        var value: Int
    }

    private var edits: [Edit] = []
    private(set) var values: [BoundValue] = []
    private let secrets: SecretTable
    private let decoded = ByteBuffer(capacity: 64)
    private let raw = ByteBuffer(capacity: 256)
    private var isWritten: [Bool] = []

    init(_ rules: [RuleDefinition], actionRuleName: String, secrets: SecretTable) {
        self.secrets = secrets
        for rule in rules {
            for name in rule.query.remove { decide(Array(name.utf8), value: -1) }
            for edit in rule.query.set {
                values.append(
                    BoundValue(edit, ruleName: rule.name, actionRuleName: actionRuleName, onMissing: rule.onMissing))
                decide(Array(edit.name.utf8), value: values.count - 1)
            }
        }
        isWritten = Array(repeating: false, count: edits.count)
    }

    deinit { raw.wipe() }

    /// The last rule that speaks of a parameter has its way.
    private func decide(_ name: [UInt8], value: Int) {
        if let present = edits.firstIndex(where: { $0.name == name }) {
            edits[present].value = value
        } else {
            edits.append(Edit(name: name, value: value))
        }
    }

    public var isEmpty: Bool { edits.isEmpty }

    /// Appends the edited query, without a question mark; it may come out empty, and then none is to be sent.
    public func apply(query: Span<UInt8>, _ context: SendContext, into out: ByteBuffer) throws(Rejection) {
        for index in isWritten.indices { isWritten[index] = false }
        var isFirst = true
        var scanner = ParameterScanner()
        while scanner.next(query) {
            let edit = scanner.piece.isEmpty ? -1 : find(query.at(scanner.name))
            if edit < 0 {
                if !isFirst { out.append(UInt8(ascii: "&")) }
                out.append(query.at(scanner.piece))
                isFirst = false
            } else if !isWritten[edit] {
                isWritten[edit] = true
                isFirst = try !write(edit, context, isFirst: isFirst, into: out) && isFirst
            }
        }
        for edit in edits.indices where !isWritten[edit] {
            isFirst = try !write(edit, context, isFirst: isFirst, into: out) && isFirst
        }
    }

    private func find(_ name: Span<UInt8>) -> Int {
        decoded.clear()
        ParameterScanner.decode(name, into: decoded)
        for index in edits.indices where RuleBytes.equal(decoded.span, edits[index].name) { return index }
        return -1
    }

    private func write(
        _ edit: Int, _ context: SendContext, isFirst: Bool, into out: ByteBuffer
    ) throws(Rejection) -> Bool {
        let value = edits[edit].value
        if value < 0 { return false }
        raw.clear()
        guard try values[value].write(context, secrets, into: raw) else { return false }
        if !isFirst { out.append(UInt8(ascii: "&")) }
        let name = values[value].name
        escape(name.span, into: out)
        out.append(UInt8(ascii: "="))
        if context.isDescribing && values[value].isBound { out.append(raw.span) } else { escape(raw.span, into: out) }
        if values[value].template.holdsSecrets { raw.wipe() }
        return true
    }

    private func escape(_ bytes: Span<UInt8>, into out: ByteBuffer) {
        for index in bytes.indices {
            if RuleBytes.isUnreserved(bytes[index]) {
                out.append(bytes[index])
            } else {
                RuleBytes.appendEscaped(bytes[index], to: out)
            }
        }
    }
}
