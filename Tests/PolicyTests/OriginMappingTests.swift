@testable import HTTP
@testable import Policy
import Testing

private struct Mapping {
    let mapping: OriginMapping
    let client: CanonicalRequest

    init(
        client authority: String? = "127.0.0.1:8080", scheme: Scheme = .http,
        upstream: (Scheme, String) = (.http, "127.0.0.1:3000"),
        sentHost: String? = nil, strip: String? = nil, add: String? = nil, base: String = "", template: Bool = false
    ) throws {
        client = try makeRequest(
            "GET", "/a", authority.map { ["Host: " + $0] } ?? [], version: authority == nil ? .http10 : .http11,
            client: makeClient(scheme: scheme))
        let origin = UpstreamOrigin()
        origin.set(
            scheme: upstream.0, authority: bytes(upstream.1), sentHost: bytes(sentHost ?? authority ?? upstream.1))
        mapping = OriginMapping(origin: origin)
        mapping.begin(
            client: client, paths: template ? nil : PathMapping(stripPrefix: strip, addPrefix: add, basePath: base))
    }

    /// nil: the value passes as it is.
    func map(_ value: String, _ field: FieldID = .location) -> String? {
        let out = ByteBuffer("x: ")
        guard mapping.append(bytes(value), of: field, to: out) else {
            #expect(out.text == "x: ")
            return nil
        }
        return String(out.text.dropFirst(3))
    }
}

