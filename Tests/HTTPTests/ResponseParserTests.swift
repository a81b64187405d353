import HTTP
import Testing

struct ResponseParserTests {
    @Test func headIsTakenApart() throws {
        let bytes = "HTTP/1.1 302 Found it\r\nLocation:/next\r\nContent-Length:0\r\n\r\n"
        let head = try #require(response(bytes + "rest").head)
        #expect(head.consumed == bytes.utf8.count)
        #expect(head.bytes == Array(bytes.utf8))
        #expect(head.status == 302)
        #expect(head.reason == "Found it")
        #expect(head.version == .http11)
        #expect(head.framing == .length(0))
        #expect(head.keepsAlive)
        #expect(head.fields == ["Location=/next [location]", "Content-Length=0 [contentLength]"])
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200, "OK"), ("HTTP/1.1 200 ", 200, ""), ("HTTP/1.1 200", 200, ""),
        ("HTTP/1.0 999 x\ty", 999, "x\ty"),
        ("HTTP/1.1 200  two", 200, " two"), ("HTTP/1.1 404 Pas trouv\u{e9}", 404, "Pas trouv\u{e9}"),
        ("HTTP/1.1 100 C", 100, "C"),
    ])
    func statusLines(line: String, status: Int, reason: String) throws {
        let head = try #require(response(line + "\r\n\r\n").head)
        #expect(head.status == status)
        #expect(head.reason == reason)
    }

    @Test(arguments: [
        "HTTP/1.1 099 No", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 -20 OK", "HTTP/1.1  200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1 200\tOK", "http/1.1 200 OK", "HTTP/1.1", "HTTP/1.1 200 O\rK", "HTTP/1.1 200 O\u{0}K", "HTTP/11 200 OK",
        "ICY 200 OK",
        " HTTP/1.1 200 OK", "\r\nHTTP/1.1 200 OK", "HTTP/1.1 000 No", "HTTP/1.1200 OK", "EXTRA", "HTTP/1.1 200 O\u{7f}K",
        "HTTP/1.1 200 OK\r",
    ])
    func malformedStatusLines(line: String) {
        #expect(response(line + "\r\nContent-Length: 0\r\n\r\n") == .refused(.malformed))
    }

    @Test func otherVersions() {
        #expect(response("HTTP/2.0 200 OK\r\n\r\n") == .refused(.unsupportedVersion))
        #expect(response("HTTP/1.2 200 OK\r\n\r\n") == .refused(.unsupportedVersion))
    }

    /// RFC 9112 section 5.1: a proxy removes white space before the colon from a response.
    @Test func whiteSpaceBeforeTheColonIsMended() {
        let head = response("HTTP/1.1 200 OK\r\nContent-Length \t: 5\r\nX : y\r\n\r\n").head
        #expect(head?.framing == .length(5))
        #expect(head?.fields == ["Content-Length=5 [contentLength]", "X=y [other]"])
    }

    @Test(arguments: [
        "X: 1\r\n folded", ": 1", "X", "X Y: 1", "X: a\rb", "X: a\nb: c", "X: \u{0}", " X: 1", "X(: 1", "X \t",
        "Location: /a\r\nLocation: /b",
        "Location: /a\r\nlocation: /a",
    ])
    func malformedFields(lines: String) {
        #expect(response("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(lines)\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: [
        ("200 OK", Method.get, "Content-Length: 5", BodyFraming.length(5), true), ("200 OK", .get, "X: y", .untilClose, false),
        ("200 OK", .get, "Transfer-Encoding: chunked", .chunked, true), ("200 OK", .head, "Content-Length: 9", .none, true),
        ("200 OK", .head, "Transfer-Encoding: chunked", .none, true), ("200 OK", .head, "X: y", .none, true),
        ("304 Not Modified", .get, "Transfer-Encoding: chunked", .none, true),
        ("304 Not Modified", .get, "Content-Length: 5", .none, true),
        ("204 No Content", .get, "X: y", .none, true), ("204 No Content", .get, "Content-Length: 0", .none, true),
        ("103 Early Hints", .get, "Link: </a.css>", .none, true), ("100 Continue", .post, "X: y", .none, true),
        ("101 Switching Protocols", .get, "Content-Length: 7\r\nUpgrade: websocket", .none, true),
        ("205 Reset Content", .get, "X: y", .untilClose, false),
        ("500 No", .post, "Connection: close\r\nContent-Length: 1", .length(1), false),
    ])
    func framings(status: String, method: Method, lines: String, framing: BodyFraming, keepsAlive: Bool) {
        let head = response("HTTP/1.1 \(status)\r\n\(lines)\r\n\r\n", to: method).head
        #expect(head?.framing == framing)
        #expect(head?.keepsAlive == keepsAlive)
    }

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 6", "Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2",
        "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, gzip", "Content-Length:",
    ])
    func doubtfulLengths(lines: String) {
        for (status, method) in [("200 OK", Method.get), ("200 OK", .head), ("304 Not Modified", .get), ("101 X", .get)] {
            #expect(response("HTTP/1.1 \(status)\r\n\(lines)\r\n\r\n", to: method) == .refused(.malformed))
        }
    }

    @Test func codings() {
        #expect(response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == .refused(.malformed))
        let refused = Outcome<ParsedResponse>.refused(.unsupportedTransferCoding)
        #expect(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == refused)
    }

    @Test func everySplitGivesTheSame() {
        let messages = [
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 200\r\nX : y\r\n\r\nrest",
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 6\r\n\r\nok", "HTTP/3.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "b", count: 220) + "\u{1}\r\n\r\n",
        ]
        let tight = limits(headerBytes: 200, headerCount: 8)
        for message in messages {
            let bytes = Array(message.utf8)
            let whole = response(bytes, limits: tight)
            #expect(whole != .incomplete)
            var hasAnswered = false
            for count in 0...bytes.count {
                let part = response(Array(bytes[..<count]), limits: tight)
                if part == .incomplete {
                    #expect(!hasAnswered, "answered, then not: \(message) at \(count)")
                } else {
                    hasAnswered = true
                    #expect(part == whole, "\(message) at \(count)")
                }
            }
        }
    }
}
