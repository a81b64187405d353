import HTTP
import Testing

@testable import Policy

struct TemplateTests {
    private func error(_ text: String) -> TemplateError? {
        do throws(TemplateError) {
            _ = try TemplateParser.parse(literal: text)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("{request.hots}", 0, "unknown variable {request.hots}, did you mean {request.host}?"),
        ("a{uuidd}", 1, "unknown variable {uuidd}, did you mean {uuid}?"),
        ("{\"a\": 1}", 0, "unknown variable {\"a\": 1}; write {{ for a literal brace"),
        ("ab{request.host", 2, "a { without its }; write {{ for a literal brace"),
        ("{request.header.}", 0, "{request.header.} needs a name at its end"),
        ("{request.header.a b}", 0, "\"a b\" can not be a name here"),
    ])
    func faults(text: String, offset: Int, message: String) {
        #expect(error(text)?.offset == offset)
        #expect(error(text)?.message == message)
    }

    private func evaluate(_ text: String, _ request: CanonicalRequest) -> String? {
        let template = CompiledTemplate(RuleFixture.value(text), ruleName: "the rule")
        let out = ByteBuffer()
        let outcome = TemplateWriter.write(template, RuleFixture.context(request), SecretTable([]), into: out)
        #expect((outcome == .absent) == TemplateWriter.isAbsent(template, RuleFixture.context(request)))
        return outcome == .written ? RuleFixture.text(out) : nil
    }

    @Test(arguments: [
        (
            "{request.method} {request.scheme} {request.host} {request.path} {request.query}",
            "GET http a.test /p/q x=%2f"
        ),
        ("{request.authority}|{request.target}|{request.id}", "a.test:81|/p/q?x=%2f|req-1"),
        ("{request.header.X-Ask}", "asked, twice"), ("{request.header.host}", "a.test:81"),
        ("{request.cookie.sid}", "two"),
        ("{client.ip}:{client.port}", "127.0.0.1:4711"), ("{upstream.host}", "up.test"), ("{rule.name}", "the rule"),
        ("{time.unix} {time.rfc3339}", "1700000000 2023-11-14T22:13:20Z"), ("{{x}", "{x}"), ("a}b", "a}b"),
        ("<{client.user}{request.header.none}>", "<>"),
    ])
    func variables(text: String, expected: String) {
        let request = RuleFixture.request(
            "GET", "/p/q?x=%2f", host: "a.test:81",
            fields: [("X-Ask", "asked"), ("Cookie", "asid=1; sid=two; sid2=3"), ("x-ask", "twice")])
        #expect(evaluate(text, request) == expected)
    }

    @Test(arguments: [
        "{client.user}", "{client.groups}", "{client.claim.sub}", "{client.cert.subject}", "{client.cert.san}",
        "{request.header.none}", "{request.cookie.none}", "{request.query}",
    ])
    func absentVariables(text: String) { #expect(evaluate(text, RuleFixture.request()) == nil) }

    @Test func anEmptyQueryIsPresent() { #expect(evaluate("{request.query}", RuleFixture.request("GET", "/?")) == "") }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (1_709_164_800, "2024-02-29T00:00:00Z"), (4_102_444_799, "2099-12-31T23:59:59Z"),
    ])
    func rfc3339(time: Int, expected: String) {
        let out = ByteBuffer()
        TemplateWriter.appendRFC3339(time, into: out)
        #expect(RuleFixture.text(out) == expected)
    }

    @Test func uuidsAreOfVersion4AndDiffer() throws {
        var random = RandomSource(seed: (1, 2))
        var seen: Set<String> = []
        let shape = try BytePattern("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
        for _ in 0..<1_000 {
            let out = ByteBuffer()
            TemplateWriter.appendUUID(&random, into: out)
            #expect(shape.matches(text: RuleFixture.text(out)))
            seen.insert(RuleFixture.text(out))
        }
        #expect(seen.count == 1_000)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("svc:p:w~\u{7f}?", "c3ZjOnA6d35/Pw=="),
    ])
    func base64(text: String, expected: String) {
        let out = ByteBuffer()
        let bytes = Array(text.utf8)
        Base64.append(bytes.span, to: out)
        #expect(RuleFixture.text(out) == expected)
        #expect(Base64.encodedCount(bytes.count) == expected.utf8.count)
    }
}
