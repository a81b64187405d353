@testable import HTTP
@testable import Policy
import Testing

private func forwarded(_ request: CanonicalRequest, _ client: ClientFacts) -> [String] {
    let out = ByteBuffer()
    ForwardedWriter.append(request, client: client, instance: bytes("me"), to: out)
    #expect(out.text.hasSuffix("\r\n"))
    return out.text.split(separator: "\r\n").map(String.init)
}

@Suite struct ForwardedIdentityTests {
    static let proxies = ["127.0.0.2/32", "10.9.0.0/16", "2001:db8::/32"]

    @Test(
        arguments: [
            (["X-Forwarded-For: 10.1.1.1"], "10.1.1.1"), (["X-Forwarded-For: 10.1.1.1, 8.8.8.8"], "8.8.8.8"),
            (["X-Forwarded-For: 8.8.8.8, 10.1.1.1"], "10.1.1.1"),
            (["X-Forwarded-For: 10.1.1.1", "X-Forwarded-For: 8.8.8.8"], "8.8.8.8"),
            (["X-Forwarded-For: 8.8.8.8", "X-Forwarded-For: 10.1.1.1"], "10.1.1.1"),
            (["X-Forwarded-For: garbage"], "127.0.0.2"),
            (["X-Forwarded-For: 1.1.1.1, 10.9.1.1"], "1.1.1.1"), (["X-Forwarded-For: 10.9.2.2, 10.9.1.1"], "10.9.2.2"),
            (["X-Forwarded-For: garbage, 10.9.1.1"], "127.0.0.2"), (["X-Forwarded-For: garbage, 8.8.8.8"], "8.8.8.8"),
            (["X-Forwarded-For: "], "127.0.0.2"), (["X-Forwarded-For: 8.8.8.8:1234"], "8.8.8.8"),
            (["X-Forwarded-For: [2001:dba::1]:99"], "2001:dba::1"),
            (["X-Forwarded-For: 2001:DBA::1"], "2001:dba::1"), (["X-Forwarded-For: ::ffff:8.8.8.8"], "8.8.8.8"),
            (["X-Forwarded-For: unknown"], "127.0.0.2"),
            (["X-Forwarded-For: 8.8.8.8,"], "8.8.8.8"), (["Forwarded: for=8.8.8.8;proto=https"], "8.8.8.8"),
            (["Forwarded: for=1.1.1.1, For=\"[2001:db8::7]:80\";by=x"], "1.1.1.1"),
            (["Forwarded: for=\"_hidden, x\", for=9.9.9.9"], "9.9.9.9"),
            (["Forwarded: proto=https"], "127.0.0.2"),
            (["Forwarded: for=1.1.1.1", "X-Forwarded-For: 2.2.2.2"], "2.2.2.2"),
            (["X-Real-IP: 1.1.1.1"], "127.0.0.2"),
        ] as [([String], String)])
    func trustedPeer(_ fields: [String], _ expected: String) throws {
        let client = makeClient("127.0.0.2", trusted: true)
        let request = try makeRequest("GET", "/", ["Host: a.test"] + fields, client: client, trusted: Self.proxies)
        #expect(request.clientAddressText.text == expected)
        #expect(request.clientAddress == IPAddress.parse(expected))
    }

