import HTTP
import Testing

/// RFC 9112 sections 6 and 9 on requests; the lines of the cases FR-01 to FR-18.
struct RequestFramingTests {
    @Test(arguments: [
        ("Content-Length: 0", BodyFraming.length(0)), ("Content-Length: 5", .length(5)), ("content-length:007", .length(7)),
        ("Content-Length: 9223372036854775807", .length(9_223_372_036_854_775_807)), ("Transfer-Encoding: chunked", .chunked),
        ("transfer-encoding:\tChUnKeD \t", .chunked), ("X: y", .none),
    ])
    func framings(line: String, framing: BodyFraming) {
        #expect(request("POST / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n").head?.framing == framing)
    }

    @Test(arguments: [
        "", "+5", "-0", "-5", "0x5", "1_0", "5 5", "1Z", "5;", "5.0", "99999999999999999999", "9223372036854775808",
        "18446744073709551616", "5,5", "5, 5", ",5", "\"5\"", "٥",
    ])
    func lengthsThatAreNone(length: String) {
        #expect(request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n") == .refused(.malformed))
        #expect(response("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: [
        "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: ,chunked",
        "Transfer-Encoding: chunked,",
        "Transfer-Encoding: ,", "Transfer-Encoding:", "Content-Length: 15\r\nContent-Length: 15",
        "Content-Length: 15\r\nContent-Length: 16",
        "Content-Length: 15, 15", "Transfer-Encoding: \u{b}chunked", "Content-Length : 15", "Transfer-Encoding : chunked",
        "Content-Length:\r\n 5", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: gzip;a=b, chunked",
        "Transfer-Encoding: gzip chunked", "Transfer-Encoding: gzip, chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: gzip",
    ])
    func doubtfulLengths(lines: String) {
        #expect(request("POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: ["gzip, chunked", "gzip,chunked", "x-a , y-b,\tChunked", "identity, chunked"])
    func otherCodingsBeforeChunked(codings: String) {
        let refused = Outcome<ParsedRequest>.refused(.unsupportedTransferCoding)
        #expect(request("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \(codings)\r\n\r\n") == refused)
    }

    @Test func codingsAreNotOfHTTP10() {
        #expect(request("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == .refused(.malformed))
        #expect(request("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == .refused(.malformed))
        #expect(request("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n").head?.framing == .length(5))
    }

    @Test(arguments: [
        ("1.1", "X: y", true), ("1.1", "Connection: close", false), ("1.1", "Connection: keep-alive", true),
        ("1.1", "Connection: x, CLOSE ,y", false), ("1.1", "Connection: keep-alive\r\nConnection: close", false),
        ("1.1", "Connection: \"close\"", true), ("1.1", "Connection: closed", true), ("1.1", "Connection: ,,", true),
        ("1.0", "X: y", false), ("1.0", "Connection: keep-alive", true), ("1.0", "connection: Foo, Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false), ("1.0", "Proxy-Connection: keep-alive", false),
    ])
    func persistence(version: String, line: String, keepsAlive: Bool) {
        #expect(request("GET / HTTP/\(version)\r\nHost: a\r\n\(line)\r\n\r\n").head?.keepsAlive == keepsAlive)
        let answer = response("HTTP/\(version) 200 OK\r\nContent-Length: 0\r\n\(line)\r\n\r\n").head
        #expect(answer?.keepsAlive == keepsAlive)
    }

    @Test(arguments: [
        ("1.1", "Expect: 100-continue\r\nContent-Length: 5", true),
        ("1.1", "Expect: 100-Continue\r\nTransfer-Encoding: chunked", true),
        ("1.1", "Expect: 100-continue\r\nContent-Length: 0", false), ("1.1", "Expect: 100-continue", false),
        ("1.1", "Expect: other\r\nContent-Length: 5", false), ("1.0", "Expect: 100-continue\r\nContent-Length: 5", false),
    ])
    func expectations(version: String, lines: String, expects: Bool) {
        #expect(request("POST / HTTP/\(version)\r\nHost: a\r\n\(lines)\r\n\r\n").head?.expectsContinue == expects)
    }

    @Test(arguments: [
        ("1.1", "TE: trailers", true), ("1.1", "TE: gzip;q=0.5, Trailers", true), ("1.1", "TE: gzip", false),
        ("1.1", "TE:", false),
        ("1.1", "TE: gzip\r\nTE: trailers", true), ("1.1", "TE: trailers;q=1", false), ("1.0", "TE: trailers", false),
    ])
    func trailersAreTaken(version: String, line: String, takes: Bool) {
        #expect(request("GET / HTTP/\(version)\r\nHost: a\r\n\(line)\r\n\r\n").head?.takesTrailers == takes)
    }

    @Test(arguments: [
        ("1.1", "Connection: Upgrade\r\nUpgrade: websocket", true),
        ("1.1", "Upgrade: h2c\r\nConnection: keep-alive, upgrade", true),
        ("1.1", "Connection: Upgrade", false), ("1.1", "Upgrade: websocket", false),
        ("1.0", "Connection: Upgrade\r\nUpgrade: websocket", false),
    ])
    func upgrades(version: String, lines: String, asks: Bool) {
        #expect(request("GET / HTTP/\(version)\r\nHost: a\r\n\(lines)\r\n\r\n").head?.asksForUpgrade == asks)
    }
}
