internal import HTTP

/// Reads a list line by line; a faulty line is left out and reported.
///
/// `url`: `scheme://host/path`, `host/path` or `/path`, with `*` and `**` in the path, exact at both ends; `#` begins a comment
/// at the start of a line or after white space. A `?` begins a query that must fit too; without one any query fits. `hosts`: an
/// address and names, as in hosts(5), or names alone. `adblock`: see ``AdblockParser``.
struct URLListParser {
    private(set) var entries: [URLList.Entry] = []
    private(set) var globs: [Glob] = []
    private var ownFaults: [URLListFault] = []
    private(set) var adblock = AdblockParser()
    let text = ByteBuffer(capacity: 4096)

    /// Names that every hosts file has for the machine itself.
    private static let ownNames: Set<String> = [
        "localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost", "ip6-loopback", "ip6-localnet",
        "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters", "ip6-allhosts", "0.0.0.0",
    ]

    init() {}

    var faults: [URLListFault] { ownFaults + adblock.faults }

    var listsSomething: Bool { !entries.isEmpty || !adblock.blocking.isEmpty }

    /// `upToFirst`: no further than to the first line that lists something.
    mutating func parse(_ source: [UInt8], _ format: URLListDefinition.Format, upToFirst: Bool = false) {
        // Editors put a byte order mark in front of UTF-8.
        var start = source.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        var number = 0
        while start < source.count && !(upToFirst && listsSomething) {
            var end = start
            while end < source.count && source[end] != UInt8(ascii: "\n") { end += 1 }
            number += 1
            let line = format == .adblock ? withoutBlanks(source[start..<end]) : withoutComment(source[start..<end])
            start = end + 1
            if line.isEmpty || line.first == UInt8(ascii: "#") && format != .adblock { continue }
            switch format {
            case .url: parseURL(line, number)
            case .hosts: parseHosts(line, number)
            case .adblock: adblock.parse(line, number)
            }
        }
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }

    /// Without surrounding white space and without a comment that follows white space.
    private func withoutComment(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        if let mark = line.indices.dropFirst().first(where: { line[$0] == UInt8(ascii: "#") && isSpace(line[$0 - 1]) }) {
            line = line[..<mark]
        }
        return withoutBlanks(line)
    }

    private func withoutBlanks(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        while let first = line.first, isSpace(first) { line.removeFirst() }
        while let last = line.last, isSpace(last) { line.removeLast() }
        return line
    }

