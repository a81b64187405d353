import HTTP
import Testing

@testable import Policy

/// The rules' verbs applied one after the other to a list of lines, as the documentation tells it.
private struct SequentialEdits {
    struct Line {
        var name: String
        var value: String
    }

    var lines: [Line]
    let definitions: [RuleDefinition]
    let credentials: [CredentialDefinition]
    let evaluate: (ValueTemplate) -> String?

    private static func fold(_ name: String) -> String { String(decoding: NameFold.folded(name), as: UTF8.self) }

    /// All rules here have no action or go to the one upstream.
    mutating func removeManaged() {
        for rule in definitions {
            let replaced = rule.request.set.map(\.name) + rule.credentials.map { credentials[$0].fieldName }
            lines.removeAll { line in replaced.contains { Self.fold($0) == Self.fold(line.name) } }
            let others = (rule.request.append + rule.request.defaults).map(\.name)
            lines.removeAll { line in
                others.contains { Self.fold($0) == Self.fold(line.name) && $0.lowercased() != line.name.lowercased() }
            }
        }
    }

    mutating func apply(_ edits: EditsDefinition) {
        for pattern in edits.remove {
            let glob = Glob(pattern.utf8.map { $0 == UInt8(ascii: "*") ? $0 : NameFold.fold($0) }, .value)
            lines.removeAll { line in glob.matches(text: Self.fold(line.name)) }
        }
        for index in lines.indices {
            let name = lines[index].name.lowercased()
            if let rename = edits.rename.first(where: { $0.from.lowercased() == name }) {
                lines[index].name = rename.to
            }
        }
        for edit in edits.set {
            lines.removeAll { Self.fold($0.name) == Self.fold(edit.name) }
            if let value = evaluate(edit.value) { lines.append(Line(name: edit.name, value: value)) }
        }
        for edit in edits.append {
            if let value = evaluate(edit.value) { lines.append(Line(name: edit.name, value: value)) }
        }
        for edit in edits.defaults where !lines.contains(where: { Self.fold($0.name) == Self.fold(edit.name) }) {
            if let value = evaluate(edit.value) { lines.append(Line(name: edit.name, value: value)) }
        }
    }

    /// Lines of one folded name in their order; the order of different names says nothing (RFC 9110 section 5.3).
    var grouped: [String: [String]] {
        Dictionary(grouping: lines) { Self.fold($0.name) }.mapValues { $0.map { "\($0.name): \($0.value)" } }
    }
}

struct EditPlanPropertyTests {
    private static let names = ["X-A", "x_a", "X-B", "X.B", "X-C", "X-Abc", "X-Ab-D", "Y", "y"]
    private static let patterns = names + ["X-A*", "X-*", "*-D", "X-*-D"]
    private static let values = [
        "1", "2", "{request.header.x-here}", "{request.header.x-gone}", "<{request.header.x-gone}>", "$0",
        "$0{request.method}",
        "$1", "3",
    ]

    private func pairs(_ limit: Int, _ random: inout TestRandom) -> [(name: String, value: ValueTemplate)] {
        (0..<Int.random(in: 0...limit, using: &random)).map { _ in
            (
                Self.names.randomElement(using: &random)!,
                RuleFixture.value(Self.values.randomElement(using: &random)!)
            )
        }
    }

    private func randomRule(_ number: Int, isLast: Bool, _ random: inout TestRandom) -> RuleDefinition {
        let names = Self.names
        return RuleFixture.rule("\(number)", action: isLast ? .proxy(ProxyDefinition()) : nil) {
            $0.onMissing = .pass
            if Bool.random(using: &random) {
                $0.request.remove = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    Self.patterns.randomElement(using: &random)!
                }
            }
            if Bool.random(using: &random) {
                $0.request.rename = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    (names.randomElement(using: &random)!, names.randomElement(using: &random)!)
                }
            }
            $0.request.set = pairs(2, &random)
            $0.request.append = pairs(2, &random)
            $0.request.defaults = pairs(2, &random)
        }
    }

    /// Random rules and lines; every third time the send goes elsewhere, so that lines with secrets are not there.
    @Test func thePlanEqualsTheVerbsInOrder() throws {
        var random = TestRandom(state: 42)
        for round in 0..<2_000 {
            let count = Int.random(in: 1...4, using: &random)
            let definitions = (0..<count).map { randomRule($0, isLast: $0 == count - 1, &random) }
            let rules = RuleFixture.rules(definitions, secrets: ["s3", "lost"])
            rules.update(SecretID(1), nil)
            let fields =
                (0..<Int.random(in: 0...5, using: &random)).map {
                    ((Self.names + ["Z", "X_C", "X-ABC"]).randomElement(using: &random)!, "c\($0)")
                } + [("X-Here", "here")]
            let request = RuleFixture.request(fields: fields)
            let context = RuleFixture.context(request, isUpstreamOrigin: round % 3 != 0)
            let decision = RuleFixture.take(rules, request)
            let plan = rules.plan(for: decision)
            for _ in 0..<2 {
                let sent = try RuleFixture.send(plan.request, request, context)
                var naive = SequentialEdits(
                    lines: fields.map { .init(name: $0.0, value: $0.1) }, definitions: definitions, credentials: [],
                    evaluate: { evaluate($0, context) })
                naive.removeManaged()
                for rule in definitions { naive.apply(rule.request) }
                let grouped = Dictionary(grouping: sent) { line in
                    String(decoding: NameFold.folded(String(line.prefix { $0 != ":" })), as: UTF8.self)
                }
                if grouped != naive.grouped { Issue.record("round \(round): \(grouped), not \(naive.grouped)") }
            }
        }
    }

    private func evaluate(_ value: ValueTemplate, _ context: SendContext) -> String? {
        if value.display.contains("$") && !context.isUpstreamOrigin { return nil }
        switch value.display {
        case "{request.header.x-here}": return "here"
        case "{request.header.x-gone}", "$1": return nil
        case "<{request.header.x-gone}>": return "<>"
        case "$0": return "s3"
        case "$0{request.method}": return "s3GET"
        default: return value.display
        }
    }
}
