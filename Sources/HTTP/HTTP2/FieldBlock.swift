/// The fields of one HTTP/2 message (RFC 9113 section 8) made into the text of HTTP/1.1, for our own parser to read.
///
/// Each field is checked as it comes, so that none can become more than one line, and all are counted, those that are dropped
/// too. What comes out is a head, or trailer lines; that the parser then refuses what it would refuse of any client is meant.
public final class FieldBlock {
    public enum Kind { case request, response, trailers }

    public enum Fault: Sendable {
        /// A stream error of type PROTOCOL_ERROR (RFC 9113 section 8.1.1), or 400.
        case malformed
        /// More than the limits of a head allow: 431.
        case tooLarge
    }

    /// After ``finish``: the head with its empty line, or the lines of trailers.
    public let text = ByteBuffer(capacity: 1024)
    public private(set) var fault: Fault?
    public private(set) var kind = Kind.request
    /// `:protocol` of an extended CONNECT (RFC 8441 section 4).
    public var isExtendedConnect: Bool { seen.contains(.tunnelled) }
    /// `:status` of a response.
    public private(set) var status = 0

    private var limits = HeadLimits()
    private var size = 0
    private var count = 0
    private let pseudo = ByteBuffer(capacity: 256)
    private let cookies = ByteBuffer(capacity: 256)
    private var method = ByteRange.empty
    private var path = ByteRange.empty
    private var authority = ByteRange.empty
    private var scheme = ByteRange.empty
    private var tunnelled = ByteRange.empty
    private var seen: Set = []
    private var hasStartLine = false

    private struct Set: OptionSet {
        let rawValue: UInt16
        static let method = Set(rawValue: 1)
        static let path = Set(rawValue: 2)
        static let authority = Set(rawValue: 4)
        static let scheme = Set(rawValue: 8)
        static let tunnelled = Set(rawValue: 16)
        static let status = Set(rawValue: 32)
        static let contentLength = Set(rawValue: 64)
        static let webSocketKey = Set(rawValue: 128)
    }

    public init() {}

    public func begin(_ kind: Kind, limits: HeadLimits) {
        self.kind = kind
        self.limits = limits
        text.clear()
        pseudo.clear()
        cookies.clear()
        fault = nil
        status = 0
        method = .empty
        path = .empty
        authority = .empty
        scheme = .empty
        tunnelled = .empty
        size = 0
        count = 0
        seen = []
        hasStartLine = false
    }

    /// So much more than is allowed that the peer can not have meant it: the connection is to end.
    public var isFlood: Bool { size > Limits.floodFactor * max(limits.headerBytes, 4096) }

    // MARK: Fields

