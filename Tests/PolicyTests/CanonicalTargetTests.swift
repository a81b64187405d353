@testable import HTTP
@testable import Policy
import Testing

private func canonical(_ path: [UInt8], _ options: CanonicalTarget.Options = .init()) throws -> String {
    let out = ByteBuffer("prefix")
    try CanonicalTarget.appendPath(path.span, options, to: out)
    let whole = out.text
    #expect(whole.hasPrefix("prefix"))
    return String(whole.dropFirst(6))
}

private func canonical(_ path: String, _ options: CanonicalTarget.Options = .init()) throws -> String {
    try canonical(Array(path.utf8), options)
}

@Suite struct CanonicalTargetTests {
    @Test(arguments: [
        ("/", "/"), ("/a/./b/../c", "/a/c"), ("//a///b", "/a/b"), ("/%7euser/%41", "/~user/A"),
        ("/%e2%82%ac", "/%E2%82%AC"),
        ("/a%2fb", "/a%2Fb"), ("/é", "/%C3%A9"), ("/a/..", "/"), ("/a/.", "/a/"), ("/a%3Fb", "/a%3Fb"),
        ("/%25", "/%25"),
        ("/%252e", "/%252e"), ("/a;b=c", "/a;b=c"), ("/info/../admin/x", "/admin/x"),
        ("/info/%2e%2e/admin/x", "/admin/x"),
        ("/info/%2E./admin/x", "/admin/x"), ("/./admin", "/admin"), ("//admin", "/admin"), ("/admin/x/..", "/admin/"),
        ("/x/../../admin", "/admin"), ("/info/..%2fadmin", "/info/..%2Fadmin"), ("/a//../b", "/b"), ("/a/.//b", "/a/b"),
        ("/..", "/"), ("/../..", "/"), ("/.", "/"), ("/...", "/..."), ("/.a/..b/c.", "/.a/..b/c."),
        ("/.well-known/x", "/.well-known/x"),
        ("/a b", "/a%20b"), ("/\"<>^`{|}[]", "/%22%3C%3E%5E%60%7B%7C%7D%5B%5D"), ("/%5b", "/%5B"),
        ("/a%0d%0aX", "/a%0D%0AX"),
        ("/!$&'()*+,;=:@-._~", "/!$&'()*+,;=:@-._~"), ("/a/b///", "/a/b/"), ("/a;/..", "/"), ("/a..;b", "/a..;b"),
        ("/%2e%2e%2e", "/..."),
        ("/%3b", "/%3B"), ("/%23", "/%23"),
    ])
    func path(_ path: String, _ expected: String) throws {
        #expect(try canonical(path) == expected)
    }

    @Test(arguments: [
        "/a%00", "/a%5C", "/a%5c", "/a\\b", "/a#b", "/a\u{1}", "/a\u{7f}", "/a\tb", "/a%", "/a%4", "/a%zz", "/a%4g",
        "/..;/x",
        "/..;x", "/.;x", "/%2e%2e;x", "/.%2e;", "/..%3bx", "/..%3B", "/%2e%3B", "/a/..;x/b", "", "a", "*",
    ])
    func refused(_ path: String) {
        #expect(throws: Rejection.badRequest) { try canonical(path) }
    }

    @Test(arguments: [
        ("/a//b///", "/a//b///"), ("//cms/wp-includes/x", "//cms/wp-includes/x"), ("/a//../b", "/a/b"),
        ("/..//x", "//x"),
        ("/a/b/..//c", "/a//c"), ("//..", "/"), ("//", "//"),
    ])
    func slashesKept(_ path: String, _ expected: String) throws {
        var options = CanonicalTarget.Options()
        options.mergesSlashes = false
        #expect(try canonical(path, options) == expected)
    }

    @Test(arguments: ["/a%2Fb", "/a%2fb", "/%2F"])
    func encodedSlashRefused(_ path: String) {
        var options = CanonicalTarget.Options()
        options.rejectsEncodedSlash = true
        #expect(throws: Rejection.badRequest) { try canonical(path, options) }
    }

    @Test(arguments: ["/a/../b", "/.", "/%2e", "/a/%2E%2e"])
    func dotSegmentsRefused(_ path: String) {
        var options = CanonicalTarget.Options()
        options.rejectsDotSegments = true
        #expect(throws: Rejection.badRequest) { try canonical(path, options) }
        #expect((try? canonical("/.a/b..", options)) == "/.a/b..")
    }

    /// What is canonical is a fixed point, has no dot segment, and nothing but what may stand in a path.
    @Test(arguments: [true, false])
    func idempotent(_ mergesSlashes: Bool) throws {
        var options = CanonicalTarget.Options()
        options.mergesSlashes = mergesSlashes
        let pieces = [
            "/", "/", ".", "..", "%2e", "%2E", "%2f", "%", "a", "%41", "%7e", ";", "%3b", "é", " ", "//", "%25", "2e",
            "%5b", "[", "?",
        ]
        var random = SplitMix(state: 7)
        var accepted = 0
        for round in 0..<20000 {
            var path: [UInt8] = [0x2f]
            for _ in 0..<random.below(12) {
                if round % 4 == 0 {
                    path.append(UInt8(truncatingIfNeeded: random.next()))
                } else {
                    path += Array(pieces[random.below(pieces.count)].utf8)
                }
            }
            guard let once = try? canonical(path, options) else { continue }
            accepted += 1
            #expect(try canonical(once, options) == once)
            let segments = once.split(separator: "/", omittingEmptySubsequences: false)
            #expect(!segments.contains(".") && !segments.contains(".."))
            #expect(once.utf8.allSatisfy { CanonicalBytes.isPath($0) || $0 == UInt8(ascii: "%") })
            if mergesSlashes { #expect(!once.contains("//")) }
        }
        #expect(accepted > 5000)
    }

    @Test(arguments: [
        ("/a/b.png", "png"), ("/a/B.PnG", "PnG"), ("/a.js?v=1", "js"), ("/a.png/x", ""), ("/apng", ""),
        ("/x?f=.png", ""),
        ("/a.png.txt", "txt"), ("/a.min.css", "css"), ("/.htaccess", ""), ("/a.", ""), ("/", ""), ("/admin;.png", ""),
        ("/a.php;x", "php"), ("/a.b/c.d;e.f/g.h", "h"), ("/a.tar.gz;v=1.2", "gz"),
    ])
    func pathExtension(_ target: String, _ expected: String) throws {
        let request = try makeRequest("GET", target)
        #expect(text(request.target.span(request.pathExtension)) == expected)
    }
}
