public import HTTP

extension EditPlan {
    /// Lines that hold no secret are built once: the block first, then what is written on its own.
    func buildPlain() {
        plainBlock = appendPlain(.block)
        defaultBlock = appendPlain(.defaultBlock)
        _ = appendPlain(.single)
        for entry in entries where entry.placement == .block && !entry.isBound && entry.state == .illegal {
            plainFault = .internalError
        }
    }

    private func appendPlain(_ placement: PlanEntry.Placement) -> ByteRange {
        let start = plain.count
        for index in entries.indices
        where entries[index].placement == placement && entries[index].template.isConstant && !entries[index].isBound {
            appendLine(index, to: plain)
        }
        return ByteRange(start, plain.count - start)
    }

    /// Whether some line of the message makes one of the block's defaults superfluous, or one of them can not be sent.
    private var defaultsDiffer: Bool {
        for word in satisfied.indices where satisfied[word] & blockDefaultMask[word] != 0 { return true }
        return false
    }

    private func writeDefaults(into out: ByteBuffer) throws(Rejection) {
        if !defaultsDiffer && !defaultBlockHasFault { return out.append(plain.span(defaultBlock)) }
        for index in blockDefaults where !isSatisfied(entries[index].defaultNumber) {
            _ = try writeConstant(index, isWritten: true, into: out)
        }
    }

    /// Lines that hold secrets, built anew for each generation of them; what was there is wiped.
    func refresh() {
        wipeSecrets()
        let capacity = entries.indices.reduce(0) { $0 + boundLength($1) }
        if bound.capacity < capacity { bound = ByteBuffer(capacity: capacity) }
        for isBlock in [true, false] {
            for index in entries.indices where entries[index].template.isConstant && entries[index].isBound {
                guard (entries[index].placement == .block) == isBlock else { continue }
                appendLine(index, to: bound)
                if isBlock { noteInBlock(entries[index]) }
            }
            if isBlock { boundBlock = ByteRange(0, bound.count) }
        }
        for credential in credentials { credential.refresh(secrets) }
        builtGeneration = secrets.generation
    }

    /// Forgets all bytes of secrets until the next message needs them.
    func wipeSecrets() {
        bound.wipe()
        boundBlock = .empty
        boundBlockLines = 0
        boundFault = nil
        for credential in credentials { credential.wipe() }
        builtGeneration = -1
    }

    private func noteInBlock(_ entry: PlanEntry) {
        switch entry.state {
        case .ready: boundBlockLines += 1
        case .unavailable: if entry.onMissing == .fail { boundFault = boundFault ?? .credentialUnavailable }
        case .illegal: boundFault = .internalError
        }
    }

    private func boundLength(_ index: Int) -> Int {
        let entry = entries[index]
        guard entry.template.isConstant && entry.isBound else { return 0 }
        return entry.name.count + 4 + entry.template.constantLength(secrets)
    }

    private func appendLine(_ index: Int, to store: ByteBuffer) {
        let start = store.count
        store.append(entries[index].name)
        store.append(": ")
        let valueStart = store.count
        let isAvailable = TemplateWriter.writeConstant(entries[index].template, secrets, into: store)
        let isLegal = RuleBytes.isFieldValue(store.span(ByteRange(valueStart, store.count - valueStart)))
        guard isAvailable && isLegal else {
            store.truncate(to: start)
            entries[index].line = .empty
            entries[index].state = isAvailable ? .illegal : .unavailable
            return
        }
        store.append("\r\n")
        entries[index].line = ByteRange(start, store.count - start)
        entries[index].state = .ready
    }

