internal import HTTP

/// The server's side of the opening handshake (RFC 6455 section 4.2), read from a request head.
enum WebSocketHandshake {
    enum Verdict: Equatable {
        /// The ranges are of the head's bytes: the `Upgrade` element that asks for it, and the key.
        case accept(protocol: ByteRange, key: ByteRange)
        /// A request for something else, or for nothing: 426.
        case notAsked
        /// Section 4.4: the version that we know is told with the refusal.
        case otherVersion
        case malformed
    }

    static func judge(_ head: RequestHead) -> Verdict {
        guard head.method == .get, head.version != .http10, head.asksForUpgrade, let upgrade = upgradeElement(of: head)
        else { return .notAsked }
        guard let version = onlyValue(of: "sec-websocket-version", in: head) else { return .otherVersion }
        guard HTTP1.decimal(head.bytes.span(version)) == 13 else { return .otherVersion }
        guard let key = onlyValue(of: "sec-websocket-key", in: head), isKey(head.bytes.span(key)) else { return .malformed }
        return .accept(protocol: upgrade, key: key)
    }

    /// The value of Sec-WebSocket-Accept (section 4.2.2): Base64 of the SHA-1 of the key and a constant.
    static func appendAccept(for key: Span<UInt8>, to out: ByteBuffer) {
        let joined = ByteBuffer(capacity: 64)
        joined.append(key)
        joined.append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        appendBase64(SHA1.digest(of: joined.span), to: out)
    }

    private static func upgradeElement(of head: RequestHead) -> ByteRange? {
        for line in head.lines where line.id == .upgrade {
            let value = head.bytes.span(line.value)
            var list = ListCursor()
            while let element = list.next(in: value) {
                if HTTP1.equalsIgnoringCase(value.extracting(element), "websocket") {
                    return ByteRange(Int(line.value.start) + element.lowerBound, element.count)
                }
            }
        }
        return nil
    }

    private static func onlyValue(of name: StaticString, in head: RequestHead) -> ByteRange? {
        var found: ByteRange?
        for line in head.lines where HTTP1.equalsIgnoringCase(head.bytes.span(line.name), name) {
            if found != nil { return nil }
            found = line.value
        }
        return found
    }

    /// Sixteen octets in Base64.
    private static func isKey(_ value: Span<UInt8>) -> Bool {
        guard value.count == 24, value[22] == UInt8(ascii: "="), value[23] == UInt8(ascii: "=") else { return false }
        for index in 0..<22 where !isBase64Digit(value[index]) { return false }
        return true
    }

    private static func isBase64Digit(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// RFC 4648 section 4.
    static func appendBase64(_ octets: [UInt8], to out: ByteBuffer) {
        for start in stride(from: 0, to: octets.count, by: 3) {
            let count = min(3, octets.count - start)
            var group: UInt32 = 0
            for index in 0..<3 { group = group << 8 | (index < count ? UInt32(octets[start + index]) : 0) }
            for place in 0..<4 {
                out.append(place <= count ? base64Digit(group >> UInt32(18 - place * 6) & 63) : UInt8(ascii: "="))
            }
        }
    }

    private static func base64Digit(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
