import HTTP
import Testing

/// Fields in, the text of HTTP/1.1 out.
struct FieldBlockTests {
    typealias Field = (name: String, value: String)

    static let get: [Field] = [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/p?q")]

    private func block(
        _ kind: FieldBlock.Kind, _ fields: [Field], ends: Bool = true, bodyless: Bool = false, limits: HeadLimits = HeadLimits()
    ) -> FieldBlock {
        let block = FieldBlock()
        block.begin(kind, limits: limits)
        for field in fields {
            let name = Array(field.name.utf8), value = Array(field.value.unicodeScalars.map { UInt8($0.value) })
            block.add(name.span, value.span)
        }
        let key = ByteBuffer()
        key.append("KEY")
        block.finish(endsMessage: ends, bodyless: bodyless, key: key)
        return block
    }

    private func text(_ block: FieldBlock) -> String {
        block.fault == nil ? String(decoding: array(block.text.span), as: UTF8.self) : "\(block.fault!)"
    }

    @Test func aRequestIsAHeadOfHTTP1() {
        #expect(text(block(.request, Self.get)) == "GET /p?q HTTP/1.1\r\nhost: a.test\r\n\r\n")
        let fields = Self.get + [("x-a", "1"), ("cookie", "a=1"), ("te", "trailers"), ("cookie", "b=2"), ("x-empty", "")]
        #expect(
            text(block(.request, fields))
                == "GET /p?q HTTP/1.1\r\nhost: a.test\r\nx-a: 1\r\nte: trailers\r\nx-empty: \r\ncookie: a=1; b=2\r\n\r\n")
    }

    @Test func contentOfUnknownLengthIsChunked() {
        let post: [Field] = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
        #expect(text(block(.request, post, ends: false)) == "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
        #expect(
            text(block(.request, post + [("content-length", "3")], ends: false))
                == "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
        #expect(text(block(.request, post)) == "POST / HTTP/1.1\r\nhost: a\r\n\r\n")
    }

