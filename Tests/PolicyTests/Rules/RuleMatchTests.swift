import Testing

@testable import HTTP
@testable import Policy

struct RuleMatchTests {
    private func matches(
        _ request: CanonicalRequest, lists: [URLListSource] = [], _ match: (inout MatchDefinition) -> Void
    ) -> Bool {
        var definition = MatchDefinition()
        match(&definition)
        let rules = RuleFixture.rules([RuleFixture.rule("m") { $0.match = definition }], lists: lists)
        let found = RuleFixture.take(rules, request).action == 0
        let explanation = rules.explain(request)[0]
        #expect(explanation.matches == found)
        #expect((explanation.refusal == nil) == found)
        return found
    }

    @Test(arguments: [
        ("api.example.com", true), ("api.example.com:8080", true), ("x.example.org", true), ("a.b.example.org", true),
        ("example.org", false), ("xexample.org", false), ("api.example.com.evil.test", false), (".example.org", false),
        ("[::1]", true), ("[::1]:8443", true), ("[::2]", false),
    ])
    func host(host: String, expected: Bool) {
        let request = RuleFixture.request(host: host)
        let patterns: [HostPattern] = [.exact("api.example.com"), .subdomains(of: "Example.org"), .exact("[::1]")]
        #expect(matches(request) { $0.hosts = patterns } == expected)
        let many = patterns + (0..<20).map { .exact("h\($0).test") }
        #expect(matches(request) { $0.hosts = many } == expected)
    }

    @Test(arguments: [
        ("/v1/a", true), ("/v1", true), ("/v2", false), ("/exact", true), ("/exact/", false), ("/a/q/c", true),
    ])
    func path(path: String, expected: Bool) {
        let globs = ["/v1/**", "/exact", "/a/*/c"]
        #expect(matches(RuleFixture.request("GET", path)) { $0.paths = globs } == expected)
        let many = globs + (0..<20).map { "/many/\($0)" }
        #expect(matches(RuleFixture.request("GET", path + "?q=/v1/a")) { $0.paths = many } == expected)
    }

    @Test(arguments: [("/v1/a", true), ("/v12/", true), ("/v/a", false), ("/x/v1/a", false), ("/v1/\u{e9}", true)])
    func pathRegex(path: String, expected: Bool) {
        #expect(matches(RuleFixture.request("GET", path)) { $0.pathRegex = ["/v[0-9]+/.*"] } == expected)
    }

    @Test(arguments: [
        ("/a/b.png", true), ("/a/B.PnG", true), ("/a.js?v=1", true), ("/a.png/x", false), ("/apng", false),
        ("/x?f=.png", false), ("/a.png.txt", false), ("/a.jsx", false), ("/a.min.css", true),
    ])
    func fileExtension(target: String, expected: Bool) {
        #expect(matches(RuleFixture.request("GET", target)) { $0.extensions = ["png", "js", "css"] } == expected)
    }

    @Test(arguments: [("GET", true), ("get", false), ("PURGE", true), ("POST", false)])
    func method(method: String, expected: Bool) {
        #expect(matches(RuleFixture.request(method)) { $0.methods = ["GET", "PURGE"] } == expected)
    }

    @Test func scheme() {
        #expect(matches(RuleFixture.request(scheme: .https)) { $0.schemes = [.https] })
        #expect(!matches(RuleFixture.request(scheme: .http)) { $0.schemes = [.https] })
    }

    private static let headerCases: [([(String, String)], Bool)] = [
        ([("X-Debug", "1"), ("X-Here", ""), ("X-Glob", "abcz"), ("X-Re", "42")], true),
        ([("x-debug", "1"), ("X-HERE", "y"), ("X-Glob", "az"), ("X-Re", "7")], true),
        ([("X-Debug", "1"), ("X-Debug", "2"), ("X-Here", "y"), ("X-Glob", "az"), ("X-Re", "7")], false),
        ([("X-Debug", "1"), ("X-Debug", "1"), ("X-Here", "y"), ("X-Glob", "az"), ("X-Re", "7")], false),
        ([("X-Debug", "11"), ("X-Here", "y"), ("X-Glob", "az"), ("X-Re", "7")], false),
        ([("X-Debug", "1"), ("X-Glob", "az"), ("X-Re", "7")], false),
        ([("X-Debug", "1"), ("X-Here", "y"), ("X-Gone", "1"), ("X-Glob", "az"), ("X-Re", "7")], false),
        ([("X-Debug", "1"), ("X-Here", "y"), ("X-Glob", "azb"), ("X-Re", "7")], false),
        ([("X-Debug", "1"), ("X-Here", "y"), ("X-Glob", "az"), ("X-Re", "7x")], false),
        ([("X-Debug", "1"), ("X-Here", "y"), ("X-Glob", "no"), ("X-Glob", "az"), ("X-Re", "7")], true),
    ]

