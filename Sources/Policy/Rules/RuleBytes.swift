internal import HTTP

/// Byte comparisons and classes that matchers and edits share; ASCII only, as all of HTTP's own syntax is.
enum RuleBytes {
    @inline(__always)
    static func lower(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    static func equal(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        for index in one.indices where one[index] != other[index] { return false }
        return true
    }

    static func equal(_ one: Span<UInt8>, _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        for index in one.indices where one[index] != other[index] { return false }
        return true
    }

    /// `lowered` must be lower-cased already.
    static func equal(_ bytes: Span<UInt8>, ignoringCase lowered: [UInt8]) -> Bool {
        guard bytes.count == lowered.count else { return false }
        for index in bytes.indices where lower(bytes[index]) != lowered[index] { return false }
        return true
    }

    /// `lowered` must be lower-cased already.
    static func equal(_ bytes: Span<UInt8>, ignoringCase lowered: Span<UInt8>) -> Bool {
        guard bytes.count == lowered.count else { return false }
        for index in bytes.indices where lower(bytes[index]) != lowered[index] { return false }
        return true
    }

    static func lowered(_ bytes: [UInt8]) -> [UInt8] { bytes.map(lower) }

    static func lowered(_ text: String) -> [UInt8] { text.utf8.map(lower) }

    /// RFC 9110 section 5.5: no control but HTAB; obs-text is let through.
    static func isFieldValue(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices {
            let byte = bytes[index]
            if byte < 0x20 && byte != 0x09 || byte == 0x7f { return false }
        }
        return true
    }

    /// RFC 9110 section 5.6.2.
    static func isToken(_ bytes: Span<UInt8>) -> Bool {
        if bytes.isEmpty { return false }
        for index in bytes.indices where !isTokenByte(bytes[index]) { return false }
        return true
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// RFC 3986 section 2.3.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func appendEscaped(_ byte: UInt8, to out: ByteBuffer) {
        out.append(UInt8(ascii: "%"))
        out.append(hexadecimalDigit(byte >> 4))
        out.append(hexadecimalDigit(byte & 15))
    }

    static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Text for a person: bytes that are not UTF-8 become replacement characters.
    static func text(_ bytes: Span<UInt8>) -> String {
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in bytes.indices { copy.append(bytes[index]) }
        return String(decoding: copy, as: UTF8.self)
    }
}
