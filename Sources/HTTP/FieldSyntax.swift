/// The HTTP/1.1 codec: strict, over spans, allocating nothing once its heads have grown to their usual size.
///
/// Every decision depends on the octets up to the one that it is made at and on no later one, so that a message gives the
/// same result however it is cut into reads.
public enum HTTP1 {}

extension HTTP1 {
    /// `token` of RFC 9110 section 5.6.2: at least one tchar and nothing else.
    public static func isToken(_ bytes: Span<UInt8>) -> Bool {
        !bytes.isEmpty && WordScan.token(bytes, from: 0) == bytes.count
    }

    /// No control character but a tab (RFC 9110 section 5.5); obs-text is allowed, surrounding white space is not looked at.
    public static func isFieldValue(_ bytes: Span<UInt8>) -> Bool {
        WordScan.text(bytes, from: 0) == bytes.count
    }

    /// Compares with ASCII letters folded; other octets must be the same.
    public static func equalsIgnoringCase(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        let count = first.count
        guard count == second.count else { return false }
        if count >= 8 {
            var position = 0
            while position < count {
                let offset = min(position, count &- 8)
                let one = WordScan.lowercased(WordScan.word(first, offset))
                let other = WordScan.lowercased(WordScan.word(second, offset))
                if one != other { return false }
                position &+= 8
            }
            return true
        }
        for index in 0..<count where WordScan.lowercased(first[index]) != WordScan.lowercased(second[index]) {
            return false
        }
        return true
    }

    /// Compares with ASCII letters folded; other octets must be the same.
    public static func equalsIgnoringCase(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        // SAFETY: a literal of more than one scalar points at its octets, and they live for ever.
        guard text.hasPointerRepresentation, bytes.count == text.utf8CodeUnitCount else { return false }
        return equalsIgnoringCase(bytes, unsafe Span(_unsafeStart: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// 1*DIGIT as a number; nil for anything else: empty, signed, spaced, listed, or too large for 64 bits.
    public static func decimal(_ bytes: Span<UInt8>) -> UInt64? {
        if bytes.isEmpty { return nil }
        var value: UInt64 = 0
        for index in 0..<bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tens.addingReportingOverflow(UInt64(digit))
            if tooLarge || overflow { return nil }
            value = sum
        }
        return value
    }

    /// Some element of the list is this word, in any case.
    public static func listContains(_ value: Span<UInt8>, _ word: StaticString) -> Bool {
        var list = ListCursor()
        while let element = list.next(in: value) {
            if equalsIgnoringCase(value.extracting(element), word) { return true }
        }
        return false
    }

    /// The range without surrounding spaces and tabs (OWS, RFC 9110 section 5.6.3).
    public static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end && Octet.isBlank(bytes[start]) { start &+= 1 }
        while end > start && Octet.isBlank(bytes[end &- 1]) { end &-= 1 }
        return start..<end
    }
}

/// Walks the elements of a list-based field value (RFC 9110 section 5.6.1).
///
/// Elements come trimmed; empty ones are passed over, as section 5.6.1.2 asks of a recipient. A comma within a quoted string
/// does not end an element; a quoted string that is never closed runs to the end.
public struct ListCursor {
    private var position = 0

    public init() {}

    /// The next element's range in `value`, which must be the same at every call; nil at the end.
    public mutating func next(in value: Span<UInt8>) -> Range<Int>? {
        while position < value.count {
            let start = position
            let end = ListCursor.elementEnd(value, from: start)
            position = end &+ 1
            let element = HTTP1.trimmed(value, start..<end)
            if !element.isEmpty { return element }
        }
        return nil
    }

    /// The comma that ends the element, or the end of the value.
    private static func elementEnd(_ value: Span<UInt8>, from start: Int) -> Int {
        var position = start
        var isQuoted = false
        while position < value.count {
            switch value[position] {
            case Octet.comma where !isQuoted: return position
            case Octet.quote: isQuoted.toggle()
            case Octet.backslash where isQuoted: position &+= 1  // quoted-pair
            default: break
            }
            position &+= 1
        }
        return value.count
    }
}
