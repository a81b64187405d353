import HTTP
import Testing

struct RequestParserTests {
    @Test func headIsTakenApart() throws {
        let bytes = "GET /a?b=c HTTP/1.1\r\nHost: a.test\r\nX-A:1\r\nX-B:  \t2 \t\r\nX-C:\r\n\r\n"
        let head = try #require(request(bytes + "rest").head)
        #expect(head.consumed == bytes.utf8.count)
        #expect(head.bytes == Array(bytes.utf8))
        #expect(head.method == .get)
        #expect(head.methodName == "GET")
        #expect(head.target == "/a?b=c")
        #expect(head.version == .http11)
        #expect(head.framing == .none)
        #expect(head.keepsAlive)
        #expect(head.fields == ["Host=a.test [host]", "X-A=1 [other]", "X-B=2 [other]", "X-C= [other]"])
    }

    @Test func headIsReused() throws {
        let head = RequestHead()
        let long = Array("POST /long HTTP/1.0\r\nConnection: keep-alive\r\nX: y\r\nContent-Length: 3\r\n\r\n".utf8)
        let short = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        _ = try HTTP1.parseRequest(long.span, limits: HeadLimits(), into: head)
        let parsed = try HTTP1.parseRequest(short.span, limits: HeadLimits(), into: head)
        let consumed = try #require(parsed)
        #expect(.head(ParsedRequest(consumed: consumed, head)) == request(short))
    }

