internal import HTTP

/// Puts values in place of variables and secrets; what is put in is never looked at again.
enum TemplateWriter {
    enum Outcome { case written, absent, unavailable }

    /// How a variable's bytes are put where not every byte may stand.
    enum Encoding {
        case raw
        /// Into a path: all but unreserved bytes are escaped (RFC 3986 section 3.3).
        case path
        /// Into a URL: what can not stand in a URL is escaped.
        case url
    }

    /// Appends the value, or nothing when the outcome is not `written`.
    static func write(
        _ template: CompiledTemplate, _ context: SendContext, _ secrets: SecretTable, into out: ByteBuffer,
        encoding: Encoding = .raw
    ) -> Outcome {
        let start = out.count
        for part in template.parts {
            let begin = out.count
            switch part {
            case .literal(let bytes): out.append(bytes)
            case .secret(let id):
                if !secrets.append(id, to: out) {
                    out.truncate(to: start)
                    return .unavailable
                }
            case .variable, .header, .cookie:
                let isPresent = append(part, context, into: out)
                if !isPresent && template.isSoleVariable { return .absent }
                if encoding != .raw && !fits(part, encoding) { encode(out, from: begin, encoding) }
            }
        }
        return .written
    }

    /// Appends a value without variables; false when a secret in it can not be had.
    static func writeConstant(_ template: CompiledTemplate, _ secrets: SecretTable, into out: ByteBuffer) -> Bool {
        let start = out.count
        for part in template.parts {
            switch part {
            case .literal(let bytes): out.append(bytes)
            case .secret(let id):
                if !secrets.append(id, to: out) {
                    out.truncate(to: start)
                    return false
                }
            case .variable, .header, .cookie: break
            }
        }
        return true
    }

    /// Whether the value is one variable, and that has nothing to say.
    static func isAbsent(_ template: CompiledTemplate, _ context: SendContext) -> Bool {
        guard template.isSoleVariable else { return false }
        let request = context.request
        switch template.parts[0] {
        case .literal, .secret: return false
        case .header(let name):
            if isLeftBehind(name, context) { return true }
            return !RuleFields.isHost(name.span) && RuleFields.firstLine(name.span, request, from: 0) < 0
        case .cookie(let name): return context.leavesCredentialsBehind || !findCookie(name.span, request, into: nil)
        case .variable(let source):
            switch source {
            case .absent: return true
            case .query: return request.target.count <= request.pathLength
            case .clientIP: return request.clientAddress == nil
            case .clientPort: return !knowsClientPort(context)
            case .certificateSubject: return context.client.certificateSubject == nil
            case .certificateNames: return context.client.certificateNames == nil
            case .method, .scheme, .host, .authority, .path, .target, .id, .upstreamHost, .timeUnix, .timeRFC3339,
                .uuid:
                return false
            }
        }
    }

    /// False when the variable is absent; nothing is appended then.
    private static func append(_ part: CompiledTemplate.Part, _ context: SendContext, into out: ByteBuffer) -> Bool {
        switch part {
        case .literal, .secret: return true
        case .header(let name):
            return !isLeftBehind(name, context) && appendHeader(name.span, context.request, into: out)
        case .cookie(let name):
            return !context.leavesCredentialsBehind && findCookie(name.span, context.request, into: out)
        case .variable(let source): return append(source, context, into: out)
        }
    }

    private static func append(_ text: ByteBuffer?, into out: ByteBuffer) -> Bool {
        guard let text else { return false }
        out.append(text.span)
        return true
    }

    private static func append(_ source: CompiledTemplate.Source, _ context: SendContext, into out: ByteBuffer) -> Bool {
        let request = context.request
        switch source {
        case .method: out.append(request.methodName)
        case .scheme: out.append(request.scheme == .https ? "https" : "http")
        case .host: out.append(request.host)
        case .authority: out.append(request.authority.span)
        case .path: out.append(request.path)
        case .query:
            if request.target.count <= request.pathLength { return false }
            out.append(request.query)
        case .target: out.append(request.target.span)
        case .id: out.append(context.requestID.span)
        case .clientIP:
            if request.clientAddress == nil { return false }
            out.append(request.clientAddressText.span)
        case .clientPort:
            if !knowsClientPort(context) { return false }
            out.append(decimal: UInt(context.client.peerPort))
        case .certificateSubject: return append(context.client.certificateSubject, into: out)
        case .certificateNames: return append(context.client.certificateNames, into: out)
        case .upstreamHost: appendHost(of: context.destination.authority.span, into: out)
        case .timeUnix: out.append(decimal: context.unixTime)
        case .timeRFC3339: appendRFC3339(context.unixTime, into: out)
        case .uuid: appendUUID(&context.random, into: out)
        case .absent: return false
        }
        return true
    }

    /// On a hop away from the upstream's origin the client's credentials stay behind, by whatever way they would go.
    private static func isLeftBehind(_ name: [UInt8], _ context: SendContext) -> Bool {
        guard context.leavesCredentialsBehind else { return false }
        return switch HTTP1.fieldID(name.span) {
        case .authorization, .cookie, .proxyAuthorization: true
        default: false
        }
    }