    public func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        // As a line of HTTP/1.1 has it: colon, space, CRLF.
        size &+= name.count &+ value.count &+ 4
        if fault != nil { return }
        guard size <= limits.headerBytes else { return fail(.tooLarge) }
        guard !name.isEmpty else { return fail(.malformed) }
        if name[0] == Octet.colon { return addPseudo(name, value) }
        guard FieldBlock.isFieldName(name), FieldBlock.isFieldValue(value) else { return fail(.malformed) }
        if !hasStartLine, kind != .trailers {
            writeStartLine()
            if fault != nil { return }
        }
        let id = HTTP1.fieldID(name)
        if id != .other, kind != .trailers {
            switch id {
            case _ where id.isConnectionSpecific: return fail(.malformed)  // RFC 9113 section 8.2.2
            case .te where kind == .request:
                guard HTTP1.equalsIgnoringCase(value, "trailers") else { return fail(.malformed) }
            case .cookie where kind == .request: return addCookie(value)
            case .host where kind == .request && seen.contains(.authority):
                // Section 8.3.1: two names for one host are one too many.
                guard HTTP1.equalsIgnoringCase(value, pseudo.span(authority)) else { return fail(.malformed) }
                return
            case .contentLength: seen.insert(.contentLength)
            default: break
            }
        } else if isExtendedConnect, HTTP1.equalsIgnoringCase(name, "sec-websocket-key") {
            seen.insert(.webSocketKey)
        }
        addLine(name, value)
    }

    private func addLine(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        count &+= 1
        guard count <= limits.headerCount else { return fail(.tooLarge) }
        text.append(line: name, value)
    }

    private func addLine(_ name: StaticString, _ value: Span<UInt8>) {
        // SAFETY: a literal of more than one scalar points at its octets, and they live for ever.
        addLine(unsafe Span(_unsafeStart: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    /// Section 8.2.3: what a client has cut up is one field again.
    private func addCookie(_ value: Span<UInt8>) {
        if !cookies.isEmpty { cookies.append("; ") }
        cookies.append(value)
    }

    private func addPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard !hasStartLine, kind != .trailers, FieldBlock.isFieldValue(value) else { return fail(.malformed) }
        guard let which = pseudoField(name), !seen.contains(which) else { return fail(.malformed) }
        seen.insert(which)
        let range = ByteRange(pseudo.count, value.count)
        pseudo.append(value)
        switch which {
        case .method: method = range
        case .path: path = range
        case .authority: authority = range
        case .scheme: scheme = range
        case .tunnelled: tunnelled = range
        default:
            guard value.count == 3, let number = HTTP1.decimal(value), number >= 100 else { return fail(.malformed) }
            status = Int(number)
        }
    }

    private func pseudoField(_ name: Span<UInt8>) -> Set? {
        if kind == .response { return FieldBlock.equals(name, ":status") ? .status : nil }
        switch name.count {
        case 5: return FieldBlock.equals(name, ":path") ? .path : nil
        case 7: return FieldBlock.equals(name, ":method") ? .method : FieldBlock.equals(name, ":scheme") ? .scheme : nil
        case 9: return FieldBlock.equals(name, ":protocol") ? .tunnelled : nil
        case 10: return FieldBlock.equals(name, ":authority") ? .authority : nil
        default: return nil
        }
    }

    // MARK: Head

    private func writeStartLine() {
        hasStartLine = true
        kind == .request ? writeRequestLine() : writeStatusLine()
    }

    private func writeStatusLine() {
        // 101 does not exist in HTTP/2 (RFC 9113 section 8.6).
        guard seen.contains(.status), status != 101 else { return fail(.malformed) }
        text.append("HTTP/1.1 ")
        text.append(decimal: status)
        text.append(" ")
        text.append(ReasonPhrase.of(status))
        text.append("\r\n")
    }

    private func writeRequestLine() {
        let name = pseudo.span(method)
        guard HTTP1.isToken(name) else { return fail(.malformed) }
        let isConnect = FieldBlock.equals(name, "CONNECT")
        guard isConnect || !isExtendedConnect else { return fail(.malformed) }
        if seen.contains(.authority) {
            guard FieldBlock.isTarget(pseudo.span(authority)) else { return fail(.malformed) }
        }
        if isConnect && !isExtendedConnect {
            // RFC 9113 section 8.5.
            guard seen.contains(.authority), !seen.contains(.path), !seen.contains(.scheme) else { return fail(.malformed) }
            text.append("CONNECT ")
            text.append(pseudo.span(authority))
        } else {
            guard isSchemeKnown, isPathFit(name) else { return fail(.malformed) }
            if isExtendedConnect {
                guard HTTP1.isToken(pseudo.span(tunnelled)), seen.contains(.authority) else { return fail(.malformed) }
                text.append("GET")
            } else {
                text.append(name)
            }
            text.append(" ")
            text.append(pseudo.span(path))
        }
        text.append(" HTTP/1.1\r\n")
        if seen.contains(.authority) { addLine("host", pseudo.span(authority)) }
    }

    private var isSchemeKnown: Bool {
        let name = pseudo.span(scheme)
        return seen.contains(.scheme)
            && (HTTP1.equalsIgnoringCase(name, "https") || HTTP1.equalsIgnoringCase(name, "http"))
    }

    /// Section 8.3.1: origin-form, or `*` of OPTIONS. An absolute URL would name another authority.
    private func isPathFit(_ method: Span<UInt8>) -> Bool {
        let path = pseudo.span(path)
        guard seen.contains(.path), FieldBlock.isTarget(path) else { return false }
        if path[0] == Octet.slash { return true }
        return path.count == 1 && path[0] == UInt8(ascii: "*") && FieldBlock.equals(method, "OPTIONS")
    }

    /// Completes the text. `endsMessage`: no content follows. `bodyless`: a response that has none whatever it says.
    /// `key`: what an extended CONNECT to a WebSocket has for Sec-WebSocket-Key, which HTTP/1.1 asks for.
    public func finish(endsMessage: Bool, bodyless: Bool = false, key: ByteBuffer? = nil) {
        guard fault == nil else { return }
        if kind == .trailers {
            if !endsMessage { fail(.malformed) }  // section 8.1
            return
        }
        if !hasStartLine { writeStartLine() }
        guard fault == nil else { return }
        if !cookies.isEmpty { addLine("cookie", cookies.span) }
        if isExtendedConnect {
            if endsMessage { return fail(.malformed) }
            if let key, !seen.contains(.webSocketKey), HTTP1.equalsIgnoringCase(pseudo.span(tunnelled), "websocket") {
                addLine("sec-websocket-key", key.span)
            }
            addLine("upgrade", pseudo.span(tunnelled))
            text.append("connection: upgrade\r\n")
        } else if !seen.contains(.contentLength), status == 0 || status >= 200, !bodyless {
            if !endsMessage, !FieldBlock.equals(pseudo.span(method), "CONNECT") {
                text.append("transfer-encoding: chunked\r\n")
            } else if endsMessage, kind == .response {
                text.append("content-length: 0\r\n")
            }
        }
        text.append("\r\n")
    }

    private func fail(_ fault: Fault) { self.fault = fault }

    // MARK: Octets

    /// A token without upper case letters (section 8.2.1).
    private static func isFieldName(_ name: Span<UInt8>) -> Bool {
        HTTP1.isToken(name) && !WordScan.hasCapital(name)
    }

    /// Without control characters, and without white space at its ends (section 8.2.1).
    private static func isFieldValue(_ value: Span<UInt8>) -> Bool {
        if value.isEmpty { return true }
        if Octet.isBlank(value[0]) || Octet.isBlank(value[value.count &- 1]) { return false }
        return HTTP1.isFieldValue(value)
    }

    /// At least one octet, and none that ends a request target in HTTP/1.1.
    private static func isTarget(_ text: Span<UInt8>) -> Bool {
        !text.isEmpty && WordScan.target(text, from: 0, to: text.count) == text.count
    }

    private static func equals(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        // SAFETY: a literal of more than one scalar points at its octets; as many are read as it has.
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] != (unsafe text.utf8Start[index]) { return false }
        return true
    }
}
