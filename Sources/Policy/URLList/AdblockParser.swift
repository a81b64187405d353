internal import HTTP

/// Reads a list in the common subset of Adblock syntax line by line; what is not understood is left out and reported.
///
/// ```
/// ||ads.example^                       the host and all below
/// |https://a.example/x|                the whole URL
/// /banner/*/img^$image,third-party     anywhere in the URL; * any bytes, ^ a separator or the end
/// @@||ads.example/ok.js$script         an exception
/// ||t.example^$domain=a.org|~b.a.org   for pages of a.org, but not of b.a.org
/// ```
struct AdblockParser {
    private(set) var blocking: [AdblockFilter] = []
    private(set) var exceptions: [AdblockFilter] = []
    private(set) var domains: [AdblockDomain] = []
    private(set) var faults: [URLListFault] = []
    let text = ByteBuffer(capacity: 4096)

    mutating func parse(_ line: ArraySlice<UInt8>, _ number: Int) {
        if line.first == UInt8(ascii: "!") || line.first == UInt8(ascii: "[") { return }
        if Self.hidesElements(line) {
            return fault(number, "it changes pages, not requests: only filters of requests are understood")
        }
        var rest = line
        let isException = rest.starts(with: "@@".utf8)
        if isException { rest = rest.dropFirst(2) }
        var filter = AdblockFilter(line: Int32(truncatingIfNeeded: number))
        if let mark = Self.optionsMark(rest) {
            guard takeOptions(rest[(mark + 1)...], &filter, number) else { return }
            rest = rest[..<mark]
        }
        guard takePattern(rest, &filter, number) else { return }
        if isException { exceptions.append(filter) } else { blocking.append(filter) }
    }

    /// `##`, `#@#`, `#?#`, `#$#` and their like.
    private static func hidesElements(_ line: ArraySlice<UInt8>) -> Bool {
        let hash = UInt8(ascii: "#")
        var index = line.startIndex
        while let first = line[index...].firstIndex(of: hash) {
            var next = first + 1
            while next < line.endIndex && next - first <= 3 && "@?$%".utf8.contains(line[next]) { next += 1 }
            if next < line.endIndex && line[next] == hash { return true }
            index = first + 1
        }
        return false
    }

    /// The `$` that begins the options; one that is followed by anything else belongs to the pattern.
    private static func optionsMark(_ line: ArraySlice<UInt8>) -> Int? {
        guard let mark = line.lastIndex(of: UInt8(ascii: "$")), mark + 1 < line.endIndex else { return nil }
        let first = line[mark + 1]
        return first == UInt8(ascii: "~") || first | 0x20 >= 0x61 && first | 0x20 <= 0x7a || CanonicalBytes.isDigit(first)
            ? mark : nil
    }

    // MARK: Options

