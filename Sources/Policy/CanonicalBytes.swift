/// What canonicalising asks of bytes: classes of ASCII, comparisons without regard to case, lists.
///
/// Byte loops stay in this target, where the optimiser sees them whole.
enum CanonicalBytes {
    // One bit a byte value, 0-63 and 64-127. RFC 3986 appendix A, RFC 9110 section 5.6.2.
    /// `pchar` and the slash: what may stand in a path as it is.
    private static let pathLow: UInt64 = 0x2fff_ffd2_0000_0000
    private static let pathHigh: UInt64 = 0x47ff_fffe_87ff_ffff
    private static let unreservedLow: UInt64 = 0x03ff_6000_0000_0000
    private static let unreservedHigh: UInt64 = 0x47ff_fffe_87ff_fffe
    private static let tokenLow: UInt64 = 0x03ff_6cfa_0000_0000
    private static let tokenHigh: UInt64 = 0x57ff_ffff_c7ff_fffe

    @inline(__always) private static func isIn(_ low: UInt64, _ high: UInt64, _ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
    }

    @inline(__always) static func isPath(_ byte: UInt8) -> Bool { isIn(pathLow, pathHigh, byte) }
    @inline(__always) static func isUnreserved(_ byte: UInt8) -> Bool { isIn(unreservedLow, unreservedHigh, byte) }
    @inline(__always) static func isToken(_ byte: UInt8) -> Bool { isIn(tokenLow, tokenHigh, byte) }
    @inline(__always) static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }
    @inline(__always) static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    @inline(__always) static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    @inline(__always) static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- 0x61 < 26
    }

    @inline(__always) static func lowered(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// The value of a hexadecimal digit, or nil.
    @inline(__always) static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- 0x30 }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    @inline(__always) static func upperHex(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 &+ value : 0x37 &+ value
    }

    static func equals(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        if one.count != other.count { return false }
        for index in 0..<one.count where one[index] != other[index] { return false }
        return true
    }

    static func equalsIgnoringCase(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        if one.count != other.count { return false }
        for index in 0..<one.count where lowered(one[index]) != lowered(other[index]) { return false }
        return true
    }

    static func equals(_ one: Span<UInt8>, _ other: [UInt8]) -> Bool { equals(one, other.span) }

    static func equalsIgnoringCase(_ one: Span<UInt8>, _ other: [UInt8]) -> Bool { equalsIgnoringCase(one, other.span) }

    /// `text` is lower-case ASCII.
    ///
    /// SAFETY: here and in ``hasPrefix``, a static string has `utf8CodeUnitCount` bytes at `utf8Start` for ever; the
    /// index is below that count.
    static func equalsIgnoringCase(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        bytes.count == text.utf8CodeUnitCount && hasPrefix(bytes, text)
    }

    /// Without regard to case; `text` is lower-case ASCII.
    static func hasPrefix(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        if bytes.count < length { return false }
        for index in 0..<length where lowered(bytes[index]) != (unsafe text.utf8Start[index]) { return false }
        return true
    }

    /// The part of `bytes` without white space at its ends (OWS, RFC 9110 section 5.6.3).
    static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end && isWhitespace(bytes[start]) { start += 1 }
        while end > start && isWhitespace(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    static func firstIndex(of byte: UInt8, in bytes: Span<UInt8>, from start: Int = 0) -> Int? {
        var index = start
        while index < bytes.count {
            if bytes[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// Digits only, no more than `limit`; nil for anything else and for nothing.
    static func decimal(_ bytes: Span<UInt8>, limit: Int) -> Int? {
        if bytes.isEmpty { return nil }
        var value = 0
        for index in 0..<bytes.count {
            guard isDigit(bytes[index]) else { return nil }
            value = value &* 10 &+ Int(bytes[index] &- 0x30)
            if value > limit { return nil }
        }
        return value
    }
}

/// Walks the elements of a list value (RFC 9110 section 5.6.1): trimmed, empty ones skipped, separators in quoted
/// strings are no separators.
struct ListElements {
    private var position = 0
    private let separator: UInt8

    init(separator: UInt8 = UInt8(ascii: ",")) { self.separator = separator }

    /// The next element as a range of `value`, which must be the same at each call; nil at the end.
    mutating func next(in value: Span<UInt8>) -> Range<Int>? {
        while position < value.count {
            let start = position
            var isQuoted = false
            while position < value.count {
                let byte = value[position]
                if byte == UInt8(ascii: "\"") {
                    isQuoted.toggle()
                } else if isQuoted && byte == UInt8(ascii: "\\") {
                    position += 1
                } else if byte == separator && !isQuoted {
                    break
                }
                position += 1
            }
            let end = min(position, value.count)
            position = end + 1
            let element = CanonicalBytes.trimmed(value, start..<end)
            if !element.isEmpty { return element }
        }
        return nil
    }
}
