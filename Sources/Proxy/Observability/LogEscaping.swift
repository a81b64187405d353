internal import HTTP

/// How bytes that anyone may have sent are written into a log line: no byte of theirs can end the line, leave its quotes, or
/// command a terminal.
///
/// Well-formed UTF-8 stays as it is. Control characters, and each byte that is no UTF-8, become `\u00XX` in JSON (the byte
/// taken as Latin-1) and `\xXX` in text.
enum LogEscaping: Sendable {
    case json, text

    /// Longer ones are cut, and end in `...` then.
    static let longestText = 2_048

    func append(_ text: Span<UInt8>, to out: ByteBuffer) {
        if text.count > Self.longestText {
            var end = Self.longestText
            while end > Self.longestText - 4 && text[end] & 0xc0 == 0x80 { end -= 1 }
            appendAll(text.extracting(0..<end), to: out)
            out.append("...")
        } else {
            appendAll(text, to: out)
        }
    }

    private func appendAll(_ text: Span<UInt8>, to out: ByteBuffer) {
        let count = text.count
        var start = 0
        var index = 0
        while index < count {
            let byte = text[index]
            if byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
                index += 1
                continue
            }
            if byte >= 0x80 {
                let length = Self.characterLength(text, at: index)
                if length > 0 {
                    index += length
                    continue
                }
            }
            out.append(text.extracting(start..<index))
            escape(byte, to: out)
            index += 1
            start = index
        }
        out.append(text.extracting(start..<count))
    }

    private func escape(_ byte: UInt8, to out: ByteBuffer) {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            out.append(UInt8(ascii: "\\"))
            out.append(byte)
            return
        }
        switch self {
        case .json: out.append("\\u00")
        case .text: out.append("\\x")
        }
        out.append(Self.hexadecimalDigit(byte >> 4))
        out.append(Self.hexadecimalDigit(byte & 15))
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// The length of the UTF-8 sequence of two to four bytes at `index`; 0 when there is none (RFC 3629 section 4), and for the
    /// control characters U+0080 to U+009F, which terminals obey.
    private static func characterLength(_ text: Span<UInt8>, at index: Int) -> Int {
        func byte(_ offset: Int) -> UInt8 { index + offset < text.count ? text[index + offset] : 0 }
        func continues(_ offset: Int) -> Bool { byte(offset) & 0xc0 == 0x80 }
        switch (byte(0), byte(1)) {
        case (0xc2, 0xa0...0xbf), (0xc3...0xdf, 0x80...0xbf):
            return 2
        case (0xe0, 0xa0...0xbf), (0xe1...0xec, 0x80...0xbf), (0xed, 0x80...0x9f), (0xee...0xef, 0x80...0xbf):
            return continues(2) ? 3 : 0
        case (0xf0, 0x90...0xbf), (0xf1...0xf3, 0x80...0xbf), (0xf4, 0x80...0x8f):
            return continues(2) && continues(3) ? 4 : 0
        default:
            return 0
        }
    }

    /// Several times as fast as a division by a divisor that is not known beforehand.
    static func append(_ value: UInt64, to out: ByteBuffer) {
        out.appendUninitialized(minimum: 20) { buffer in
            var count = 1
            var rest = value / 10
            while rest > 0 {
                count += 1
                rest /= 10
            }
            rest = value
            for index in stride(from: count - 1, through: 0, by: -1) {
                unsafe buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            return count
        }
    }

    /// Exactly `digits` digits, the lowest ones.
    static func append(_ value: UInt64, digits: Int, to out: ByteBuffer) {
        out.appendUninitialized(minimum: digits) { buffer in
            var rest = value
            for index in stride(from: digits - 1, through: 0, by: -1) {
                unsafe buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            return digits
        }
    }

    /// Milliseconds with three decimals, from microseconds.
    static func append(microseconds: Int64, to out: ByteBuffer) {
        let value = UInt64(max(0, microseconds))
        append(value / 1_000, to: out)
        out.append(UInt8(ascii: "."))
        append(value % 1_000, digits: 3, to: out)
    }
}