    @Test func untrustedPeerIsNotBelieved() throws {
        let client = makeClient("127.0.0.1")
        let request = try makeRequest(
            "GET", "/a",
            [
                "Host: a.test", "X-Forwarded-For: 1.1.1.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.test",
                "X-Forwarded-Port: 444", "X-Real-IP: 1.1.1.1", "Forwarded: for=1.1.1.1;proto=https;host=evil.test",
            ], client: client, trusted: Self.proxies)
        #expect(request.scheme == .http)
        #expect(
            forwarded(request, client) == [
                "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: a.test", "X-Forwarded-Proto: http",
                "X-Forwarded-Port: 8080",
                "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1;host=a.test;proto=http", "Via: 1.1 authproxy-me",
                "CDN-Loop: authproxy-me",
            ])
    }

    @Test func trustedChainIsContinued() throws {
        let client = makeClient("127.0.0.2", trusted: true)
        let request = try makeRequest(
            "GET", "/a",
            [
                "Host: in.test:8080", "X-Forwarded-For: 1.1.1.1", "x-forwarded-for: 10.9.0.1",
                "X-Forwarded-Proto: HTTPS",
                "X-Forwarded-Host: Out.test", "X-Forwarded-Port: 444", "Forwarded: for=1.1.1.1;proto=https",
                "Via: 1.1 front", "Via: 2.0 mid",
                "CDN-Loop: edge",
            ], client: client, trusted: Self.proxies)
        #expect(request.scheme == .https)
        #expect(request.authority.text == "in.test:8080")
        #expect(
            forwarded(request, client) == [
                "X-Forwarded-For: 1.1.1.1, 10.9.0.1, 127.0.0.2", "X-Forwarded-Host: out.test",
                "X-Forwarded-Proto: https",
                "X-Forwarded-Port: 444", "X-Real-IP: 1.1.1.1",
                "Forwarded: for=1.1.1.1;proto=https, for=127.0.0.2;host=out.test;proto=https",
                "Via: 1.1 front, 2.0 mid, 1.1 authproxy-me", "CDN-Loop: edge, authproxy-me",
            ])
    }

    @Test func odd() throws {
        let client = makeClient("2001:db8::1", scheme: .https, port: 8443, trusted: true)
        let request = try makeRequest(
            "GET", "/",
            [
                "Host: [::1]:8443", "X-Forwarded-Proto: https, ftp", "X-Forwarded-Host: e@vil",
                "X-Forwarded-Port: 99999",
            ],
            version: .http10, client: client, trusted: Self.proxies)
        #expect(
            forwarded(request, client) == [
                "X-Forwarded-For: 2001:db8::1", "X-Forwarded-Host: [::1]:8443", "X-Forwarded-Proto: https",
                "X-Forwarded-Port: 8443",
                "X-Real-IP: 2001:db8::1", "Forwarded: for=\"[2001:db8::1]\";host=\"[::1]:8443\";proto=https",
                "Via: 1.0 authproxy-me",
                "CDN-Loop: authproxy-me",
            ])
    }

    @Test func unixPeer() throws {
        let client = makeClient(nil)
        let request = try makeRequest("GET", "/", [], version: .http10, client: client)
        #expect(
            forwarded(request, client) == [
                "X-Forwarded-Proto: http", "X-Forwarded-Port: 8080", "Forwarded: for=unknown;proto=http",
                "Via: 1.0 authproxy-me",
                "CDN-Loop: authproxy-me",
            ])
        let trusted = makeClient(nil, trusted: true)
        let chained = try makeRequest("GET", "/", ["Host: a.test", "X-Forwarded-For: 1.1.1.1"], client: trusted)
        #expect(forwarded(chained, trusted).first == "X-Forwarded-For: 1.1.1.1")
        #expect(chained.clientAddressText.text == "1.1.1.1")
    }

    @Test(arguments: [
        (["X-Forwarded-Proto: http, https"], Scheme.https),
        (["X-Forwarded-Proto: https", "X-Forwarded-Proto: http"], .http),
        (["X-Forwarded-Proto: wss"], .http), (["Forwarded: proto=https"], .https),
        (["Forwarded: proto=https, proto=http"], .http),
        (["Forwarded: for=1.1.1.1;Proto=\"https\""], .https),
    ])
    func scheme(_ fields: [String], _ expected: Scheme) throws {
        let request = try makeRequest(
            "GET", "/", ["Host: a.test"] + fields, client: makeClient("127.0.0.2", trusted: true))
        #expect(request.scheme == expected)
        #expect(request.externalPort == expected.defaultPort)
    }
}
