internal import HTTP

/// What the bytes of a page are units of, as far as inserting into it goes.
public enum PageCharset: Sendable, Equatable {
    case utf8, utf16LittleEndian, utf16BigEndian
    /// ASCII bytes are ASCII characters wherever markup can be; what is inserted is written in ASCII.
    case other
    /// ASCII bytes may be parts of characters (ISO-2022-JP): such a page is left as it is.
    case unsupported

    /// By the charset parameter of a Content-Type; nil when there is none or it names nothing known.
    public init?(contentType: Span<UInt8>) {
        guard let label = MediaType.charset(contentType) else { return nil }
        self.init(label: contentType.extracting(label))
    }

    /// WHATWG Encoding section 4.2, for those that differ here; any other label is of a charset that ASCII is part of.
    public init(label: Span<UInt8>) {
        if Self.isAny(label, "utf-8", "utf8", "unicode-1-1-utf-8") {
            self = .utf8
        } else if Self.isAny(
            label, "utf-16le", "utf-16", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2", "unicodefeff")
        {
            self = .utf16LittleEndian
        } else if Self.isAny(label, "utf-16be", "unicodefffe") {
            self = .utf16BigEndian
        } else if Self.isAny(
            label, "iso-2022-jp", "csiso2022jp", "iso-2022-kr", "iso-2022-cn", "iso-2022-cn-ext", "hz-gb-2312", "utf-7", "utf-32")
        {
            self = .unsupported
        } else {
            self = .other
        }
    }

    private static func isAny(_ label: Span<UInt8>, _ names: StaticString...) -> Bool {
        for name in names where HTTP1.equalsIgnoringCase(label, name) { return true }
        return false
    }

    /// By the first bytes of a page, which stand above every label (WHATWG Encoding section 6); `length` is the mark's.
    static func byMark(_ bytes: Span<UInt8>) -> (charset: PageCharset, length: Int)? {
        if bytes.count >= 3 && bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf { return (.utf8, 3) }
        guard bytes.count >= 2 else { return nil }
        if bytes[0] == 0xfe && bytes[1] == 0xff { return (.utf16BigEndian, 2) }
        if bytes[0] == 0xff && bytes[1] == 0xfe { return (.utf16LittleEndian, 2) }
        return nil
    }

    /// Bytes a unit.
    var width: Int { self == .utf16LittleEndian || self == .utf16BigEndian ? 2 : 1 }

    /// The unit at byte `index`; 0x80 for every one outside of ASCII.
    @inline(__always)
    func unit(_ bytes: Span<UInt8>, _ index: Int) -> UInt8 {
        let (low, high) = self == .utf16LittleEndian ? (bytes[index], bytes[index + 1]) : (bytes[index + 1], bytes[index])
        return high == 0 && low < 0x80 ? low : 0x80
    }

    /// Appends UTF-8 text in this charset.
    func append(_ text: [UInt8], to out: ByteBuffer) {
        guard width == 2 else { return out.append(text) }
        for unit in String(decoding: text, as: UTF8.self).utf16 {
            let low = UInt8(truncatingIfNeeded: unit)
            let high = UInt8(truncatingIfNeeded: unit >> 8)
            out.append(self == .utf16LittleEndian ? low : high)
            out.append(self == .utf16LittleEndian ? high : low)
        }
    }
}

/// Reads a Content-Type (RFC 9110 section 8.3.1).
public enum MediaType {
    /// The type without parameters is this one, in any case.
    public static func isNamed(_ value: Span<UInt8>, _ name: StaticString) -> Bool {
        var end = 0
        while end < value.count && value[end] != UInt8(ascii: ";") { end += 1 }
        return HTTP1.equalsIgnoringCase(value.extracting(HTTP1.trimmed(value, 0..<end)), name)
    }

    /// Where the value of the first `charset` parameter stands, without quotes.
    static func charset(_ value: Span<UInt8>) -> Range<Int>? {
        var index = 0
        while index < value.count {
            while index < value.count && value[index] != UInt8(ascii: ";") { index += 1 }
            index += 1
            var end = index
            while end < value.count && value[end] != Octet.equals && value[end] != UInt8(ascii: ";") { end += 1 }
            guard end < value.count, value[end] == Octet.equals else { continue }
            let name = HTTP1.trimmed(value, index..<end)
            let isCharset = HTTP1.equalsIgnoringCase(value.extracting(name), "charset")
            var start = end + 1
            var last = start
            if start < value.count && value[start] == Octet.quote {
                start += 1
                last = start
                while last < value.count && value[last] != Octet.quote { last += 1 }
            } else {
                while last < value.count && value[last] != UInt8(ascii: ";") { last += 1 }
            }
            if isCharset { return HTTP1.trimmed(value, start..<last) }
            index = last
        }
        return nil
    }
}
