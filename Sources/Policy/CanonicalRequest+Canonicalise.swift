internal import HTTP

/// `canonical:` in the form that a worker reads per request.
public final class CompiledCanonicalSettings {
    let target: CanonicalTarget.Options
    let isStrict: Bool
    /// Lower-cased.
    let keep: [[UInt8]]

    public init(_ settings: CanonicalSettings) {
        var options = CanonicalTarget.Options()
        options.rejectsEncodedSlash = settings.encodedSlash == .reject
        options.mergesSlashes = settings.mergeSlashes
        options.rejectsDotSegments = settings.dotSegments == .reject
        target = options
        isStrict = settings.headerNames == .strict
        keep = settings.keep.map { $0.utf8.map(CanonicalBytes.lowered) }
    }

    func keeps(_ name: Span<UInt8>) -> Bool {
        for kept in keep where CanonicalBytes.equalsIgnoringCase(name, kept) { return true }
        return false
    }
}

extension CanonicalRequest {
    /// Reads ``head``, which the parser has filled, as the one canonical request.
    ///
    /// `instance` is this proxy's own name without `authproxy-`; a request that has passed it already is refused. On an
    /// error nothing of the request may be used.
    public func canonicalise(
        client: ClientFacts, trusted: [AddressRange], settings: CompiledCanonicalSettings, instance: Span<UInt8>
    ) throws(Rejection) {
        method = head.method
        // Neither a tunnel to anywhere (RFC 9110 section 9.3.6) nor an echo of what was injected (9.3.8).
        // Methods are case-sensitive, servers are not always.
        if method == .connect || method == .trace || method == .other && isTunnelOrEcho { throw .methodNotAllowed }
        isHop = false
        leavesCredentialsBehind = false
        try surveyFields(settings)
        if fields.contains(.connection) {
            guard HopByHop.markNominated(head.bytes, head.lines, in: &droppedLines) else { throw .badRequest }
        }
        try takeTarget(settings.target)
        takeClient(client, trusted: trusted)
        if fields.contains(.via) || fields.contains(.cdnLoop) {
            if hasPassed(instance) { throw .loopDetected }
        }
    }

    private var isTunnelOrEcho: Bool {
        let name = head.bytes.span(head.methodName)
        return CanonicalBytes.equalsIgnoringCase(name, "trace") || CanonicalBytes.equalsIgnoringCase(name, "connect")
    }

    /// One pass over the lines: what is dropped whatever Connection says, and what there is to look at later.
    private func surveyFields(_ settings: CompiledCanonicalSettings) throws(Rejection) {
        fields = []
        hostLine = nil
        try uncounted(head) { (head) throws(Rejection) in try survey(head, settings) }
    }

    private func survey(_ head: RequestHead, _ settings: CompiledCanonicalSettings) throws(Rejection) {
        HopByHop.clear(&droppedLines, lines: head.lines.count)
        for line in 0..<head.lines.count {
            var isDropped = true
            switch head.lines[line].id {
            case .host:
                // RFC 9112 section 3.2
                if hostLine != nil { throw .badRequest }
                hostLine = line
            case .connection: fields.insert(.connection)
            case .via: fields.insert(.via)
            case .cdnLoop: fields.insert(.cdnLoop)
            case .forwarded: fields.insert(.forwarded)
            case .xForwardedFor: fields.insert(.forwardedFor)
            case .xForwardedHost: fields.insert(.forwardedHost)
            case .xForwardedProto: fields.insert(.forwardedProto)
            case .xForwardedPort: fields.insert(.forwardedPort)
            case .contentLength, .transferEncoding, .te, .trailer, .upgrade, .keepAlive, .proxyConnection,
                .http2Settings,
                .proxyAuthorization, .proxyAuthenticate, .expect, .xRealIP, .xForwardedOther:
                break
            case .other: isDropped = !isPassable(head.bytes.span(head.lines[line].name), settings)
            case .cookie:
                fields.insert(.cookie)
                isDropped = false
            default: isDropped = false
            }
            if isDropped { HopByHop.mark(line, in: &droppedLines) }
        }
    }

    /// `header_names`: a name that gateways to CGI fold into another one (RFC 3875 section 4.1.18) does not pass, and
    /// where the configuration lets some pass, none that reads like a field that we write ourselves.
    private func isPassable(_ name: Span<UInt8>, _ settings: CompiledCanonicalSettings) -> Bool {
        var isPlain = true
        for index in 0..<name.count {
            let byte = name[index]
            if !CanonicalBytes.isAlphanumeric(byte) && byte != UInt8(ascii: "-") { isPlain = false }
        }
        if isPlain { return true }
        let isKept = settings.keeps(name)
        if settings.isStrict && !isKept { return false }
        return !FoldedNames.isWrittenByUs(name) && (isKept || !FoldedNames.isForwardedFamily(name))
    }

    private func takeTarget(_ options: CanonicalTarget.Options) throws(Rejection) {
        target.clear()
        let raw = head.bytes.span(head.target)
        guard !raw.isEmpty else { throw .badRequest }
        try takeHost()
        if raw[0] == UInt8(ascii: "/") {
            try takeOrigin(raw, options)
        } else if raw.count == 1 && raw[0] == UInt8(ascii: "*") {
            // RFC 9112 section 3.2.4
            guard method == .options else { throw .badRequest }
            takeAsterisk()
        } else {
            try takeAbsolute(raw, options)
        }
        pathExtension = CanonicalTarget.pathExtension(of: target, pathLength: pathLength)
    }

    private func takeAsterisk() {
        target.append(UInt8(ascii: "*"))
        pathLength = 1
    }