    @Test(arguments: [
        ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete),
        ("CONNECT", .connect), ("OPTIONS", .options), ("TRACE", .trace), ("PATCH", .patch),
        ("get", .other), ("GETS", .other), ("GE", .other), ("PROPFIND", .other), ("M-SEARCH", .other),
        ("!#$%&'*+-.^_`|~09azAZ", .other), (String(repeating: "M", count: 64), .other),
    ])
    func methods(name: String, method: Method) throws {
        let head = try #require(request("\(name) / HTTP/1.1\r\nHost: a\r\n\r\n").head)
        #expect(head.method == method)
        #expect(head.methodName == name)
    }

    @Test(arguments: [
        "G@T / HTTP/1.1", "G(T / HTTP/1.1", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1 ", "GET  / HTTP/1.1",
        "GET /  HTTP/1.1", "GET / a HTTP/1.1", "GET HTTP/1.1", "GET /", "GET", "GET /\t HTTP/1.1", "GET /\u{7f} HTTP/1.1",
        "GET /\u{0} HTTP/1.1", "GET / HTTP/1.1x", "GET / HTTP/01.1", "GET / HTTP/1", "GET / http/1.1", "GET / HTTP/1.10",
        "GET / HTTP/1,1", "GET / HTTP/x.1", "GET / HTTPS/1.1", "GET / FOO", "\u{e9}GET / HTTP/1.1", "GET / HTTP/1.1\r",
        "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM / HTTP/1.1",
    ])
    func malformedRequestLines(line: String) {
        #expect(request(line + "\r\nHost: a\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: ["HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/3.0", "HTTP/9.9"])
    func otherVersions(version: String) {
        #expect(request("GET / \(version)\r\nHost: a\r\n\r\n") == .refused(.unsupportedVersion))
        #expect(request("GET / \(version)\r\n") == .refused(.unsupportedVersion))
    }

    /// Which targets are right is decided where they are made canonical; here they need only be visible.
    @Test(arguments: ["*", "/", "http://a.test/x", "a.test:443", "/\u{e9}", "/#frag", "/\\", "/%zz", "/a\"b<>{}|^`"])
    func targets(target: String) {
        #expect(request("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n").head?.target == target)
    }

    @Test func oneEmptyLineMayComeFirst() throws {
        let message = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        let head = try #require(request("\r\n" + message).head)
        #expect(head.consumed == message.utf8.count + 2)
        #expect(head.bytes == Array(message.utf8))
        #expect(head.target == "/")
        #expect(request("\r\n\r\n" + message) == .refused(.malformed))
        #expect(request("\n" + message) == .refused(.malformed))
        #expect(request("\r" + message) == .refused(.malformed))
        #expect(request("\r\n") == .incomplete)
        #expect(request("") == .incomplete)
    }

    @Test(arguments: [
        "X-A: 1\r\n folded: 2", "X-A: 1\r\n\tfolded", "X-A : 1", "X-A\t: 1", ": 1", "X-A", "X A: 1", "X(A: 1", "X-\u{e9}: 1",
        "X-A: a\u{0}b", "X-A: a\rb", "X-A: a\nX-B: b", "X-A: \u{b}b", "X-A: a\u{7f}", "X-A: a\u{1b}", "X-A: a\r\r\nX-B: b",
        " X-A: 1", "\tX-A: 1", "\u{0}: 1", "X-A: 1\n", "X[]: 1", "X@: 1", "\"X\": 1", "X,Y: 1", "X{}: 1", "X/Y: 1",
    ])
    func malformedFields(lines: String) {
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.1\r\n\(lines)\r\nHost: a\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: ["\n", "\r\n\r", "\r\r\n"])
    func everyLineEndsInCRLF(end: String) {
        #expect(request("GET / HTTP/1.1\(end)Host: a\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.1\r\nHost: a\(end)X: y\r\n\r\n") == .refused(.malformed))
    }

    /// Case HD-10: odd but legal octets pass unchanged.
    @Test func oddValuesPass() throws {
        let values: [[UInt8]] = [
            Array("a\tb".utf8), Array("\"a, b\"; c".utf8), [0x80, 0xff], [0x7e, 0xff, 0x7e, 0x80, 0x21],
            [UInt8](repeating: 0x6c, count: 4000),
            Array(":::".utf8), [0x21],
        ]
        for value in values {
            let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Odd: ".utf8) + value + Array("\r\n\r\n".utf8)
            let head = RequestHead()
            let consumed = try HTTP1.parseRequest(bytes.span, limits: HeadLimits(), into: head)
            #expect(consumed == bytes.count)
            #expect(head.lines.count == 2)
            let parsed = array(head.bytes.span(head.lines[1].value))
            #expect(parsed == value)
        }
    }

    @Test func everyOctetOfAName() {
        let tchars = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for octet in UInt8.min...UInt8.max where octet != UInt8(ascii: ":") {
            for prefix in ["", "x", "abcdefg", "abcdefgh", "abcdefghijklm"] {
                let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n\(prefix)".utf8) + [octet] + Array("z: 1\r\n\r\n".utf8)
                #expect((request(bytes).head != nil) == tchars.contains(octet), "\(prefix) \(octet)")
            }
        }
    }

    @Test func everyOctetOfAValue() {
        for octet in UInt8.min...UInt8.max {
            for prefix in ["", "x", "abcdefg", "abcdefgh", "abcdefghijklm"] {
                let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: \(prefix)".utf8) + [octet] + Array("z\r\n\r\n".utf8)
                let isLegal = octet >= 0x20 && octet != 0x7f || octet == 0x09
                #expect((request(bytes).head != nil) == isLegal, "\(prefix) \(octet)")
            }
        }
    }

    @Test func everyOctetOfATarget() {
        for octet in UInt8.min...UInt8.max {
            for prefix in ["", "x", "abcdefg", "abcdefgh", "abcdefghijklm"] {
                let bytes = Array("GET /\(prefix)".utf8) + [octet] + Array("z HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
                #expect((request(bytes).head != nil) == (octet > 0x20 && octet != 0x7f), "\(prefix) \(octet)")
            }
        }
    }

    @Test func hostIsNeededOnceInHTTP11() {
        #expect(request("GET / HTTP/1.1\r\nX: y\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n") == .refused(.malformed))
        #expect(request("GET / HTTP/1.0\r\n\r\n").head?.version == .http10)
        #expect(request("GET / HTTP/1.1\r\nHost:\r\n\r\n").head?.fields == ["Host= [host]"])
    }

    @Test(arguments: [
        "Content-Type", "Content-Location", "Authorization", "Proxy-Authorization", "Max-Forwards", "Referer", "Origin", "Date",
        "Content-Length", "Transfer-Encoding",
    ])
    func singletons(name: String) {
        let value = name == "Transfer-Encoding" ? "chunked" : "1"
        let once = "POST / HTTP/1.1\r\nHost: a\r\n\(name): \(value)\r\n"
        #expect(request(once + "\r\n").head != nil)
        #expect(request(once + "\(name.lowercased()): \(value)\r\n\r\n") == .refused(.malformed))
    }

    @Test(arguments: ["Cookie", "Accept", "X-Any", "Via", "Connection", "X-Forwarded-For", "TE", "Expect", "Set-Cookie"])
    func listsMayBeRepeated(name: String) {
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\n\(name): a\r\n\(name): b\r\n\r\n").head?.fields.count == 3)
    }

    @Test func everySplitGivesTheSame() {
        let messages = [
            "POST /a?b HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTE: trailers\r\n"
                + "Content-Length: 5\r\n\r\nhello",
            "\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Long-Name-Of-A-Field: \t value with spaces \r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n folded\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "GET / FOO\r\n\r\n",
            "GET / HTTP/1.1\r\nX: y\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "b", count: 220) + "\u{1}\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "a: b\r\n", count: 9) + "\r\n",
        ]
        let tight = limits(headerBytes: 200, headerCount: 8, uriBytes: 64)
        for message in messages {
            let bytes = Array(message.utf8)
            let whole = request(bytes, limits: tight)
            #expect(whole != .incomplete)
            var firstAnswer: Outcome<ParsedRequest>?
            for count in 0...bytes.count {
                let part = request(Array(bytes[..<count]), limits: tight)
                if part == .incomplete {
                    #expect(firstAnswer == nil, "answered, then not: \(message) at \(count)")
                    continue
                }
                firstAnswer = part
                #expect(part == whole, "\(message) at \(count)")
                if let consumed = part.head?.consumed { #expect(count >= consumed) }
            }
        }
    }
}
