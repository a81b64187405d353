internal import HTTP

/// A request as it would be sent, for a person: every line with where it comes from, secrets as their sources.
package struct RequestDescription: Sendable {
    package var method = ""
    package var target = ""
    /// In the order of the wire.
    package var lines: [PlanDescription.Line] = []
    package var removed: [PlanDescription.Omission] = []
    package var withheld: [PlanDescription.Omission] = []

    /// `authproxy`: what the proxy itself says of the request's way and its framing.
    package static let ownProvenance = "authproxy"
}

extension RequestWriter {
    /// What `write` would send, described. Not for the request path.
    package static func describe(
        _ current: CanonicalRequest, plan: ChainPlan, context: SendContext, instance: Span<UInt8>, _ parameters: Parameters
    ) throws(Rejection) -> RequestDescription {
        context.isDescribing = true
        defer { context.isDescribing = false }
        var description = RequestDescription()
        let buffer = ByteBuffer(capacity: 1024)
        description.method = RuleBytes.text(current.methodName)
        try writeTarget(current, plan, context, parameters, to: buffer)
        description.target = RuleBytes.text(buffer.span)

        let edits = plan.request.describe(current, context)
        description.removed = edits.removed
        description.withheld = edits.withheld
        try describeHost(current, plan, context, parameters, edits, into: &description)
        for line in edits.lines where line.provenance.hasPrefix("client") {
            if !plan.cookies.isEmpty && isCookie(line.name) { continue }
            description.lines.append(line)
        }
        if !plan.cookies.isEmpty {
            buffer.clear()
            try writeCookies(current, plan, context, nil, to: buffer)
            add(buffer, provenance: "client, edited by cookies", to: &description)
        }
        buffer.clear()
        ForwardedWriter.append(context.request, client: context.client, instance: instance, to: buffer)
        buffer.append("X-Request-Id: ")
        buffer.append(context.requestID.span)
        buffer.append("\r\n")
        add(buffer, provenance: RequestDescription.ownProvenance, to: &description)
        for line in edits.lines where !line.provenance.hasPrefix("client") && !isHost(line.name) {
            description.lines.append(line)
        }
        buffer.clear()
        writeFraming(current, parameters, to: buffer)
        add(buffer, provenance: RequestDescription.ownProvenance, to: &description)
        return description
    }

    private static func describeHost(
        _ current: CanonicalRequest, _ plan: ChainPlan, _ context: SendContext, _ parameters: Parameters,
        _ edits: PlanDescription, into description: inout RequestDescription
    ) throws(Rejection) {
        if let set = edits.lines.first(where: { isHost($0.name) && !$0.provenance.hasPrefix("client") }) {
            return description.lines.append(set)
        }
        let buffer = ByteBuffer()
        try writeHost(current, plan, context, parameters, to: buffer)
        let isClients = parameters.preservesHost && !current.authority.isEmpty
        description.lines.append(
            PlanDescription.Line(
                name: "Host", value: RuleBytes.text(buffer.span),
                provenance: isClients ? "client" : RequestDescription.ownProvenance))
    }

    private static func isHost(_ name: String) -> Bool { name.lowercased() == "host" }
    private static func isCookie(_ name: String) -> Bool { name.lowercased() == "cookie" }

    /// Adds complete field lines.
    private static func add(_ buffer: ByteBuffer, provenance: String, to description: inout RequestDescription) {
        for line in RuleBytes.text(buffer.span).split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            description.lines.append(
                PlanDescription.Line(
                    name: String(parts[0]), value: String(parts[1].drop { $0 == " " }), provenance: provenance))
        }
    }
}
