extension HTTP1 {
    /// Parses the head of a response at the front of `input` (RFC 9112 sections 2 to 6); the counterpart of ``parseRequest``.
    ///
    /// `requestMethod` is that of the request it answers. Interim responses are returned like any other, without content; what
    /// follows a 101 belongs to the new protocol. A head that passes a limit is `headerTooLarge`.
    public static func parseResponse(
        _ input: Span<UInt8>, requestMethod: Method, limits: HeadLimits, into head: ResponseHead
    ) throws(HTTPError) -> Int? {
        head.reset()
        let window = input.extracting(first: max(limits.headerBytes, 0))
        guard let end = try parseResponseHead(window, requestMethod, limits, head) else {
            if input.count >= limits.headerBytes { throw .headerTooLarge }
            return nil
        }
        head.bytes.append(window.extracting(first: end))
        return end
    }

    @inline(always)
    private static func parseResponseHead(
        _ bytes: Span<UInt8>, _ requestMethod: Method, _ limits: HeadLimits, _ head: ResponseHead
    ) throws(HTTPError) -> Int? {
        guard let fields = try parseStatusLine(bytes, into: head) else { return nil }
        var facts = FieldFacts()
        var end: Int?
        let capacity = lineCapacity(bytes, limit: limits.headerCount)
        try head.lines.append(addingCapacity: capacity) { lines throws(HTTPError) in
            end = try parseFields(
                bytes, from: fields, kind: .response, limit: limits.headerCount, into: &lines, facts: &facts)
        }
        guard let end else { return nil }
        try conclude(facts, requestMethod, head)
        return end
    }

    /// HTTP-version SP status-code SP [ reason-phrase ] CRLF (section 4), and the same without the second space, which many
    /// send.
    @inline(always)
    private static func parseStatusLine(_ bytes: Span<UInt8>, into head: ResponseHead) throws(HTTPError) -> Int? {
        let version = try parseVersion(bytes, at: 0)
        guard version != .incomplete, bytes.count > 8 else { return nil }
        guard bytes[8] == Octet.space else { throw .malformed }
        guard version != .unsupported else { throw .unsupportedVersion }

        var status = 0
        for index in 9..<12 {
            guard index < bytes.count else { return nil }
            guard Octet.isDigit(bytes[index]) else { throw .malformed }
            status = status &* 10 &+ Int(bytes[index] &- UInt8(ascii: "0"))
            if status == 0 { throw .malformed }  // 100 to 999
        }
        guard bytes.count > 12 else { return nil }
        let reasonStart = bytes[12] == Octet.space ? 13 : 12
        if reasonStart == 12 && bytes[12] != Octet.carriageReturn { throw .malformed }
        let reasonEnd = WordScan.text(bytes, from: reasonStart)
        guard reasonEnd < bytes.count else { return nil }
        guard let next = try endOfLine(bytes, at: reasonEnd) else { return nil }

        head.version = version == .http11 ? .http11 : .http10
        head.status = status
        head.reason = ByteRange(reasonStart, reasonEnd &- reasonStart)
        return next
    }

    /// RFC 9112 section 6.3. The fields are held to the rules of framing also where there is no content to frame.
    @inline(always)
    private static func conclude(
        _ facts: FieldFacts, _ requestMethod: Method, _ head: ResponseHead
    ) throws(HTTPError) {
        let framing = try facts.framing(version: head.version)
        let status = head.status
        if requestMethod == .head || status < 200 || status == 204 || status == 304 {
            head.framing = .none
        } else {
            head.framing = framing == .none ? .untilClose : framing
        }
        head.keepsAlive = head.framing != .untilClose && facts.keepsAlive(version: head.version)
    }
}
