@testable import HTTP
@testable import Policy
import Testing

@Suite struct CanonicalRequestTests {
    @Test(arguments: [
        ("/a?b/../c//d", "/a?b/../c//d", "/a", "b/../c//d"),
        ("/api/queues/%2F/get?x=%2f", "/api/queues/%2F/get?x=%2f", "/api/queues/%2F/get", "x=%2f"),
        ("/q?u=http://x.test//y//", "/q?u=http://x.test//y//", "/q", "u=http://x.test//y//"), ("/a?", "/a?", "/a", ""),
        ("/a??", "/a??", "/a", "?"),
        ("/a?%zz\\é", "/a?%zz\\é", "/a", "%zz\\é"), ("http://b.test/p?q", "/p?q", "/p", "q"),
        ("http://b.test", "/", "/", ""),
        ("HTTPS://B.test:444?x", "/?x", "/", "x"), ("http://b.test//x/../y", "/y", "/y", ""),
    ])
    func target(_ source: String, _ expected: String, _ path: String, _ query: String) throws {
        let request = try makeRequest("GET", source)
        #expect(request.target.text == expected)
        #expect(text(request.path) == path)
        #expect(text(request.query) == query)
    }

    @Test(arguments: [
        "/a#b", "/x?y#z", "/#", "/a?b c", "/a?\u{1}", "*", "a", "ftp://a.test/", "http:/a", "http:a", "http://",
        "http:///x", "http://u@a.test/",
        "http://a.test:x/", "http://a.test#x", "a.test:443", "//", "http://a.test\\b/", "?x", "",
    ])
    func refusedTarget(_ source: String) {
        let isPath = source == "//"
        #expect(((try? makeRequest("GET", source)) != nil) == isPath)
        if !isPath { #expect(throws: Rejection.badRequest) { try makeRequest("GET", source) } }
    }

    @Test(arguments: ["CONNECT", "TRACE"])
    func refusedMethod(_ method: String) {
        #expect(throws: Rejection.methodNotAllowed) { try makeRequest(method, "a.test:443") }
        #expect(throws: Rejection.methodNotAllowed) { try makeRequest(method, "/") }
    }

    @Test func asterisk() throws {
        #expect(try makeRequest("OPTIONS", "*").target.text == "*")
        #expect(try makeRequest("OPTIONS", "http://a.test").target.text == "*")
        #expect(try makeRequest("OPTIONS", "http://a.test/").target.text == "/")
        #expect(try makeRequest("OPTIONS", "http://a.test?x").target.text == "/?x")
        #expect(try makeRequest("PROPFIND", "/x").target.text == "/x")
    }

    @Test func authority() throws {
        let plain = try makeRequest("GET", "/", ["Host: A.Test:8080"])
        #expect(plain.authority.text == "a.test:8080")
        #expect(text(plain.host) == "a.test")
        #expect(plain.port == 8080)

        let absolute = try makeRequest("GET", "http://B.test/", ["Host: a.test:99"])
        #expect(absolute.authority.text == "b.test")
        #expect(absolute.port == nil)
        #expect(absolute.scheme == .http)

        let literal = try makeRequest("GET", "/", ["Host: [::1]:81"])
        #expect(text(literal.host) == "[::1]")
        #expect(literal.port == 81)
    }

    @Test func authorityRefused() throws {
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "/", []) }
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "/", ["Host: "]) }
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "/", ["Host: a.test", "Host: a.test"]) }
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "/", ["Host: a.test@b.test"]) }
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "http://a.test/", ["Host: a b"]) }
        #expect(throws: Rejection.badRequest) { try makeRequest("GET", "/", ["Host: "], version: .http10) }
        #expect(try makeRequest("GET", "/", [], version: .http10).hostLength == 0)
        #expect(try makeRequest("GET", "http://b.test/", [], version: .http10).authority.text == "b.test")
    }

    @Test func reuseForgetsTheRequestBefore() throws {
        let request = CanonicalRequest()
        let settings = CompiledCanonicalSettings(CanonicalSettings())
        let token = ByteBuffer("me")
        fill(
            request.head, "GET", Array("http://b.test:1/long/path.png?q".utf8),
            ["Host: a.test", "Connection: X-A", "X-A: 1", "Via: 1.1 x", "Cookie: a=1"])
        let trusted = makeClient("10.0.0.1", trusted: true)
        try request.canonicalise(client: trusted, trusted: [], settings: settings, instance: token.span)
        #expect(request.passing == ["Cookie"])
        fill(request.head, "GET", Array("/".utf8), ["Host: c.test", "X-B: 1", "X-A: 1"])
        try request.canonicalise(client: makeClient(), trusted: [], settings: settings, instance: token.span)
        #expect(request.target.text == "/")
        #expect(request.authority.text == "c.test")
        #expect(request.port == nil)
        #expect(request.externalAuthority.text == "c.test")
        #expect(request.clientAddressText.text == "127.0.0.1")
        #expect(request.pathExtension.isEmpty)
        #expect(request.passing == ["X-B", "X-A"])
    }

    @Test(arguments: [
        ("Via: 1.1 authproxy-me", true), ("Via: 1.1 front, 1.1 authproxy-me (x)", true),
        ("Via: HTTP/1.1  AUTHPROXY-ME", true),
        ("CDN-Loop: authproxy-me", true), ("CDN-Loop: edge; x=1, authproxy-me;v=1", true),
        ("Via: 1.1 authproxy-me2", false),
        ("Via: 1.1 authproxy-", false), ("Via: 1.1 xauthproxy-me", false), ("CDN-Loop: authproxy-other", false),
        ("Via: authproxy-me", false),
        ("X-Via: 1.1 authproxy-me", false), ("Via: ,,1.1", false),
    ])
    func loop(_ field: String, _ isLoop: Bool) throws {
        if isLoop {
            #expect(throws: Rejection.loopDetected) { try makeRequest("GET", "/", ["Host: a.test", field]) }
        } else {
            _ = try makeRequest("GET", "/", ["Host: a.test", field])
        }
    }
}

