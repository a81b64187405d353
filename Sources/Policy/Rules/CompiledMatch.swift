internal import HTTP

/// The keys of `match:`, in the order in which they are tried: cheap ones first.
enum MatchKey: Equatable {
    case host, method, scheme, path, `extension`
    case clientIP
    case header(Int)
    case query(Int)
    case cookie(Int)
    case pathRegex
    case urlList(Int)
    case not(Int)
}

/// One `match:` compiled: every key that is given must hold.
///
/// It reads the client's canonical request and nothing else; for a redirect hop, the hop's URL with the client's fields.
final class CompiledMatch {
    let keys: [MatchKey]
    let definition: MatchDefinition
    let hosts: HostSet?
    let paths: PathSet?
    private let patterns: [BytePattern]
    private let hasBrokenPattern: Bool
    private let extensions: [[UInt8]]
    private let methods: [[UInt8]]
    private let schemes: [Scheme]
    private let clientRanges: [AddressRange]
    let headers: [ValueCondition]
    let query: [ValueCondition]
    let cookies: [ValueCondition]
    let lists: [Int]
    private let negated: [CompiledMatch]
    let urlLists: URLListTable
    private let scratch = ByteBuffer(capacity: 64)

    init(_ definition: MatchDefinition, _ urlLists: URLListTable) {
        self.definition = definition
        self.urlLists = urlLists
        hosts = definition.hosts.map { HostSet($0) }
        paths = definition.paths.map { PathSet($0) }
        let sources = definition.pathRegex ?? []
        patterns = sources.compactMap { try? BytePattern($0) }
        hasBrokenPattern = patterns.count < sources.count
        extensions = (definition.extensions ?? []).map { RuleBytes.lowered($0) }
        methods = (definition.methods ?? []).map { Array($0.utf8) }
        schemes = Array(definition.schemes ?? [])
        clientRanges = (definition.clientIP ?? []).map { $0 }
        headers = definition.headers.map { ValueCondition($0.name, $0.value, lowersName: true) }
        query = definition.query.map { ValueCondition($0.name, $0.value, lowersName: false) }
        cookies = definition.cookies.map { ValueCondition($0.name, $0.value, lowersName: false) }
        lists = definition.urlLists.map { urlLists.index(of: $0) ?? -1 }
        negated = definition.not.map { CompiledMatch($0, urlLists) }
        keys = CompiledMatch.keys(of: definition)
    }

    private static func keys(of definition: MatchDefinition) -> [MatchKey] {
        var keys: [MatchKey] = []
        if definition.hosts != nil { keys.append(.host) }
        if definition.methods != nil { keys.append(.method) }
        if definition.schemes != nil { keys.append(.scheme) }
        if definition.paths != nil { keys.append(.path) }
        if definition.extensions != nil { keys.append(.extension) }
        if definition.clientIP != nil { keys.append(.clientIP) }
        keys += definition.headers.indices.map { .header($0) }
        keys += definition.query.indices.map { .query($0) }
        keys += definition.cookies.indices.map { .cookie($0) }
        if definition.pathRegex != nil { keys.append(.pathRegex) }
        keys += definition.urlLists.indices.map { .urlList($0) }
        keys += definition.not.indices.map { .not($0) }
        return keys
    }

    /// What the rule is filed under in the index of all rules.
    var filing: Filing { Filing(hosts: hosts?.keys, paths: paths?.keys) }

    func verdict(_ request: CanonicalRequest) -> MatchVerdict {
        for key in keys {
            let verdict = verdict(of: key, request)
            if verdict != .holds { return verdict }
        }
        return .holds
    }

    /// The first key that does not hold, for a person.
    func firstRefusal(_ request: CanonicalRequest) -> MatchKey? {
        keys.first { verdict(of: $0, request) != .holds }
    }

    private func verdict(of key: MatchKey, _ request: CanonicalRequest) -> MatchVerdict {
        switch key {
        case .host: holds(hosts?.matches(request.host) ?? true)
        case .path: holds(paths?.matches(request.path) ?? true)
        case .method: holds(methodMatches(request))
        case .scheme: holds(schemes.contains(request.scheme))
        case .extension: holds(extensionMatches(request))
        case .clientIP: holds(addressMatches(request))
        case .header(let index): header(headers[index], request)
        case .query(let index): parameter(query[index], request)
        case .cookie(let index): cookie(cookies[index], request)
        case .pathRegex: pathPattern(request)
        case .urlList(let index): urlLists.verdict(lists[index], request)
        case .not(let index): inverse(negated[index].verdict(request))
        }
    }

