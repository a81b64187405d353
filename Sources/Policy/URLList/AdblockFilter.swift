internal import HTTP

/// One line of a list in Adblock syntax that speaks of requests; its texts lie in the list's buffer.
struct AdblockFilter {
    struct Marks: OptionSet {
        let rawValue: UInt8
        /// `|` at the front: the URL begins like this.
        static let start = Marks(rawValue: 1 << 0)
        /// `|` at the end: the URL ends like this.
        static let end = Marks(rawValue: 1 << 1)
        /// `||`: begins at the host or at one of its parents.
        static let host = Marks(rawValue: 1 << 2)
        /// `||host^` and nothing more, which also blocks the host's pages.
        static let wholeHost = Marks(rawValue: 1 << 3)
        static let matchesCase = Marks(rawValue: 1 << 4)
        /// Stands above exceptions.
        static let important = Marks(rawValue: 1 << 5)
        static let firstParty = Marks(rawValue: 1 << 6)
        static let thirdParty = Marks(rawValue: 1 << 7)
    }

    var line: Int32
    var marks: Marks = []
    var types = ResourceTypes.all.subtracting(.document)
    /// `*` stands for any bytes, `^` for a separator or the URL's end.
    var pattern = ByteRange.empty
    /// Of the list's domains: where the page must be from, or must not.
    var domains = ByteRange.empty

    static let star = UInt8(ascii: "*")
    static let caret = UInt8(ascii: "^")

    /// Anything but letters, digits, `_`, `-`, `.` and `%`.
    @inline(__always)
    static func isSeparator(_ byte: UInt8) -> Bool {
        !(CanonicalBytes.isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "%") || byte >= 0x80)
    }

    /// Whether the pattern fits the URL, whose host lies at `host`. Each step takes one of `budget`; false once that is below zero.
    static func matches(
        _ pattern: Span<UInt8>, _ marks: Marks, url: Span<UInt8>, host: Range<Int>, budget: inout Int
    ) -> Bool {
        let endsThere = marks.contains(.end)
        guard marks.contains(.host) else {
            return fits(pattern, url, from: 0, floats: !marks.contains(.start), endsThere: endsThere, budget: &budget)
        }
        var start = host.lowerBound
        while true {
            if fits(pattern, url, from: start, floats: false, endsThere: endsThere, budget: &budget) { return true }
            while start < host.upperBound && url[start] != UInt8(ascii: ".") { start += 1 }
            start += 1
            if start >= host.upperBound { return false }
        }
    }

    /// Goes back to the last star only, so that the cost is at most the product of both lengths.
    private static func fits(
        _ pattern: Span<UInt8>, _ url: Span<UInt8>, from start: Int, floats: Bool, endsThere: Bool, budget: inout Int
    ) -> Bool {
        var position = 0
        var index = start
        var retryPosition = floats ? 0 : -1
        var retryIndex = start
        while true {
            budget -= 1
            if budget < 0 { return false }
            if position == pattern.count {
                if !endsThere || index == url.count { return true }
            } else if pattern[position] == star {
                position += 1
                retryPosition = position
                retryIndex = index
                continue
            } else if index == url.count {
                if pattern[position] == caret {
                    position += 1
                    continue
                }
            } else if pattern[position] == url[index] || pattern[position] == caret && isSeparator(url[index]) {
                position += 1
                index += 1
                continue
            }
            guard retryPosition >= 0 && retryIndex < url.count else { return false }
            retryIndex += 1
            position = retryPosition
            index = retryIndex
        }
    }
}

/// One of `domain=`: `example.org` and all below, or with `~` none of it.
struct AdblockDomain {
    var name: ByteRange
    var isExcluded: Bool
}
