/// Texts as they can stand in a page: nothing in a script or a style sheet ends its element, and where a page's charset is none
/// of Unicode's, or not known, characters outside of ASCII are written as the language's own escapes.
enum InlineText {
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    private static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// WHATWG HTML section 4.12.1.3: `</script` becomes `<\/script`, the same in strings, templates and regular expressions, and
    /// nothing that code has. `<script` matters behind `<!--` only, where it would keep the element open; there it becomes
    /// `\x3Cscript`, the same in literals. Both only where the name ends there: `i<scripts.length` is code.
    static func script(_ bytes: [UInt8]) -> [UInt8] {
        let closed = replaced(withoutMark(bytes), "</script", by: Array("<\\/".utf8), skipping: 2)
        let mark = Array("<!--".utf8)
        guard let comment = closed.indices.first(where: { begins(closed[$0...], with: mark) }) else { return closed }
        return Array(closed[..<comment]) + replaced(Array(closed[comment...]), "<script", by: Array("\\x3C".utf8), skipping: 1)
    }

    /// `</style` becomes `<\/style`, which is the same within strings and URLs (CSS Syntax section 4.3.7).
    static func style(_ bytes: [UInt8]) -> [UInt8] {
        replaced(withoutMark(bytes), "</style", by: Array("<\\/".utf8), skipping: 2)
    }

    /// For an attribute in double quotes.
    static func attribute(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): result += Array("&amp;".utf8)
            case Octet.quote: result += Array("&quot;".utf8)
            default: result.append(byte)
            }
        }
        return result
    }

    /// Writes `replacement` in place of the first `skipped` bytes of a tag's beginning, which is found in any case.
    private static func replaced(_ bytes: [UInt8], _ tag: String, by replacement: [UInt8], skipping skipped: Int) -> [UInt8] {
        let tag = Array(tag.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == Octet.lessThan, begins(bytes[index...], with: tag), endsName(bytes, at: index + tag.count) {
                result += replacement
                index += skipped
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    /// What follows ends a tag's name; at the text's end our own end tag follows.
    private static func endsName(_ bytes: [UInt8], at index: Int) -> Bool {
        guard index < bytes.count else { return true }
        switch bytes[index] {
        case 0x09, 0x0a, 0x0c, 0x0d, 0x20, UInt8(ascii: "/"), UInt8(ascii: ">"): return true
        default: return false
        }
    }

    private static func begins(_ bytes: ArraySlice<UInt8>, with text: [UInt8]) -> Bool {
        bytes.count >= text.count && zip(bytes, text).allSatisfy { Octet.lowered($0) == $1 }
    }

    // MARK: ASCII

    static func ascii(_ bytes: [UInt8], _ context: MarkupBuilder.Context) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return bytes }
        var result: [UInt8] = []
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                result.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                result += escape(scalar, context)
            }
        }
        return result
    }

    private static func escape(_ scalar: Unicode.Scalar, _ context: MarkupBuilder.Context) -> [UInt8] {
        switch context {
        case .markup: Array("&#x\(String(scalar.value, radix: 16));".utf8)
        case .script: Array(UTF16.encode(scalar)?.map { "\\u" + padded(UInt32($0), 4) }.joined().utf8 ?? "".utf8)
        // One white space behind an escape belongs to it, also behind six digits (CSS Syntax section 4.3.7).
        case .style: Array(("\\" + padded(scalar.value, 6) + " ").utf8)
        case .comment: [UInt8(ascii: "?")]
        }
    }

    private static func padded(_ value: UInt32, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
