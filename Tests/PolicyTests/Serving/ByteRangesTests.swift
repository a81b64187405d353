import Testing

@testable import Policy

/// RFC 9110 section 14.
@Suite struct ByteRangesTests {
    @Test(
        arguments: [
            ("bytes=0-499", [0..<500]), ("bytes=500-999", [500..<1000]), ("bytes=-500", [9500..<10_000]),
            ("bytes=9500-", [9500..<10_000]),
            ("bytes=0-0,-1", [0..<1, 9999..<10_000]), ("bytes=9999-20000", [9999..<10_000]), ("bytes=-20000", [0..<10_000]),
            ("BYTES=1-1", [1..<2]), ("bytes= 1-2 ,, 5-6 ", [1..<3, 5..<7]), ("bytes=20-29,0-9", [20..<30, 0..<10]),
            ("bytes=0-99999999999999999999999999", [0..<10_000]), ("bytes=20000-,3-4", [3..<5]),
            // What overlaps or touches is sent once.
            ("bytes=0-9,5-14", [0..<15]), ("bytes=10-19,0-9", [0..<20]), ("bytes=50-59,0-9,5-14", [0..<15, 50..<60]),
            ("bytes=0-,-1,5-5", [0..<10_000]),
        ] as [(String, [Range<UInt64>])])
    func partsAreRead(value: String, parts: [Range<UInt64>]) {
        var ranges = ByteRanges()
        #expect(ranges.read(bytes(value), length: 10_000) == .parts)
        #expect(ranges.parts == parts)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=8-3", "bytes=1", "bytes=1-2-3", "bytes=+1-2", "bytes=1 -2",
        "bytes=0x1-2", "lines=1-2", "bytes 1-2", "bytes=1-2;3-4", "bytes=--1",
    ])
    func whatIsNoRangeIsIgnored(value: String) {
        var ranges = ByteRanges()
        #expect(ranges.read(bytes(value), length: 10_000) == .ignored)
    }

    @Test(arguments: ["bytes=10000-", "bytes=10000-10001", "bytes=-0", "bytes=99999999999999999999-", "bytes=10000-,20000-"])
    func whatLiesOutsideIsUnsatisfiable(value: String) {
        var ranges = ByteRanges()
        #expect(ranges.read(bytes(value), length: 10_000) == .unsatisfiable)
    }

    @Test func ofNothingTheEndIsAllOfIt() {
        var ranges = ByteRanges()
        #expect(ranges.read(bytes("bytes=0-"), length: 0) == .unsatisfiable)
        #expect(ranges.read(bytes("bytes=-0"), length: 0) == .unsatisfiable)
        #expect(ranges.read(bytes("bytes=-5"), length: 0) == .ignored)
    }

    @Test func longListsAreIgnored() {
        var ranges = ByteRanges()
        let list = (0..<ByteRanges.mostParts).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        #expect(ranges.read(bytes("bytes=" + list), length: 10_000) == .parts)
        #expect(ranges.parts.count == ByteRanges.mostParts)
        #expect(ranges.read(bytes("bytes=" + list + ",9000-9001"), length: 10_000) == .ignored)
        // What is outside counts too.
        #expect(ranges.read(bytes("bytes=" + String(repeating: "20000-,", count: 65)), length: 10_000) == .ignored)
    }

    @Test func theLargestLengthDoesNotOverflow() {
        var ranges = ByteRanges()
        #expect(ranges.read(bytes("bytes=18446744073709551614-18446744073709551615"), length: .max) == .parts)
        #expect(ranges.parts == [UInt64.max - 1..<UInt64.max])
    }
}
