import Testing

@testable import HTTP

struct UncountedTests {
    private final class Counted {
        var value = 1
        let ended: () -> Void
        init(_ ended: @escaping () -> Void) { self.ended = ended }
        deinit { ended() }
    }

    private final class Keeper {
        var kept: Counted?
        init(_ kept: Counted?) { self.kept = kept }
    }

    @Test func anObjectIsUsedAndNotKept() {
        var ends = 0
        let keeper = Keeper(Counted { ends += 1 })
        let reference = Uncounted(keeper.kept!)
        #expect(reference.with { $0.value } == 1)
        uncounted(keeper.kept!) { $0.value = 2 }
        #expect(reference.object.value == 2)
        #expect(ends == 0)
        keeper.kept = nil
        #expect(ends == 1)
    }

    @Test func whatTheUseThrowsIsThrown() {
        let keeper = Keeper(Counted {})
        #expect(throws: HTTPError.uriTooLong) {
            try uncounted(keeper.kept!) { (object) throws(HTTPError) in
                if object.value == 1 { throw .uriTooLong }
            }
        }
    }

    @Test(arguments: [0, 1, 7, 8, 300])
    func aFieldLineIsWrittenWhole(length: Int) {
        let buffer = ByteBuffer(capacity: 16)
        let value = [UInt8](repeating: UInt8(ascii: "v"), count: length)
        let name = Array("Name".utf8), nothing: [UInt8] = []
        buffer.append(line: name.span, value.span)
        buffer.append(line: value.span, nothing.span)
        #expect(Array(copying: buffer.span) == Array("Name: ".utf8) + value + Array("\r\n".utf8) + value + Array(": \r\n".utf8))
    }

    @Test(arguments: ["a", "content-type", "x-1-2-3_.~", "abcdefgh", "abcdefghi", "@[`{"])
    func namesWithoutCapitals(name: String) { #expect(!hasCapital(name)) }

    @Test(arguments: ["A", "Z", "content-Type", "abcdefgH", "abcdefghI", "Xabcdefgh"])
    func namesWithCapitals(name: String) { #expect(hasCapital(name)) }

    private func hasCapital(_ name: String) -> Bool {
        let octets = Array(name.utf8)
        return WordScan.hasCapital(octets.span)
    }
}
