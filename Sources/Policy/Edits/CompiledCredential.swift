internal import HTTP

/// A credential as one rule of a chain injects it: its line, prebuilt where no request has a say in it, and where it may go.
final class CompiledCredential {
    let definition: CredentialDefinition
    /// Its place among the configuration's.
    private let index: Int
    let ruleName: String
    let onMissing: RuleDefinition.OnMissing
    /// Later credentials of the chain for the same field.
    var replacedBy: [Int] = []
    private let templates: [CompiledTemplate]
    private let isBasic: Bool
    private let isConstant: Bool
    private let head: [UInt8]
    private let hosts: [(host: CompiledHost, port: UInt16?)]
    private var line = ByteBuffer(capacity: 16)
    private var state = PlanEntry.State.unavailable
    private var scratch = ByteBuffer(capacity: 64)

    init(
        _ definition: CredentialDefinition, index: Int, ruleName: String, actionRuleName: String,
        onMissing: RuleDefinition.OnMissing
    ) {
        self.definition = definition
        self.index = index
        self.ruleName = ruleName
        self.onMissing = onMissing
        hosts = definition.hosts.map { (CompiledHost($0.host), $0.port) }
        switch definition.kind {
        case .bearer(let token):
            head = Array("Authorization: Bearer ".utf8)
            templates = [CompiledTemplate(token, ruleName: actionRuleName)]
            isBasic = false
        case .basic(let user, let password):
            head = Array("Authorization: Basic ".utf8)
            templates = [user, password].map { CompiledTemplate($0, ruleName: actionRuleName) }
            isBasic = true
        case .header(let name, let value):
            head = Array("\(name): ".utf8)
            templates = [CompiledTemplate(value, ruleName: actionRuleName)]
            isBasic = false
        }
        isConstant = templates.allSatisfy(\.isConstant)
    }

    deinit { wipe() }

    func wipe() {
        line.wipe()
        scratch.wipe()
        state = .unavailable
    }

    /// What would be sent, secrets by their source.
    var display: String {
        switch definition.kind {
        case .bearer(let token): "Bearer \(token.display)"
        case .basic(let user, let password): "Basic \(user.display):\(password.display)"
        case .header(_, let value): value.display
        }
    }

    /// Builds the line of a constant credential for the secrets' present values.
    func refresh(_ secrets: SecretTable) {
        guard isConstant else { return }
        let length = templates.reduce(1) { $0 + $1.constantLength(secrets) }
        let capacity = head.count + Base64.encodedCount(length) + 2
        if line.capacity < capacity { line = ByteBuffer(capacity: capacity) }
        if scratch.capacity < length { scratch = ByteBuffer(capacity: length) }
        state = .unavailable
        line.append(head)
        guard templates.allSatisfy({ $0.isAvailable(secrets) }) else { return }
        if isBasic {
            guard TemplateWriter.writeConstant(templates[0], secrets, into: scratch) else { return }
            let userLength = scratch.count
            scratch.append(UInt8(ascii: ":"))
            guard TemplateWriter.writeConstant(templates[1], secrets, into: scratch) else { return }
            state = encodeBasic(userLength, into: line) ? .ready : .illegal
            scratch.wipe()
        } else {
            guard TemplateWriter.writeConstant(templates[0], secrets, into: line) else { return }
            state = isLegal(line) ? .ready : .illegal
        }
        line.append("\r\n")
    }

    /// RFC 7617 section 2: the user holds no colon, and neither part a control character.
    private func encodeBasic(_ userLength: Int, into out: ByteBuffer) -> Bool {
        let pair = scratch.span
        for index in 0..<userLength where pair[index] == UInt8(ascii: ":") { return false }
        guard RuleBytes.isFieldValue(pair) else { return false }
        Base64.append(pair, to: out)
        return true
    }

    /// The line's value is neither empty nor more than a field value may be.
    private func isLegal(_ line: ByteBuffer) -> Bool {
        RuleBytes.isFieldValue(line.span(ByteRange(head.count, line.count - head.count)))
    }

    /// Whether it is to be sent with this message.
    func decide(_ context: SendContext, _ secrets: SecretTable, isFirstSend: Bool) throws(Rejection) -> Bool {
        let bit: UInt64 = 1 << UInt64(index & 63)
        guard isPermitted(context), context.droppedCredentials & bit == 0 else {
            if !context.isDescribing { context.droppedCredentials |= bit }
            if isFirstSend && onMissing == .fail { throw .credentialUnavailable }
            context.withheld += 1
            return false
        }
        let isMissing: Bool
        if isConstant {
            if state == .illegal { throw .internalError }
            isMissing = state == .unavailable
        } else {
            isMissing = templates.contains { TemplateWriter.isAbsent($0, context) || !$0.isAvailable(secrets) }
        }
        if isMissing && onMissing == .fail { throw .credentialUnavailable }
        return !isMissing
    }

    private func isPermitted(_ context: SendContext) -> Bool {
        let destination = context.destination
        for permitted in hosts {
            if let port = permitted.port, port != destination.port { continue }
            if permitted.host.matches(destination.host.span) { return true }
        }
        return false
    }

    /// Appends the line. Precondition: ``decide`` has said so for this message.
    func write(_ context: SendContext, _ secrets: SecretTable, into out: ByteBuffer) throws(Rejection) {
        if isConstant {
            out.append(line.span)
            return
        }
        out.append(head)
        let start = out.count
        if isBasic {
            scratch.clear()
            _ = TemplateWriter.write(templates[0], context, secrets, into: scratch)
            let userLength = scratch.count
            scratch.append(UInt8(ascii: ":"))
            _ = TemplateWriter.write(templates[1], context, secrets, into: scratch)
            let isEncoded = encodeBasic(userLength, into: out)
            scratch.wipe()
            if !isEncoded { throw .internalError }
        } else {
            _ = TemplateWriter.write(templates[0], context, secrets, into: out)
            guard RuleBytes.isFieldValue(out.span(ByteRange(start, out.count - start))) else { throw .internalError }
        }
        out.append("\r\n")
    }
}
