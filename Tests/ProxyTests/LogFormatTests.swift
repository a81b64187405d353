import HTTP
import Testing

@testable import Proxy

struct LogFormatTests {
    private static let time: Int64 = 1_782_907_200_123  // 2026-07-01T12:00:00.123Z

    private func text(_ buffer: ByteBuffer) -> String { buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

    private func escaped(_ bytes: [UInt8], _ escaping: LogEscaping) -> String {
        let out = ByteBuffer()
        escaping.append(bytes.span, to: out)
        return text(out)
    }

    private func record() -> AccessRecord {
        var record = AccessRecord()
        record.reset(startedAt: 1_000_000)
        record.endedAt = 1_012_345
        record.status = 200
        record.bytesIn = 5
        record.bytesOut = 18_446_744_073_709_551_615
        record.upstreamAsked(at: 1_001_000, overReusedConnection: false)
        record.upstreamAsked(at: 1_002_000, overReusedConnection: true)
        record.upstreamAnswered(201, at: 1_005_007)
        return record
    }

    private func line(
        _ record: AccessRecord, query: String = "a=1&token=geheim&b", path: String = "/x", style: LogStyle
    ) -> String {
        let buffers = ["r1", "192.0.2.1", "GET", "api.example.com", path, query, "api", "app"].map { text in
            let buffer = ByteBuffer()
            buffer.append(text: text)
            return buffer
        }
        var texts = AccessTexts()
        texts.requestID = buffers[0].span
        texts.clientAddress = buffers[1].span
        texts.method = buffers[2].span
        texts.host = buffers[3].span
        texts.path = buffers[4].span
        texts.query = buffers[5].span
        texts.rule = buffers[6].span
        texts.upstream = buffers[7].span
        let out = ByteBuffer()
        LogFormatter().write(record, texts, style: style, time: Self.time, to: out)
        return text(out)
    }

    @Test func writesAnAccessLineAsJSON() {
        #expect(
            line(record(), style: .json) == """
                {"ts":"2026-07-01T12:00:00.123Z","level":"info","msg":"request","request_id":"r1","client_ip":"192.0.2.1",\
                "method":"GET","host":"api.example.com","path":"/x","query_keys":["a","token"],"proto":"HTTP/1.1",\
                "status":200,"bytes_in":5,"bytes_out":18446744073709551615,"dur_ms":12.345,"upstream":"app",\
                "upstream_status":201,"upstream_dur_ms":3.007,"attempt":2,"conn_reused":true,"rule":"api"}

                """)
    }

    @Test func leavesOutWhatThereIsNot() {
        var record = AccessRecord()
        record.reset(startedAt: 10)
        record.endedAt = 5
        record.status = 400
        record.reason = "bad_request"
        let out = ByteBuffer()
        var texts = AccessTexts()
        texts.version = .http10
        LogFormatter().write(record, texts, style: .json, time: 0, to: out)
        #expect(
            text(out) == """
                {"ts":"1970-01-01T00:00:00.000Z","level":"info","msg":"request","proto":"HTTP/1.0","status":400,\
                "bytes_in":0,"bytes_out":0,"dur_ms":0.000,"reason":"bad_request"}

                """)
    }

    @Test func writesAnAccessLineAsText() {
        #expect(
            line(record(), style: .text) == """
                12:00:00.123Z 200 GET         12.345ms api.example.com/x?a&token rule=api upstream=app upstream_status=201 \
                upstream_dur_ms=3.007 attempt=2 client_ip=192.0.2.1 request_id=r1

                """)
        #expect(line(record(), style: .colour).contains("\u{1b}[32m200\u{1b}[0m GET"))
    }

    @Test func neverShowsValuesOfAQuery() {
        for style in [LogStyle.json, .text, .colour] {
            let line = line(record(), query: "geheim&k=geheim&=geheim&&x=geheim=geheim", style: style)
            #expect(!line.contains("geheim"))
            #expect(line.contains(style == .json ? "[\"k\",\"x\"]" : "/x?k&x"))
        }
    }

    @Test func boundsQueryNames() {
        let many = (0..<100).map { "k\($0)=1" }.joined(separator: "&")
        #expect(line(record(), query: many, style: .json).contains("\"k31\"],\"proto\""))
        let long = String(repeating: "n", count: 65) + "=1"
        #expect(!line(record(), query: long, style: .json).contains("query_keys"))
    }

    @Test(arguments: [
        ("plain", "plain", "plain"),
        ("a\"b\\c", "a\\\"b\\\\c", "a\\\"b\\\\c"),
        ("a\r\n\u{1b}[2J\0\u{7f}", "a\\u000d\\u000a\\u001b[2J\\u0000\\u007f", "a\\x0d\\x0a\\x1b[2J\\x00\\x7f"),
        ("ünï — 😀", "ünï — 😀", "ünï — 😀"),
        ("\u{85}\u{9b}2J", "\\u00c2\\u0085\\u00c2\\u009b2J", "\\xc2\\x85\\xc2\\x9b2J"),
    ])
    func escapesText(input: String, json: String, text: String) {
        #expect(escaped(Array(input.utf8), .json) == json)
        #expect(escaped(Array(input.utf8), .text) == text)
    }

    @Test(
        arguments: [
            ([0xff], "\\u00ff"),
            ([0x61, 0xc3], "a\\u00c3"),
            ([0xc0, 0xaf], "\\u00c0\\u00af"),
            ([0xed, 0xa0, 0x80], "\\u00ed\\u00a0\\u0080"),
            ([0xf4, 0x90, 0x80, 0x80], "\\u00f4\\u0090\\u0080\\u0080"),
            ([0xe2, 0x82, 0x41], "\\u00e2\\u0082A"),
            ([0xf0, 0x9f, 0x98], "\\u00f0\\u009f\\u0098"),
        ] as [([UInt8], String)])
    func escapesWhatIsNoUTF8(bytes: [UInt8], json: String) {
        #expect(escaped(bytes, .json) == json)
    }

    @Test func everyByteMakesAWholeLine() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let out = escaped([first, second, 0x41], .json)
                #expect(String(validating: Array(out.utf8), as: UTF8.self) != nil)
                #expect(!out.utf8.contains { $0 < 0x20 || $0 == 0x7f })
            }
        }
    }

    @Test func cutsLongTexts() {
        let path = "/" + String(repeating: "é", count: 2_000)
        let out = escaped(Array(path.utf8), .json)
        #expect(out == "/" + String(repeating: "é", count: 1_023) + "...")
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_767_225_599_001, "2025-12-31T23:59:59.001Z"),
        ] as [(Int64, String)])
    func writesDates(time: Int64, date: String) {
        let out = ByteBuffer()
        LogFormatter().write(LogLine(.info, "x"), style: .json, time: time, to: out)
        #expect(text(out) == "{\"ts\":\"\(date)\",\"level\":\"info\",\"msg\":\"x\"}\n")
    }

    @Test func writesOtherLines() {
        let line = LogLine(.warn, "say \"hi\"", [("port", 80), ("ok", true), ("why", "two words"), ("n", -5)])
        let out = ByteBuffer()
        let formatter = LogFormatter()
        formatter.write(line, style: .json, time: Self.time, to: out)
        #expect(
            text(out) == """
                {"ts":"2026-07-01T12:00:00.123Z","level":"warn","msg":"say \\"hi\\"","port":80,"ok":true,"why":"two words","n":-5}

                """)
        out.clear()
        formatter.write(line, style: .text, time: Self.time, to: out)
        #expect(text(out) == "12:00:00.123Z warn  say \\\"hi\\\" port=80 ok=true why=\"two words\" n=-5\n")
    }
}
