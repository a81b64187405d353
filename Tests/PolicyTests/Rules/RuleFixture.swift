import HTTP
import Policy

@testable import HTTP
@testable import Policy

/// Canonical requests as the parser and the canonicaliser would leave them, from a few texts.
enum RuleFixture {
    static func request(
        _ method: String = "GET", _ target: String = "/", host: String = "a.test", scheme: Scheme = .http,
        client: IPAddress? = IPAddress(v4: 0x7f00_0001), fields: [(String, String)] = []
    ) -> CanonicalRequest {
        let request = CanonicalRequest()
        let head = request.head
        head.methodName = append(method, to: head.bytes)
        request.method = method == "GET" ? .get : .other
        head.method = request.method
        for (name, value) in [("Host", host)] + fields {
            let nameRange = append(name, to: head.bytes)
            head.bytes.append(": ")
            let valueRange = append(value, to: head.bytes)
            head.bytes.append("\r\n")
            head.lines.append(FieldLine(name: nameRange, value: valueRange, id: id(name)))
        }
        request.droppedLines[0] = 1
        request.scheme = scheme
        request.target.append(text: target)
        let path = target.prefix { $0 != "?" }
        request.pathLength = path.utf8.count
        request.authority.append(text: host)
        let colon = host.hasSuffix("]") ? nil : host.lastIndex(of: ":")
        request.hostLength = colon.map { host[..<$0].utf8.count } ?? host.utf8.count
        request.port = colon.flatMap { UInt16(host[host.index(after: $0)...]) }
        request.clientAddress = client
        request.clientAddressText.append("127.0.0.1")
        let segment = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path
        if let dot = segment.lastIndex(of: ".") {
            let ending = segment[segment.index(after: dot)...].utf8.count
            request.pathExtension = ByteRange(request.pathLength - ending, ending)
        }
        return request
    }

    private static func append(_ text: String, to bytes: ByteBuffer) -> ByteRange {
        let start = bytes.count
        bytes.append(Array(text.utf8))
        return ByteRange(start, bytes.count - start)
    }

    private static func id(_ name: String) -> FieldID {
        let bytes = Array(name.utf8)
        return HTTP1.fieldID(bytes.span)
    }

    static func client() -> ClientFacts {
        let text = ByteBuffer()
        text.append("127.0.0.1")
        return ClientFacts(
            peerAddress: IPAddress(v4: 0x7f00_0001), peerPort: 4711, scheme: .http, listenerPort: 8080,
            peerIsTrusted: false, addressText: text)
    }

    static func context(
        _ request: CanonicalRequest, destination: String = "up.test", port: UInt16 = 80, isUpstreamOrigin: Bool = true
    ) -> SendContext {
        let context = SendContext(request: request, client: client())
        context.destination = Destination(authority: "up.test:3000", host: destination, port: port, scheme: .http)
        context.requestID.append("req-1")
        context.isUpstreamOrigin = isUpstreamOrigin
        context.unixTime = 1_700_000_000
        return context
    }

    static func rule(
        _ name: String, action: ActionDefinition? = .proxy(ProxyDefinition()),
        _ configure: (inout RuleDefinition) -> Void = { _ in }
    ) -> RuleDefinition {
        var rule = RuleDefinition(name: name, location: SourceLocation(file: "config.yaml", line: 1, column: 1))
        rule.action = action
        configure(&rule)
        return rule
    }

    static func rules(
        _ rules: [RuleDefinition], credentials: [CredentialDefinition] = [], secrets: [String] = [],
        lists: [URLListSource] = []
    ) -> RuleSet {
        let definitions = secrets.map { SecretDefinition(source: .literal, value: Secret(Array($0.utf8))) }
        return RuleSet(
            rules, credentials: credentials, secrets: SecretTable(definitions), urlLists: URLListTable(lists))
    }

    static func take(_ rules: RuleSet, _ request: CanonicalRequest, from start: Int = 0) -> Decision {
        let decision = Decision()
        rules.take(request, into: decision, from: start)
        return decision
    }

    /// A value in the configuration's syntax; `$0` to `$9` stand for secrets.
    static func value(_ text: String, isSecret: Bool = false) -> ValueTemplate {
        var parts: [ValueTemplate.Part] = []
        var isBound = isSecret
        var rest = text[...]
        while let mark = rest.firstIndex(of: "$") {
            parts += (try? TemplateParser.parse(literal: String(rest[..<mark]))) ?? []
            let digit = rest[rest.index(after: mark)]
            parts.append(.secret(SecretID(digit.wholeNumberValue ?? 0)))
            isBound = true
            rest = rest[rest.index(mark, offsetBy: 2)...]
        }
        parts += (try? TemplateParser.parse(literal: String(rest))) ?? []
        return ValueTemplate(parts: parts, display: text, isSecret: isBound)
    }

    /// The lines that would be sent: the client's that stay, then the plan's; `Name: value`.
    static func send(
        _ plan: EditPlan, _ request: CanonicalRequest, _ context: SendContext, isFirstSend: Bool = true
    ) throws(Rejection) -> [String] {
        var lines: [String] = []
        plan.begin()
        for (index, line) in request.head.lines.enumerated() where !request.isDropped(index) {
            let name = request.head.bytes.span(line.name)
            let value = RuleBytes.text(request.head.bytes.span(line.value))
            switch plan.admit(name, id: line.id) {
            case .keep: lines.append("\(RuleBytes.text(name)): \(value)")
            case .drop: continue
            case .rename(let target): lines.append("\(RuleBytes.text(plan.name(target))): \(value)")
            }
        }
        let out = ByteBuffer()
        try plan.finish(context, into: out, isFirstSend: isFirstSend)
        return lines + text(out).split(separator: "\r\n").map(String.init)
    }

    static func text(_ buffer: ByteBuffer) -> String { RuleBytes.text(buffer.span) }
}

/// SplitMix64: the same tests on every run.
struct TestRandom: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

// Spans can not be handed to the macros.

extension Glob {
    func matches(text: String) -> Bool {
        let bytes = Array(text.utf8)
        return matches(bytes.span)
    }
}

extension BytePattern {
    func matches(text: String) -> Bool {
        let bytes = Array(text.utf8)
        return matches(bytes.span)
    }
}

extension FoldedNameTable {
    func find(text: String) -> Int {
        let bytes = Array(text.utf8)
        return find(bytes.span)
    }
}

extension EditPlan {
    func admitTrailer(text: String) -> Bool {
        let bytes = Array(text.utf8)
        return admitTrailer(bytes.span, id: .other)
    }
}

extension CompiledCookieEdits {
    func admits(text: String) -> Bool {
        let bytes = Array(text.utf8)
        return admits(bytes.span)
    }
}
