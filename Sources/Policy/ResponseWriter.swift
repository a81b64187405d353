public import HTTP

/// Writes the head of a response to the client; the only place that does, but for errors of our own.
public final class ResponseWriter {
    private var dropped: [UInt64] = [0, 0, 0, 0]
    private let mapped = ByteBuffer(capacity: 256)

    public init() {}

    public struct Parameters {
        public var framing: BodyFraming
        /// The connection carries another request.
        public var keeps: Bool
        public var version: HTTPVersion
        public var cacheChange: CacheStoragePolicy.Change
        /// A response to HEAD, or 304, may say what the length would have been (RFC 9110 sections 9.3.2, 15.4.5).
        public var tellsLength: Bool
        /// Upgrade of a 101: the protocol that the connection becomes.
        public var isSwitching: Bool
        public var passesTrailers: Bool
        /// The content is a page that is edited, or would be.
        public var page: PageResponse?
        /// What decides whether the page is edited; nil for what certainly is none.
        public var pageDependence: PageDependence?

        public init(
            framing: BodyFraming, keeps: Bool, version: HTTPVersion, cacheChange: CacheStoragePolicy.Change,
            tellsLength: Bool, isSwitching: Bool, passesTrailers: Bool, page: PageResponse?,
            pageDependence: PageDependence?
        ) {
            self.framing = framing
            self.keeps = keeps
            self.version = version
            self.cacheChange = cacheChange
            self.tellsLength = tellsLength
            self.isSwitching = isSwitching
            self.passesTrailers = passesTrailers
            self.page = page
            self.pageDependence = pageDependence
        }
    }

    /// `mapping` puts what names the upstream into the client's terms; `location` takes the place of a Location that a hop gave.
    /// `extraLines` are complete: the Set-Cookie of hops. When this throws, what was appended must not be sent.
    public func write(
        _ head: ResponseHead, plan: ChainPlan?, context: SendContext, mapping: OriginMapping?, location: ResolvedURL?,
        dates: inout DateCache, extraLines: ByteBuffer?, _ parameters: Parameters, to out: ByteBuffer
    ) throws(Rejection) {
        guard HopByHop.markResponse(head, in: &dropped) else { throw .upstreamProtocolError }
        Self.writeStatusLine(head, to: out)
        plan?.response.begin()
        let hasDate = writeLines(head, plan, mapping, location, parameters, to: out)
        if let dependence = parameters.pageDependence { writeVary(dependence, plan, to: out) }
        if !hasDate, !parameters.isSwitching {
            // RFC 9110 section 6.6.1: a recipient with a clock supplies what is missing.
            out.append("Date: ")
            dates.append(unixSeconds: context.unixTime, to: out)
            out.append("\r\n")
        }
        switch parameters.cacheChange {
        case .none: break
        case .addPrivate: out.append("Cache-Control: private\r\n")
        case .noStore: out.append("Cache-Control: no-store\r\n")
        }
        if let extraLines { out.append(extraLines.span) }
        try plan?.response.finish(context, into: out)
        writeFraming(head, parameters, to: out)
        out.append("\r\n")
    }

    private static func writeStatusLine(_ head: ResponseHead, to out: ByteBuffer) {
        out.append("HTTP/1.1 ")
        out.append(decimal: head.status)
        out.append(UInt8(ascii: " "))
        out.append(head.bytes.span(head.reason))
        out.append("\r\n")
    }

    /// True when there was a Date.
    private func writeLines(
        _ head: ResponseHead, _ plan: ChainPlan?, _ mapping: OriginMapping?, _ location: ResolvedURL?,
        _ parameters: Parameters, to out: ByteBuffer
    ) -> Bool {
        let bytes = head.bytes
        var hasDate = false
        for index in 0..<head.lines.count {
            let line = head.lines[index]
            if dropped[index >> 6] >> UInt64(index & 63) & 1 == 1 {
                // Named in Connection or not, what an upgrade or a trailer needs is written anew below.
                if !(line.id == .contentLength && parameters.tellsLength) { continue }
            }
            let name = bytes.span(line.name), value = bytes.span(line.value)
            if line.id == .date { hasDate = true }
            if line.id == .cacheControl, parameters.cacheChange == .noStore { continue }
            if let page = parameters.page, page.drops(name, id: line.id) { continue }
            switch plan?.response.admit(name, id: line.id) ?? .keep {
            case .drop: continue
            case .keep where parameters.page == nil && !Self.mayNameURL(line.id):
                out.append(line: name, value)
                continue
            case .keep: out.append(name)
            case .rename(let target): if let plan { out.append(plan.response.name(target)) }
            }
            out.append(": ")
            if !(parameters.page?.append(value, of: name, id: line.id, to: out) ?? false) {
                writeValue(value, line.id, mapping, location, to: out)
            }
            out.append("\r\n")
        }
        return hasDate
    }

