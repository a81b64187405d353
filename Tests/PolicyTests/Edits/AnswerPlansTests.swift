import HTTP
import Testing

@testable import Policy

struct AnswerPlansTests {
    private let request = RuleFixture.request("GET", "/a/b?x=1", fields: [("X-T", "../\u{e9} ?"), ("X-Dots", "..")])

    private func plan(_ action: ActionDefinition) -> ChainPlan {
        let rules = RuleFixture.rules([RuleFixture.rule("r", action: action)])
        return rules.plan(for: RuleFixture.take(rules, request))
    }

    @Test func respond() throws {
        var definition = RespondDefinition()
        definition.status = 201
        definition.headers = [("X-A", RuleFixture.value("1")), ("X-B", RuleFixture.value("{request.path}"))]
        definition.body = Array("hi".utf8)
        definition.contentType = "text/plain"
        let respond = try #require(plan(.respond(definition)).respond)
        let out = ByteBuffer()
        try respond.writeHeaders(RuleFixture.context(request), into: out)
        #expect(respond.status == 201)
        #expect(RuleFixture.text(respond.body) == "hi")
        #expect(RuleFixture.text(out) == "X-A: 1\r\nContent-Type: text/plain\r\nX-B: /a/b\r\n")
    }

    @Test(arguments: [
        ("https://{request.host}{request.target}", "https://a.test/a/b?x=1"),
        ("/x/{request.header.x-t}", "/x/../%C3%A9%20?"),
    ])
    func redirect(to: String, expected: String) throws {
        let redirect = try #require(plan(.redirect(RedirectDefinition(to: RuleFixture.value(to)))).redirect)
        let out = ByteBuffer()
        try redirect.writeLocation(RuleFixture.context(request), into: out)
        #expect(redirect.status == 308)
        #expect(RuleFixture.text(out) == expected)
    }

    private func path(_ template: String) throws -> String {
        var proxy = ProxyDefinition()
        proxy.path = RuleFixture.value(template)
        let path = try #require(plan(.proxy(proxy)).path)
        let out = ByteBuffer()
        try path.write(RuleFixture.context(request), into: out)
        return RuleFixture.text(out)
    }

    @Test(arguments: [
        ("/new{request.path}", "/new/a/b"), ("/t/{request.header.x-t}/z", "/t/..%2F%C3%A9%20%3F/z"), ("/", "/"),
        ("/q/{request.query}", "/q/x%3D1"), ("/..a/.b./", "/..a/.b./"),
    ])
    func path(template: String, expected: String) throws { #expect(try path(template) == expected) }

    @Test(arguments: ["new", "/t/{request.header.x-dots}/z", "/t/.", "/..", "/a?b", "{request.header.none}"])
    func pathsThatCanNotBeSent(template: String) {
        #expect(throws: Rejection.internalError) { try path(template) }
    }
}
