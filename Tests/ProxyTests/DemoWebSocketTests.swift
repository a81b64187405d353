import HTTP
import Testing

@testable import Proxy

@Suite struct WebSocketHandshakeTests {
    private static let request =
        "GET /websocket HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

    private func parse(_ text: String) throws -> RequestHead {
        let head = RequestHead()
        let octets = Array((text + "\r\n").utf8)
        let consumed = try HTTP1.parseRequest(octets.span, limits: HeadLimits(), into: head)
        #expect(consumed == octets.count)
        return head
    }

    private func shown(_ head: RequestHead, _ range: ByteRange) -> String {
        String(decoding: (range.start..<range.start + range.length).map { head.bytes[Int($0)] }, as: UTF8.self)
    }

    @Test func aProperHandshakeIsAccepted() throws {
        let head = try parse(Self.request)
        guard case .accept(let upgrade, let key) = WebSocketHandshake.judge(head) else {
            Issue.record("not accepted")
            return
        }
        #expect(shown(head, upgrade) == "WebSocket")
        // RFC 6455 section 1.3
        #expect(text { WebSocketHandshake.appendAccept(for: head.bytes.span(key), to: $0) } == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test(arguments: [
        ("GET /", "POST /", WebSocketHandshake.Verdict.notAsked),
        ("HTTP/1.1", "HTTP/1.0", .notAsked),
        ("keep-alive, Upgrade", "keep-alive", .notAsked),
        ("Upgrade: WebSocket", "Upgrade: h2c", .notAsked),
        ("Version: 13", "Version: 8", .otherVersion),
        ("Sec-WebSocket-Version: 13\r\n", "", .otherVersion),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", .malformed),
        ("25jZQ==", "25jZQ=", .malformed),
        ("dGhl", "dG=l", .malformed),
        ("dGhl", "dGhldGhl", .malformed),
        ("Sec-WebSocket-Version", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version", .malformed),
    ])
    func whatIsNoProperHandshakeIsNot(part: String, instead: String, verdict: WebSocketHandshake.Verdict) throws {
        let range = try #require(Self.request.firstRange(of: part))
        let head = try parse(Self.request.replacingSubrange(range, with: instead))
        #expect(WebSocketHandshake.judge(head) == verdict)
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
        (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
    ])
    func digests(message: String, digest: String) {
        let hexadecimal = SHA1.digest(of: Array(message.utf8).span).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }
        #expect(hexadecimal.joined() == digest)
    }
}

