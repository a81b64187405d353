public import HTTP

/// Writes the head of a request to an upstream; the only place that does. Steps 3 of an exchange: strip, edit, inject.
///
/// Whatever is written was decided by the plan, the canonical request and the context; nothing is written behind it.
public enum RequestWriter {
    /// How one send is to be framed and where it goes, apart from what the plan says.
    public struct Parameters {
        public var framing: BodyFraming
        /// Of the client's Upgrade: the one protocol that is let through; nil for none.
        public var upgrade: ByteRange?
        public var expectsContinue: Bool
        public var isFirstSend: Bool
        /// The path of the upstream's URL and the rule's prefixes; nil leaves the path as it is.
        public var paths: PathMapping?
        /// The value of Host unless the rules set one.
        public var preservesHost: Bool
        /// The upstream is to know where the request comes from; a redirect's other origin is not.
        public var tellsClient: Bool
        /// The answer may be a page that is edited.
        public var page: PageRequest?
        public init(
            framing: BodyFraming, upgrade: ByteRange?, expectsContinue: Bool, isFirstSend: Bool, paths: PathMapping?,
            preservesHost: Bool, tellsClient: Bool, page: PageRequest?
        ) {
            self.framing = framing
            self.upgrade = upgrade
            self.expectsContinue = expectsContinue
            self.isFirstSend = isFirstSend
            self.paths = paths
            self.preservesHost = preservesHost
            self.tellsClient = tellsClient
            self.page = page
        }
    }

    /// `current` is the client's canonical request or that of a hop; `hops` the cookies that earlier hops set. The value of Host
    /// is left in `context.sentHost`. When this throws, what was appended must not be sent.
    public static func write(
        _ current: CanonicalRequest, plan: ChainPlan, context: SendContext, instance: Span<UInt8>, forwarded: ForwardedCache,
        hops: HopCookies?, _ parameters: Parameters, to out: ByteBuffer
    ) throws(Rejection) {
        out.append(current.methodName)
        out.append(UInt8(ascii: " "))
        try writeTarget(current, plan, context, parameters.paths, to: out)
        out.append(" HTTP/1.1\r\nHost: ")
        try writeHost(current, plan, context, parameters, to: out)
        out.append("\r\n")
        let writesCookies = !plan.cookies.isEmpty || hops.map { !$0.isEmpty } ?? false
        writeClientLines(current, plan.request, parameters.page, skippingCookies: writesCookies, to: out)
        if writesCookies { try writeCookies(current, plan, context, hops, to: out) }
        if parameters.tellsClient {
            uncounted(context.client) { forwarded.append(context.request, client: $0, instance: instance, to: out) }
        } else {
            ForwardedWriter.appendWay(context.request, instance: instance, to: out)
        }
        out.append("X-Request-Id: ")
        out.append(context.requestID.span)
        out.append("\r\n")
        try plan.request.finish(context, into: out, isFirstSend: parameters.isFirstSend)
        writeFraming(current, parameters, to: out)
        out.append("\r\n")
    }

    static func writeTarget(
        _ current: CanonicalRequest, _ plan: ChainPlan, _ context: SendContext, _ paths: PathMapping?, to out: ByteBuffer
    ) throws(Rejection) {
        let hasQuery = current.target.count > current.pathLength
        if plan.path == nil, plan.query.isEmpty, paths?.isIdentity ?? true {
            return out.append(current.target.span)
        }
        if let path = plan.path {
            try path.write(context, into: out)
        } else if let paths, !(current.pathLength == 1 && current.target[0] == UInt8(ascii: "*")) {
            paths.appendUpstreamPath(current.path, to: out)
        } else {
            out.append(current.path)
        }
        let mark = out.count
        if hasQuery || !plan.query.isEmpty { out.append(UInt8(ascii: "?")) }
        if plan.query.isEmpty {
            out.append(current.query)
        } else {
            try plan.query.apply(query: current.query, context, into: out)
            if out.count == mark + 1 { out.truncate(to: mark) }
        }
    }

    static func writeHost(
        _ current: CanonicalRequest, _ plan: ChainPlan, _ context: SendContext, _ parameters: Parameters,
        to out: ByteBuffer
    ) throws(Rejection) {
        let start = out.count
        if try !plan.request.writeHost(context, into: out) {
            if parameters.preservesHost && !current.authority.isEmpty {
                out.append(current.authority.span)
            } else {
                out.append(context.destination.authority.span)
            }
        }
        context.sentHost.clear()
        context.sentHost.append(out.span(ByteRange(start, out.count - start)))
    }