    private func holds(_ condition: Bool) -> MatchVerdict { condition ? .holds : .refuses }

    /// A matcher that can not tell counts as a match here, so that `not` refuses.
    private func inverse(_ verdict: MatchVerdict) -> MatchVerdict { verdict == .refuses ? .holds : .refuses }

    private func methodMatches(_ request: CanonicalRequest) -> Bool {
        for method in methods where RuleBytes.equal(request.methodName, method) { return true }
        return false
    }

    private func extensionMatches(_ request: CanonicalRequest) -> Bool {
        let written = request.target.span(request.pathExtension)
        if written.isEmpty { return false }
        for wanted in extensions where RuleBytes.equal(written, ignoringCase: wanted) { return true }
        return false
    }

    private func addressMatches(_ request: CanonicalRequest) -> Bool {
        guard let address = request.clientAddress else { return false }
        for range in clientRanges where range.contains(address) { return true }
        return false
    }

    private func pathPattern(_ request: CanonicalRequest) -> MatchVerdict {
        for pattern in patterns where pattern.matches(request.path) { return .holds }
        return hasBrokenPattern ? .fails : .refuses
    }

    /// Host is the canonical authority, whatever the client's line said (RFC 9112 section 3.2.2).
    private func header(_ condition: ValueCondition, _ request: CanonicalRequest) -> MatchVerdict {
        var tally = ValueCondition.Tally()
        let name = condition.name
        if RuleFields.isHost(name.span) {
            condition.count(request.authority.span, into: &tally)
            return condition.verdict(tally)
        }
        var line = RuleFields.firstLine(name.span, request, from: 0)
        while line >= 0 {
            condition.count(request.head.bytes.span(request.head.lines[line].value), into: &tally)
            line = RuleFields.firstLine(name.span, request, from: line + 1)
        }
        return condition.verdict(tally)
    }

    private func parameter(_ condition: ValueCondition, _ request: CanonicalRequest) -> MatchVerdict {
        var tally = ValueCondition.Tally()
        var scanner = ParameterScanner()
        let query = request.query
        while scanner.next(query) {
            if scanner.piece.isEmpty { continue }
            scratch.clear()
            ParameterScanner.decode(query.at(scanner.name), into: scratch)
            guard RuleBytes.equal(scratch.span, condition.name) else { continue }
            scratch.clear()
            ParameterScanner.decode(query.at(scanner.value), into: scratch)
            condition.count(scratch.span, into: &tally)
        }
        return condition.verdict(tally)
    }

    private func cookie(_ condition: ValueCondition, _ request: CanonicalRequest) -> MatchVerdict {
        var tally = ValueCondition.Tally()
        var line = RuleFields.firstLine("cookie", request, from: 0)
        while line >= 0 {
            let field = request.head.bytes.span(request.head.lines[line].value)
            var scanner = CookieScanner()
            while scanner.next(field) {
                guard RuleBytes.equal(field.at(scanner.name), condition.name) else { continue }
                condition.count(field.at(scanner.value), into: &tally)
            }
            line = RuleFields.firstLine("cookie", request, from: line + 1)
        }
        return condition.verdict(tally)
    }
}

/// The client's field lines as matchers and variables see them: those that do not end at the proxy.
enum RuleFields {
    /// The index of the next line of that name, or -1. `name` is lower-cased.
    static func firstLine(_ name: Span<UInt8>, _ request: CanonicalRequest, from start: Int) -> Int {
        let head = request.head
        var index = start
        while index < head.lines.count {
            let line = head.lines[index]
            if Int(line.name.length) == name.count && !request.isDropped(index)
                && RuleBytes.equal(head.bytes.span(line.name), ignoringCase: name)
            {
                return index
            }
            index += 1
        }
        return -1
    }

    static func firstLine(_ name: StaticString, _ request: CanonicalRequest, from start: Int) -> Int {
        let bytes = unsafe Span<UInt8>(_unsafeStart: name.utf8Start, count: name.utf8CodeUnitCount)
        return firstLine(bytes, request, from: start)
    }

    static func isHost(_ name: Span<UInt8>) -> Bool {
        name.count == 4 && name[0] == UInt8(ascii: "h") && name[1] == UInt8(ascii: "o") && name[2] == UInt8(ascii: "s")
            && name[3] == UInt8(ascii: "t")
    }
}