    /// The port of a client that a trusted proxy told us of is not the peer's.
    private static func knowsClientPort(_ context: SendContext) -> Bool {
        context.request.clientAddress != nil && context.request.clientAddress == context.client.peerAddress
    }

    /// All lines of that name as one list (RFC 9110 section 5.3), Cookie as one string (RFC 9113 section 8.2.3).
    private static func appendHeader(_ name: Span<UInt8>, _ request: CanonicalRequest, into out: ByteBuffer) -> Bool {
        if RuleFields.isHost(name) {
            out.append(request.authority.span)
            return true
        }
        var line = RuleFields.firstLine(name, request, from: 0)
        if line < 0 { return false }
        var isFirst = true
        while line >= 0 {
            let field = request.head.lines[line]
            if !isFirst { out.append(field.id == .cookie ? "; " : ", ") }
            isFirst = false
            out.append(request.head.bytes.span(field.value))
            line = RuleFields.firstLine(name, request, from: line + 1)
        }
        return true
    }

    /// The first cookie of that name.
    private static func findCookie(_ name: Span<UInt8>, _ request: CanonicalRequest, into out: ByteBuffer?) -> Bool {
        var line = RuleFields.firstLine("cookie", request, from: 0)
        while line >= 0 {
            let field = request.head.bytes.span(request.head.lines[line].value)
            var scanner = CookieScanner()
            while scanner.next(field) {
                guard RuleBytes.equal(field.at(scanner.name), name) else { continue }
                out?.append(field.at(scanner.value))
                return true
            }
            line = RuleFields.firstLine("cookie", request, from: line + 1)
        }
        return false
    }

    private static func appendHost(of authority: Span<UInt8>, into out: ByteBuffer) {
        var end = authority.count
        while end > 0 && authority[end - 1] &- UInt8(ascii: "0") < 10 { end -= 1 }
        let hasPort = end > 0 && authority[end - 1] == UInt8(ascii: ":")
        out.append(authority.extracting(0..<(hasPort ? end - 1 : authority.count)))
    }

    /// Parts of a URL that are canonical as they are, where they belong.
    private static func fits(_ part: CompiledTemplate.Part, _ encoding: Encoding) -> Bool {
        guard case .variable(let source) = part else { return false }
        switch source {
        case .path: return true
        case .host, .authority, .upstreamHost, .query, .target: return encoding == .url
        case .method, .scheme, .id, .clientIP, .clientPort, .certificateSubject, .certificateNames, .timeUnix, .timeRFC3339, .uuid,
            .absent:
            return false
        }
    }

    private static func encode(_ out: ByteBuffer, from start: Int, _ encoding: Encoding) {
        var extra = 0
        for index in start..<out.count where !stays(out[index], encoding) { extra += 2 }
        if extra == 0 { return }
        let length = out.count
        for _ in 0..<extra { out.append(0x30) }
        var target = length + extra
        var source = length
        while source > start {
            source -= 1
            let byte = out[source]
            if stays(byte, encoding) {
                target -= 1
                out[target] = byte
            } else {
                target -= 3
                out[target + 2] = RuleBytes.hexadecimalDigit(byte & 15)
                out[target + 1] = RuleBytes.hexadecimalDigit(byte >> 4)
                out[target] = UInt8(ascii: "%")
            }
        }
    }

    private static func stays(_ byte: UInt8, _ encoding: Encoding) -> Bool {
        if RuleBytes.isUnreserved(byte) { return true }
        if encoding == .path { return false }
        switch byte {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "@"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "%"):
            return true
        default: return false
        }
    }

    /// RFC 3339 section 5.6 in UTC, of the proleptic Gregorian calendar.
    static func appendRFC3339(_ unixTime: Int, into out: ByteBuffer) {
        let time = max(unixTime, 0)
        let seconds = time % 86_400
        let days = time / 86_400 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        appendTwoDigits(year / 100, into: out)
        appendTwoDigits(year % 100, into: out)
        out.append(UInt8(ascii: "-"))
        appendTwoDigits(month, into: out)
        out.append(UInt8(ascii: "-"))
        appendTwoDigits(day, into: out)
        out.append(UInt8(ascii: "T"))
        appendTwoDigits(seconds / 3_600, into: out)
        out.append(UInt8(ascii: ":"))
        appendTwoDigits(seconds / 60 % 60, into: out)
        out.append(UInt8(ascii: ":"))
        appendTwoDigits(seconds % 60, into: out)
        out.append(UInt8(ascii: "Z"))
    }

    private static func appendTwoDigits(_ value: Int, into out: ByteBuffer) {
        out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10 % 10))
        out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    /// RFC 9562 section 5.4.
    static func appendUUID(_ random: inout RandomSource, into out: ByteBuffer) {
        let high = random.next() & 0xffff_ffff_ffff_0fff | 0x4000
        let low = random.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { out.append(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - index % 16 * 4)) & 15
            out.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }
}
