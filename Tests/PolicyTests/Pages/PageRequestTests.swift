import Testing

@testable import HTML
@testable import HTTP
@testable import Policy

struct PageRequestTests {
    private let insertions = PageInsertions(
        [InsertionDefinition(point: .bodyEnd, content: .html(Array("x".utf8)), display: "")], mode: .nonce)

    private func page(_ fields: [(String, String)], method: String = "GET") -> PageRequest? {
        PageRequest(RuleFixture.request(method, "/", fields: fields), insertions)
    }

    @Test(arguments: [
        ("Sec-Fetch-Dest", "document", true, true), ("Sec-Fetch-Dest", "iframe", true, true),
        ("Sec-Fetch-Dest", "empty", false, false),
        ("Sec-Fetch-Dest", "image", false, false), ("Accept", "text/html,*/*;q=0.8", true, false), ("Accept", "*/*", true, false),
        ("Accept", "application/json", false, false), ("Accept", "text/html;q=0, application/json", false, false),
        ("X-None", "1", true, false),
        ("X-Requested-With", "XMLHttpRequest", false, false),
    ])
    func documentsAreToldByWhatTheRequestSays(name: String, value: String, isPage: Bool, isCertain: Bool) {
        let page = page([(name, value)])
        #expect((page != nil) == isPage && page?.isCertain ?? false == isCertain)
    }

    /// The line as it is sent; nil when it is not.
    private func sent(_ name: String, _ value: String, isCertain: Bool) -> String? {
        sent(name, value, isCertain ? [("Sec-Fetch-Dest", "document")] : [])
    }

    private func sent(_ name: String, _ value: String, _ fields: [(String, String)], method: String = "GET") -> String? {
        let page = PageRequest.sent(RuleFixture.request(method, "/", fields: fields), insertions)
        let (nameBytes, bytes) = (Array(name.utf8), Array(value.utf8))
        let change = page.change(of: nameBytes.span, bytes.span)
        if change == .drop { return nil }
        let out = ByteBuffer()
        page.append(bytes.span, change, to: out)
        return RuleFixture.text(out)
    }

    @Test(arguments: [
        ("gzip, deflate, br, zstd", "gzip, deflate, br, zstd"), ("gzip, dcb, dcz", "gzip"), ("dcb", "identity"),
        ("br;q=0.5, compress, *;q=0", "br;q=0.5, *;q=0"), ("*", "gzip, br, zstd"), ("*;q=0.5", "gzip;q=0.5, br;q=0.5, zstd;q=0.5"),
        ("", "identity"), ("br;q=0, foo, *;q=0.5", "br;q=0, gzip;q=0.5, zstd;q=0.5"),
    ])
    func onlyCodingsThatCanBeUndoneAreAskedFor(value: String, expected: String) {
        #expect(sent("Accept-Encoding", value, isCertain: false) == expected)
    }

    /// Browsers send no Sec-Fetch-Dest without TLS; what a page's script fetches has its Referer, and asks for anything.
    @Test func whatAPageFetchesIsNoDocumentUnlessItAsksForHTML() {
        #expect(page([("Accept", "*/*"), ("Referer", "http://app.test/")]) == nil)
        #expect(page([("Accept", "*/*"), ("Origin", "http://app.test")], method: "POST") == nil)
        #expect(page([("Referer", "http://app.test/")]) == nil)
        #expect(page([("Accept", "text/html,*/*;q=0.8"), ("Referer", "http://app.test/")]) != nil)
    }

    @Test func partsOfADocumentAreNotAskedFor() {
        #expect(sent("Range", "bytes=50-", isCertain: true) == nil && sent("If-Range", "\"x\"", isCertain: true) == nil)
        #expect(sent("Range", "bytes=50-", isCertain: false) == "bytes=50-")
    }

    private func edited(_ tag: String) -> String {
        let out = ByteBuffer()
        let bytes = Array(tag.utf8)
        PageTag(insertions.digest).appendEdited(bytes.span, to: out)
        return RuleFixture.text(out)
    }

    @Test(arguments: ["\"x\"", "W/\"x\"", "\"\"", "\"a~b\"", "W/\"00000000w\""])
    func aTagGoesOutAndComesBack(tag: String) {
        #expect(edited(tag).hasPrefix("W/\"") && edited(tag) != tag)
        #expect(sent("If-None-Match", edited(tag), isCertain: true) == tag)
        #expect(sent("If-None-Match", "\"y\", " + edited(tag), isCertain: false) == "\"y\", " + tag)
        let page = page([("If-None-Match", edited(tag))])
        #expect(page?.namesEditedPage(RuleFixture.request("GET", "/", fields: [("If-None-Match", edited(tag))])) == true)
    }

    @Test func tagsOfOtherPagesStayBehind() {
        #expect(sent("If-None-Match", "W/\"x~00000000\"", isCertain: false) == nil, "something else was inserted")
        #expect(sent("If-None-Match", "\"x\"", isCertain: true) == nil, "nothing was inserted")
        #expect(sent("If-None-Match", "\"x\"", isCertain: false) == "\"x\"", "it may be a picture's")
        #expect(sent("If-None-Match", "*", isCertain: true) == "*")
        #expect(sent("If-Modified-Since", "x", isCertain: true) == nil)
        #expect(sent("If-Modified-Since", "x", isCertain: false) == "x")
    }

    @Test func aTimeIsNotAskedForWhereHTMLIs() {
        #expect(sent("If-Modified-Since", "x", [("Accept", "text/html, */*")]) == nil)
        #expect(sent("If-Modified-Since", "x", [("Accept", "*/*")]) == "x")
        #expect(sent("If-Modified-Since", "x", [("Accept", "image/png")]) == "x")
    }

    @Test(arguments: ["\"x\"", "W/\"x\""])
    func whoStoresAnEditedPageNamesTheOneThatItWasMadeOf(tag: String) {
        for (method, fields) in [("PUT", [("Sec-Fetch-Dest", "empty")]), ("GET", [("Sec-Fetch-Dest", "document")]), ("DELETE", [])]
        {
            #expect(sent("If-Match", edited(tag), fields, method: method) == tag)
            #expect(sent("If-Match", "\"y\", " + edited(tag), fields, method: method) == "\"y\", " + tag)
            for other in ["*", "\"x\"", "W/\"x~00000000\"", "W/\"x~00000000\", \"y\""] {
                #expect(sent("If-Match", other, fields, method: method) == other, "not of a page as it is edited now")
            }
        }
        let script = [("Sec-Fetch-Dest", "empty")]
        #expect(sent("Accept-Encoding", "zstd, x", script) == "zstd, x" && sent("Range", "bytes=1-", script) == "bytes=1-")
    }

    @Test func whatIsInsertedMakesAnotherDigest() {
        func digest(_ text: String, _ point: InsertionPoint, _ mode: PolicyMode) -> UInt64 {
            PageInsertions([InsertionDefinition(point: point, content: .html(Array(text.utf8)), display: "")], mode: mode).digest
        }
        let digests = [
            digest("x", .bodyEnd, .nonce), digest("y", .bodyEnd, .nonce), digest("x", .headEnd, .nonce),
            digest("x", .bodyEnd, .leave),
        ]
        #expect(Set(digests).count == 4)
    }
}
