import HTTP
import Testing

@testable import HTTP
@testable import Policy

/// What is written is what our own parser reads back: one Host, one framing field, nothing of the client's that is managed.
@Suite struct RequestWriterTests {
    private func write(
        _ request: CanonicalRequest, _ rules: [RuleDefinition], framing: BodyFraming = .none, upgrade: String? = nil,
        paths: PathMapping? = nil, preservesHost: Bool = true, tellsClient: Bool = true, expectsContinue: Bool = false
    ) throws -> String {
        let set = RuleFixture.rules(rules)
        let context = RuleFixture.context(request)
        let plan = set.plan(for: RuleFixture.take(set, request))
        let out = ByteBuffer()
        var range: ByteRange?
        if let upgrade {
            range = ByteRange(request.head.bytes.count, upgrade.utf8.count)
            request.head.bytes.append(text: upgrade)
        }
        try RequestWriter.write(
            request, plan: plan, context: context, instance: bytes("me"), forwarded: ForwardedCache(), hops: nil,
            RequestWriter.Parameters(
                framing: framing, upgrade: range, expectsContinue: expectsContinue, isFirstSend: true, paths: paths,
                preservesHost: preservesHost, tellsClient: tellsClient, page: nil), to: out)
        let head = RequestHead()
        #expect(try HTTP1.parseRequest(out.span, limits: HeadLimits(), into: head) == out.count)
        return out.text
    }

    private let proxy = RuleFixture.rule("all")

    @Test func theWholeHeadInItsOrder() throws {
        let rule = RuleFixture.rule("all") { rule in
            rule.request.set = [("X-Env", RuleFixture.value("prod"))]
            rule.request.remove = ["X-Internal"]
        }
        let request = try makeRequest(
            "GET", "/a?b=1", ["Host: a.test", "Accept: */*", "x_env: evil", "X-Env: evil", "X-Internal: 1", "Connection: close"])
        #expect(
            try write(request, [rule])
                == """
                GET /a?b=1 HTTP/1.1\r
                Host: a.test\r
                Accept: */*\r
                X-Forwarded-For: 127.0.0.1\r
                X-Forwarded-Host: a.test\r
                X-Forwarded-Proto: http\r
                X-Forwarded-Port: 8080\r
                X-Real-IP: 127.0.0.1\r
                Forwarded: for=127.0.0.1;host=a.test;proto=http\r
                Via: 1.1 authproxy-me\r
                CDN-Loop: authproxy-me\r
                X-Request-Id: req-1\r
                X-Env: prod\r
                \r

                """)
    }

    @Test(arguments: [
        (BodyFraming.length(0), "Content-Length: 0\r\n"), (.length(12), "Content-Length: 12\r\n"),
        (.chunked, "Transfer-Encoding: chunked\r\n"),
    ])
    func framing(_ framing: BodyFraming, _ line: String) throws {
        let head = try write(try makeRequest("POST", "/", ["Host: a.test"]), [proxy], framing: framing)
        #expect(head.hasSuffix(line + "\r\n"))
    }

    @Test func theUpstreamsHostWhereItIsWanted() throws {
        #expect(try write(try makeRequest(), [proxy], preservesHost: false).contains("\r\nHost: up.test:3000\r\n"))
        #expect(try write(try makeRequest("GET", "/", [], version: .http10), [proxy]).contains("\r\nHost: up.test:3000\r\n"))
    }

    @Test func prefixesChangeThePathAndNotTheQuery() throws {
        let paths = PathMapping(stripPrefix: "/v1", addPrefix: "/x", basePath: "/base")
        let head = try write(try makeRequest("GET", "/v1/a?u=/v1/", ["Host: a.test"]), [proxy], paths: paths)
        #expect(head.hasPrefix("GET /base/x/a?u=/v1/ HTTP/1.1\r\n"))
    }

    @Test func anUpgradeNamesTheOneProtocol() throws {
        let head = try write(try makeRequest(), [proxy], upgrade: "websocket")
        #expect(head.hasSuffix("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"))
    }

    @Test func otherOriginsAreNotToldOfTheClient() throws {
        let head = try write(try makeRequest(), [proxy], tellsClient: false)
        #expect(!head.contains("Forwarded") && !head.contains("X-Real-IP") && !head.contains("127.0.0.1"))
        #expect(head.contains("\r\nVia: 1.1 authproxy-me\r\nCDN-Loop: authproxy-me\r\n"))
    }

    @Test func aQueryThatIsEditedAwayLeavesNoQuestionMark() throws {
        let rule = RuleFixture.rule("all") { $0.query.remove = ["utm"] }
        #expect(try write(try makeRequest("GET", "/a?utm=1", ["Host: a.test"]), [rule]).hasPrefix("GET /a HTTP/1.1\r\n"))
    }

    @Test func cookiesThatAreKeptAndSetMakeOneLine() throws {
        let rule = RuleFixture.rule("all") { rule in
            rule.cookies.keep = ["a", "n"]
            rule.cookies.set = [("n", RuleFixture.value("1"))]
        }
        let request = try makeRequest("GET", "/", ["Host: a.test", "Cookie: a=1; b=2", "Cookie: c=3"])
        let head = try write(request, [rule])
        #expect(head.contains("\r\nCookie: a=1; n=1\r\n"))
        let none = try write(
            try makeRequest("GET", "/", ["Host: a.test", "Cookie: b=2"]), [RuleFixture.rule("x") { $0.cookies.keep = [] }])
        #expect(!none.contains("Cookie"))
    }

    @Test func theCacheOfLinesIsOfOneClientAndOneHost() throws {
        let cache = ForwardedCache()
        func lines(_ fields: [String], _ client: ClientFacts) throws -> String {
            let out = ByteBuffer()
            cache.append(try makeRequest("GET", "/", fields, client: client), client: client, instance: bytes("me"), to: out)
            return out.text
        }
        let first = try lines(["Host: a.test"], makeClient("10.0.0.1"))
        #expect(try lines(["Host: a.test"], makeClient("10.0.0.1")) == first)
        #expect(try lines(["Host: b.test"], makeClient("10.0.0.1")).contains("X-Forwarded-Host: b.test\r\n"))
        #expect(try lines(["Host: a.test"], makeClient("10.0.0.2")).contains("X-Forwarded-For: 10.0.0.2\r\n"))
        #expect(try lines(["Host: a.test", "Via: 1.1 front"], makeClient("10.0.0.2")).contains("Via: 1.1 front, 1.1 authproxy-me"))
        #expect(try lines(["Host: a.test"], makeClient("10.0.0.1", scheme: .https)).contains("proto=https"))
    }
}

