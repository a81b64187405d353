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
        while true {
            index = Self.endOfPlain(text, from: index)
            if index >= count { break }
            let byte = text[index]
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

    /// The index of the next byte that is not plain ASCII text, or the count. Looks at eight bytes at once.
    ///
    /// SAFETY: a word is loaded only where eight bytes are left; single bytes are within the count.
    private static func endOfPlain(_ text: Span<UInt8>, from start: Int) -> Int {
        text.withUnsafeBytes { bytes in
            var index = start
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if hasSpecialByte(word) { break }
                index += 8
            }
            if index + 8 > bytes.count, bytes.count >= 8 {
                // The rest, with some bytes before it again.
                let word = unsafe bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
                if !hasSpecialByte(word) { return bytes.count }
            }
            while index < bytes.count, unsafe isPlain(bytes[index]) { index += 1 }
            return index
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// May say yes for eight plain bytes only when a byte below them is special, so never when none is.
    private static func hasSpecialByte(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs = ones &* 0x80
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        // A borrow or carry out of a byte marks it: below 0x20, above 0x7e, equal to a quote or a backslash.
        let marks = (word &- ones &* 0x20) | (word &+ ones) | word | (quotes &- ones) | (backslashes &- ones)
        return marks & highs != 0
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
        if value < 10 { return out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)) }
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