    private mutating func parseURL(_ line: ArraySlice<UInt8>, _ number: Int) {
        if line.starts(with: "||".utf8) || line.starts(with: "@@".utf8) || line.first == UInt8(ascii: "!") {
            return fault(number, "this is Adblock syntax: write {file: ..., format: adblock} for this list")
        }
        if let bad = line.first(where: {
            $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "#")
        }) {
            let what = bad == 0x20 || bad == 0x09 ? "white space" : "the byte \(bad)"
            return fault(number, "\(what) can not stand in a URL")
        }
        var entry = URLList.Entry(line: Int32(truncatingIfNeeded: number))
        var rest = line
        if rest.first != UInt8(ascii: "/") {
            if let colon = schemeEnd(rest) {
                switch String(decoding: RuleBytes.lowered(Array(rest[..<colon])), as: UTF8.self) {
                case "http": entry.scheme = .http
                case "https": entry.scheme = .https
                default: return fault(number, "the scheme must be http or https")
                }
                rest = rest[(colon + 3)...]
            }
            let slash = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard takeAuthority(rest[..<slash], &entry, number) else { return }
            rest = rest[slash...]
            if rest.isEmpty && entry.scheme == nil && entry.host == .any {
                let message = "it lists the path / of every host; write \"/**\" for every URL"
                ownFaults.append(URLListFault(line: number, message: message, isLeftOut: false))
            }
            if rest.isEmpty && entry.scheme == nil && entry.host == .exact {
                return fault(
                    number, "a path is missing: write \"\(RuleBytes.text(Array(line).span))/**\" for the whole host")
            }
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            entry.query = Int32(truncatingIfNeeded: globs.count)
            globs.append(Glob(Array(rest[(mark + 1)...]), .value))
            rest = rest[..<mark]
        }
        if takePath(rest, &entry, number) { entries.append(entry) }
    }

    private func schemeEnd(_ line: ArraySlice<UInt8>) -> Int? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line.index(colon, offsetBy: 2) < line.endIndex,
            line[colon + 1] == UInt8(ascii: "/"), line[colon + 2] == UInt8(ascii: "/")
        else { return nil }
        return colon
    }

    private mutating func takeAuthority(
        _ authority: ArraySlice<UInt8>, _ entry: inout URLList.Entry, _ number: Int
    ) -> Bool {
        var host = RuleBytes.lowered(Array(authority))
        if let colon = host.lastIndex(of: UInt8(ascii: ":")), host.last != UInt8(ascii: "]") {
            guard let port = UInt16(String(decoding: host[(colon + 1)...], as: UTF8.self)) else {
                fault(number, "the port is not a number up to 65535")
                return false
            }
            entry.port = port
            host = Array(host[..<colon])
        }
        guard !host.isEmpty, !host.contains(UInt8(ascii: "@")) else {
            fault(number, host.isEmpty ? "the host is missing" : "user information can not stand in a list")
            return false
        }
        takeHost(host, &entry)
        return true
    }

    private mutating func takeHost(_ host: [UInt8], _ entry: inout URLList.Entry) {
        let star = UInt8(ascii: "*")
        if !host.contains(star) {
            entry.host = .exact
            entry.hostText = store(host)
        } else if host.count > 2, host[0] == star, host[1] == UInt8(ascii: "."), !host[2...].contains(star) {
            entry.host = .subdomains
            entry.hostText = store(Array(host[2...]))
        } else if host == [star] || host == [star, star] {
            entry.host = .any
        } else {
            entry.host = .glob
            entry.hostText = ByteRange(globs.count, 0)
            globs.append(Glob(host, .value))
        }
    }

    /// An empty path is `/` (RFC 9110 section 4.2.3); non-ASCII bytes stand escaped in canonical paths.
    /// The path as canonical requests have it; false when none can be like it.
    private mutating func takePath(_ path: ArraySlice<UInt8>, _ entry: inout URLList.Entry, _ number: Int) -> Bool {
        let escaped = ByteBuffer(capacity: path.count + 16)
        if !path.isEmpty {
            let bytes = Array(path)
            guard CanonicalGlob.append(bytes.span, mergesSlashes: true, to: escaped) else {
                fault(number, "no canonical path is like this one")
                return false
            }
        }
        if escaped.isEmpty { escaped.append(UInt8(ascii: "/")) }
        if path.contains(UInt8(ascii: "*")) {
            entry.path = .glob
            entry.pathText = ByteRange(globs.count, 0)
            globs.append(Glob(escaped.withUnsafeBytes { Array($0) }, .path))
        } else {
            entry.path = .exact
            entry.pathText = ByteRange(text.count, escaped.count)
            text.append(escaped.span)
        }
        return true
    }

    private mutating func parseHosts(_ line: ArraySlice<UInt8>, _ number: Int) {
        var words = line.split(whereSeparator: isSpace)
        if words.count > 1 || words.first.map(isAddress) == true { words.removeFirst() }
        if words.isEmpty { return fault(number, "a name is missing after the address") }
        for word in words {
            let name = RuleBytes.lowered(Array(word))
            if URLListParser.ownNames.contains(String(decoding: name, as: UTF8.self)) { continue }
            guard name.allSatisfy({ RuleBytes.isUnreserved($0) && $0 != UInt8(ascii: "~") }) else {
                fault(number, "\"\(RuleBytes.text(name.span))\" is not a host name")
                continue
            }
            var entry = URLList.Entry(line: Int32(truncatingIfNeeded: number))
            entry.host = .exact
            entry.hostText = store(name)
            entries.append(entry)
        }
    }

    private func isAddress(_ word: ArraySlice<UInt8>) -> Bool {
        word.contains(UInt8(ascii: ":")) || word.allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
    }

    private mutating func store(_ bytes: [UInt8]) -> ByteRange {
        let range = ByteRange(text.count, bytes.count)
        text.append(bytes)
        return range
    }

    private mutating func fault(_ line: Int, _ message: String) {
        ownFaults.append(URLListFault(line: line, message: message))
    }

    func filing(of entry: URLList.Entry) -> Filing {
        var filing = Filing()
        switch entry.host {
        case .any: break
        case .glob: filing.hosts = FilingKey.run(of: globs[Int(entry.hostText.start)], isHost: true).map { [$0] }
        case .exact: filing.hosts = [.host(text.span(entry.hostText))]
        case .subdomains: filing.hosts = [.subdomains(of: text.span(entry.hostText))]
        }
        switch entry.path {
        case .any: break
        case .exact: filing.paths = [.exactPath(text.span(entry.pathText))]
        case .glob: filing.paths = FilingKey.path(globs[Int(entry.pathText.start)]).map { [$0] }
        }
        return filing
    }
}
