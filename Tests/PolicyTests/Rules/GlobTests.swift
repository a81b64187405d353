import Testing

@testable import Policy

struct GlobTests {
    @Test(arguments: [
        ("/x/**", "/x", true), ("/x/**", "/x/", true), ("/x/**", "/x/y/z", true), ("/x/**", "/xy", false),
        ("/x/**", "/", false), ("/**", "/", true), ("/**", "/a/b", true), ("/**", "*", false), ("**", "*", true),
        ("/x/*", "/x/y", true), ("/x/*", "/x/", true), ("/x/*", "/x/y/z", false), ("/x/*", "/x", false),
        ("/a*/b", "/abc/b", true), ("/a*/b", "/a/b", true), ("/a*/b", "/a/c/b", false), ("/a**/b", "/a/c/b", true),
        ("/*/b/*", "/a/b/c", true), ("/*/b/*", "/a/c/b/c", false), ("/**/b/*", "/a/c/b/c", true),
        ("/**/x", "/x", false),
        ("/*/v/**", "/a/v", true), ("/*/v/**", "/a/v/w/x", true), ("/*/v/**", "/a/vw", false), ("/a?", "/ab", false),
        ("/a?", "/a?", true), ("/a", "/a/", false), ("/img-*.png", "/img-1.png", true),
        ("/img-*.png", "/img-.jpg", false),
        ("/*.js", "/.js", true), ("/**.js", "/a/b.js", true), ("/aba*aba", "/aba", false),
        ("/aba*aba", "/abaaba", true),
    ])
    func path(pattern: String, text: String, expected: Bool) {
        #expect(Glob(pattern, .path).matches(text: text) == expected)
    }

    @Test(arguments: [
        ("a*z", "az", true), ("a*z", "a/b z", true), ("a*z", "azb", false), ("*", "", true),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "ba", false), ("x-*-y", "x-1-2-y", true),
    ])
    func value(pattern: String, text: String, expected: Bool) {
        #expect(Glob(pattern, .value).matches(text: text) == expected)
    }

    /// By definition, with backtracking.
    private func matches(_ pattern: ArraySlice<Character>, _ text: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        // A final slash and stars may stand for nothing: `/x/**` takes `/x`.
        if text.isEmpty && first == "/" && pattern.count > 2 && pattern.dropFirst().allSatisfy({ $0 == "*" }) {
            return true
        }
        if first != "*" { return text.first == first && matches(pattern.dropFirst(), text.dropFirst()) }
        let stars = pattern.prefix { $0 == "*" }.count
        let rest = pattern.dropFirst(stars)
        if stars > 1 && rest.isEmpty { return true }
        var tail = text
        while true {
            if matches(rest, tail) { return true }
            guard let next = tail.first, stars > 1 || next != "/" else { return false }
            tail = tail.dropFirst()
        }
    }

    @Test func randomPatternsAgreeWithTheDefinition() {
        var random = TestRandom(state: 1)
        for _ in 0..<5_000 {
            let pattern = (0..<Int.random(in: 0...7, using: &random)).map { _ in "/a*b*".randomElement(using: &random)!
            }
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in "/ab".randomElement(using: &random)! }
            let found = Glob("/" + String(pattern), .path).matches(text: String(text))
            if found != matches((["/"] + pattern)[...], text[...]) {
                Issue.record("/\(String(pattern)) \(String(text)): \(found)")
            }
        }
    }

    @Test func longPatternsFollowMoreThanAWordOfPositions() {
        let pattern = "/" + String(repeating: "ab*", count: 60) + "/**"
        let text = "/" + String(repeating: "abx", count: 60) + "/q"
        #expect(Glob(pattern, .path).matches(text: text))
        #expect(!Glob(pattern, .path).matches(text: String(text.dropLast(100))))
    }

    /// Eight stars on a path of 8 KiB that nearly matches: no search tree.
    @Test func manyStarsStayLinear() {
        let glob = Glob("/**a**a**a**a**a**a**a**b", .path)
        let text = "/" + String(repeating: "a", count: 8_000)
        #expect(!glob.matches(text: text))
    }
}