@Suite struct OriginMappingTests {
    @Test(
        arguments: [
            ("http://127.0.0.1:3000/x?y=1#z", "http://127.0.0.1:8080/x?y=1#z"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:8080/"),
            ("HTTP://127.0.0.1:3000?q", "http://127.0.0.1:8080/?q"), ("//127.0.0.1:3000/x", "http://127.0.0.1:8080/x"),
            ("https://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
            ("http://127.0.0.1:3000//evil.test", "http://127.0.0.1:8080//evil.test"),
            ("https://other.test/x", nil), ("http://127.0.0.1:1/x", nil), ("http://127.0.0.1:3000@evil.test/x", nil),
            ("http://127.0.0.1:3000\\@evil.test/x", nil),
            ("https://127.0.0.1:3000/x", nil), ("http://127.0.0.1:30000/x", nil),
            ("http://127.0.0.1.evil.test:3000/x", nil), ("rel/x", nil), ("/x", nil), ("", nil),
            ("?q", nil), ("#f", nil), ("http:/127.0.0.1:3000/x", nil), ("ftp://127.0.0.1:3000/", nil),
            ("http://127.0.0.1:8080/x", nil), ("http://", nil),
            ("http://u@127.0.0.1:3000/", nil), ("http://127.0.0.1:3000/a b\u{fc}", "http://127.0.0.1:8080/a b\u{fc}"),
        ] as [(String, String?)])
    func location(_ value: String, _ expected: String?) throws {
        let mapping = try Mapping()
        #expect(mapping.map(value) == expected)
        #expect(mapping.map(value, .contentLocation) == expected)
        #expect(mapping.map(value, .referer) == nil)
    }

    @Test func hostThatWasSentUnderEitherScheme() throws {
        let mapping = try Mapping(client: "www.test", scheme: .https, sentHost: "www.test")
        #expect(mapping.map("http://www.test/x") == "https://www.test/x")
        #expect(mapping.map("https://WWW.test:443/x") == "https://www.test/x")
        #expect(mapping.map("https://www.test/x") == nil)
        #expect(mapping.map("http://www.test:8080/x") == nil)
        let internalHost = try Mapping(client: "www.test", upstream: (.https, "app.internal"), sentHost: "app.internal")
        #expect(internalHost.map("https://app.internal/x") == "http://www.test/x")
        #expect(internalHost.map("http://app.internal/x") == "http://www.test/x")
        #expect(internalHost.map("//app.internal/x") == "http://www.test/x")
    }

    @Test func clientBehindTrustedProxy() throws {
        let client = makeClient("10.0.0.1", trusted: true)
        let request = try makeRequest(
            "GET", "/", ["Host: in.test", "X-Forwarded-Host: out.test", "X-Forwarded-Proto: https"], client: client)
        let origin = UpstreamOrigin()
        origin.set(scheme: .http, authority: bytes("up.test:81"), sentHost: bytes("in.test"))
        let mapping = OriginMapping(origin: origin)
        mapping.begin(client: request, paths: nil)
        let out = ByteBuffer()
        let isMapped = mapping.append(bytes("http://in.test/x"), of: .location, to: out)
        #expect(isMapped)
        #expect(out.text == "https://out.test/x")
    }

    /// A path finds back where the client's URL is not known, unless it would be read as a host.
    @Test func clientWithoutHost() throws {
        let mapping = try Mapping(client: nil)
        #expect(mapping.map("http://127.0.0.1:3000/x?y#z") == "/x?y#z")
        #expect(mapping.map("http://127.0.0.1:3000") == "/")
        #expect(mapping.map("http://127.0.0.1:3000//evil.test/") == nil)
        #expect(mapping.map("http://127.0.0.1:3000/\\evil.test/") == nil)
    }

    @Test(
        arguments: [
            ("/v1", nil, "", "/x", "/v1/x"), ("/v1", nil, "", "http://up.test/x?q", "http://a.test/v1/x?q"),
            ("/v1/", nil, "", "http://up.test", "http://a.test/v1/"),
            ("/v1", nil, "", "rel", nil), ("/v1", nil, "", "", nil), ("/v1", nil, "", "?q", nil),
            (nil, "/app", "", "/app/x", "/x"), (nil, "/app", "", "/app", "/"),
            (nil, "/app", "", "/apple", nil), (nil, "/app", "", "/x", nil), (nil, "/app", "", "http://up.test/x", nil),
            ("/v1", "/app", "/base", "/base/app/x", "/v1/x"),
            ("/v1", "app", "base/", "http://up.test/base/app?q#f", "http://a.test/v1/?q#f"),
            (nil, nil, "/base", "/base//evil.test", nil),
            (nil, nil, "/base", "http://up.test/base//evil.test", "http://a.test//evil.test"),
            (nil, nil, "/base", "/base/../admin", nil),
            (nil, nil, "/base", "/x/../base/y", "/y"), ("/v1", nil, "", "//up.test/x", "http://a.test/v1/x"),
            ("/v1", nil, "", "//other.test/x", nil),
            ("/v1", nil, "", "/a\\b", nil), ("/v1", nil, "", "/a%2fb", "/v1/a%2Fb"),
        ] as [(String?, String?, String, String, String?)])
    func prefixes(_ strip: String?, _ add: String?, _ base: String, _ value: String, _ expected: String?) throws {
        let mapping = try Mapping(client: "a.test", upstream: (.http, "up.test"), strip: strip, add: add, base: base)
        #expect(mapping.map(value) == expected)
    }

    @Test func templatesMapOriginsOnly() throws {
        let mapping = try Mapping(client: "a.test", upstream: (.http, "up.test"), template: true)
        #expect(mapping.map("http://up.test/x") == "http://a.test/x")
        #expect(mapping.map("/x") == nil)
    }

    @Test(
        arguments: [
            ("/v1", nil, "", "/v1/x", "/x"), ("/v1", nil, "", "/v1", "/"), ("/v1", nil, "", "/v10", "/v10"),
            ("/v1", "/app", "/base", "/v1/x", "/base/app/x"),
            ("/v1", "/app", "/base", "/v1", "/base/app/"), (nil, nil, "/base/", "/", "/base/"),
            (nil, nil, "", "/x", "/x"),
        ] as [(String?, String?, String, String, String)])
    func upstreamPath(_ strip: String?, _ add: String?, _ base: String, _ path: String, _ expected: String) {
        let mapping = PathMapping(stripPrefix: strip, addPrefix: add, basePath: base)
        let out = ByteBuffer()
        mapping.appendUpstreamPath(bytes(path), to: out)
        #expect(out.text == expected)
    }

    @Test(
        arguments: [
            ("0; url=http://127.0.0.1:3000/r", "0; url=http://127.0.0.1:8080/r"),
            ("5;URL = 'http://127.0.0.1:3000/r' x", "5;URL = 'http://127.0.0.1:8080/r' x"),
            ("0, url=\"http://127.0.0.1:3000/r", "0, url=\"http://127.0.0.1:8080/r"),
            ("0; http://127.0.0.1:3000/r", "0; http://127.0.0.1:8080/r"),
            ("0.5;url=//127.0.0.1:3000/", "0.5;url=http://127.0.0.1:8080/"), ("0; url=/r", nil), ("5", nil), ("", nil),
            ("0; url=http://b.test/", nil), ("0;", nil), ("0; url", nil),
            ("0; url=", nil), ("0; url=\"", nil),
        ] as [(String, String?)])
    func refresh(_ value: String, _ expected: String?) throws {
        #expect(try Mapping().map(value, .refresh) == expected)
    }

    @Test(
        arguments: [
            ("s=1", nil), ("s=1; Path=/; HttpOnly", nil),
            ("s=1; Domain=app.up.test; Path=/", "s=1; Domain=www.a.test; Path=/"),
            ("s=1;domain=.up.test;Secure", "s=1; Domain=www.a.test;Secure"), ("s=1; Domain=a.test", nil),
            ("s=1; Domain=other.test", nil), ("s=1; Domain=", nil),
            ("s=1; Domain=test", nil), ("Domain=app.up.test; Path=/", nil), ("s=Domain=app.up.test", nil),
        ] as [(String, String?)])
    func cookieDomain(_ value: String, _ expected: String?) throws {
        let mapping = try Mapping(client: "www.a.test:8080", upstream: (.http, "app.up.test"), sentHost: "app.up.test")
        #expect(mapping.map(value, .setCookie) == expected)
    }

    @Test func cookieDomainOfAnAddress() throws {
        let mapping = try Mapping(upstream: (.http, "app.test"), sentHost: "app.test")
        #expect(mapping.map("s=1; Domain=app.test; Path=/", .setCookie) == "s=1; Path=/")
    }

    @Test(
        arguments: [
            ("/", "/v1"), ("/x", "/v1/x"), ("/base", nil), ("", nil), ("rel", nil),
        ] as [(String, String?)])
    func cookiePathStripped(_ path: String, _ expected: String?) throws {
        let mapping = try Mapping(strip: "/v1")
        let mapped = mapping.map("s=1; path=\(path); HttpOnly", .setCookie)
        if path == "/base" {
            #expect(mapped == "s=1; Path=/v1/base; HttpOnly")
        } else {
            #expect(mapped == expected.map { "s=1; Path=\($0); HttpOnly" })
        }
    }

    @Test(
        arguments: [
            ("/base", "/"), ("/base/", "/"), ("/base/app", "/"), ("/base/app/x", "/x"), ("/", nil), ("/bas", nil),
            ("/other", nil),
        ] as [(String, String?)])
    func cookiePathAdded(_ path: String, _ expected: String?) throws {
        let mapping = try Mapping(add: "/app", base: "/base")
        #expect(mapping.map("s=1; Path=\(path)", .setCookie) == expected.map { "s=1; Path=\($0)" })
    }

    @Test func secureCookieForAPlainClient() throws {
        let mapping = try Mapping(client: "localhost:8080", upstream: (.https, "app.test"), sentHost: "app.test")
        #expect(mapping.map("s=1; Secure; SameSite=None; HttpOnly", .setCookie) == "s=1; HttpOnly")
        #expect(mapping.map("s=1; secure; SameSite=Lax", .setCookie) == "s=1; SameSite=Lax")
        #expect(mapping.map("secure=1; SameSite=None", .setCookie) == "secure=1")
        let secure = try Mapping(client: "a.test", scheme: .https, upstream: (.https, "app.test"), sentHost: "app.test")
        #expect(secure.map("s=1; Secure; SameSite=None", .setCookie) == nil)
        let plain = try Mapping(client: "a.test", upstream: (.http, "app.test"))
        #expect(plain.map("s=1; Secure", .setCookie) == nil)
    }

    /// A relative Location of a hop means the hop's URL, not the one that the client asked for.
    @Test func locationOfAHopIsAbsolute() throws {
        let mapping = try Mapping(client: "a.test", upstream: (.http, "up.test:81"), sentHost: "a.test")
        let url = ResolvedURL()
        url.reset(CompiledCanonicalSettings(CanonicalSettings()))
        for (location, expected) in [
            ("http://up.test:81/x#f", "http://a.test/x#f"), ("/y", "http://a.test/y#f"),
            ("https://b.test/z#g", "https://b.test/z#g"),
        ] {
            #expect(url.resolve(location: location, against: mapping.client))
            let out = ByteBuffer()
            mapping.mapping.append(url, to: out)
            #expect(out.text == expected)
        }
    }
}
