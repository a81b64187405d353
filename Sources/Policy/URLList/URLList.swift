internal import HTTP

/// A line that was left out of a list, and why; or one that is hardly meant so.
public struct URLListFault: Sendable, Equatable {
    public let line: Int
    public let message: String
    public var isLeftOut = true
}

/// A list of URLs, found by hash of host and path: the cost of a look-up does not depend on the number of lines.
public final class URLList {
    /// One line; bytes of all lines lie in one buffer.
    struct Entry {
        enum Host: UInt8 { case any, exact, subdomains, glob }
        enum Path: UInt8 { case any, exact, glob }

        var line: Int32
        var host = Host.any
        var path = Path.any
        var scheme: Scheme?
        var port: UInt16?
        /// The host's bytes, lower-cased; for a glob the number of the glob is in `start`.
        var hostText = ByteRange.empty
        var pathText = ByteRange.empty
        /// The number of the glob that the query must fit, or -1: any query.
        var query: Int32 = -1
    }

    public let faults: [URLListFault]
    private let entries: [Entry]
    private let globs: [Glob]
    private let text: ByteBuffer
    private let index: HostPathIndex
    /// Of the format `adblock`; there are no entries then.
    private let adblock: AdblockList?

    public init(_ source: [UInt8], format: URLListDefinition.Format) {
        var parser = URLListParser()
        parser.parse(source, format)
        faults = parser.faults
        entries = parser.entries
        globs = parser.globs
        text = parser.text
        index = HostPathIndex(parser.entries.map { parser.filing(of: $0) })
        adblock = format == .adblock ? AdblockList(parser.adblock) : nil
    }

    /// In the place of a line's number: whether one lists the URL was not found out in bounded time.
    public static let undecided = -2

    public var count: Int { adblock?.count ?? entries.count }

    /// The number of the first line (of the format `adblock`: of a line) that lists the request's URL, -1 or ``undecided``.
    public func line(listing request: CanonicalRequest) -> Int {
        if let adblock { return adblock.line(listing: request) }
        index.begin(host: request.host, path: request.path, from: 0)
        var candidate = index.next()
        while candidate >= 0 {
            if matches(entries[candidate], request) { return Int(entries[candidate].line) }
            candidate = index.next()
        }
        return -1
    }

    private func matches(_ entry: Entry, _ request: CanonicalRequest) -> Bool {
        if let scheme = entry.scheme, scheme != request.scheme { return false }
        if let port = entry.port, port != request.port ?? request.scheme.defaultPort { return false }
        if entry.query >= 0 && !globs[Int(entry.query)].matches(request.query) { return false }
        return hostMatches(entry, request.host) && pathMatches(entry, request.path)
    }

    private func hostMatches(_ entry: Entry, _ host: Span<UInt8>) -> Bool {
        switch entry.host {
        case .any: return true
        case .exact: return RuleBytes.equal(host, text.span(entry.hostText))
        case .glob: return globs[Int(entry.hostText.start)].matches(host)
        case .subdomains:
            let parent = text.span(entry.hostText)
            let start = host.count - parent.count
            guard start > 1 && host[start - 1] == UInt8(ascii: ".") else { return false }
            return RuleBytes.equal(host.extracting(start..<host.count), parent)
        }
    }

    private func pathMatches(_ entry: Entry, _ path: Span<UInt8>) -> Bool {
        switch entry.path {
        case .any: true
        case .exact: RuleBytes.equal(path, text.span(entry.pathText))
        case .glob: globs[Int(entry.pathText.start)].matches(path)
        }
    }
}
