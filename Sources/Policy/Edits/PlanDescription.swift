internal import HTTP

/// The header of a request or response as it would be sent, with where each line comes from; secrets are shown by their source.
public struct PlanDescription: Sendable, Equatable {
    public struct Line: Sendable, Equatable {
        public let name: String
        public let value: String
        /// `client`, `rule NAME set`, `credential NAME`.
        public let provenance: String

        public init(name: String, value: String, provenance: String) {
            self.name = name
            self.value = value
            self.provenance = provenance
        }
    }

    public struct Omission: Sendable, Equatable {
        public let name: String
        public let reason: String

        public init(name: String, reason: String) {
            self.name = name
            self.reason = reason
        }
    }

    public var lines: [Line] = []
    /// Lines of the client that are not passed on.
    public var removed: [Omission] = []
    /// Lines of rules and credentials that are not sent this time.
    public var withheld: [Omission] = []

    public init() {}
}

extension EditPlan {
    /// Describes what ``admit(_:id:)`` and ``finish(_:into:isFirstSend:)`` would do. Not for the request path.
    public func describe(_ request: CanonicalRequest, _ context: SendContext) -> PlanDescription {
        var description = PlanDescription()
        if builtGeneration != secrets.generation { refresh() }
        let withheld = context.withheld
        begin()
        for (index, line) in request.head.lines.enumerated() where line.id != .host {
            let name = request.head.bytes.span(line.name)
            if request.isDropped(index) {
                description.removed.append(
                    .init(
                        name: RuleBytes.text(name),
                        reason: "ends at the proxy: hop-by-hop, forwarded or not a strict name"))
                continue
            }
            let value = RuleBytes.text(request.head.bytes.span(line.value))
            switch admit(name, id: line.id) {
            case .keep: description.lines.append(.init(name: RuleBytes.text(name), value: value, provenance: "client"))
            case .drop: description.removed.append(.init(name: RuleBytes.text(name), reason: reason(name)))
            case .rename(let target):
                description.lines.append(
                    .init(name: RuleBytes.text(self.name(target)), value: value, provenance: "client, \(reason(name))"))
            }
        }
        describeCredentials(context, into: &description)
        context.withheld = withheld
        return description
    }

    private func reason(_ name: Span<UInt8>) -> String {
        if let managed = managed.reason(forRemoving: name) { return managed }
        let number = merger.table.find(name)
        if number < 0 {
            let folded = NameFold.folded(Array(RuleBytes.text(name).utf8))
            return merger.globs.first { $0.glob.matches(folded.span) }?.reason ?? ""
        }
        let record = merger.records[number]
        for spelling in record.spellings where RuleBytes.equal(name, ignoringCase: spelling.lowered) {
            return spelling.outcome.reason
        }
        return record.others.reason
    }

    private func describeCredentials(_ context: SendContext, into description: inout PlanDescription) {
        for (index, credential) in credentials.enumerated() {
            let sent = try? credential.decide(context, secrets, isFirstSend: false)
            sentCredentials[index] = sent ?? false
        }
        describeEntries(context, into: &description)
        for (index, credential) in credentials.enumerated() {
            let name = credential.definition.fieldName
            let isReplaced = credential.replacedBy.contains { sentCredentials[$0] }
            if sentCredentials[index] && !isReplaced {
                description.lines.append(
                    .init(name: name, value: credential.display, provenance: "credential \(credential.definition.name)")
                )
            } else {
                let reason = isReplaced ? "a later credential takes its place" : "not permitted there, or not available"
                description.withheld.append(
                    .init(name: name, reason: "credential \(credential.definition.name): \(reason)"))
            }
        }
    }

    private func describeEntries(_ context: SendContext, into description: inout PlanDescription) {
        let buffer = ByteBuffer(capacity: 256)
        for index in entries.indices
        where index == hostEntry || entries[index].placement != .single || singles.contains(index) {
            let entry = entries[index]
            let name = String(decoding: entry.name, as: UTF8.self)
            let provenance = "rule \(entry.ruleName) \(entry.verb.rawValue)"
            buffer.clear()
            var isSent = false
            if index == hostEntry {
                isSent = (try? writeHost(context, into: buffer)) ?? false
            } else if entry.placement == .defaultBlock {
                isSent = entry.state == .ready && !isSatisfied(entry.defaultNumber)
                if isSent { appendBlockValue(entry, to: buffer) }
            } else if entry.placement == .block {
                isSent = entry.state == .ready && (!entry.isBound || context.isUpstreamOrigin)
                if isSent && !entry.isBound { appendBlockValue(entry, to: buffer) }
            } else {
                presence[index] = (try? writeSingle(index, context, into: buffer)) ?? false
                isSent = !buffer.isEmpty
                if isSent { keepValue(entry, of: buffer) }
            }
            if isSent {
                let value = entry.isBound ? entry.template.display : RuleBytes.text(buffer.span)
                description.lines.append(.init(name: name, value: value, provenance: provenance))
            } else if entry.isLive && (entry.isBound || entry.verb == .set) {
                description.withheld.append(.init(name: name, reason: "\(provenance): \(omission(entry, context))"))
            }
        }
        buffer.wipe()
    }

    private func omission(_ entry: PlanEntry, _ context: SendContext) -> String {
        if entry.isBound && !context.isUpstreamOrigin { return "a secret, and this is not the upstream" }
        if entry.state == .illegal { return "not a legal field value" }
        if !entry.template.isAvailable(secrets) { return "its secret can not be had" }
        if entry.replacedBy.contains(where: { sentCredentials[$0] }) { return "a credential takes its place" }
        return "its variable is absent"
    }

    private func appendBlockValue(_ entry: PlanEntry, to buffer: ByteBuffer) {
        buffer.append(plain.span(entry.line))
        keepValue(entry, of: buffer)
    }

    /// Cuts `Name: value` CRLF down to the value.
    private func keepValue(_ entry: PlanEntry, of buffer: ByteBuffer) {
        buffer.truncate(to: max(buffer.count - 2, 0))
        buffer.removeFirst(min(entry.name.count + 2, buffer.count))
    }
}
