import Testing

@testable import HTTP
@testable import Policy

struct RunKeysTests {
    private func candidates(_ index: HostPathIndex, host: String = "", path: String) -> [Int] {
        let (host, path) = (Array(host.utf8), Array(path.utf8))
        index.begin(host: host.span, path: path.span, from: 0)
        var found: [Int] = []
        while case let next = index.next(), next >= 0 { found.append(next) }
        return found
    }

    private func index(_ globs: [String]) -> HostPathIndex {
        HostPathIndex(globs.map { Filing(hosts: nil, paths: FilingKey.path(Glob($0, .path)).map { [$0] }) })
    }

    @Test func globsThatBeginWithAStarAreFoundByWhatTheyHave() {
        let index = index((0..<1000).map { $0 % 2 == 0 ? "/*/track/\(1000 + $0)/**" : "/**/ads/\($0)-*.js" })
        #expect(candidates(index, path: "/articles/2026/some-title-of-the-day.html").isEmpty)
        #expect(candidates(index, path: "/x/track/1502/y") == [502])
        #expect(candidates(index, path: "/x/ads/37-a.js").contains(37))
    }

    @Test func aLongPatternWeighsNoMoreWindowsThanAnother() throws {
        let text = (0..<500).map { "part\($0)" }.joined(separator: "-")
        let key = try #require(FilingKey.path(Glob("/**/\(text)", .path)))
        #expect(key.candidates.count == 64 && key.candidates.filter { $0.length == 8 }.count == 32)
        #expect(candidates(index(["/**/\(text)", "/**/other-text"]), path: "/x/\(text)") == [0])
    }

    @Test func whatHasNoRunIsTriedAlways() {
        let index = index(["/**", "/*/a*", "/**/abc"])
        #expect(candidates(index, path: "/x") == [0, 1])
        #expect(candidates(index, path: "/x/abc") == [0, 1, 2])
    }

    @Test func candidatesComeOnceAndInTheirOrderHoweverManyRunsThereAre() {
        let index = index((0..<100).map { "/**/part-\(100 + $0)/**" })
        let path = (0..<100).reversed().map { "/part-\(100 + $0)" }.joined()
        #expect(candidates(index, path: path + path) == Array(0..<100))
        let (host, bytes) = ([UInt8](), Array(path.utf8))
        index.begin(host: host.span, path: bytes.span, from: 98)
        #expect(index.next() == 98 && index.next() == 99 && index.next() == -1)
    }

    @Test func theIndexLeavesOutNothingThatFits() {
        var random = SeededRandom(seed: 7)
        func text(_ length: Int, _ alphabet: [String]) -> String {
            (0..<length).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }.joined()
        }
        for _ in 0..<50 {
            let globs = (0..<40).map { _ in
                "/" + text(Int(random.next() % 10), ["a", "b", "/", "*", "**", "ab/a", "banner"])
            }
            let set = PathSet(globs)
            for _ in 0..<40 {
                let path = "/" + text(Int(random.next() % 14), ["a", "b", "/", "ab/a", "banner"])
                let bytes = Array(path.utf8)
                #expect(set.matches(bytes.span) == set.globs.contains { $0.matches(bytes.span) }, "\(path): \(globs)")
            }
        }
    }

    @Test func hostsWithStarsInListsAreFoundToo() {
        let lines = (0..<500).map { "*track\($0)-*.example/**" } + ["*.a*b.example/x", "*/y?*utm=1"]
        let list = URLList(Array(lines.joined(separator: "\n").utf8), format: .url)
        for (host, target, line) in [
            ("x.track77-y.example", "/", 78), ("q.axb.example", "/x", 501), ("q.axb.example", "/z", -1),
            ("n.example", "/y?utm=2", -1), ("n.example", "/y?a&utm=1", 502), ("track500-.example", "/", -1),
        ] {
            #expect(list.line(listing: RuleFixture.request("GET", target, host: host)) == line, "\(host)\(target)")
        }
    }
}

private struct SeededRandom: RandomNumberGenerator {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 33) &* 0xff51_afd7_ed55_8ccd >> 11
    }
}