    @Test(arguments: headerCases)
    func header(fields: [(String, String)], expected: Bool) {
        let found = matches(RuleFixture.request(fields: fields)) {
            $0.headers = [
                ("X-Debug", .exact("1")), ("X-Here", .present), ("X-Gone", .absent), ("X-Glob", .glob("a*z")),
                ("X-Re", .regex("[0-9]+")),
            ]
        }
        #expect(found == expected)
    }

    @Test func headerLinesThatEndHereAreAbsent() {
        let request = RuleFixture.request(fields: [("X-Hop", "1")])
        request.droppedLines[0] |= 2
        #expect(matches(request) { $0.headers = [("X-Hop", .absent)] })
    }

    @Test func hostIsTheCanonicalAuthority() {
        #expect(matches(RuleFixture.request(host: "a.test:81")) { $0.headers = [("Host", .exact("a.test:81"))] })
    }

    @Test(arguments: [
        ("/?debug=1", true), ("/?a=2&debug=1&b", true), ("/?debug=%31", true), ("/?d%65bug=1", true),
        ("/?debug=2", false),
        ("/?debug=1&debug=1", false), ("/", false), ("/?debug", false), ("/debug=1", false), ("/?debug=+1", false),
    ])
    func query(target: String, expected: Bool) {
        #expect(matches(RuleFixture.request("GET", target)) { $0.query = [("debug", .exact("1"))] } == expected)
    }

    @Test func queryPlusIsASpace() {
        #expect(matches(RuleFixture.request("GET", "/?q=a+b%20c")) { $0.query = [("q", .exact("a b c"))] })
        #expect(matches(RuleFixture.request("GET", "/?q=a%zz")) { $0.query = [("q", .exact("a%zz"))] })
        #expect(matches(RuleFixture.request("GET", "/?q")) { $0.query = [("q", .present), ("r", .absent)] })
    }

    @Test(arguments: [
        ("beta=1", true), ("abeta=1; beta=2", true), ("a=beta", false), ("Beta=1", false), (";; beta", false), ("beta = 1", true),
        ("beta=", true),
        ("", false),
    ])
    func cookie(value: String, expected: Bool) {
        let request = RuleFixture.request(fields: [("Cookie", "first=1"), ("Cookie", value)])
        #expect(matches(request) { $0.cookies = [("beta", .present)] } == expected)
    }

    @Test func clientAddress() {
        let ranges = [AddressRange(address: IPAddress(v4: 0x0a00_0000), prefixLength: 104)]
        #expect(matches(RuleFixture.request(client: IPAddress(v4: 0x0a01_0203))) { $0.clientIP = ranges })
        #expect(!matches(RuleFixture.request(client: IPAddress(v4: 0x0b01_0203))) { $0.clientIP = ranges })
        #expect(!matches(RuleFixture.request(client: nil)) { $0.clientIP = ranges })
    }

    @Test(arguments: [
        ("GET", "/v1/a", true), ("GET", "/v1/public/a", false), ("DELETE", "/v1/public/a", true),
        ("GET", "/v2/a", false),
    ])
    func not(method: String, path: String, expected: Bool) {
        var excluded = MatchDefinition()
        excluded.paths = ["/v1/public/**"]
        excluded.methods = ["GET"]
        let found = matches(RuleFixture.request(method, path)) {
            $0.paths = ["/v1/**"]
            $0.not = [excluded]
        }
        #expect(found == expected)
    }

    @Test func aMatcherThatCanNotTellDenies() {
        var broken = MatchDefinition()
        broken.headers = [("X", .regex("("))]
        #expect(!matches(RuleFixture.request(fields: [("X", "1")])) { $0.headers = broken.headers })
        #expect(!matches(RuleFixture.request()) { $0.not = [broken] })
        #expect(!matches(RuleFixture.request()) { $0.pathRegex = ["["] })
        #expect(!matches(RuleFixture.request()) { $0.urlLists = [URLListDefinition(path: "/gone", format: .url)] })
        let blocking = RuleFixture.rule("b", action: .block(BlockDefinition())) { $0.match = broken }
        #expect(RuleFixture.take(RuleFixture.rules([blocking]), RuleFixture.request()).action == 0)
    }

    @Test func refusalsNameTheFirstKey() {
        var match = MatchDefinition()
        match.hosts = [.exact("b.test"), .subdomains(of: "c.test")]
        let rules = RuleFixture.rules([RuleFixture.rule("m") { $0.match = match }, RuleFixture.rule("all")])
        let explained = rules.explain(RuleFixture.request())
        #expect(explained[0].refusal == "host: a.test is not b.test or *.c.test")
        #expect(explained[1].matches && !explained[1].isBehindTheAction)
    }
}
