internal import HTTP

/// Writes octets that came from anywhere so that they are seen, and nothing else happens: no markup, no end of a string, no
/// control sequence of a terminal, no reordering of the text around them.
enum ShownText {
    enum Place { case html, json, terminal }

    static func append(_ octets: Span<UInt8>, to out: ByteBuffer, as place: Place) {
        var start = 0
        while start < octets.count {
            var decoder = UTF8Decoder()
            var end = start
            var step = UTF8Decoder.Step.more
            while step == .more, end < octets.count {
                step = decoder.take(octets[end])
                end += 1
            }
            if case .scalar(let scalar) = step {
                append(scalar, octets.extracting(start..<end), to: out, as: place)
                start = end
            } else {
                // One octet of what is no UTF-8; the next may begin something that is.
                appendInvalid(octets[start], to: out, as: place)
                start += 1
            }
        }
    }

    static func append(_ text: String, to out: ByteBuffer, as place: Place) { append(Array(text.utf8).span, to: out, as: place) }

    private static func append(_ scalar: UInt32, _ octets: Span<UInt8>, to out: ByteBuffer, as place: Place) {
        if isControl(scalar) { return appendEscape(scalar, to: out, as: place) }
        switch (place, scalar) {
        case (.html, 0x26): out.append("&amp;")
        case (.html, 0x3c): out.append("&lt;")
        case (.html, 0x3e): out.append("&gt;")
        case (.html, 0x22): out.append("&quot;")
        case (.html, 0x27): out.append("&#39;")
        case (.json, 0x22): out.append("\\\"")
        case (.json, 0x5c): out.append("\\\\")
        // Harmless in JSON; escaped for readers that take it for something else.
        case (.json, 0x3c), (.json, 0x3e): appendEscape(scalar, to: out, as: .json)
        default: out.append(octets)
        }
    }

    /// C0 and C1, and the marks that change the direction of text (Unicode UAX 9 section 2).
    private static func isControl(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x00...0x1f, 0x7f...0x9f, 0x061c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    private static func appendEscape(_ scalar: UInt32, to out: ByteBuffer, as place: Place) {
        if place != .json && scalar == 0x09 { return out.append(0x09) }
        out.append("\\u")
        if place != .json { out.append("{") }
        for shift: UInt32 in [12, 8, 4, 0] { out.append(digit(UInt8(truncatingIfNeeded: scalar >> shift) & 15)) }
        if place != .json { out.append("}") }
    }

    private static func appendInvalid(_ octet: UInt8, to out: ByteBuffer, as place: Place) {
        if place == .json { return out.append("\\ufffd") }
        out.append("\\x")
        out.append(digit(octet >> 4))
        out.append(digit(octet & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
