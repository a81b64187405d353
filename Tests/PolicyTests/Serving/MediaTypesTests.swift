import Testing

@testable import Policy

@Suite struct MediaTypesTests {
    private let builtIn = MediaTypes(system: [])

    @Test(arguments: [
        ("a.html", "text/html; charset=utf-8"), ("A.HTML", "text/html; charset=utf-8"),
        ("a.b.js", "text/javascript; charset=utf-8"),
        ("a.json", "application/json"), ("a.svg", "image/svg+xml"), ("a.woff2", "font/woff2"), ("a.tar.gz", "application/gzip"),
        ("a", "application/octet-stream"), ("a.", "application/octet-stream"), (".html", "application/octet-stream"),
        ("dir.css/a", "application/octet-stream"), ("a.nobody-knows", "application/octet-stream"), ("", "application/octet-stream"),
    ])
    func typesAreKnownByExtension(name: String, type: String) {
        #expect(builtIn.contentType(of: name, charset: "utf-8") == type)
    }

    @Test func theSystemsWordCountsBeforeOurs() {
        let system = "# comment\napplication/x-mine\tmine  js\ntext/empty\n\nx/y a # b\nbad\u{01}/type c\nz/z js"
        let types = MediaTypes(system: Array(system.utf8))
        #expect(types.contentType(of: "a.js", charset: "utf-8") == "application/x-mine")
        #expect(types.contentType(of: "a.MINE", charset: nil) == "application/x-mine")
        #expect(types.contentType(of: "a.b", charset: nil) == "application/octet-stream")
        #expect(types.contentType(of: "a.c", charset: nil) == "application/octet-stream")
        #expect(types.contentType(of: "a.css", charset: "latin1") == "text/css; charset=latin1")
    }

    @Test(
        arguments: [
            ("a.css", [.text, .compressible, .crossOrigin]), ("a.mjs", [.text, .compressible, .crossOrigin]),
            ("a.txt", [.text, .compressible]),
            ("a.json", [.compressible]), ("a.svg", [.compressible]), ("a.png", []), ("a.woff2", [.crossOrigin]), ("a.webm", []),
            ("a.ttf", [.compressible, .crossOrigin]), ("a.wasm", [.compressible, .crossOrigin]), ("a.zip", []),
            ("a.ico", [.compressible]),
        ] as [(String, MediaTypes.Traits)])
    func traitsFollowFromTypes(name: String, traits: MediaTypes.Traits) {
        #expect(builtIn.traits(builtIn.type(of: bytes(name))) == traits)
    }

    @Test func aTableOfAnySizeIsBounded() {
        let lines = (0..<10_000).map { "x/t\($0) e\($0)" }.joined(separator: "\n")
        let types = MediaTypes(system: Array(lines.utf8))
        #expect(types.contentType(of: "a.e1", charset: nil) == "x/t1")
        #expect(types.contentType(of: "a.e9999", charset: nil) == "application/octet-stream")
    }
}
