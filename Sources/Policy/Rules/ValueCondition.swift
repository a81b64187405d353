internal import HTTP

/// What is asked of one name's list of values, in a header, the query or the cookies.
///
/// `exact` wants exactly one value, so that a second copy never makes it hold; `glob` and `regex` hold when one value does.
final class ValueCondition {
    enum Test {
        case exact([UInt8])
        case present
        case absent
        case glob(Glob)
        case regex(BytePattern)
        /// The pattern could not be compiled.
        case broken
    }

    let name: [UInt8]
    /// As the configuration has it.
    let display: String
    let test: Test

    init(_ name: String, _ match: ValueMatch, lowersName: Bool) {
        self.name = lowersName ? RuleBytes.lowered(name) : Array(name.utf8)
        display = name
        switch match {
        case .exact(let text): test = .exact(Array(text.utf8))
        case .present: test = .present
        case .absent: test = .absent
        case .glob(let text): test = .glob(Glob(text, .value))
        case .regex(let text):
            do throws(BytePattern.Fault) { test = .regex(try BytePattern(text)) } catch { test = .broken }
        }
    }

    /// Counts what the values say; the verdict is in ``verdict`` when all have been seen.
    struct Tally {
        var values = 0
        var hits = 0
    }

    func count(_ value: Span<UInt8>, into tally: inout Tally) {
        tally.values += 1
        switch test {
        case .exact(let wanted): if RuleBytes.equal(value, wanted) { tally.hits += 1 }
        case .glob(let glob): if glob.matches(value) { tally.hits += 1 }
        case .regex(let pattern): if pattern.matches(value) { tally.hits += 1 }
        case .present, .absent, .broken: break
        }
    }

    func verdict(_ tally: Tally) -> MatchVerdict {
        switch test {
        case .exact: tally.values == 1 && tally.hits == 1 ? .holds : .refuses
        case .present: tally.values > 0 ? .holds : .refuses
        case .absent: tally.values == 0 ? .holds : .refuses
        case .glob, .regex: tally.hits > 0 ? .holds : .refuses
        case .broken: .fails
        }
    }

    /// For a person; never a value that a client sent.
    var wish: String {
        switch test {
        case .exact(let value): "exactly \"\(String(decoding: value, as: UTF8.self))\""
        case .present: "present"
        case .absent: "absent"
        case .glob(let glob): "like \(String(decoding: glob.pattern, as: UTF8.self))"
        case .regex(let pattern): "matching \(pattern.source)"
        case .broken: "matching a pattern that can not be compiled"
        }
    }
}

/// `fails` is a matcher that can not tell: it never lets a request in, and `not` takes it for a match.
enum MatchVerdict { case holds, refuses, fails }

/// Where a cookie's name and value lie in one Cookie field value (RFC 6265 section 4.2.1).
struct CookieScanner {
    private var position = 0
    private(set) var name = ByteRange.empty
    private(set) var value = ByteRange.empty

    init() {}

    /// Moves to the next pair; false at the end. A piece without `=` is the value of a cookie without a name.
    mutating func next(_ field: Span<UInt8>) -> Bool {
        while position < field.count {
            var start = position
            var end = start
            while end < field.count && field[end] != UInt8(ascii: ";") { end += 1 }
            position = end + 1
            while start < end && isSpace(field[start]) { start += 1 }
            while end > start && isSpace(field[end - 1]) { end -= 1 }
            if start == end { continue }
            var equals = start
            while equals < end && field[equals] != UInt8(ascii: "=") { equals += 1 }
            if equals == end {
                name = ByteRange(start, 0)
                value = ByteRange(start, end - start)
                return true
            }
            var nameEnd = equals
            while nameEnd > start && isSpace(field[nameEnd - 1]) { nameEnd -= 1 }
            var valueStart = equals + 1
            while valueStart < end && isSpace(field[valueStart]) { valueStart += 1 }
            name = ByteRange(start, nameEnd - start)
            value = ByteRange(valueStart, end - valueStart)
            return true
        }
        return false
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// Where a parameter's name and value lie in a query: pieces between `&`, at the first `=`.
struct ParameterScanner {
    private var position = 0
    private(set) var piece = ByteRange.empty
    private(set) var name = ByteRange.empty
    private(set) var value = ByteRange.empty

    init() {}

    /// Moves to the next piece, which may be empty; false at the end. An empty query has no piece.
    mutating func next(_ query: Span<UInt8>) -> Bool {
        guard !query.isEmpty && position <= query.count else { return false }
        let start = position
        var end = start
        var equals = -1
        while end < query.count && query[end] != UInt8(ascii: "&") {
            if equals < 0 && query[end] == UInt8(ascii: "=") { equals = end }
            end += 1
        }
        position = end + 1
        piece = ByteRange(start, end - start)
        let nameEnd = equals < 0 ? end : equals
        name = ByteRange(start, nameEnd - start)
        value = equals < 0 ? ByteRange(end, 0) : ByteRange(equals + 1, end - equals - 1)
        return true
    }

    /// `%XX` and `+` decoded (as HTML forms encode); a bad escape stands for itself.
    static func decode(_ text: Span<UInt8>, into out: ByteBuffer) {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "%"), index + 2 < text.count, let high = RuleBytes.hexadecimal(text[index + 1]),
                let low = RuleBytes.hexadecimal(text[index + 2])
            {
                out.append(high << 4 | low)
                index += 3
                continue
            }
            out.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
    }
}

extension Span where Element == UInt8 {
    @_lifetime(copy self)
    func at(_ range: ByteRange) -> Span<UInt8> { extracting(Int(range.start)..<range.end) }
}
