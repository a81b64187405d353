import HTTP
import Testing

/// What a decoder makes of a message that comes in reads of `step` bytes, each from its own buffer.
struct Decoded: Equatable {
    var content: [UInt8] = []
    var consumed = 0
    var isComplete = false
    var error: HTTPError?
    var trailers: [String] = []

    init(_ bytes: [UInt8], step: Int = .max, limits: HeadLimits = HeadLimits()) {
        var decoder = ChunkedDecoder(limits: limits)
        decode(bytes, step: step, with: &decoder)
    }

    init(_ bytes: [UInt8], step: Int = .max, with decoder: inout ChunkedDecoder) {
        decode(bytes, step: step, with: &decoder)
    }

    private mutating func decode(_ bytes: [UInt8], step: Int, with decoder: inout ChunkedDecoder) {
        do throws(HTTPError) {
            while consumed < bytes.count && !isComplete {
                let piece = Array(bytes[consumed..<(bytes.count - consumed > step ? consumed + step : bytes.count)])
                try decode(piece: piece, with: &decoder)
            }
            if isComplete { trailers = describe(decoder.trailers.lines, in: decoder.trailers.bytes) }
        } catch {
            self.error = error
            consumed = 0  // how much was taken before the fault depends on the reads
        }
    }

    private mutating func decode(piece: [UInt8], with decoder: inout ChunkedDecoder) throws(HTTPError) {
        var position = 0
        defer { consumed += position }
        while true {
            switch try decoder.next(piece.span, from: &position) {
            case .data(let start, let count):
                #expect(count > 0 && start >= 0 && start + count == position && position <= piece.count)
                content += piece[start..<start + count]
            case .needMore:
                #expect(position == piece.count)
                return
            case .end:
                isComplete = true
                return
            }
        }
    }
}

