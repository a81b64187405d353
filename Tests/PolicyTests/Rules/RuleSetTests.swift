import Testing

@testable import HTTP
@testable import Policy

struct RuleSetTests {
    private func path(_ glob: String) -> MatchDefinition {
        var match = MatchDefinition()
        match.paths = [glob]
        return match
    }

    @Test func rulesWithoutActionFallThroughAndTheFirstActionEndsTheChain() {
        let rules = RuleFixture.rules([
            RuleFixture.rule("a", action: nil) { $0.match = path("/x/**") }, RuleFixture.rule("b"),
            RuleFixture.rule("c"),
        ])
        let decision = RuleFixture.take(rules, RuleFixture.request("GET", "/x/1"))
        #expect(decision.matched == [0, 1])
        #expect(decision.action == 1)
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/y")).matched == [1])
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/y"), from: 2).matched == [2])
    }

    @Test func noActionIsNone() {
        let rules = RuleFixture.rules([RuleFixture.rule("a", action: nil)])
        let decision = RuleFixture.take(rules, RuleFixture.request())
        #expect(decision.matched == [0])
        #expect(decision.action == nil)
    }

    private static let hosts: [HostPattern] = [
        .exact("a.test"), .exact("b.test"), .subdomains(of: "test"), .subdomains(of: "b.test"), .exact("[::1]"), .any,
    ]
    private static let paths = [
        "/", "/a", "/a/", "/a/**", "/a/b/**", "/b", "/**", "/*/b", "/a/*", "/a/b*", "**", "/a/b/c/d/**", "/b/**",
    ]

    private func randomRule(_ number: Int, _ random: inout TestRandom) -> RuleDefinition {
        var match = MatchDefinition()
        if Int.random(in: 0..<3, using: &random) > 0 {
            let count = Int.random(in: 1...3, using: &random)
            match.hosts = (0..<count).map { _ in RuleSetTests.hosts.randomElement(using: &random)! }
        }
        if Int.random(in: 0..<4, using: &random) > 0 {
            let count = Int.random(in: 1...3, using: &random)
            match.paths = (0..<count).map { _ in RuleSetTests.paths.randomElement(using: &random)! }
        }
        if Int.random(in: 0..<5, using: &random) == 0 { match.methods = ["POST"] }
        return RuleFixture.rule("\(number)", action: nil) { $0.match = match }
    }

    /// Small sets file by one key, large ones are crowded and file by pairs.
    @Test(arguments: [1, 5, 40, 400])
    func indexAgreesWithALookAtEveryRule(count: Int) {
        var random = TestRandom(state: UInt64(count))
        for _ in 0..<(400 / count + 2) {
            let rules = RuleFixture.rules((0..<count).map { randomRule($0, &random) })
            for host in ["a.test", "b.test", "x.b.test", "x.y.test", "test", "[::1]", "other"] {
                for path in ["/", "/a", "/a/", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e/f", "/b", "/c/b", "/ab", "*"] {
                    let request = RuleFixture.request("GET", path, host: host)
                    let start = Int.random(in: 0...count / 2, using: &random)
                    let expected = (start..<count).filter { rules.holds($0, request) }
                    let found = RuleFixture.take(rules, request, from: start).matched
                    if found != expected { Issue.record("\(host)\(path): \(found), not \(expected)") }
                }
            }
        }
    }

    @Test func plansAreRememberedByChain() {
        let rules = RuleFixture.rules([
            RuleFixture.rule("a", action: nil) { $0.match = path("/x/**") }, RuleFixture.rule("b"),
        ])
        let both = rules.plan(for: RuleFixture.take(rules, RuleFixture.request("GET", "/x")))
        let one = rules.plan(for: RuleFixture.take(rules, RuleFixture.request("GET", "/y")))
        #expect(both.rules == [0, 1])
        #expect(one.rules == [1])
        #expect(rules.plan(for: RuleFixture.take(rules, RuleFixture.request("GET", "/x/2"))) === both)
        #expect(rules.plan(for: RuleFixture.take(rules, RuleFixture.request("GET", "/z"))) === one)
    }

    /// More chains than are remembered: every one is still right.
    @Test func manyChainsEmptyTheCache() {
        let rules = RuleFixture.rules(
            (0..<1_500).map { number in RuleFixture.rule("\(number)") { $0.match = path("/\(number)") } })
        for _ in 0..<2 {
            for number in 0..<1_500 {
                let plan = rules.plan(for: RuleFixture.take(rules, RuleFixture.request("GET", "/\(number)")))
                #expect(plan.ruleName == "\(number)")
            }
        }
    }
}
