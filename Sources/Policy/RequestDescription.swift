internal import HTTP

/// A request as it would be sent, for a person: every line with where it comes from, secrets as their sources.
public struct RequestDescription: Sendable {
    public var method = ""
    public var target = ""
    /// In the order of the wire.
    public var lines: [PlanDescription.Line] = []
    public var removed: [PlanDescription.Omission] = []
    public var withheld: [PlanDescription.Omission] = []

    /// `authproxy`: what the proxy itself says of the request's way and its framing.
    public static let ownProvenance = "authproxy"
}

extension RequestWriter {
    /// What `write` would send, described. Not for the request path.
    public static func describe(
        _ current: CanonicalRequest, plan: ChainPlan, context: SendContext, instance: Span<UInt8>, hops: HopCookies? = nil,
        _ parameters: Parameters
    ) throws(Rejection) -> RequestDescription {
        context.isDescribing = true
        defer { context.isDescribing = false }
        var description = RequestDescription()
        let buffer = ByteBuffer(capacity: 1024)
        description.method = RuleBytes.text(current.methodName)
        try writeTarget(current, plan, context, parameters.paths, to: buffer)
        description.target = RuleBytes.text(buffer.span)

        let edits = plan.request.describe(current, context)
        description.withheld = edits.withheld
        try describeHost(current, plan, context, parameters, edits, into: &description)
        describeClientLines(current, edits, into: &description)
        if let page = parameters.page { describe(page, into: &description) }
        try describeCookies(current, plan, context, hops, into: &description)
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

    private static func describeClientLines(
        _ current: CanonicalRequest, _ edits: PlanDescription, into description: inout RequestDescription
    ) {
        for line in edits.lines where line.provenance.hasPrefix("client") {
            switch id(line.name) {
            case .xRequestID:
                description.removed.append(.init(name: line.name, reason: "the proxy gives each request its own"))
            case .authorization where current.leavesCredentialsBehind, .cookie where current.leavesCredentialsBehind,
                .proxyAuthorization where current.leavesCredentialsBehind:
                description.removed.append(.init(name: line.name, reason: "not for another origin"))
            default: description.lines.append(line)
            }
        }
        description.removed += edits.removed.compactMap { removal in
            reason(removal).map { PlanDescription.Omission(name: removal.name, reason: $0) }
        }
    }

    /// What changes so that a page can be edited.
    private static func describe(_ page: PageRequest, into description: inout RequestDescription) {
        let buffer = ByteBuffer()
        description.lines = description.lines.compactMap { line in
            guard line.provenance.hasPrefix("client") else { return line }
            let (name, value) = (Array(line.name.utf8), Array(line.value.utf8))
            let change = page.change(of: name.span, value.span)
            if change == .drop {
                description.removed.append(
                    .init(name: line.name, reason: "the page is edited: it would not be the one that is named"))
                return nil
            }
            buffer.clear()
            page.append(value.span, change, to: buffer)
            let text = RuleBytes.text(buffer.span)
            if text == line.value { return line }
            return PlanDescription.Line(name: line.name, value: text, provenance: "client, for a page that is edited")
        }
    }

    /// Why a line of the client's did not go on; nil for one that did, in the proxy's own words.
    private static func reason(_ removal: PlanDescription.Omission) -> String? {
        switch id(removal.name) {
        case .contentLength, .transferEncoding, .via, .cdnLoop: return nil
        case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xForwardedPort, .xForwardedOther, .xRealIP:
            return "the proxy says itself where a request comes from"
        default: break
        }
        guard removal.reason.hasPrefix("ends at the proxy") else { return removal.reason }
        let isStrict = removal.name.utf8.allSatisfy { CanonicalBytes.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        return isStrict ? "hop-by-hop: it ends at the proxy" : "not a strict name: letters, digits and hyphens"
    }

    /// One Cookie line in place of the client's, when rules or hops have a say in it.
    private static func describeCookies(
        _ current: CanonicalRequest, _ plan: ChainPlan, _ context: SendContext, _ hops: HopCookies?,
        into description: inout RequestDescription
    ) throws(Rejection) {
        if plan.cookies.isEmpty && hops?.isEmpty ?? true { return }
        description.lines.removeAll { id($0.name) == .cookie }
        let buffer = ByteBuffer(capacity: 256)
        try writeCookies(current, plan, context, hops, to: buffer)
        add(buffer, provenance: "client, edited by cookies", to: &description)
        var pairs = CookiePairs(context.request)
        while let pair = pairs.next() {
            let name = current.head.bytes.span(pair.name)
            if plan.cookies.admits(name) { continue }
            description.removed.append(.init(name: "Cookie \(RuleBytes.text(name))", reason: "the rules' cookies edits"))
        }
    }

    private static func id(_ name: String) -> FieldID {
        let bytes = Array(name.utf8)
        return HTTP1.fieldID(bytes.span)
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

    private static func isHost(_ name: String) -> Bool { id(name) == .host }

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