struct ChunkedDecoderTests {
    @Test(arguments: [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("0000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        ("A\r\n0123456789\r\n000\r\n\r\n", "0123456789"), ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", "hi"),
        ("00000000000000000000000000000001\r\nx\r\n0\r\n\r\n", "x"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
    ])
    func contents(message: String, content: String) {
        let decoded = Decoded(Array((message + "GET /next").utf8))
        #expect(decoded.error == nil)
        #expect(decoded.isComplete)
        #expect(decoded.content == Array(content.utf8))
        #expect(decoded.consumed == message.utf8.count)
    }

    /// Cases FR-13b: extensions are checked and dropped.
    @Test(arguments: [
        ";a", ";a=b", ";a=\"q\"", ";a=b;c", " ;a", "\t ; \ta\t = \tb ;c", ";a=\"\"", ";a=\"x;y=\\\"z\\\\\"", ";a=\"\u{e9}\t\"",
        ";a=\"q\" ;b", ";a ;b", ";a=b ; c=d",
    ])
    func extensions(text: String) {
        let decoded = Decoded(Array("5\(text)\r\nhello\r\n0\(text)\r\n\r\n".utf8))
        #expect(decoded.error == nil)
        #expect(decoded.content == Array("hello".utf8))
        #expect(decoded.isComplete)
    }

    @Test(arguments: [
        "\r\n", "x\r\n", "-5\r\nhello\r\n", "+5\r\nhello\r\n", "0x5\r\nhello\r\n", " 5\r\nhello\r\n", "5\nhello\r\n",
        "5\r\rhello", "5 \r\nhello\r\n", "5\t\r\nhello",
        "5\r\nhelloXX0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r0\r\n\r\n", "5\r\nhello0\r\n\r\n",
        "1these-bytes\r\nZ\r\n0\r\n\r\n",
        "ffffffffffffffff0\r\nhello", "10000000000000005\r\nhello", "8000000000000000\r\nhello",
        "000000000000000000000000000000001\r\nx",
        "5;a=\"x\r\nY\"\r\nhello", "5;a\nX\r\nhello", "5;a\rX\r\nhello", "5;\r\nhello", "5;=b\r\nhello", "5;a=\r\nhello",
        "5;a=b=c\r\nhello", "5;a b\r\nhello",
        "5;a=\"b\r\nhello", "5;a=\"b\"c\r\nhello", "5;a \r\nhello", "5;a=b \r\nhello", "5;a=\"b\" \r\nhello", "5; \r\nhello",
        "5a;,\r\nhello", "5;a=\u{0}\r\nhello",
        "5;a=\"\u{1}\"\r\nhello", "5;a=\"\\\r\n\"\r\nhello", "5;\u{e9}\r\nhello", "5;a=\"\\\u{7f}\"\r\nhello", "5,\r\nhello",
        "5=\r\nhello", "5 a\r\nhello",
        "0\r\nX\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\r\n folded\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: a\rb\r\n\r\n",
        "0\r\nX: a\nY: b\r\n\r\n",
        "0\r\nX: \u{0}\r\n\r\n", "0\r\n: y\r\n\r\n", "0\r\n\n", "0\r\n\rX", "0\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX: y\r\r\n",
    ])
    func malformed(message: String) {
        for step in [Int.max, 1, 2, 3] {
            let decoded = Decoded(Array(message.utf8), step: step)
            #expect(decoded.error == .malformed, "step \(step)")
            #expect(!decoded.isComplete)
        }
    }

    /// Case FR-10: a size beyond 32 bits is neither cut off nor refused.
    @Test func largeSizesAreCounted() {
        for size in ["100000005", "7fffffffffffffff"] {
            let decoded = Decoded(Array("\(size)\r\nhello\r\n0\r\n\r\n".utf8))
            #expect(decoded.error == nil)
            #expect(!decoded.isComplete)
            #expect(decoded.content == Array("hello\r\n0\r\n\r\n".utf8))
        }
    }

    @Test func trailersAreCollected() {
        let message = "2\r\nok\r\n0\r\nX-Sum: 42\r\nX-Other:\t a b \r\nX-Sum:7\r\n\r\n"
        let whole = Decoded(Array(message.utf8))
        #expect(whole.isComplete)
        #expect(whole.trailers == ["X-Sum=42 [other]", "X-Other=a b [other]", "X-Sum=7 [other]"])
        for step in 1...10 { #expect(Decoded(Array(message.utf8), step: step) == whole) }
    }

    @Test func trailersAreBounded() {
        func trailer(_ count: Int) -> [UInt8] { Array("0\r\nX: \(String(repeating: "a", count: count))\r\n\r\n".utf8) }
        let tight = limits(headerBytes: 100, headerCount: 2)
        #expect(Decoded(trailer(97), limits: tight).isComplete)
        for step in [Int.max, 1, 7] {
            #expect(Decoded(trailer(98), step: step, limits: tight).error == .headerTooLarge)
            #expect(Decoded(trailer(1000), step: step, limits: tight).error == .headerTooLarge)
        }
        #expect(Decoded(Array("0\r\na:\r\nb:\r\n\r\n".utf8), limits: tight).isComplete)
        #expect(Decoded(Array("0\r\na:\r\nb:\r\nc:\r\n\r\n".utf8), limits: tight).error == .headerTooLarge)
    }

    @Test func extensionsAreBounded() {
        func chunk(_ length: Int) -> String { "1;" + String(repeating: "a", count: length - 1) + "\r\nx\r\n" }
        #expect(Decoded(Array((chunk(1024) + "0\r\n\r\n").utf8)).isComplete)
        #expect(Decoded(Array((chunk(1025) + "0\r\n\r\n").utf8)).error == .malformed)
        #expect(Decoded(Array((String(repeating: chunk(1024), count: 16) + "0\r\n\r\n").utf8)).isComplete)
        #expect(Decoded(Array((String(repeating: chunk(1024), count: 16) + "0;a\r\n\r\n").utf8)).error == .malformed)
    }

    @Test func everySplitGivesTheSame() {
        let bytes = Array("00A;a=\"b\\\"c\" ; d=e\r\n0123456789\r\n3\r\nabc\r\n000;z\r\nX-Sum: 42\r\nY: z\r\n\r\nGET".utf8)
        let whole = Decoded(bytes)
        #expect(whole.isComplete)
        #expect(whole.consumed == bytes.count - 3)
        #expect(whole.content == Array("0123456789abc".utf8))
        for step in 1...bytes.count { #expect(Decoded(bytes, step: step) == whole, "step \(step)") }
        for cut in 0..<whole.consumed {
            let part = Decoded(Array(bytes[..<cut]))
            #expect(part.error == nil && !part.isComplete && part.consumed == cut, "cut at \(cut)")
        }
    }

    @Test func anErrorIsFinal() {
        var decoder = ChunkedDecoder()
        #expect(Decoded(Array("x".utf8), with: &decoder).error == .malformed)
        #expect(Decoded(Array("0\r\n\r\n".utf8), with: &decoder).error == .malformed)
        var position = 0
        #expect(throws: HTTPError.malformed) {
            let empty: [UInt8] = []
            _ = try decoder.next(empty.span, from: &position)
        }
    }

    @Test func theEndIsFinal() throws {
        var decoder = ChunkedDecoder()
        #expect(Decoded(Array("0\r\n\r\n".utf8), with: &decoder).isComplete)
        var position = 0
        let event = try decoder.next(Array("5\r\n".utf8).span, from: &position)
        #expect(event == .end)
        #expect(position == 0)
        #expect(decoder.isAtEnd)
    }

    @Test func itIsReused() {
        var decoder = ChunkedDecoder()
        let first = Array("2\r\nok\r\n0\r\nX: y\r\n\r\n".utf8)
        let second = Array("1;a\r\nz\r\n0\r\n\r\n".utf8)
        #expect(Decoded(first, with: &decoder).trailers == ["X=y [other]"])
        decoder.reset(limits: HeadLimits())
        #expect(Decoded(second, with: &decoder) == Decoded(second))
        decoder.reset(limits: HeadLimits())
        #expect(Decoded(first, with: &decoder) == Decoded(first))
    }

    /// What is written in chunks of any size is read as it was.
    @Test(arguments: [1, 2, 15, 16, 17, 255, 256, 4096])
    func roundTrip(size: Int) {
        let content = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let buffer = ByteBuffer()
        for start in stride(from: 0, to: content.count, by: size) {
            let chunk = Array(content[start..<min(start + size, content.count)])
            buffer.append(hexadecimal: UInt(chunk.count))
            buffer.append("\r\n")
            buffer.append(chunk)
            buffer.append("\r\n")
        }
        buffer.append("0\r\n\r\n")
        for step in [Int.max, 1, 100] {
            let decoded = Decoded(array(buffer.span), step: step)
            #expect(decoded.isComplete)
            #expect(decoded.content == content)
        }
    }
}
