import HTTP
import Testing

@testable import Policy

struct QueryAndCookieEditsTests {
    private func chain(_ edits: [QueryEditsDefinition]) -> RuleSet {
        var rules = edits.enumerated().map { number, edit in
            RuleFixture.rule("\(number)", action: nil) { $0.query = edit }
        }
        rules.append(RuleFixture.rule("last"))
        return RuleFixture.rules(rules, secrets: ["s&3"])
    }

    private func apply(_ edits: [QueryEditsDefinition], _ query: String, isUpstreamOrigin: Bool = true) throws -> String {
        let rules = chain(edits)
        let request = RuleFixture.request("GET", "/p?" + query)
        let plan = rules.plan(for: RuleFixture.take(rules, request))
        let out = ByteBuffer()
        try plan.query.apply(
            query: request.query, RuleFixture.context(request, isUpstreamOrigin: isUpstreamOrigin), into: out)
        return RuleFixture.text(out)
    }

    private func edits(remove: [String] = [], set: [(String, String)] = []) -> QueryEditsDefinition {
        var edits = QueryEditsDefinition()
        edits.remove = remove
        edits.set = set.map { ($0.0, RuleFixture.value($0.1)) }
        return edits
    }

    @Test(arguments: [
        ("a=%zz&utm_source=x&b=1;2&v=1&utm_source=y&c", "a=%zz&b=1;2&v=2&c"), ("", "v=2"), ("utm_source=x", "v=2"),
        ("utm%5Fsource=x&a", "a&v=2"), ("a&&b", "a&&b&v=2"), ("v=1&v=3&a=v", "v=2&a=v"), ("v", "v=2"),
        ("utm_source_x=1&V=1", "utm_source_x=1&V=1&v=2"), ("a=b=c&%76=9", "a=b=c&v=2"), ("=x&utm_source", "=x&v=2"),
    ])
    func onlyNamedParametersAreTouched(query: String, expected: String) throws {
        #expect(try apply([edits(remove: ["utm_source"], set: [("v", "2")])], query) == expected)
    }

    @Test func removingEverythingLeavesNothing() throws {
        #expect(try apply([edits(remove: ["a", "b"])], "a=1&b=2&a") == "")
    }

    @Test func theLastRuleHasItsWay() throws {
        #expect(
            try apply([edits(set: [("a", "1"), ("b", "1")]), edits(remove: ["a"], set: [("b", "2")])], "a=0&c")
                == "c&b=2")
        #expect(try apply([edits(remove: ["a"]), edits(set: [("a", "1")])], "a=0&c") == "a=1&c")
    }

    @Test func valuesStayOneParameter() throws {
        #expect(
            try apply([edits(set: [("a b", "1&x=2 #{request.query}")])], "q=%41")
                == "q=%41&a%20b=1%26x%3D2%20%23q%3D%2541")
        #expect(try apply([edits(set: [("k", "$0")])], "k=client") == "k=s%263")
        #expect(try apply([edits(set: [("k", "$0")])], "k=client", isUpstreamOrigin: false) == "")
        #expect(try apply([edits(set: [("k", "{client.user}")])], "k=client&a") == "a")
    }

    private func cookies(_ configure: [(inout CookieEditsDefinition) -> Void]) -> (ChainPlan, SendContext) {
        var rules = configure.enumerated().map { number, edit in
            RuleFixture.rule("\(number)", action: nil) { edit(&$0.cookies) }
        }
        rules.append(RuleFixture.rule("last"))
        let set = RuleFixture.rules(rules)
        let request = RuleFixture.request(fields: [("X-Ask", "a;b=c")])
        return (set.plan(for: RuleFixture.take(set, request)), RuleFixture.context(request))
    }

    @Test func keptRemovedAndSetCookies() throws {
        let (plan, context) = cookies([
            {
                $0.keep = ["session", "beta", "gone"]
                $0.remove = ["gone"]
                $0.set = [("beta", RuleFixture.value("1")), ("late", RuleFixture.value("2"))]
            },
            { $0.remove = ["late"] },
        ])
        for (name, expected) in [
            ("session", true), ("beta", false), ("gone", false), ("other", false), ("late", false), ("Session", false),
        ] {
            #expect(plan.cookies.admits(text: name) == expected, "\(name)")
        }
        let out = ByteBuffer()
        #expect(try plan.cookies.writeSets(context, separator: false, into: out))
        #expect(try plan.cookies.writeSets(context, separator: true, into: out))
        #expect(RuleFixture.text(out) == "beta=1; beta=1")
        #expect(plan.injectsAuthorization)
    }

    @Test func aCookieValueCanNotBecomeTwoCookies() {
        let (plan, context) = cookies([{ $0.set = [("a", RuleFixture.value("{request.header.x-ask}"))] }])
        #expect(throws: Rejection.internalError) {
            try plan.cookies.writeSets(context, separator: false, into: ByteBuffer())
        }
    }
}
