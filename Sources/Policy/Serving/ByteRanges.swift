internal import HTTP

/// The parts of a representation that a Range field asks for (RFC 9110 section 14).
public struct ByteRanges {
    /// From the first byte to behind the last.
    public typealias Part = Range<UInt64>

    public enum Outcome: Sendable, Equatable {
        /// The field is to be ignored: not of bytes, not well-formed, or asking for more parts than anybody needs.
        case ignored
        /// 416
        case unsatisfiable
        /// ``parts`` has them, in the order in which they were asked for, or where they met in that of the bytes.
        case parts
    }

    public private(set) var parts: [Part] = []

    /// Players and readers of archives ask for a handful. Longer lists are ignored (section 14.2): they ask for the parts' heads.
    public static let mostParts = 64

    public init() {}

    public mutating func clear() { parts.removeAll(keepingCapacity: true) }

    /// Reads the value of a Range field for a representation of `length` bytes.
    public mutating func read(_ value: Span<UInt8>, length: UInt64) -> Outcome {
        clear()
        guard value.count > 6, HTTP1.equalsIgnoringCase(value.extracting(0..<6), "bytes=") else { return .ignored }
        let set = value.extracting(6..<value.count)
        var list = ListCursor()
        var count = 0
        while let range = list.next(in: set) {
            count += 1
            guard count <= Self.mostParts, let spec = Self.spec(set.extracting(range)) else { return .ignored }
            if let part = Self.part(spec, length) { parts.append(part) }
        }
        if count == 0 { return .ignored }
        if parts.isEmpty { return length == 0 ? Self.emptyOutcome(set) : .unsatisfiable }
        joinMeeting()
        return .parts
    }

    private enum Spec {
        case from(UInt64, to: UInt64)
        case last(UInt64)
    }

    /// `0-499`, `500-`, `-500`; a number that is too large for anything stands for the largest there is.
    private static func spec(_ text: Span<UInt8>) -> Spec? {
        var dash = 0
        while dash < text.count && text[dash] != UInt8(ascii: "-") { dash += 1 }
        guard dash < text.count else { return nil }
        let end = text.extracting(dash + 1..<text.count)
        if dash == 0 { return number(end).map { .last($0) } }
        guard let first = number(text.extracting(0..<dash)) else { return nil }
        if end.isEmpty { return .from(first, to: .max) }
        guard let last = number(end), last >= first else { return nil }
        return .from(first, to: last)
    }

    private static func number(_ digits: Span<UInt8>) -> UInt64? {
        if digits.isEmpty { return nil }
        for index in 0..<digits.count where !CanonicalBytes.isDigit(digits[index]) { return nil }
        return HTTP1.decimal(digits) ?? .max
    }

    /// Nil when it lies outside of the representation.
    private static func part(_ spec: Spec, _ length: UInt64) -> Part? {
        switch spec {
        case .from(let first, let last):
            if first >= length { return nil }
            return first..<(last < length - 1 ? last + 1 : length)
        case .last(let count):
            if count == 0 || length == 0 { return nil }
            return (count < length ? length - count : 0)..<length
        }
    }

    /// Of nothing, the last bytes are nothing too (section 14.1.2), which no Content-Range can say: it is sent whole.
    private static func emptyOutcome(_ set: Span<UInt8>) -> Outcome {
        var list = ListCursor()
        while let range = list.next(in: set) {
            if case .last(let count)? = spec(set.extracting(range)), count > 0 { return .ignored }
        }
        return .unsatisfiable
    }

    /// Parts that overlap or touch become one (section 15.3.7.2), so that nothing is sent twice.
    private mutating func joinMeeting() {
        if parts.count < 2 { return }
        let sorted = parts.sorted { $0.lowerBound < $1.lowerBound }
        var joined: [Part] = [sorted[0]]
        for part in sorted.dropFirst() {
            let last = joined[joined.count - 1]
            if part.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, part.upperBound)
            } else {
                joined.append(part)
            }
        }
        if joined.count < parts.count { parts = joined }
    }
}