@Suite struct ResponseWriterTests {
    private func write(
        _ status: Int, _ fields: [String], framing: BodyFraming = .length(2), keeps: Bool = true, version: HTTPVersion = .http11,
        cache: CacheStoragePolicy.Change = .none, tellsLength: Bool = false
    ) throws -> String {
        let text = ByteBuffer("HTTP/1.1 \(status) Reason\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        let head = ResponseHead()
        let method: HTTP.Method = tellsLength ? .head : .get
        #expect(try HTTP1.parseResponse(text.span, requestMethod: method, limits: HeadLimits(), into: head) == text.count)
        let request = try makeRequest()
        let out = ByteBuffer()
        var dates = DateCache()
        try ResponseWriter().write(
            head, plan: nil, context: RuleFixture.context(request), mapping: nil, location: nil, dates: &dates, extraLines: nil,
            ResponseWriter.Parameters(
                framing: framing, keeps: keeps, version: version, cacheChange: cache, tellsLength: tellsLength, isSwitching: false,
                passesTrailers: false, page: nil, pageDependence: nil), to: out)
        #expect(try HTTP1.parseResponse(out.span, requestMethod: method, limits: HeadLimits(), into: ResponseHead()) == out.count)
        return out.text
    }

    private let date = "Date: Tue, 01 Jan 2030 00:00:00 GMT"

    @Test func framingAndHopByHopFieldsAreWrittenAnew() throws {
        let head = try write(
            200,
            [date, "Connection: keep-alive, X-Private", "X-Private: 1", "Keep-Alive: timeout=5", "Content-Length: 2", "X-A: 1"])
        #expect(head == "HTTP/1.1 200 Reason\r\n\(date)\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n")
    }

    @Test func aMissingDateIsSupplied() throws {
        #expect(try write(200, ["Content-Length: 2"]).contains("\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n"))
    }

    @Test func theConnectionsFutureIsSaid() throws {
        #expect(try write(200, [date, "Content-Length: 2"], keeps: false).hasSuffix("\r\nConnection: close\r\n\r\n"))
        #expect(try write(200, [date, "Content-Length: 2"], version: .http10).hasSuffix("\r\nConnection: keep-alive\r\n\r\n"))
    }

    @Test func headTellsTheLengthThatContentWouldHave() throws {
        #expect(
            try write(200, [date, "Content-Length: 9"], framing: .none, tellsLength: true).contains("\r\nContent-Length: 9\r\n"))
    }

    @Test func storageIsForbiddenBesideWhatTheOriginSays() throws {
        let fields = [date, "Cache-Control: max-age=5", "Content-Length: 2"]
        let shared = try write(200, fields, cache: .addPrivate)
        #expect(shared.contains("Cache-Control: max-age=5\r\n") && shared.contains("Cache-Control: private\r\n"))
        let none = try write(200, fields, cache: .noStore)
        #expect(!none.contains("max-age") && none.contains("Cache-Control: no-store\r\n"))
    }
}
