import HTTP
import Testing

@testable import Codings

@Suite struct FastEncoderTests {
    private static func decoded(_ coding: ContentCoding, _ buffer: ByteBuffer) throws -> [UInt8] {
        let decoder = try ContentDecoder(coding)
        let out = ByteBuffer()
        var position = 0
        while try decoder.decode(buffer.span, from: &position, into: out, atMost: 64 * 1024) == .hasMore {}
        var bytes: [UInt8] = []
        for index in 0..<out.count { bytes.append(out[index]) }
        return bytes
    }

    /// Text that repeats itself, and noise that does not.
    private static func content(_ count: Int) -> [UInt8] {
        var state: UInt32 = 7
        return (0..<count).map { index in
            state = state &* 1_664_525 &+ 1_013_904_223
            return index % 3000 < 2000 ? UInt8(ascii: "a") + UInt8(index % 17) : UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    @Test(arguments: ContentCoding.allCases)
    func whatGoesInComesOut(coding: ContentCoding) throws {
        let encoder = try ContentEncoder(fast: coding)
        for count in [0, 1, 100, 5_000, 300_000] {
            let bytes = Self.content(count)
            for size in [7, 4_096, 65_536] where count / size < 2_000 {
                let out = ByteBuffer(capacity: 16)
                var position = 0
                while position < count {
                    let slice = Array(bytes[position..<min(position + size, count)])
                    try encoder.append(slice.span, to: out)
                    position += slice.count
                }
                try encoder.finish(to: out)
                #expect(try Self.decoded(coding, out) == bytes)
                try encoder.reset()
            }
        }
    }

    @Test(arguments: ContentCoding.allCases)
    func whatIsFlushedCanBeReadAtOnce(coding: ContentCoding) throws {
        let encoder = try ContentEncoder(fast: coding)
        let bytes = Self.content(200_000)
        let out = ByteBuffer(capacity: 16)
        for end in [1, 50, 60_000, 130_000, 200_000] {
            let start = [1: 0, 50: 1, 60_000: 50, 130_000: 60_000, 200_000: 130_000][end] ?? 0
            let slice = Array(bytes[start..<end])
            try encoder.append(slice.span, to: out)
            try encoder.append(Span<UInt8>(), to: out, flush: true)
            #expect(try Self.decoded(coding, out) == Array(bytes[..<end]))
        }
    }
}
