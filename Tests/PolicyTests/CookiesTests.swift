@testable import HTTP
@testable import Policy
import Testing

private func pairs(_ request: CanonicalRequest) -> [String] {
    var pairs = CookiePairs(request)
    var result: [String] = []
    while let pair = pairs.next() {
        result.append(text(request.head.bytes.span(pair.name)) + "|" + text(request.head.bytes.span(pair.value)))
    }
    return result
}

private struct Edits: CookieFilter {
    var keep: [String]?
    var remove: [String] = []

    func admits(_ name: Span<UInt8>) -> Bool {
        let name = text(name)
        return keep?.contains(name) != false && !remove.contains(name)
    }
}

private func cookie(
    _ request: CanonicalRequest, client: CanonicalRequest? = nil, hops: HopCookies? = nil, edits: Edits = Edits()
) -> String {
    let out = ByteBuffer()
    let count = Cookies.append(of: request, client: client ?? request, hops: hops, edits: edits, to: out)
    #expect(count == (out.isEmpty ? 0 : out.text.split(separator: "; ").count))
    return out.text
}

@Suite struct CookiesTests {
    @Test func pairsOfAllLines() throws {
        let request = try makeRequest(
            "GET", "/", ["Host: a.test", "Cookie: a=1; b = 2 ;; c=\"x=y\" ;lone;=v", "X: 1", "cookie: d=José; e="])
        #expect(pairs(request) == ["a|1", "b|2", "c|\"x=y\"", "|lone", "|v", "d|José", "e|"])
        #expect(cookie(request) == "a=1; b = 2; c=\"x=y\"; lone; =v; d=José; e=")
        #expect(pairs(try makeRequest()) == [])
        #expect(pairs(try makeRequest("GET", "/", ["Host: a.test", "Connection: cookie", "Cookie: a=1"])) == [])
    }

    @Test(
        arguments: [
            (["a", "c"], [], "a=1; c=3"), (nil, ["b"], "a=1; c=3; A=4"), ([], [], ""), (["x"], [], ""),
            (["a", "b"], ["b"], "a=1"),
            (nil, ["A", "a", "b", "c"], ""), (nil, [], "a=1; b=2; c=3; A=4"),
        ] as [([String]?, [String], String)])
    func edits(_ keep: [String]?, _ remove: [String], _ expected: String) throws {
        let request = try makeRequest("GET", "/", ["Host: a.test", "Cookie: a=1; b=2", "Cookie: c=3; A=4"])
        #expect(cookie(request, edits: Edits(keep: keep, remove: remove)) == expected)
    }
}

@Suite struct HopCookiesTests {
    static let now = 1_700_000_000

    /// The Cookie of a hop to `url` after a response with these Set-Cookie values to a request for `/dir/login`.
    private func hop(
        _ setCookies: [String], to url: String, cookie clientCookie: String? = "a=0", host: String = "www.a.test",
        scheme: Scheme = .http,
        leaves: Bool = false, edits: Edits = Edits()
    ) throws -> String {
        let fields = ["Host: " + host] + (clientCookie.map { ["Cookie: " + $0] } ?? [])
        let client = try makeRequest("GET", "/dir/login", fields, client: makeClient(scheme: scheme))
        let hops = HopCookies()
        hops.absorb(
            makeResponse(302, setCookies.map { "Set-Cookie: " + $0 }), to: client, client: client, now: Self.now)
        let resolved = ResolvedURL()
        resolved.reset(CompiledCanonicalSettings(CanonicalSettings()))
        #expect(resolved.resolve(location: url, against: client))
        let request = CanonicalRequest()
        request.becomeHop(of: client, url: resolved, method: .get, keepsBody: false, leavesCredentialsBehind: leaves)
        return cookie(request, client: client, hops: hops, edits: edits)
    }

