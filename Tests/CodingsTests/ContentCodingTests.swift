import HTTP
import Testing

@testable import Codings

@Suite struct ContentCodingTests {
    /// Made by other programs: Python's gzip and zlib, RFC 7932 and RFC 8878 by hand.
    static let vectors: [(ContentCoding, [UInt8])] = [
        (
            .gzip,
            [
                0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0x02, 0xff, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0,
                0, 0,
            ]
        ),
        (.deflate, [0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0, 0x06, 0x2c, 0x02, 0x15]),
        (.deflate, [0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0]),
        (.brotli, [0x0b, 0x02, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x03]),
        (.zstd, [0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x29, 0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f]),
    ]

    @Test(arguments: vectors)
    func decodesWhatOthersMade(coding: ContentCoding, bytes: [UInt8]) throws {
        for size in 1...bytes.count {
            #expect(try decode(coding, bytes, slices: size) == Array("hello".utf8))
        }
    }

    @Test(arguments: vectors)
    func contentThatEndsInItsMiddleIsTold(coding: ContentCoding, bytes: [UInt8]) throws {
        for length in 1..<bytes.count {
            #expect(throws: CodingError.truncated) { try decode(coding, Array(bytes[..<length]), slices: 3) }
        }
        #expect(try decode(coding, [], slices: 1).isEmpty)
    }

    @Test(arguments: ContentCoding.allCases)
    func bytesOfSomethingElseAreTold(coding: ContentCoding) {
        let noise: [UInt8] = [0x11, 0xff, 0xee, 0x13, 0x77, 0x99, 0xff, 0xff, 0xff, 0x00, 0xff, 0x12]
        #expect(throws: CodingError.self) { try decode(coding, noise, slices: 5) }
    }

    @Test(arguments: ContentCoding.allCases, [1, 7, 1000, 100_000])
    func whatIsEncodedIsDecoded(coding: ContentCoding, slices: Int) throws {
        for content in [[], [7], sample(300), sample(200_000), random(70_000)] where content.count / slices < 5000 {
            let encoded = try encode(coding, content, slices: slices)
            #expect(try decode(coding, encoded, slices: slices) == content)
        }
    }

    @Test(arguments: ContentCoding.allCases)
    func whatIsFlushedCanBeReadAtOnce(coding: ContentCoding) throws {
        let encoder = try ContentEncoder(coding)
        let decoder = try ContentDecoder(coding)
        for index in 0..<20 {
            let part = Array("event \(index)\n".utf8)
            let encoded = ByteBuffer()
            try encoder.append(part.span, to: encoded, flush: true)
            let out = ByteBuffer()
            var position = 0
            while try decoder.decode(encoded.span, from: &position, into: out, atMost: 4096) == .hasMore {}
            #expect(copy(out) == part)
        }
    }

    @Test(arguments: ContentCoding.allCases)
    func outputStaysWithinTheLimit(coding: ContentCoding) throws {
        let bomb = try encode(coding, Array(repeating: 0, count: 20_000_000), slices: 1_000_000)
        #expect(bomb.count < 30_000)
        let decoder = try ContentDecoder(coding)
        let out = ByteBuffer()
        var position = 0
        var total = 0
        var progress = ContentDecoder.Progress.hasMore
        while progress == .hasMore {
            out.clear()
            progress = try decoder.decode(bomb.span, from: &position, into: out, atMost: 10_000)
            #expect(out.count <= 10_000)
            total += out.count
        }
        try decoder.finish()
        #expect(total == 20_000_000)
    }

    @Test(arguments: ContentCoding.allCases)
    func oneObjectServesStreamAfterStream(coding: ContentCoding) throws {
        let encoder = try ContentEncoder(coding)
        let decoder = try ContentDecoder(coding)
        for length in [10, 50_000, 0, 3] {
            let content = sample(length)
            let encoded = ByteBuffer()
            try encoder.append(content.span, to: encoded)
            try encoder.finish(to: encoded)
            let out = ByteBuffer()
            var position = 0
            while try decoder.decode(encoded.span, from: &position, into: out, atMost: 1 << 20) == .hasMore {}
            try decoder.finish()
            #expect(copy(out) == content)
            // One that was left in its middle, too.
            try encoder.reset()
            try decoder.reset()
            try encoder.append(sample(5000).span, to: ByteBuffer(), flush: true)
            try encoder.reset()
        }
    }

    @Test func membersThatFollowEachOtherAreOneContent() throws {
        let two = try encode(.gzip, sample(300), slices: 100) + encode(.gzip, sample(20), slices: 20)
        #expect(try decode(.gzip, two, slices: 1) == sample(300) + sample(20))
        #expect(try decode(.gzip, two, slices: 10_000) == sample(300) + sample(20))
        let frames = try encode(.zstd, sample(300), slices: 100) + encode(.zstd, sample(20), slices: 20)
        #expect(try decode(.zstd, frames, slices: 7) == sample(300) + sample(20))
    }

    @Test(arguments: [ContentCoding.gzip, .deflate, .brotli])
    func whatStandsBehindTheContentIsNothing(coding: ContentCoding) throws {
        let padded = try encode(coding, sample(300), slices: 100) + [0, 0, 0, 7]
        for size in [1, 3, 1000] { #expect(try decode(coding, padded, slices: size) == sample(300)) }
    }

    @Test func aWindowBeyondWhatHTTPAllowsIsRefused() {
        // A frame with a window of 16 MiB (RFC 8878 section 3.1.1.1.2).
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x29, 0, 0, 0x68, 0x65, 0x6c, 0x6c, 0x6f]
        #expect(throws: CodingError.malformed) { try decode(.zstd, frame, slices: 100) }
    }

    @Test func codingsAreKnownByName() {
        for coding in ContentCoding.allCases {
            #expect(ContentCoding(token: Array(coding.token.description.utf8).span) == coding)
            #expect(ContentCoding(token: Array(coding.token.description.uppercased().utf8).span) == coding)
        }
        #expect(ContentCoding(token: Array("x-gzip".utf8).span) == .gzip)
        for name in ["", "identity", "gzi", "gzipp", "bR2", "zstf"] {
            #expect(ContentCoding(token: Array(name.utf8).span) == nil)
        }
    }
}

// MARK: Fixtures

private func encode(_ coding: ContentCoding, _ content: [UInt8], slices: Int) throws -> [UInt8] {
    let encoder = try ContentEncoder(coding)
    let out = ByteBuffer()
    for start in stride(from: 0, to: content.count, by: slices) {
        try encoder.append(Array(content[start..<min(start + slices, content.count)]).span, to: out)
    }
    try encoder.finish(to: out)
    return copy(out)
}

private func decode(_ coding: ContentCoding, _ bytes: [UInt8], slices: Int) throws -> [UInt8] {
    let decoder = try ContentDecoder(coding)
    let out = ByteBuffer()
    for start in stride(from: 0, to: bytes.count, by: slices) {
        let slice = Array(bytes[start..<min(start + slices, bytes.count)])
        var position = 0
        while try decoder.decode(slice.span, from: &position, into: out, atMost: 777) == .hasMore {}
        #expect(position == slice.count)
    }
    try decoder.finish()
    return copy(out)
}

private func copy(_ buffer: ByteBuffer) -> [UInt8] { (0..<buffer.count).map { buffer[$0] } }

/// Text that compresses well.
private func sample(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: "The quick brown fox. ".utf8.count &* ($0 / 64) &+ $0 % 64) }
}

private func random(_ count: Int) -> [UInt8] {
    var state: UInt64 = 88_172_645_463_325_252
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state)
    }
}
