@testable import HTTP
@testable import Policy
import Testing

/// One exchange: a client's request, an upstream at http://127.0.0.1:3000 unless said otherwise, and its hops.
private struct Hops {
    let client: CanonicalRequest
    let chain = RedirectChain()
    var definition = RedirectsDefinition()
    var current: CanonicalRequest

    init(
        _ method: String = "GET", _ target: String = "/a", _ fields: [String] = ["Host: a.test"],
        framing: BodyFraming = .none,
        scheme: Scheme = .http, follow: RedirectsDefinition.Follow = .sameOrigin,
        upstream: (Scheme, String) = (.http, "127.0.0.1:3000"),
        sentHost: String = "a.test"
    ) throws {
        client = try makeRequest(method, target, fields, framing: framing, client: makeClient(scheme: scheme))
        current = client
        definition.mode = .follow(follow)
        chain.origin.set(scheme: upstream.0, authority: bytes(upstream.1), sentHost: bytes(sentHost))
        chain.begin(client, settings: CompiledCanonicalSettings(CanonicalSettings()))
    }

    mutating func redirect(_ status: Int, _ fields: [String], replayable: Bool = true) -> RedirectPolicy.Verdict {
        let verdict = RedirectPolicy.decide(
            makeResponse(status, fields), to: current, by: definition, bodyIsReplayable: replayable, now: 1_000_000,
            chain: chain)
        if case .follow(let hop) = verdict {
            let next = CanonicalRequest()
            next.becomeHop(
                of: client, url: chain.url, method: hop.method, keepsBody: hop.keepsBody,
                leavesCredentialsBehind: chain.hasLeftOrigin)
            current = next
        }
        return verdict
    }

    mutating func redirect(_ status: Int, to location: String, replayable: Bool = true) -> RedirectPolicy.Verdict {
        redirect(status, ["Location: " + location], replayable: replayable)
    }
}

private func follow(_ method: HTTP.Method = .get, body: Bool = false, own: Bool = true) -> RedirectPolicy.Verdict {
    .follow(.init(method: method, keepsBody: body, isUpstreamOrigin: own))
}

@Suite struct RedirectPolicyTests {
    @Test(arguments: [
        ("GET", 301, HTTP.Method.get, false), ("GET", 302, .get, false), ("GET", 303, .get, false),
        ("GET", 307, .get, false), ("GET", 308, .get, false),
        ("HEAD", 301, .head, false), ("HEAD", 303, .head, false), ("POST", 301, .get, false),
        ("POST", 302, .get, false), ("POST", 303, .get, false),
        ("POST", 307, .post, true), ("POST", 308, .post, true), ("PUT", 301, .put, true), ("PUT", 302, .put, true),
        ("PUT", 303, .get, false),
        ("DELETE", 302, .delete, false), ("PROPFIND", 302, .other, false), ("PROPFIND", 303, .get, false),
    ])
    func methods(_ method: String, _ status: Int, _ next: HTTP.Method, _ keepsBody: Bool) throws {
        let framing: BodyFraming = method == "POST" || method == "PUT" ? .length(5) : .none
        var hops = try Hops(method, "/old", framing: framing)
        #expect(hops.redirect(status, to: "/new") == follow(next, body: keepsBody))
        #expect(hops.current.target.text == "/new")
    }

    @Test(arguments: [200, 300, 304, 305, 306, 309, 400])
    func otherStatuses(_ status: Int) throws {
        var hops = try Hops()
        #expect(hops.redirect(status, to: "/new") == .handBack)
    }

    @Test func bodyThatCanNotBeReplayed() throws {
        for framing in [BodyFraming.chunked, .length(4096)] {
            var hops = try Hops("POST", "/old", framing: framing)
            #expect(hops.redirect(307, to: "/new", replayable: false) == .handBack)
            #expect(hops.redirect(302, to: "/new", replayable: false) == follow(.get))
        }
        var empty = try Hops("POST", "/old", framing: .length(0))
        #expect(empty.redirect(307, to: "/new", replayable: false) == follow(.post))
    }

    @Test func contentIsNotRevived() throws {
        var hops = try Hops("PUT", "/old", framing: .length(5))
        #expect(hops.redirect(303, to: "/new") == follow(.get))
        #expect(hops.redirect(307, to: "/newer", replayable: false) == follow(.get))
    }

    @Test func locationMissingDoubledOrBad() throws {
        var hops = try Hops()
        #expect(hops.redirect(302, []) == .handBack)
        #expect(hops.redirect(302, ["Location: /x", "Location: /x"]) == .handBack)
        #expect(hops.redirect(302, to: "http://u@a.test/") == .handBack)
        #expect(hops.redirect(302, to: "/%00") == .handBack)
    }

    @Test(arguments: [RedirectsDefinition.Mode.pass, .rewrite])
    func notFollowed(_ mode: RedirectsDefinition.Mode) throws {
        var hops = try Hops()
        hops.definition.mode = mode
        #expect(hops.redirect(302, to: "/x") == .handBack)
    }