    private func takeOrigin(_ raw: Span<UInt8>, _ options: CanonicalTarget.Options) throws(Rejection) {
        let question = CanonicalBytes.firstIndex(of: UInt8(ascii: "?"), in: raw)
        try CanonicalTarget.appendPath(raw.extracting(0..<(question ?? raw.count)), options, to: target)
        pathLength = target.count
        guard let question else { return }
        try CanonicalTarget.appendQuery(raw.extracting(question..<raw.count), to: target)
    }

    /// RFC 9112 section 3.2.2: the authority of an absolute target takes the place of Host. The scheme that it names is
    /// what the client says and nothing that we saw: ``scheme`` is the connection's.
    private func takeAbsolute(_ raw: Span<UInt8>, _ options: CanonicalTarget.Options) throws(Rejection) {
        let start: Int
        if CanonicalBytes.hasPrefix(raw, "http://") {
            start = 7
        } else if CanonicalBytes.hasPrefix(raw, "https://") {
            start = 8
        } else {
            throw .badRequest
        }
        var end = start
        while end < raw.count && raw[end] != UInt8(ascii: "/") && raw[end] != UInt8(ascii: "?") { end += 1 }
        authority.clear()
        lastHost.clear()
        guard let parts = Authority.append(raw.extracting(start..<end), to: authority) else { throw .badRequest }
        hostLength = parts.hostLength
        port = parts.port
        if end == raw.count {
            if method == .options { return takeAsterisk() }
            target.append(UInt8(ascii: "/"))
            pathLength = 1
        } else if raw[end] == UInt8(ascii: "?") {
            target.append(UInt8(ascii: "/"))
            pathLength = 1
            try CanonicalTarget.appendQuery(raw.extracting(end..<raw.count), to: target)
        } else {
            try takeOrigin(raw.extracting(end..<raw.count), options)
        }
    }

    /// HTTP/1.0 knows requests without Host; the authority is empty then and the upstream's own is sent.
    private func takeHost() throws(Rejection) {
        guard let hostLine else {
            authority.clear()
            lastHost.clear()
            hostLength = 0
            port = nil
            if head.version == .http10 { return }
            throw .badRequest
        }
        let value = value(hostLine)
        if !lastHost.isEmpty, lastHost.equals(value) {
            hostLength = lastHostLength
            port = lastPort
            return
        }
        authority.clear()
        lastHost.clear()
        hostLength = 0
        guard let parts = Authority.append(value, to: authority) else { throw .badRequest }
        hostLength = parts.hostLength
        port = parts.port
        lastHost.append(value)
        lastHostLength = parts.hostLength
        lastPort = parts.port
    }

    /// Whether Via (RFC 9110 section 7.6.3) or CDN-Loop (RFC 8586) names this very instance.
    private func hasPassed(_ instance: Span<UInt8>) -> Bool {
        for line in 0..<head.lines.count {
            let id = head.lines[line].id
            guard id == .via || id == .cdnLoop else { continue }
            let value = value(line)
            var elements = ListElements()
            while let range = elements.next(in: value) {
                if names(instance, value.extracting(range), isVia: id == .via) { return true }
            }
        }
        return false
    }

    private func names(_ instance: Span<UInt8>, _ element: Span<UInt8>, isVia: Bool) -> Bool {
        var start = 0
        if isVia {
            // The protocol comes first, then who received the message.
            while start < element.count && !CanonicalBytes.isWhitespace(element[start]) { start += 1 }
            while start < element.count && CanonicalBytes.isWhitespace(element[start]) { start += 1 }
        }
        var end = start
        while end < element.count && CanonicalBytes.isToken(element[end]) { end += 1 }
        let name = element.extracting(start..<end)
        guard CanonicalBytes.hasPrefix(name, "authproxy-") else { return false }
        return CanonicalBytes.equalsIgnoringCase(name.extracting(10..<name.count), instance)
    }
}

/// Comparison of names as gateways fold them: lower case, every byte that is neither letter nor digit a hyphen.
enum FoldedNames {
    @inline(__always) private static func folded(_ byte: UInt8) -> UInt8 {
        CanonicalBytes.isAlphanumeric(byte) ? CanonicalBytes.lowered(byte) : UInt8(ascii: "-")
    }

    /// SAFETY: a static string has `utf8CodeUnitCount` bytes at `utf8Start` for ever; the index is below that count.
    private static func hasPrefix(_ name: Span<UInt8>, _ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        if name.count < length { return false }
        for index in 0..<length where folded(name[index]) != (unsafe text.utf8Start[index]) { return false }
        return true
    }

    private static func equals(_ name: Span<UInt8>, _ text: StaticString) -> Bool {
        name.count == text.utf8CodeUnitCount && hasPrefix(name, text)
    }

    static func isForwardedFamily(_ name: Span<UInt8>) -> Bool {
        hasPrefix(name, "x-forwarded-") || hasPrefix(name, "x-original-")
    }

    /// Reads like a field of framing, routing or forwarding, which the upstream is to have from us alone.
    static func isWrittenByUs(_ name: Span<UInt8>) -> Bool {
        equals(name, "content-length") || equals(name, "transfer-encoding") || equals(name, "x-real-ip")
            || equals(name, "cdn-loop") || equals(name, "x-forwarded-for") || equals(name, "x-forwarded-host")
            || equals(name, "x-forwarded-proto") || equals(name, "x-forwarded-port")
            || equals(name, "proxy-authorization")
            || equals(name, "proxy-connection") || equals(name, "keep-alive") || equals(name, "x-request-id")
    }
}