    @Test func anExtendedConnectIsAnUpgrade() {
        let fields: [Field] = [
            (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":authority", "a"), (":path", "/w"),
        ]
        #expect(
            text(block(.request, fields, ends: false))
                == "GET /w HTTP/1.1\r\nhost: a\r\nsec-websocket-key: KEY\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n")
        #expect(text(block(.request, fields, ends: true)) == "malformed")
        #expect(
            text(block(.request, [(":method", "CONNECT"), (":authority", "a:1")], ends: false))
                == "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n")
    }

    @Test func theSameHostTwiceIsOne() {
        #expect(text(block(.request, Self.get + [("host", "A.test")])) == "GET /p?q HTTP/1.1\r\nhost: a.test\r\n\r\n")
        #expect(text(block(.request, Self.get + [("host", "b.test")])) == "malformed")
        let bare: [Field] = [(":method", "GET"), (":scheme", "https"), (":path", "/")]
        #expect(text(block(.request, bare + [("host", "b.test")])) == "GET / HTTP/1.1\r\nhost: b.test\r\n\r\n")
    }

    @Test(arguments: [
        (":method", "G T"), (":method", ""), (":path", "/a b"), (":path", "/a\r\nX: y"), (":path", "a"), (":path", "*"),
        (":path", ""),
        (":path", "http://a/"), (":authority", ""), (":authority", "a b"), (":authority", "a\nb"), (":scheme", "ftp"),
        (":scheme", ""),
        (":status", "200"), (":other", "x"),
    ])
    func pseudoFieldsThatDoNotFitAreMalformed(name: String, value: String) {
        let fields = Self.get.filter { $0.name != name } + [(name, value)]
        #expect(text(block(.request, fields)) == "malformed")
    }

    @Test(arguments: [
        ("X-A", "1"), ("x a", "1"), ("x:a", "1"), ("", "1"), ("x\u{0}", "1"), ("x", "a\r"), ("x", "a\nb"), ("x", "\u{0}"),
        ("x", " a"),
        ("x", "a\t"), ("connection", "x"), ("keep-alive", "1"), ("proxy-connection", "x"), ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"), ("te", "gzip"), (":path", "/"), (":method", "GET"),
    ])
    func fieldsThatAreNoneOfHTTP2AreMalformed(name: String, value: String) {
        #expect(text(block(.request, Self.get + [(name, value)])) == "malformed")
        #expect(text(block(.request, Self.get + [("x", "1"), (name, value)])) == "malformed")
    }

    @Test func noFieldIsMoreThanOneLine() {
        for octet in UInt8.min...UInt8.max {
            let value = [UInt8(ascii: "a"), octet, UInt8(ascii: "b")]
            let block = FieldBlock()
            block.begin(.request, limits: HeadLimits())
            for field in Self.get { block.add(Array(field.name.utf8).span, Array(field.value.utf8).span) }
            block.add([UInt8(ascii: "x")].span, value.span)
            block.finish(endsMessage: true)
            guard block.fault == nil else { continue }
            let head = RequestHead()
            #expect((try? HTTP1.parseRequest(block.text.span, limits: HeadLimits(), into: head)) == block.text.count)
            #expect(head.lines.count == 2)
        }
    }

    @Test func allThatComesIsCounted() {
        var limits = HeadLimits()
        limits.headerBytes = 200
        limits.headerCount = 3
        #expect(text(block(.request, Self.get + [("x", String(repeating: "y", count: 200))], limits: limits)) == "tooLarge")
        #expect(text(block(.request, Self.get + [("a", ""), ("b", "")], limits: limits)) != "tooLarge")
        #expect(text(block(.request, Self.get + [("a", ""), ("b", ""), ("c", "")], limits: limits)) == "tooLarge")
        #expect(text(block(.request, Self.get + Array(repeating: ("cookie", ""), count: 30), limits: limits)) == "tooLarge")
        #expect(!block(.request, Self.get + [("x", String(repeating: "y", count: 4000))], limits: limits).isFlood)
        let many = Array(repeating: Field("x", String(repeating: "y", count: 4000)), count: 20)
        #expect(block(.request, Self.get + many, limits: limits).isFlood)
    }

    @Test func aResponseIsAHeadOfHTTP1() {
        #expect(
            text(block(.response, [(":status", "200"), ("server", "x")], ends: false))
                == "HTTP/1.1 200 OK\r\nserver: x\r\ntransfer-encoding: chunked\r\n\r\n")
        #expect(text(block(.response, [(":status", "200")])) == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        #expect(text(block(.response, [(":status", "200")], bodyless: true)) == "HTTP/1.1 200 OK\r\n\r\n")
        #expect(
            text(block(.response, [(":status", "103"), ("link", "x")], ends: false))
                == "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        for status in ["101", "20", "2000", "abc", "", "099"] {
            #expect(text(block(.response, [(":status", status)])) == "malformed")
        }
        #expect(text(block(.response, [("server", "x")])) == "malformed")
        #expect(text(block(.response, [(":status", "200"), ("connection", "close")])) == "malformed")
    }

    @Test func trailersAreLines() {
        #expect(text(block(.trailers, [("x-sum", "1"), ("y", "2")])) == "x-sum: 1\r\ny: 2\r\n")
        #expect(text(block(.trailers, [("x-sum", "1")], ends: false)) == "malformed")
        #expect(text(block(.trailers, [(":path", "/")])) == "malformed")
    }

    @Test func nothingOfOneMessageIsLeftForTheNext() {
        let block = FieldBlock()
        block.begin(.request, limits: HeadLimits())
        for field in Self.get { block.add(Array(field.name.utf8).span, Array(field.value.utf8).span) }
        block.finish(endsMessage: true)
        block.begin(.request, limits: HeadLimits())
        block.finish(endsMessage: true)
        #expect(block.fault == .malformed)
    }
}