    @Test(arguments: [
        ("/x", true), ("//a.test/x", true), ("http://a.test/x", true), ("http://a.test:80/x", true),
        ("http://127.0.0.1:3000/x", true),
        ("http://127.0.0.1:3001/x", false), ("//127.0.0.1:3001/x", false), ("http://127.0.0.1/x", false),
        ("https://127.0.0.1:3000/x", false),
        ("https://a.test/x", false), ("http://a.test:3000/x", false), ("http://b.test/x", false),
        ("http://x.a.test/x", false), ("http://A.TEST./x", true),
    ])
    func origin(_ location: String, _ isSame: Bool) throws {
        var hops = try Hops()
        #expect(hops.redirect(302, to: location) == (isSame ? follow() : .handBack))
        var any = try Hops(follow: .any)
        #expect(any.redirect(302, to: location) == follow(own: isSame))
        #expect(any.chain.hasLeftOrigin == !isSame)
    }

    @Test func listed() throws {
        var hops = try Hops(follow: .listed)
        hops.definition.hosts = [
            DestinationPattern(host: .exact("127.0.0.2"), port: nil),
            DestinationPattern(host: .exact("b.test"), port: 81),
            DestinationPattern(host: .subdomains(of: "c.test"), port: nil),
        ]
        for (location, isListed) in [
            ("http://127.0.0.2:99/x", true), ("http://127.0.0.3:99/x", false), ("http://b.test:81/", true),
            ("http://b.test/", false),
            ("http://x.y.c.test/", true), ("http://c.test/", false), ("http://xc.test/", false),
            ("http://B.TEST:81/2", true),
        ] {
            #expect(hops.redirect(302, to: location) == (isListed ? follow(own: false) : .handBack), "\(location)")
        }
        #expect(hops.redirect(302, to: "http://a.test/home") == follow())
    }

    @Test func credentialsStayBehind() throws {
        var hops = try Hops(
            "GET", "/a", ["Host: a.test", "Cookie: c=1", "Authorization: x", "Proxy-Authorization: y", "Accept: z"],
            follow: .any)
        #expect(hops.redirect(302, to: "http://b.test/x") == follow(own: false))
        #expect(hops.current.passing == ["Accept"])
        #expect(hops.redirect(302, to: "http://a.test/back") == follow())
        #expect(hops.current.passing == ["Accept"])
    }

    @Test func neverFromTLSToPlain() throws {
        var secure = try Hops(scheme: .https, follow: .any)
        #expect(secure.redirect(302, to: "http://b.test/") == .handBack)
        #expect(secure.redirect(302, to: "http://a.test/x") == .handBack)
        // The upstream's own URL, to which the request has gone in plain before.
        #expect(secure.redirect(302, to: "http://127.0.0.1:3000/x") == follow())
        #expect(secure.redirect(302, to: "https://b.test/") == follow(own: false))
        #expect(secure.redirect(302, to: "http://127.0.0.1:3000/y") == .handBack)

        var upstream = try Hops(follow: .any, upstream: (.https, "app.test"), sentHost: "app.test")
        #expect(upstream.redirect(302, to: "http://app.test/x") == .handBack)
        #expect(upstream.redirect(302, to: "http://b.test/x") == .handBack)
        #expect(upstream.redirect(302, to: "https://app.test/x") == follow())
        // Relative: http by the client's URL, yet it goes where the request went.
        var relative = try Hops(follow: .any, upstream: (.https, "app.test"), sentHost: "app.test")
        #expect(relative.redirect(302, to: "/x") == follow())
    }

    @Test func asManyHopsAsAllowed() throws {
        var hops = try Hops("GET", "/9")
        hops.definition.maximum = 3
        for next in 10...12 { #expect(hops.redirect(302, to: "/\(next)") == follow()) }
        #expect(hops.redirect(302, to: "/13") == .loop)
        var none = try Hops()
        none.definition.maximum = 0
        #expect(none.redirect(302, to: "/x") == .loop)
    }

    @Test func circles() throws {
        var same = try Hops("GET", "/loop")
        #expect(same.redirect(302, to: "/loop") == .loop)
        var two = try Hops("GET", "/1")
        #expect(two.redirect(302, to: "/2") == follow())
        #expect(two.redirect(302, to: "http://A.test:80/x/../1#f") == .loop)
        var post = try Hops("POST", "/form", framing: .length(5))
        #expect(post.redirect(303, to: "/form") == follow(.get))
        #expect(post.redirect(303, to: "/form") == .loop)
    }

    /// A server that sets a cookie and sends the client to the same URL again.
    @Test func cookieMakesTheDifference() throws {
        var hops = try Hops("GET", "/in", ["Host: a.test", "Cookie: a=0"])
        #expect(hops.redirect(302, ["Location: /in", "Set-Cookie: s=1"]) == follow())
        #expect(hops.redirect(302, ["Location: /in", "Set-Cookie: s=1"]) == .loop)
        var elsewhere = try Hops("GET", "/in")
        #expect(elsewhere.redirect(302, ["Location: /in", "Set-Cookie: s=1; Path=/other"]) == .loop)
    }

    @Test func chainIsReused() throws {
        var hops = try Hops("GET", "/a", ["Host: a.test"], follow: .any)
        #expect(hops.redirect(302, ["Location: http://b.test/#f", "Set-Cookie: s=1"]) == follow(own: false))
        hops.chain.begin(hops.client, settings: CompiledCanonicalSettings(CanonicalSettings()))
        hops.current = hops.client
        #expect(!hops.chain.hasLeftOrigin && hops.chain.hopCount == 0 && hops.chain.cookies.isEmpty)
        #expect(hops.redirect(302, to: "/x") == follow())
        #expect(!hops.chain.url.hasFragment)
    }
}