    private mutating func takeOptions(_ text: ArraySlice<UInt8>, _ filter: inout AdblockFilter, _ number: Int) -> Bool {
        var included: ResourceTypes = []
        var excluded: ResourceTypes = []
        for option in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true) {
            let isExcluded = option.first == UInt8(ascii: "~")
            let name = String(decoding: RuleBytes.lowered(Array(isExcluded ? option.dropFirst() : option)), as: UTF8.self)
            if let type = ResourceTypes.named(name) {
                if isExcluded { excluded.formUnion(type) } else { included.formUnion(type) }
                continue
            }
            switch name {
            case "third-party", "3p": filter.marks.insert(isExcluded ? .firstParty : .thirdParty)
            case "first-party", "1p": filter.marks.insert(isExcluded ? .thirdParty : .firstParty)
            case "match-case" where !isExcluded: filter.marks.insert(.matchesCase)
            case "important" where !isExcluded: filter.marks.insert(.important)
            default:
                if !isExcluded, name.hasPrefix("domain=") || name.hasPrefix("from=") {
                    let list = option.drop { $0 != UInt8(ascii: "=") }.dropFirst()
                    guard takeDomains(list, &filter, number) else { return false }
                } else {
                    fault(number, "the option \"\(RuleBytes.text(Array(option).span))\" is not understood")
                    return false
                }
            }
        }
        if !included.isEmpty {
            filter.types = included.subtracting(excluded)
        } else {
            filter.types.subtract(excluded)
        }
        return true
    }

    private mutating func takeDomains(_ list: ArraySlice<UInt8>, _ filter: inout AdblockFilter, _ number: Int) -> Bool {
        let start = domains.count
        for item in list.split(separator: UInt8(ascii: "|")) {
            let isExcluded = item.first == UInt8(ascii: "~")
            let name = RuleBytes.lowered(Array(isExcluded ? item.dropFirst() : item))
            guard !name.isEmpty, name.allSatisfy({ RuleBytes.isUnreserved($0) && $0 != UInt8(ascii: "~") }) else {
                fault(number, "\"\(RuleBytes.text(name.span))\" is not a domain")
                return false
            }
            domains.append(AdblockDomain(name: store(name), isExcluded: isExcluded))
        }
        if domains.count == start {
            fault(number, "domain= names no domain")
            return false
        }
        filter.domains = ByteRange(start, domains.count - start)
        return true
    }

    // MARK: Pattern

    private mutating func takePattern(_ source: ArraySlice<UInt8>, _ filter: inout AdblockFilter, _ number: Int) -> Bool {
        let bar = UInt8(ascii: "|")
        if source.count > 1 && source.first == UInt8(ascii: "/") && source.last == UInt8(ascii: "/") {
            fault(number, "regular expressions are not understood; for the text itself, end it in \"*\"")
            return false
        }
        if let bad = source.first(where: { $0 <= 0x20 || $0 >= 0x7f }) {
            fault(
                number,
                bad >= 0x7f
                    ? "a pattern is of ASCII: write hosts in punycode and paths with escapes"
                    : "white space can not stand in a pattern")
            return false
        }
        var rest = source
        if rest.starts(with: "||".utf8) {
            filter.marks.insert(.host)
            rest = rest.dropFirst(2)
        } else if rest.first == bar {
            filter.marks.insert(.start)
            rest = rest.dropFirst()
        }
        if rest.last == bar {
            filter.marks.insert(.end)
            rest = rest.dropLast()
        }
        let isBare = rest.isEmpty
        if rest.last == AdblockFilter.star { filter.marks.remove(.end) }
        while rest.last == AdblockFilter.star { rest.removeLast() }
        if rest.first == AdblockFilter.star { filter.marks.subtract([.start, .host]) }
        while rest.first == AdblockFilter.star { rest.removeFirst() }
        if rest.isEmpty && filter.types == ResourceTypes.all.subtracting(.document) && filter.domains.isEmpty
            && filter.marks.isDisjoint(with: [.firstParty, .thirdParty])
        {
            if isBare {
                fault(number, "the pattern is empty")
                return false
            }
            faults.append(URLListFault(line: number, message: "it fits every URL", isLeftOut: false))
        }
        if filter.marks.contains(.host), !filter.marks.contains(.end), rest.last == AdblockFilter.caret,
            AdblockIndex.hostLength(Array(rest).span) == rest.count - 1
        {
            filter.marks.insert(.wholeHost)
            // Such a filter without types of its own blocks the host's pages too.
            if filter.types == ResourceTypes.all.subtracting(.document) { filter.types = .all }
        }
        filter.pattern = store(filter.marks.contains(.matchesCase) ? Array(rest) : RuleBytes.lowered(Array(rest)))
        return true
    }

    private mutating func store(_ bytes: [UInt8]) -> ByteRange {
        let range = ByteRange(text.count, bytes.count)
        text.append(bytes)
        return range
    }

    private mutating func fault(_ line: Int, _ message: String) {
        faults.append(URLListFault(line: line, message: message))
    }
}
