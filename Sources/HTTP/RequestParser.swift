extension HTTP1 {
    /// Parses the head of a request at the front of `input` (RFC 9112 sections 2 to 6).
    ///
    /// Returns how much of the input it takes, and leaves the head in `head`: its bytes from the request line to the empty
    /// line, inclusive, with all ranges relative to them. Returns nil when more bytes are needed. After nil or an error the
    /// head's content means nothing. One empty line before the request line is skipped and counted (section 2.2).
    ///
    /// The limits hold from the first byte on: a request line that passes them without an end is `uriTooLong`, anything else
    /// `headerTooLarge`.
    public static func parseRequest(
        _ input: Span<UInt8>, limits: HeadLimits, into head: RequestHead
    ) throws(HTTPError) -> Int? {
        head.reset()
        guard let start = try skipEmptyLine(input) else { return nil }
        let window = input.extracting(droppingFirst: start).extracting(first: max(limits.headerBytes, 0))
        let isFull = input.count &- start >= limits.headerBytes

        guard let fields = try parseRequestLine(window, limits: limits, into: head) else {
            if isFull { throw .uriTooLong }
            return nil
        }
        var facts = FieldFacts()
        var end: Int?
        let capacity = lineCapacity(window, limit: limits.headerCount)
        try head.lines.append(addingCapacity: capacity) { lines throws(HTTPError) in
            end = try parseFields(
                window, from: fields, kind: .request, limit: limits.headerCount, into: &lines, facts: &facts)
        }
        guard let end else {
            if isFull { throw .headerTooLarge }
            return nil
        }
        try conclude(facts, head)
        head.bytes.append(window.extracting(first: end))
        return start &+ end
    }

    @inline(always)
    private static func skipEmptyLine(_ input: Span<UInt8>) throws(HTTPError) -> Int? {
        guard !input.isEmpty else { return nil }
        return input[0] == Octet.carriageReturn ? try endOfLine(input, at: 0) : 0
    }

    /// method SP request-target SP HTTP-version CRLF (section 3), with single spaces; nil: it has not ended yet.
    @inline(always)
    private static func parseRequestLine(
        _ bytes: Span<UInt8>, limits: HeadLimits, into head: RequestHead
    ) throws(HTTPError) -> Int? {
        let methodEnd = WordScan.token(bytes, from: 0)
        guard methodEnd <= Limits.methodBytes else { throw .malformed }
        guard methodEnd < bytes.count else { return nil }
        guard methodEnd > 0, bytes[methodEnd] == Octet.space else { throw .malformed }

        let targetStart = methodEnd &+ 1
        let targetLimit = targetStart &+ min(bytes.count &- targetStart, max(limits.uriBytes, 1))
        let targetEnd = WordScan.target(bytes, from: targetStart, to: targetLimit)
        guard targetEnd < bytes.count else { return nil }
        guard bytes[targetEnd] == Octet.space else {
            throw targetEnd == targetLimit ? .uriTooLong : .malformed
        }
        guard targetEnd > targetStart else { throw .malformed }

        let version = try parseVersion(bytes, at: targetEnd &+ 1)
        let lineEnd = targetEnd &+ 9
        guard version != .incomplete, lineEnd < bytes.count else { return nil }
        guard let next = try endOfLine(bytes, at: lineEnd) else { return nil }
        guard version != .unsupported else { throw .unsupportedVersion }

        head.method = method(bytes, methodEnd)
        head.methodName = ByteRange(0, methodEnd)
        head.target = ByteRange(targetStart, targetEnd &- targetStart)
        head.version = version == .http11 ? .http11 : .http10
        return next
    }

    /// The method whose name is the first `count` octets; names are case-sensitive (RFC 9110 section 9.1).
    @inline(always)
    private static func method(_ bytes: Span<UInt8>, _ count: Int) -> Method {
        // A space and a target of at least one octet follow, so that what is loaded is the request line's.
        switch (count, WordScan.word(bytes, 0) & (count < 8 ? (1 &<< UInt64(count &* 8)) &- 1 : UInt64.max)) {
        case (3, 0x54_4547): .get
        case (4, 0x4441_4548): .head
        case (4, 0x5453_4f50): .post
        case (3, 0x54_5550): .put
        case (6, 0x4554_454c_4544): .delete
        case (7, 0x54_4345_4e4e_4f43): .connect
        case (7, 0x53_4e4f_4954_504f): .options
        case (5, 0x45_4341_5254): .trace
        case (5, 0x48_4354_4150): .patch
        default: .other
        }
    }

    /// Sets what the fields decide, and refuses what they leave in doubt.
    @inline(always)
    private static func conclude(_ facts: FieldFacts, _ head: RequestHead) throws(HTTPError) {
        let isCurrent = head.version == .http11
        // Section 3.2: a request of HTTP/1.1 has exactly one Host; two have been refused already.
        if isCurrent && !facts.has(.host) { throw .malformed }
        let framing = try facts.framing(version: head.version)
        head.framing = framing
        head.keepsAlive = facts.keepsAlive(version: head.version)
        // RFC 9110 10.1.1: to be ignored in HTTP/1.0, and meaningless without content.
        head.expectsContinue = isCurrent && facts.expectsContinue && framing != .none && framing != .length(0)
        head.takesTrailers = isCurrent && facts.takesTrailers
        head.asksForUpgrade = isCurrent && facts.connectionUpgrades && facts.has(.upgrade)
    }
}
