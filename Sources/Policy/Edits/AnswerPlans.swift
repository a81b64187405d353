public import HTTP

/// `respond:` made ready: constant lines and the body are bytes already.
public final class RespondPlan {
    public let status: Int
    public let body = ByteBuffer(capacity: 16)
    private let headers: EditPlan

    init(_ definition: RespondDefinition, ruleName: String, secrets: SecretTable) {
        status = definition.status
        body.append(definition.body)
        var edits = EditsDefinition()
        edits.append = definition.headers
        let hasType = definition.headers.contains { $0.name.lowercased() == "content-type" }
        if let type = definition.contentType, !hasType {
            edits.append.append((name: "Content-Type", value: ValueTemplate(literal: type)))
        }
        let step = PlanStep(rule: 0, ruleName: ruleName, edits: edits, onMissing: .fail)
        let merger = PlanMerger(steps: [step], credentialNames: [], actionRuleName: ruleName)
        headers = EditPlan(merger: merger, managed: ManagedNames(), credentials: [], secrets: secrets)
    }

    /// Appends the answer's own field lines, Content-Type included; framing is the writer's.
    public func writeHeaders(_ context: SendContext, into out: ByteBuffer) throws(Rejection) {
        headers.begin()
        try headers.finish(context, into: out)
    }
}

/// `redirect:` made ready.
public final class RedirectPlan {
    public let status: Int
    private let location: CompiledTemplate
    private let secrets: SecretTable

    init(_ definition: RedirectDefinition, ruleName: String, secrets: SecretTable) {
        status = definition.status
        location = CompiledTemplate(definition.to, ruleName: ruleName)
        self.secrets = secrets
    }

    /// Appends the value of Location. What a variable brings that can not stand in a URL is escaped.
    public func writeLocation(_ context: SendContext, into out: ByteBuffer) throws(Rejection) {
        let start = out.count
        let outcome = TemplateWriter.write(location, context, secrets, into: out, encoding: .url)
        let value = out.span(ByteRange(start, out.count - start))
        guard outcome == .written, !value.isEmpty, RuleBytes.isFieldValue(value) else { throw .internalError }
    }
}

/// `proxy.path` made ready.
public final class PathPlan {
    private let template: CompiledTemplate
    private let secrets: SecretTable

    init(_ template: ValueTemplate, ruleName: String, secrets: SecretTable) {
        self.template = CompiledTemplate(template, ruleName: ruleName)
        self.secrets = secrets
    }

    /// Appends the path to be sent; what variables other than the path bring is one segment's text.
    ///
    /// A result that is not an absolute path, or that has dot segments (RFC 3986 section 3.3), is `internalError`.
    public func write(_ context: SendContext, into out: ByteBuffer) throws(Rejection) {
        let start = out.count
        let outcome = TemplateWriter.write(template, context, secrets, into: out, encoding: .path)
        guard outcome == .written, isPath(out.span(ByteRange(start, out.count - start))) else { throw .internalError }
    }

    private func isPath(_ path: Span<UInt8>) -> Bool {
        guard !path.isEmpty, path[0] == UInt8(ascii: "/") else { return false }
        var segment = 0
        for index in 1...path.count {
            if index < path.count && path[index] != UInt8(ascii: "/") {
                let byte = path[index]
                let isBad =
                    byte <= 0x20 || byte >= 0x7f || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                    || byte == UInt8(ascii: "\\")
                if isBad { return false }
                continue
            }
            let length = index - segment - 1
            let isDots =
                (length == 1 || length == 2) && path[index - 1] == UInt8(ascii: ".")
                && path[segment + 1] == UInt8(ascii: ".")
            if isDots { return false }
            segment = index
        }
        return true
    }
}