    private static func writeClientLines(
        _ current: CanonicalRequest, _ edits: EditPlan, _ page: PageRequest?, skippingCookies: Bool, to out: ByteBuffer
    ) {
        edits.begin()
        uncounted(current.head) { head in
            writeClientLines(head, current, edits, page, skippingCookies: skippingCookies, to: out)
        }
    }

    private static func writeClientLines(
        _ head: RequestHead, _ current: CanonicalRequest, _ edits: EditPlan, _ page: PageRequest?, skippingCookies: Bool,
        to out: ByteBuffer
    ) {
        let bytes = head.bytes
        for index in 0..<head.lines.count where !current.isWithheld(index) {
            let line = head.lines[index]
            if line.id == .xRequestID || line.id == .cookie && skippingCookies { continue }
            let name = bytes.span(line.name), value = bytes.span(line.value)
            let change = page?.change(of: name, value) ?? .none
            if change == .drop { continue }
            switch edits.admit(name, id: line.id) {
            case .drop: continue
            case .keep where page == nil:
                out.append(line: name, value)
                continue
            case .keep: out.append(name)
            case .rename(let target): out.append(edits.name(target))
            }
            out.append(": ")
            if let page { page.append(value, change, to: out) } else { out.append(value) }
            out.append("\r\n")
        }
    }

    static func writeCookies(
        _ current: CanonicalRequest, _ plan: ChainPlan, _ context: SendContext, _ hops: HopCookies?, to out: ByteBuffer
    ) throws(Rejection) {
        let start = out.count
        out.append("Cookie: ")
        let count = Cookies.append(of: current, client: context.request, hops: hops, edits: plan.cookies, to: out)
        if try !plan.cookies.writeSets(context, separator: count > 0, into: out) { return out.truncate(to: start) }
        out.append("\r\n")
    }

    static func writeFraming(_ current: CanonicalRequest, _ parameters: Parameters, to out: ByteBuffer) {
        switch parameters.framing {
        case .none, .untilClose: break
        case .length(let length):
            out.append("Content-Length: ")
            out.append(decimal: UInt(length))
            out.append("\r\n")
        case .chunked: out.append("Transfer-Encoding: chunked\r\n")
        }
        if parameters.expectsContinue { out.append("Expect: 100-continue\r\n") }
        let takesTrailers = current.head.takesTrailers
        if let upgrade = parameters.upgrade {
            out.append("Upgrade: ")
            out.append(current.head.bytes.span(upgrade))
            out.append(takesTrailers ? "\r\nTE: trailers\r\nConnection: Upgrade, TE\r\n" : "\r\nConnection: Upgrade\r\n")
        } else if takesTrailers {
            out.append("TE: trailers\r\nConnection: TE\r\n")
        }
    }

    /// Trailer fields of the client's content that pass the same filter as its header fields (RFC 9110 section 6.5.1).
    public static func writeTrailers(_ trailers: TrailerSection, plan: ChainPlan, to out: ByteBuffer) {
        for line in trailers.lines {
            let name = trailers.bytes.span(line.name)
            guard TrailerFields.maySend(line.id, name), plan.request.admitTrailer(name, id: line.id) else { continue }
            out.append(name)
            out.append(": ")
            out.append(trailers.bytes.span(line.value))
            out.append("\r\n")
        }
    }
}

/// RFC 9110 section 6.5.1: fields that say how a message is framed, routed, authenticated or read have no place in a trailer.
enum TrailerFields {
    static func maySend(_ id: FieldID, _ name: Span<UInt8>) -> Bool {
        guard case .other = id else {
            switch id {
            case .date, .server, .accept, .referer, .origin: return true
            default: return false
            }
        }
        for index in 0..<name.count where !CanonicalBytes.isAlphanumeric(name[index]) && name[index] != UInt8(ascii: "-") {
            return false
        }
        return !CanonicalBytes.hasPrefix(name, "content-") && !CanonicalBytes.hasPrefix(name, "if-")
            && !CanonicalBytes.equalsIgnoringCase(name, "range") && !CanonicalBytes.equalsIgnoringCase(name, "age")
            && !CanonicalBytes.equalsIgnoringCase(name, "expires") && !CanonicalBytes.equalsIgnoringCase(name, "vary")
    }
}