@Suite struct HopByHopTests {
    @Test func hopByHopFieldsEndHere() throws {
        let request = try makeRequest(
            "GET", "/",
            [
                "Host: a.test", "Connection: close, X-Private, authorization", "X-Private: 1", "Authorization: x",
                "Keep-Alive: 1",
                "Proxy-Connection: x", "TE: trailers", "Trailer: x", "Transfer-Encoding: chunked", "Upgrade: websocket",
                "HTTP2-Settings: x", "Proxy-Authenticate: x", "Proxy-Authorization: Basic x", "Expect: 100-continue",
                "Content-Length: 1", "Max-Forwards: 3", "Accept: */*", "x-private: 2",
            ])
        #expect(request.passing == ["Max-Forwards", "Accept"])
        // Readable all the same, for authenticators.
        let line = try #require(request.nextLine(.proxyAuthorization))
        #expect(text(request.value(line)) == "Basic x")
    }

    @Test func nominationsOnSeveralLines() throws {
        let request = try makeRequest(
            "GET", "/",
            [
                "Host: a.test", "X-A: 1", "Connection: X-B , ,keep-alive", "connection:\tx-a", "X-B: 2", "X-C: 3",
                "X-AB: 4",
            ])
        #expect(request.passing == ["X-C", "X-AB"])
    }

    @Test func framingAndRoutingCanNotBeNominatedAway() throws {
        let request = try makeRequest(
            "POST", "/a", ["Host: a.test", "Connection: Content-Length, Host, Transfer-Encoding", "Content-Length: 5"],
            framing: .length(5))
        #expect(request.authority.text == "a.test")
        #expect(request.head.framing == .length(5))
    }

    @Test func tooManyNominations() throws {
        let names = (0..<65).map { "x\($0)" }
        #expect(throws: Rejection.badRequest) {
            try makeRequest("GET", "/", ["Host: a.test", "Connection: " + names.joined(separator: ",")])
        }
        _ = try makeRequest(
            "GET", "/", ["Host: a.test", "Connection: close, " + names.dropLast().joined(separator: ",")])
    }

    @Test func forwardedFamilyAndOurOwnFieldsAreDropped() throws {
        let request = try makeRequest(
            "GET", "/",
            [
                "Host: a.test", "Forwarded: for=1.1.1.1", "X-Forwarded-For: 1.1.1.1", "X-Forwarded-Host: e",
                "X-Forwarded-Proto: https",
                "X-Forwarded-Port: 444", "X-Real-IP: 1.1.1.1", "X-Forwarded-Prefix: /x", "X-Original-URL: /admin",
                "Via: 1.1 x",
                "CDN-Loop: x", "X-Request-ID: 1",
            ])
        #expect(request.passing == ["X-Request-ID"])
    }

    @Test func strictNames() throws {
        var settings = CanonicalSettings()
        settings.keep = ["X-My_Own", "X-Forwarded_User", "content_length"]
        let fields = [
            "Host: a.test", "X_Env: 1", "x.env: 1", "X!Env: 1", "x-my_own: 1", "X-Forwarded_User: 1",
            "X_Forwarded_Proto: 1",
            "X_Original_URL: 1", "Content_Length: 5", "X-Fine: 1",
        ]
        #expect(
            try makeRequest("GET", "/", fields, settings: settings).passing == [
                "x-my_own", "X-Forwarded_User", "X-Fine",
            ])
        #expect(try makeRequest("GET", "/", fields).passing == ["X-Fine"])
        settings.headerNames = .any
        #expect(
            try makeRequest("GET", "/", fields, settings: settings).passing
                == ["X_Env", "x.env", "X!Env", "x-my_own", "X-Forwarded_User", "X-Fine"])
    }

    @Test func manyLines() throws {
        let fields = ["Host: a.test"] + (0..<400).map { "X-\($0): 1" } + ["Connection: X-399"]
        let request = try makeRequest("GET", "/", fields)
        #expect(request.passing.count == 399)
        #expect(!request.isDropped(300))
        #expect(request.isDropped(400))
        #expect(request.isDropped(100_000))
    }

    @Test func responses() {
        let response = makeResponse(
            200,
            [
                "Connection: keep-alive, X-Private", "X-Private: 1", "Keep-Alive: timeout=5", "Content-Length: 2",
                "Server: x",
            ])
        var dropped: [UInt64] = []
        #expect(HopByHop.markResponse(response, in: &dropped))
        #expect(dropped == [0b01111])
        let names = (0..<65).map { "x\($0)" }
        #expect(
            !HopByHop.markResponse(makeResponse(200, ["Connection: " + names.joined(separator: ",")]), in: &dropped))
    }
}
