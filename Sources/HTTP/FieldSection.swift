/// Which messages a field section belongs to: what is refused in one may be mended in the other.
enum FieldSectionKind {
    case request, response, trailer

    /// Names that may stand in a section once (RFC 9110 section 5.3): two of them would be two readings of one message.
    var singletons: UInt64 {
        switch self {
        case .request: FieldSectionKind.requestSingletons
        case .response: FieldSectionKind.responseSingletons
        case .trailer: 0
        }
    }

    @inline(always) static func bit(_ id: FieldID) -> UInt64 { 1 &<< UInt64(id.rawValue) }

    private static var requestSingletons: UInt64 {
        bit(.host) | bit(.contentLength) | bit(.transferEncoding) | bit(.contentType) | bit(.contentLocation)
            | bit(.authorization) | bit(.proxyAuthorization) | bit(.maxForwards) | bit(.referer) | bit(.origin)
            | bit(.date)
    }

    /// What decides about framing and redirects; others are the client's to judge.
    private static var responseSingletons: UInt64 {
        bit(.contentLength) | bit(.transferEncoding) | bit(.location)
    }
}

extension HTTP1 {
    /// Parses field lines up to and including the empty line that ends them (RFC 9112 section 5); nil: it is not there yet.
    ///
    /// Ranges in `lines`, which has room for ``lineCapacity``, count from the start of `bytes`. Bare CR or LF, obs-fold,
    /// white space before the colon of a request, names that are not tokens, and control characters in values are malformed.
    @inline(always)
    static func parseFields(
        _ bytes: Span<UInt8>, from start: Int, kind: FieldSectionKind, limit: Int,
        into lines: inout OutputSpan<FieldLine>, facts: inout FieldFacts
    ) throws(HTTPError) -> Int? {
        let end = bytes.count
        var position = start
        while position < end {
            if bytes[position] == Octet.carriageReturn { return try endOfLine(bytes, at: position) }
            if lines.count >= limit { throw .headerTooLarge }

            let nameEnd = WordScan.token(bytes, from: position)
            guard nameEnd < end else { return nil }
            guard nameEnd > position else { throw .malformed }  // no name, or an obs-fold (5.2)
            var colon = nameEnd
            if kind == .response {
                // 5.1: a proxy removes white space before the colon from a response; in a request it is refused.
                while colon < end && Octet.isBlank(bytes[colon]) { colon &+= 1 }
                guard colon < end else { return nil }
            }
            guard bytes[colon] == Octet.colon else { throw .malformed }

            var valueStart = colon &+ 1
            while valueStart < end && Octet.isBlank(bytes[valueStart]) { valueStart &+= 1 }
            let lineEnd = WordScan.text(bytes, from: valueStart)
            guard lineEnd < end else { return nil }
            guard let next = try endOfLine(bytes, at: lineEnd) else { return nil }
            var valueEnd = lineEnd
            while valueEnd > valueStart && Octet.isBlank(bytes[valueEnd &- 1]) { valueEnd &-= 1 }

            let id = fieldID(bytes, position, nameEnd &- position)
            lines.append(
                FieldLine(
                    name: ByteRange(position, nameEnd &- position),
                    value: ByteRange(valueStart, valueEnd &- valueStart), id: id))
            if id != .other { try facts.note(id, bytes, valueStart..<valueEnd, kind) }
            position = next
        }
        return nil
    }

    /// How many lines there can be: the limit, or as many of the shortest (`a:` CRLF) as the bytes hold.
    static func lineCapacity(_ bytes: Span<UInt8>, limit: Int) -> Int { max(0, min(limit, bytes.count / 4 &+ 1)) }

    /// The index behind the CRLF at `position`, which is within `bytes`; nil: the LF is not there yet.
    @inline(always)
    static func endOfLine(_ bytes: Span<UInt8>, at position: Int) throws(HTTPError) -> Int? {
        guard bytes[position] == Octet.carriageReturn else { throw .malformed }
        guard position &+ 1 < bytes.count else { return nil }
        guard bytes[position &+ 1] == Octet.lineFeed else { throw .malformed }
        return position &+ 2
    }

    /// HTTP-version (RFC 9112 section 2.3).
    enum VersionText { case incomplete, http10, http11, unsupported }

    /// Reads the eight octets of an HTTP-version; what stands behind them is the caller's to check.
    @inline(always)
    static func parseVersion(_ bytes: Span<UInt8>, at start: Int) throws(HTTPError) -> VersionText {
        if bytes.count &- start >= 8 {
            switch WordScan.word(bytes, start) {
            case 0x312e_312f_5054_5448: return .http11  // "HTTP/1.1", last octet first
            case 0x302e_312f_5054_5448: return .http10
            default: break
            }
        }
        return try parseUnusualVersion(bytes, at: start)
    }

    @inline(never)
    private static func parseUnusualVersion(_ bytes: Span<UInt8>, at start: Int) throws(HTTPError) -> VersionText {
        let pattern: InlineArray<8, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2f, 0, 0x2e, 0]  // HTTP/d.d; 0 stands for a digit
        for index in 0..<8 {
            guard start &+ index < bytes.count else { return .incomplete }
            let octet = bytes[start &+ index]
            guard pattern[index] == 0 ? Octet.isDigit(octet) : octet == pattern[index] else { throw .malformed }
        }
        return .unsupported
    }
}
