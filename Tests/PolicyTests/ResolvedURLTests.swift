@testable import HTTP
@testable import Policy
import Testing

private func resolve(_ reference: String, base: CanonicalRequest) -> String? {
    let url = ResolvedURL()
    url.reset(CompiledCanonicalSettings(CanonicalSettings()))
    guard url.resolve(bytes(reference), against: base) else { return nil }
    let out = ByteBuffer()
    url.append(to: out)
    return out.text
}

@Suite struct ResolvedURLTests {
    /// RFC 3986 sections 5.4.1 and 5.4.2, the path in canonical form; the strict reading of `http:g`, which names no
    /// host.
    @Test(
        arguments: [
            ("g:h", nil), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"),
            ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
            ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
            ("http:g", nil),
        ] as [(String, String?)])
    func examples(_ reference: String, _ expected: String?) throws {
        let base = try makeRequest("GET", "/b/c/d;p?q", ["Host: a"])
        #expect(resolve(reference, base: base) == expected)
    }

    /// Locations as servers send them.
    @Test(
        arguments: [
            ("/\u{fc}", "http://a.test/%C3%BC"), ("/x#frag", "http://a.test/x#frag"), ("../y/./z", "http://a.test/y/z"),
            ("?q", "http://a.test/a?q"),
            ("http://127.0.0.1:81", "http://127.0.0.1:81/"), ("http://127.0.0.1:81?z", "http://127.0.0.1:81/?z"),
            ("HTTP://127.0.0.1:81/Up", "http://127.0.0.1:81/Up"),
            ("/foo bar?${}", "http://a.test/foo%20bar?${}"),
            ("/a?b c\"<>\u{fc}", "http://a.test/a?b%20c%22%3C%3E%C3%BC"), ("https://B.Test:443/x", "https://b.test/x"),
            ("http://b.test:443/", "http://b.test:443/"), ("http://b.test:80/", "http://b.test/"),
            ("//b.test/x", "http://b.test/x"), ("/%7e/%2e%2e/x", "http://a.test/x"),
            ("/a%2fb", "http://a.test/a%2Fb"), ("///x", nil), ("//", nil), ("http://", nil), ("http:///x", nil),
            ("http:/x", nil), ("https:x", nil), ("ftp://a.test/", nil),
            ("javascript:alert(1)", nil), ("data:,x", nil), ("http://u@a.test/", nil), ("http://u:p@a.test/", nil),
            ("http://a.test\\@b.test/", nil),
            ("/\\b.test", nil), ("\\\\b.test", nil), ("http://a.test:x/", nil), ("http://a.test:99999/", nil),
            ("/..;/x", nil), ("/%00", nil), ("/a\tb", nil), ("/a?\tb", nil),
            ("/%zz", nil), ("http://[::1", nil), ("http://[::1]:81/x", "http://[::1]:81/x"),
            ("http://2130706433/", nil), ("http://0x7f.1/", nil), ("http://\u{fc}.test/", nil),
            ("/x#\u{fc} y", "http://a.test/x#%C3%BC%20y"), ("/x#a#b", "http://a.test/x#a#b"), ("x:y", nil),
            ("./x:y", "http://a.test/x:y"), (":x", "http://a.test/:x"),
            ("1:x", "http://a.test/1:x"), ("a//b", "http://a.test/a/b"), ("http://b.test#f", "http://b.test/#f"),
            ("http://b.test./x", "http://b.test/x"),
        ] as [(String, String?)])
    func locations(_ reference: String, _ expected: String?) throws {
        #expect(resolve(reference, base: try makeRequest("GET", "/a")) == expected)
    }