    /// A page is edited for some destinations and left alone for others (RFC 9110 section 12.5.5).
    private func writeVary(_ dependence: PageDependence, _ plan: ChainPlan?, to out: ByteBuffer) {
        let name: InlineArray<4, UInt8> = [0x56, 0x61, 0x72, 0x79]
        guard case .keep = plan?.response.admit(name.span, id: .other) ?? .keep else { return }
        out.append("Vary: ")
        out.append(dependence.fields)
        out.append("\r\n")
    }

    private func writeValue(
        _ value: Span<UInt8>, _ id: FieldID, _ mapping: OriginMapping?, _ location: ResolvedURL?, to out: ByteBuffer
    ) {
        if Self.mayNameURL(id) {
            if id == .location, let location, let mapping { return mapping.append(location, to: out) }
            if mapping?.append(value, of: id, to: out) ?? false { return }
        }
        out.append(value)
    }

    /// Its value may name the upstream, and be put into the client's terms.
    private static func mayNameURL(_ id: FieldID) -> Bool {
        switch id {
        case .location, .contentLocation, .refresh, .setCookie: true
        default: false
        }
    }

    private func writeFraming(_ head: ResponseHead, _ parameters: Parameters, to out: ByteBuffer) {
        if parameters.isSwitching {
            for line in head.lines where line.id == .upgrade {
                out.append("Upgrade: ")
                out.append(head.bytes.span(line.value))
                out.append("\r\n")
            }
            return out.append("Connection: Upgrade\r\n")
        }
        switch parameters.framing {
        case .none, .untilClose: break
        case .length(let length):
            out.append("Content-Length: ")
            out.append(decimal: UInt(length))
            out.append("\r\n")
        case .chunked:
            if parameters.passesTrailers { writeTrailerAnnouncement(head, to: out) }
            out.append("Transfer-Encoding: chunked\r\n")
        }
        if !parameters.keeps {
            out.append("Connection: close\r\n")
        } else if parameters.version == .http10 {
            out.append("Connection: keep-alive\r\n")
        }
    }

    private func writeTrailerAnnouncement(_ head: ResponseHead, to out: ByteBuffer) {
        for line in head.lines where line.id == .trailer {
            out.append("Trailer: ")
            out.append(head.bytes.span(line.value))
            out.append("\r\n")
        }
    }

    /// 1xx but 101 (RFC 9110 section 15.2), without hop-by-hop fields and without edits: its fields are hints for the client.
    public func writeInformational(_ head: ResponseHead, to out: ByteBuffer) {
        guard HopByHop.markResponse(head, in: &dropped) else { return }
        Self.writeStatusLine(head, to: out)
        for (index, line) in head.lines.enumerated() where dropped[index >> 6] >> UInt64(index & 63) & 1 == 0 {
            out.append(head.bytes.span(line.name))
            out.append(": ")
            out.append(head.bytes.span(line.value))
            out.append("\r\n")
        }
        out.append("\r\n")
    }

    /// Trailer fields that the response edits let through, as field lines.
    public static func writeTrailers(_ trailers: TrailerSection, plan: ChainPlan?, to out: ByteBuffer) {
        for line in trailers.lines {
            let name = trailers.bytes.span(line.name)
            guard TrailerFields.maySend(line.id, name), plan?.response.admitTrailer(name, id: line.id) ?? true else { continue }
            out.append(name)
            out.append(": ")
            out.append(trailers.bytes.span(line.value))
            out.append("\r\n")
        }
    }
}
