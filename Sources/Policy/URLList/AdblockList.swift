internal import HTTP

/// A list in Adblock syntax: filters that block, and exceptions from them.
final class AdblockList {
    private let blocking: [AdblockFilter]
    private let exceptions: [AdblockFilter]
    private let domains: [AdblockDomain]
    private let text: ByteBuffer
    private var blockingIndex: AdblockIndex
    private var exceptionIndex: AdblockIndex
    private let hasCase: Bool

    // Of the request that is looked up.
    private let url = ByteBuffer(capacity: 256)
    private let caseURL = ByteBuffer(capacity: 16)
    private var host = 0..<0
    private var facts: Facts?
    /// What is left of ``mostSteps``; below zero there was not enough.
    private(set) var budget = 0

    /// Comparisons of a pattern's byte with a URL's in one look-up: some milliseconds. A URL that is made to fit the beginnings of
    /// very many filters would else take as long as whoever sends it likes.
    static let mostSteps = 1 << 21

    /// What options ask for; found out for the first filter that has some.
    private struct Facts {
        var types: ResourceTypes
        var party: RequestParty
    }

    init(_ parser: AdblockParser) {
        blocking = parser.blocking
        exceptions = parser.exceptions
        domains = parser.domains
        text = parser.text
        blockingIndex = AdblockIndex(blocking, text)
        exceptionIndex = AdblockIndex(exceptions, text)
        hasCase = (blocking + exceptions).contains { $0.marks.contains(.matchesCase) }
    }

    var count: Int { blocking.count + exceptions.count }

    /// The number of a line that blocks the request, or -1: none does, or an exception holds. ``URLList/undecided`` when that took
    /// too many steps to find out.
    func line(listing request: CanonicalRequest) -> Int {
        takeURL(of: request)
        budget = Self.mostSteps
        var found = -1
        var isImportant = false
        _ = blockingIndex.contains(url: url.span, host: host) { number in
            if found >= 0 && !blocking[number].marks.contains(.important) { return false }
            guard holds(blocking[number], request) else { return budget < 0 }
            found = Int(blocking[number].line)
            isImportant = blocking[number].marks.contains(.important)
            // Without exceptions the first will do.
            return isImportant || exceptions.isEmpty
        }
        if budget < 0 { return URLList.undecided }
        if found < 0 || isImportant { return found }
        let isExcepted = exceptionIndex.contains(url: url.span, host: host) { holds(exceptions[$0], request) || budget < 0 }
        if budget < 0 { return URLList.undecided }
        return isExcepted ? -1 : found
    }

    private func takeURL(of request: CanonicalRequest) {
        facts = nil
        let out = hasCase ? caseURL : url
        out.clear()
        out.append(request.scheme == .http ? "http://" : "https://")
        let start = out.count
        out.append(request.authority.span)
        out.append(request.target.span)
        host = start..<start + request.hostLength
        if hasCase {
            url.clear()
            url.append(out.span)
        }
        for index in start + request.authority.count..<url.count { url[index] = CanonicalBytes.lowered(url[index]) }
    }

    private func holds(_ filter: AdblockFilter, _ request: CanonicalRequest) -> Bool {
        let written = filter.marks.contains(.matchesCase) ? caseURL : url
        let pattern = text.span(filter.pattern)
        guard AdblockFilter.matches(pattern, filter.marks, url: written.span, host: host, budget: &budget) else { return false }
        if filter.types != .all || !filter.marks.isDisjoint(with: [.firstParty, .thirdParty]) {
            let facts = facts ?? Facts(types: .of(request), party: .of(request, page: RequestingPage.host(of: request)))
            self.facts = facts
            if filter.types.isDisjoint(with: facts.types) { return false }
            if filter.marks.contains(.thirdParty) && facts.party != .third { return false }
            if filter.marks.contains(.firstParty) && facts.party != .first { return false }
        }
        return filter.domains.isEmpty || domainsHold(filter.domains, RequestingPage.host(of: request))
    }

    /// The most specific domain that the page belongs to decides; where none does, a list of nothing but exclusions holds.
    private func domainsHold(_ range: ByteRange, _ page: Span<UInt8>) -> Bool {
        var longest = -1
        var verdict = true
        for index in Int(range.start)..<range.end {
            let domain = domains[index]
            if !domain.isExcluded && longest < 0 { verdict = false }
            let length = Int(domain.name.length)
            guard length > longest && isBelow(page, text.span(domain.name)) else { continue }
            longest = length
            verdict = !domain.isExcluded
        }
        return verdict
    }

    private func isBelow(_ page: Span<UInt8>, _ domain: Span<UInt8>) -> Bool {
        let start = page.count - domain.count
        guard start == 0 || start > 0 && page[start - 1] == UInt8(ascii: ".") else { return false }
        return RuleBytes.equal(page.extracting(start..<page.count), domain)
    }
}