    /// A derived selection of the URL Standard's test data: relative references against http bases.
    @Test(
        arguments: [
            ("http://f:21/ b ? d # e ", "http://f:21/%20b%20?%20d%20#%20e%20"), ("http://f:/c", "http://f/c"),
            ("http://f:b/c", nil), ("http://f: /c", nil),
            ("http://f:999999/c", nil), (":foo.com/", "http://example.org/foo/:foo.com/"),
            (":#", "http://example.org/foo/:#"), ("#;?", "http://example.org/foo/bar#;?"),
            ("?", "http://example.org/foo/bar?"), ("/:23", "http://example.org/:23"),
            ("::23", "http://example.org/foo/::23"), ("http://a:b@c:29/d", nil),
            ("//foo/bar", "http://foo/bar"), ("http://foo/path;a??e#f#g", "http://foo/path;a??e#f#g"),
            ("http://foo/abcd#foo?bar", "http://foo/abcd#foo?bar"),
            ("http://2001::1", nil), ("http://[1::2]:3:4", nil), ("http://[2001::1]:80", "http://[2001::1]/"),
            ("http://[::127.0.0.1]", "http://[::7f00:1]/"),
            ("http://[0:0:0:0:0:0:13.1.68.3]", "http://[::d01:4403]/"), ("http://[::127.0.0.1.]", nil),
            ("/a/ /c", "http://example.org/a/%20/c"),
            ("/a/%2f/c", "http://example.org/a/%2F/c"), ("http://www.example2.com", "http://www.example2.com/"),
            ("http://example example.com", nil),
            ("http://[google.com]", nil), ("http://192.168.0.257", nil), ("http://1.2.3.4.5", nil),
            ("http://1.2.3.4./", "http://1.2.3.4/"),
            ("http://[0:1:2:3:4:5:6:7:8]", nil), ("??a=b&c=d", "http://example.org/foo/bar??a=b&c=d"),
        ] as [(String, String?)])
    func urlStandard(_ reference: String, _ expected: String?) throws {
        #expect(resolve(reference, base: try makeRequest("GET", "/foo/bar", ["Host: example.org"])) == expected)
    }

    @Test func fragmentIsInherited() throws {
        let base = try makeRequest("GET", "/a")
        let url = ResolvedURL()
        url.reset(CompiledCanonicalSettings(CanonicalSettings()))
        #expect(url.resolve(location: "/x#one", against: base))
        #expect(url.resolve(location: "/y", against: base))
        #expect(url.fragment.text == "one")
        #expect(url.resolve(location: "/y#", against: base))
        #expect(url.hasFragment && url.fragment.isEmpty)
        url.reset(CompiledCanonicalSettings(CanonicalSettings()))
        #expect(!url.hasFragment)
    }

    @Test func oddBases() throws {
        #expect(resolve("x", base: try makeRequest("OPTIONS", "*")) == "http://a.test/x")
        #expect(resolve("", base: try makeRequest("OPTIONS", "*")) == "http://a.test/")
        #expect(resolve("/x", base: try makeRequest("GET", "/", [], version: .http10)) == nil)
        #expect(
            resolve("http://b.test/x", base: try makeRequest("GET", "/", [], version: .http10)) == "http://b.test/x")
        let secure = makeClient(scheme: .https)
        #expect(resolve("//b.test", base: try makeRequest("GET", "/", client: secure)) == "https://b.test/")
        #expect(
            resolve("/x", base: try makeRequest("GET", "/", ["Host: a.test:443"], client: secure)) == "https://a.test/x"
        )
    }

    @Test func becomesTheHop() throws {
        let client = try makeRequest(
            "POST", "/old.png?q",
            [
                "Host: a.test:8080", "Content-Type: text/plain", "Content-Length: 5", "Cookie: c=1", "Authorization: x",
                "Accept: a/b",
                "Connection: X-Gone", "X-Gone: 1",
            ], framing: .length(5))
        let url = ResolvedURL()
        url.reset(CompiledCanonicalSettings(CanonicalSettings()))
        #expect(url.resolve(location: "https://B.test:444/new.css?x=1", against: client))
        let hop = CanonicalRequest()
        hop.becomeHop(of: client, url: url, method: .get, keepsBody: false, leavesCredentialsBehind: true)
        #expect(text(hop.methodName) == "GET")
        #expect(hop.target.text == "/new.css?x=1")
        #expect(text(hop.path) == "/new.css" && text(hop.query) == "x=1")
        #expect(text(hop.target.span(hop.pathExtension)) == "css")
        #expect(hop.authority.text == "b.test:444" && text(hop.host) == "b.test" && hop.effectivePort == 444)
        #expect(hop.scheme == .https && hop.isHop && hop.clientAddressText.text == "127.0.0.1")
        #expect(hop.passing == ["Accept"])
        #expect(hop.externalAuthority.text == "a.test:8080")

        #expect(url.resolve(location: "/again", against: client))
        hop.becomeHop(of: client, url: url, method: .post, keepsBody: true, leavesCredentialsBehind: false)
        #expect(text(hop.methodName) == "POST")
        #expect(hop.passing == ["Content-Type", "Cookie", "Authorization", "Accept"])
        #expect(client.passing == ["Content-Type", "Cookie", "Authorization", "Accept"])
    }
}