    /// Writes `Name: value` CRLF for all lines of the plan.
    ///
    /// A value with a secret is written only when the send goes to the upstream's own origin, a credential only to its hosts;
    /// what is left out is counted in `context.withheld`. On a first send a credential that may not go, and on any send a
    /// secret that can not be had, is `credentialUnavailable` unless the rule says `on_missing: pass`. A value that is not a
    /// legal field value is `internalError`. When this throws, what was appended must not be sent.
    public func finish(_ context: SendContext, into out: ByteBuffer, isFirstSend: Bool = true) throws(Rejection) {
        if builtGeneration != secrets.generation { refresh() }
        if let plainFault { throw plainFault }
        out.append(plain.span(plainBlock))
        if !blockDefaults.isEmpty { try writeDefaults(into: out) }
        if context.isUpstreamOrigin {
            if let boundFault { throw boundFault }
            out.append(bound.span(boundBlock))
        } else {
            context.withheld += boundBlockLines
        }
        if singles.isEmpty && credentials.isEmpty { return }
        for index in credentials.indices {
            sentCredentials[index] = try credentials[index].decide(context, secrets, isFirstSend: isFirstSend)
        }
        for index in singles { presence[index] = try writeSingle(index, context, into: out) }
        for index in credentials.indices where sentCredentials[index] && !isReplaced(index) {
            try credentials[index].write(context, secrets, into: out)
        }
    }

    /// Of several credentials for one field, the last that may be sent is.
    private func isReplaced(_ index: Int) -> Bool {
        for later in credentials[index].replacedBy where sentCredentials[later] { return true }
        return false
    }

    /// Whether the line is present at the moment that its rule has it written; it is only written when it lasts.
    func writeSingle(_ index: Int, _ context: SendContext, into out: ByteBuffer) throws(Rejection) -> Bool {
        if entries[index].defaultNumber >= 0 {
            if isSatisfied(entries[index].defaultNumber) { return false }
            for blocker in entries[index].blockers where presence[blocker] { return false }
        }
        var isWritten = entries[index].isLive
        for credential in entries[index].replacedBy where sentCredentials[credential] { isWritten = false }
        if entries[index].isBound && !context.isUpstreamOrigin {
            if isWritten { context.withheld += 1 }
            return false
        }
        if entries[index].template.isConstant { return try writeConstant(index, isWritten: isWritten, into: out) }
        if !isWritten {
            return !TemplateWriter.isAbsent(entries[index].template, context)
                && entries[index].template.isAvailable(secrets)
        }
        let start = out.count
        out.append(entries[index].name)
        out.append(": ")
        guard try writeValue(index, context, into: out) else {
            out.truncate(to: start)
            return false
        }
        out.append("\r\n")
        return true
    }

    private func writeConstant(_ index: Int, isWritten: Bool, into out: ByteBuffer) throws(Rejection) -> Bool {
        switch entries[index].state {
        case .ready:
            if isWritten { out.append((entries[index].isBound ? bound : plain).span(entries[index].line)) }
            return true
        case .unavailable:
            if isWritten && entries[index].onMissing == .fail { throw .credentialUnavailable }
            return false
        case .illegal: throw .internalError
        }
    }

    /// Appends the value alone; false when it is not to be sent.
    private func writeValue(_ index: Int, _ context: SendContext, into out: ByteBuffer) throws(Rejection) -> Bool {
        let start = out.count
        switch TemplateWriter.write(entries[index].template, context, secrets, into: out) {
        case .absent: return false
        case .unavailable:
            if entries[index].onMissing == .fail { throw .credentialUnavailable }
            return false
        case .written:
            guard RuleBytes.isFieldValue(out.span(ByteRange(start, out.count - start))) else { throw .internalError }
            return true
        }
    }

    /// The rules say what Host is.
    public var setsHost: Bool { hostEntry >= 0 }

    /// Appends the value of Host that the rules set; false when there is none for this send.
    public func writeHost(_ context: SendContext, into out: ByteBuffer) throws(Rejection) -> Bool {
        guard hostEntry >= 0 else { return false }
        if entries[hostEntry].isBound && !context.isUpstreamOrigin {
            context.withheld += 1
            return false
        }
        let start = out.count
        guard try writeValue(hostEntry, context, into: out) else { return false }
        let value = out.span(ByteRange(start, out.count - start))
        if value.isEmpty { throw .internalError }
        for index in value.indices where !isAuthorityByte(value[index]) { throw .internalError }
        return true
    }

    private func isAuthorityByte(_ byte: UInt8) -> Bool {
        RuleBytes.isUnreserved(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "[")
            || byte == UInt8(ascii: "]")
    }

    /// Nothing is changed by this plan.
    public var isEmpty: Bool {
        merger.records.isEmpty && merger.globs.isEmpty && managed.table.count == 0 && credentials.isEmpty
    }
}
