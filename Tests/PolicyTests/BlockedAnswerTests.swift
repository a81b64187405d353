@testable import HTTP
@testable import Policy
import Testing

@Suite struct BlockedAnswerTests {
    private func answer(_ target: String, _ fields: [String] = [], status: Int? = nil) throws -> BlockedAnswer {
        BlockedAnswer(to: try makeRequest("GET", target, ["Host: a.test"] + fields), status: status)
    }

    @Test(
        arguments: [
            ("/a.css", [], .css), ("/a.js", [], .javascript), ("/a.mjs", [], .javascript), ("/a.png", [], .png),
            ("/a.GIF", [], .gif), ("/a.html", [], .html), ("/a.json?x=.js", [], .json),
            ("/a.SVG", [], .svg), ("/a.xml", [], .xml), ("/a.txt", [], .text), ("/a", [], .unknown),
            ("/a.woff2", [], .unknown), ("/a.js", ["Sec-Fetch-Dest: style"], .javascript),
            ("/a.php", ["Sec-Fetch-Dest: script", "Accept: text/html"], .javascript),
            ("/a", ["Sec-Fetch-Dest: style"], .css), ("/a", ["Sec-Fetch-Dest: image"], .png),
            ("/a", ["Sec-Fetch-Dest: iframe"], .html), ("/a", ["Sec-Fetch-Dest: font", "Accept: text/html"], .unknown),
            ("/a", ["Sec-Fetch-Dest: empty", "Accept: application/json"], .json),
            ("/a", ["Accept: text/html,application/xml;q=0.9,*/*;q=0.8"], .html),
            ("/a", ["Accept: image/avif,image/webp,*/*"], .png), ("/a", ["Accept: */*"], .unknown),
            ("/a", ["Accept: text/html;q=0.1, application/json;q=0.9"], .json),
            ("/a", ["Accept: text/html;q=0"], .unknown),
            ("/a", ["Accept: text/css;q=0.5", "Accept: image/svg+xml;q=0.75"], .svg),
            ("/a", ["Accept: text/css;q=2.x, text/plain;q=1.000"], .text),
            ("/a", ["Accept: text/css;q=0.1234"], .unknown),
        ] as [(String, [String], BlockedAnswer.Kind)])
    func kinds(_ target: String, _ fields: [String], _ expected: BlockedAnswer.Kind) throws {
        let answer = try answer(target, fields)
        #expect(answer.kind == expected)
        #expect(answer.status == (expected == .unknown ? 204 : 200))
    }

    @Test(arguments: [
        ("/a.css", "text/css; charset=utf-8", ""), ("/a.js", "text/javascript; charset=utf-8", ""),
        ("/a.txt", "text/plain; charset=utf-8", ""),
        ("/a.html", "text/html; charset=utf-8", "<!doctype html><title>Blocked</title>"),
        ("/a.xml", "application/xml", "<blocked/>"),
        ("/a.svg", "image/svg+xml", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
        ("/a.json", "application/json", "{}"),
    ])
    func content(_ target: String, _ type: String, _ expected: String) throws {
        let answer = try answer(target)
        let out = ByteBuffer()
        answer.appendContent(to: out)
        #expect(out.text == expected)
        #expect(answer.contentLength == out.count)
        #expect(answer.contentType?.description == type)
    }

    @Test func images() throws {
        for (target, signature, length) in [
            ("/a.gif", [0x47, 0x49, 0x46, 0x38, 0x39, 0x61], 42), ("/a.png", [0x89, 0x50, 0x4e, 0x47], 68),
        ] {
            let answer = try answer(target)
            let out = ByteBuffer()
            answer.appendContent(to: out)
            #expect(out.count == length && answer.contentLength == length)
            #expect(signature.indices.allSatisfy { Int(out[$0]) == signature[$0] })
        }
    }

    @Test(
        arguments: [
            (403, 2, "application/json"), (204, 0, nil), (304, 0, nil), (205, 0, nil), (200, 2, "application/json"),
        ] as [(Int, Int, String?)])
    func explicitStatus(_ status: Int, _ length: Int, _ type: String?) throws {
        let answer = try answer("/a.json", status: status)
        #expect(answer.status == status && answer.contentLength == length)
        #expect(answer.contentType?.description == type)
        let plain = try self.answer("/a", status: status)
        #expect(plain.status == status && plain.contentLength == 0 && plain.contentType == nil)
    }
}