    @Test(
        arguments: [
            (["s=1; Path=/; HttpOnly"], "/home", "a=0; s=1"), (["s=1"], "/dir/x", "a=0; s=1"),
            (["s=1"], "/dir", "a=0; s=1"), (["s=1"], "/other", "a=0"),
            (["s=1"], "/directory", "a=0"), (["s=1; Path=/x"], "/x/y", "a=0; s=1"), (["s=1; Path=/x/"], "/x", "a=0"),
            (["s=1; Path=rel"], "/dir/x", "a=0; s=1"),
            (["a=new; Path=/"], "/", "a=new"), (["a=; Path=/; Max-Age=0"], "/", ""),
            (["a=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", ""),
            (["a=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5"], "/", "a=x"),
            (["a=x; Path=/; Expires=nonsense"], "/", "a=x"),
            (["s=1; Path=/; Max-Age=-1", "t=2; Path=/"], "/", "a=0; t=2"),
            (["s=1; Path=/", "s=2; Path=/"], "/", "a=0; s=2"), (["s=1; Path=/", "s=; Path=/; Max-Age=0"], "/", "a=0"),
            (["s=1; Path=/; Domain=a.test"], "/", "a=0; s=1"), (["s=1; Path=/; Domain=.WWW.A.test"], "/", "a=0; s=1"),
            (["s=1; Path=/; Domain=b.test"], "/", "a=0"),
            (["s=1; Path=/; Domain=x.www.a.test"], "/", "a=0"), (["s=1; Path=/; Domain=test"], "/", "a=0"),
            (["s=1; Path=/; Domain=ww.a.test"], "/", "a=0"),
            (["s=1; Path=/; Secure"], "/", "a=0"), (["=x", "x"], "/dir/x", "a=0"),
            (["s=a=b\"; Path=/"], "/", "a=0; s=a=b\""), ([" s = 1 ; Path = / "], "/", "a=0; s=1"),
        ] as [([String], String, String)])
    func sameOrigin(_ setCookies: [String], _ url: String, _ expected: String) throws {
        #expect(try hop(setCookies, to: url) == expected)
    }

    @Test func secureOverTLS() throws {
        #expect(try hop(["s=1; Path=/; Secure"], to: "/x", scheme: .https) == "a=0; s=1")
    }

    @Test func awayFromTheOrigin() throws {
        #expect(
            try hop(["s=1; Path=/", "d=2; Path=/; Domain=a.test"], to: "http://api.a.test/", leaves: true) == "d=2")
        #expect(try hop(["s=1; Path=/", "d=2; Path=/; Domain=a.test"], to: "http://b.test/", leaves: true) == "")
        #expect(try hop(["s=1; Path=/; Domain=127.0.0.1"], to: "/", host: "127.0.0.1") == "a=0; s=1")
        #expect(try hop(["s=1; Path=/; Domain=0.0.1"], to: "/", host: "127.0.0.1") == "a=0")
    }

    @Test func withoutClientCookie() throws {
        #expect(try hop(["s=1; Path=/"], to: "/", cookie: nil) == "s=1")
    }

    @Test func editsApplyToThemToo() throws {
        #expect(try hop(["s=1; Path=/", "track=1; Path=/"], to: "/", edits: Edits(keep: ["s"])) == "s=1")
    }

    /// The upstream's URL is the site that the client knows under another name.
    @Test func upstreamURLIsTheSameSite() throws {
        #expect(try hop(["s=1; Path=/"], to: "http://127.0.0.1:3000/home") == "a=0; s=1")
    }

    @Test func bounded() throws {
        let many = (0..<200).map { "c\($0)=1; Path=/" }
        #expect(try hop(many, to: "/", cookie: nil).split(separator: ";").count == 64)
        let large = String(repeating: "x", count: 20_000)
        #expect(try hop(["a=\(large); Path=/", "b=\(large); Path=/"], to: "/", cookie: nil).utf8.count == 20_002)
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("1 jan 69 0:0:1", 3_124_224_001), ("06 Nov 1994 08:49:37", 784_111_777),
            ("32 Nov 1994 08:49:37", nil), ("Nov 1994 08:49:37", nil), ("06 Nov 1994", nil), ("", nil),
            ("06 Nov 1994 24:00:00", nil), ("06 Nov 1600 00:00:00", nil),
            ("06 Xxx 1994 08:49:37", nil), ("99999999999999999999 Nov 1994 08:49:37", nil),
        ] as [(String, Int?)])
    func dates(_ source: String, _ expected: Int?) {
        #expect(CookieDate.parse(bytes(source)) == expected)
    }
}