@Suite struct WebSocketEchoTests {
    private static let key: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]

    /// A client's frame, masked.
    private func frame(_ start: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = [start]
        switch payload.count {
        case ...125: octets.append(0x80 | UInt8(payload.count))
        case ...0xffff: octets += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
        default: octets += [0x80 | 127] + stride(from: 56, through: 0, by: -8).map { UInt8(payload.count >> $0 & 0xff) }
        }
        return octets + Self.key + payload.enumerated().map { $1 ^ Self.key[$0 % 4] }
    }

    private func echo(_ input: [UInt8], in pieces: Int? = nil) -> (output: [UInt8], outcome: WebSocketEcho.Outcome) {
        let echo = WebSocketEcho()
        let out = ByteBuffer()
        var outcome = WebSocketEcho.Outcome.open
        var position = 0
        while position < input.count {
            let end = min(input.count, position + (pieces ?? input.count))
            outcome = echo.receive(Array(input[position..<end]).span, into: out)
            position = end
        }
        return (octets(out), outcome)
    }

    private func closing(_ code: UInt16) -> [UInt8] { [0x88, 2, UInt8(code >> 8), UInt8(code & 0xff)] }

    @Test func theExampleOfTheStandardComesBack() {
        // RFC 6455 section 5.7
        let result = echo([0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
        #expect(result.output == [0x81, 0x05] + Array("Hello".utf8))
        #expect(result.outcome == .open)
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65535, 65536, 70000])
    func framesOfEveryLengthComeBack(length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let header: [UInt8] =
            switch length {
            case ...125: [0x82, UInt8(length)]
            case ...0xffff: [0x82, 126, UInt8(length >> 8), UInt8(length & 0xff)]
            default: [0x82, 127, 0, 0, 0, 0, 0, 1, UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
            }
        let result = echo(frame(0x82, payload))
        #expect(result.output == header + payload)
        #expect(result.outcome == .open)
    }

    @Test func aFrameInPiecesBecomesFragments() {
        let result = echo(frame(0x81, Array("Hello".utf8)), in: 8)  // six octets of header
        #expect(result.output == [0x01, 2] + Array("He".utf8) + [0x80, 3] + Array("llo".utf8))
    }

    @Test func fragmentsStayOneMessage() {
        let result = echo(frame(0x01, Array("a".utf8)) + frame(0x00, []) + frame(0x80, Array("b".utf8)) + frame(0x82, [9]))
        #expect(result.output == [0x01, 1, 0x61, 0x80, 1, 0x62, 0x82, 1, 9])
    }

    @Test func anEmptyMessageInFragmentsIsOneFrame() {
        #expect(echo(frame(0x01, []) + frame(0x80, [])).output == [0x81, 0])
    }

    @Test func pingsAreAnsweredWithinAMessage() {
        let result = echo(frame(0x01, [0x61]) + frame(0x89, [1, 2]) + frame(0x8a, [3]) + frame(0x89, []) + frame(0x80, [0x62]))
        #expect(result.output == [0x01, 1, 0x61, 0x8a, 2, 1, 2, 0x8a, 0, 0x80, 1, 0x62])
    }

    @Test(arguments: 1...9)
    func piecesOfAnySizeGiveTheSameMessages(size: Int) {
        let messages = [Array("Grüße, 世界".utf8), [], Array(repeating: 0x78, count: 300)]
        let input = messages.flatMap { frame(0x81, $0) } + frame(0x89, [5]) + frame(0x88, [0x03, 0xe8])
        let result = echo(input, in: size)
        #expect(result.outcome == .closed)
        var received: [[UInt8]] = [], current: [UInt8] = [], pongs = 0, position = 0
        while position + 1 < result.output.count {
            let start = result.output[position], short = Int(result.output[position + 1])
            let long = short == 126 ? Int(result.output[position + 2]) << 8 | Int(result.output[position + 3]) : short
            position += short == 126 ? 4 : 2
            let payload = Array(result.output[position..<position + long])
            position += long
            switch start & 0x0f {
            case 10: pongs += 1
            case 8: #expect(payload == [0x03, 0xe8])
            default:
                current += payload
                if start & 0x80 != 0 {
                    received.append(current)
                    current = []
                }
            }
        }
        #expect(received == messages)
        #expect(pongs == 1)
    }

    @Test(
        arguments: [
            ([], [0x88, 0]),
            ([0x03, 0xe8], [0x88, 2, 0x03, 0xe8]),
            ([0x03, 0xe9] + Array("bye".utf8), [0x88, 2, 0x03, 0xe9]),
            ([0x0f, 0xa0], [0x88, 2, 0x0f, 0xa0]),  // 4000
            ([0x03], [0x88, 2, 0x03, 0xea]),  // half a code: 1002
            ([0x03, 0xed], [0x88, 2, 0x03, 0xea]),  // 1005 says that there was none
            ([0x03, 0xe7], [0x88, 2, 0x03, 0xea]),  // 999
            ([0x13, 0x88], [0x88, 2, 0x03, 0xea]),  // 5000
            ([0x03, 0xe8, 0xff], [0x88, 2, 0x03, 0xef]),  // 1007
            ([0x03, 0xe8, 0xc3], [0x88, 2, 0x03, 0xef]),
        ] as [([UInt8], [UInt8])])
    func closingIsAnswered(payload: [UInt8], answer: [UInt8]) {
        let result = echo(frame(0x88, payload) + frame(0x81, [0x61]))
        #expect(result.output == answer)
        #expect(result.outcome == .closed)
    }

    @Test(
        arguments: [
            [0x81, 0x05],  // not masked
            [0xc1, 0x80], [0xa1, 0x80], [0x91, 0x80],  // extension bits
            [0x83, 0x80], [0x8b, 0x80], [0x8f, 0x80],  // opcodes that are not defined
            [0x80, 0x80], [0x00, 0x80],  // a continuation of nothing
            [0x09, 0x80], [0x08, 0x80],  // control frames are whole
            [0x89, 0xfe],  // and short
            [0x82, 0xfe, 0x00, 0x7d, 0, 0, 0, 0],  // 125 in the longer form
            [0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0],  // 65535 in the longest
            [0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],  // the highest bit
        ] as [[UInt8]])
    func whatIsNoFrameEndsTheConnection(input: [UInt8]) {
        let result = echo(input)
        #expect(result.output == closing(1002))
        #expect(result.outcome == .closed)
    }

    @Test func aMessageWithinAMessageEndsTheConnection() {
        let result = echo(frame(0x01, [0x61]) + frame(0x81, [0x62]))
        #expect(result.output == [0x01, 1, 0x61] + closing(1002))
    }

    @Test func aMessageBeyondTheBoundEndsTheConnection() {
        let length = WebSocketEcho.largestMessage
        let octets = stride(from: 56, through: 0, by: -8).map { UInt8((length + 1) >> UInt64($0) & 0xff) }
        let result = echo([0x82, 0xff] + octets + Self.key)
        #expect(result.output == closing(1009))
        // Also when it comes in fragments.
        let most = stride(from: 56, through: 0, by: -8).map { UInt8(length >> UInt64($0) & 0xff) }
        #expect(echo(frame(0x02, [1]) + [0x80, 0xff] + most + Self.key).output == [0x02, 1, 1] + closing(1009))
    }

    @Test(arguments: [1, 3, 100])
    func textThatIsNoUTF8EndsTheConnection(size: Int) {
        let result = echo(frame(0x81, Array("abc".utf8) + [0xed, 0xa0, 0x80]), in: size)
        #expect(result.output.suffix(4) == closing(1007)[...])
        #expect(result.outcome == .closed)
        // Binary messages may hold anything.
        #expect(echo(frame(0x82, [0xff, 0xfe])).output == [0x82, 2, 0xff, 0xfe])
    }

    @Test func aScalarMayBeCutByFragmentsButNotByTheEnd() {
        #expect(echo(frame(0x01, [0xc3]) + frame(0x80, [0xa9])).output == [0x01, 1, 0xc3, 0x80, 1, 0xa9])
        #expect(echo(frame(0x01, [0xc3]) + frame(0x80, [])).output == [0x01, 1, 0xc3] + closing(1007))
        #expect(echo(frame(0x81, [0xc3])).output == closing(1007))
    }
}

extension String {
    fileprivate func replacingSubrange(_ range: Range<Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
