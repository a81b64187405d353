import Testing

@testable import HTTP
@testable import Policy

struct AdblockTests {
    private static func list(_ text: String) -> URLList { URLList(Array(text.utf8), format: .adblock) }

    /// `http://host/target`, maybe with fields.
    private static func request(_ url: String, _ fields: [(String, String)] = []) -> CanonicalRequest {
        let isTLS = url.hasPrefix("https://")
        let rest = url.dropFirst(isTLS ? 8 : 7)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        return RuleFixture.request(
            "GET", String(rest[slash...]), host: String(rest[..<slash]), scheme: isTLS ? .https : .http, fields: fields)
    }

    @Test(arguments: [
        ("||ads.test^", "http://ads.test/", true), ("||ads.test^", "https://x.ads.test:8443/a", true),
        ("||ads.test^", "http://bads.test/", false), ("||ads.test^", "http://ads.test.evil/", false),
        ("||ads.test^", "http://a.test/?u=ads.test/", false),
        ("||ads.test/x", "http://ads.test/xy", true), ("||ads.test/x", "http://ads.test/y/x", false),
        ("||ads.test:81/", "http://ads.test:81/", true), ("||ads.test:81/", "http://ads.test/", false),
        ("||ads.", "http://ads.example/", true), ("||ads.", "http://x.ads.example/", true),
        ("||a*.test/b", "http://abc.test/b", true), ("||test^", "http://ads.test/", true),
        ("|http://a.test/", "http://a.test/x", true), ("|http://a.test/|", "http://a.test/x", false),
        ("|http://a.test/|", "http://a.test/", true), (".swf|", "http://a.test/f.swf", true),
        (".swf|", "http://a.test/f.swf?x", false), ("/banner/*/img^", "http://a.test/banner/1/img", true),
        ("/banner/*/img^", "http://a.test/banner/1/img?x", true), ("/banner/*/img^", "http://a.test/banner/1/imgs", false),
        ("/banner/*/img^", "http://a.test/banner/img", false), ("&ad=", "http://a.test/?x&ad=1", true),
        ("-AD-", "http://a.test/x-ad-y", true), ("-ad-", "http://a.test/x-AD-y", true),
        ("-AD-$match-case", "http://a.test/x-ad-y", false), ("-AD-$match-case", "http://a.test/x-AD-y", true),
        ("ad^^x", "http://a.test/ad//x", true), ("*/ads/*", "http://a.test/x/ads/y", true), ("^", "http://a.test/", true),
        ("/ads/*", "http://a.test/adsx/", false), ("$script,domain=p.test", "http://a.test/x.js", false),
        ("price$", "http://a.test/price$", true), ("/a$b", "http://a.test/a$b", false),
    ])
    func patterns(filter: String, url: String, isBlocked: Bool) {
        #expect((Self.list(filter).line(listing: Self.request(url)) == 1) == isBlocked)
    }

    @Test(arguments: [
        ("script", "script", true), ("script", "image", false), ("script", "serviceworker", true), ("~script", "script", false),
        ("~script", "image", true), ("image,stylesheet", "style", true), ("image", "style", false),
        ("xmlhttprequest", "empty", true), ("subdocument", "iframe", true), ("document", "document", true),
        ("font", "font", true), ("media", "video", true), ("other", "manifest", true), ("object", "embed", true),
    ])
    func types(option: String, destination: String, isBlocked: Bool) {
        let list = Self.list("/track*$\(option)")
        #expect((list.line(listing: Self.request("http://a.test/track", [("Sec-Fetch-Dest", destination)])) == 1) == isBlocked)
    }

    @Test func aDocumentIsBlockedWhereItIsNamedOrItsWholeHostIs() {
        let document = [("Sec-Fetch-Dest", "document")]
        #expect(Self.list("/ads/*").line(listing: Self.request("http://a.test/ads/", document)) == -1)
        #expect(Self.list("||ads.test^").line(listing: Self.request("http://ads.test/", document)) == 1)
        #expect(Self.list("||ads.test^$script").line(listing: Self.request("http://ads.test/", document)) == -1)
        #expect(Self.list("||ads.test/x^").line(listing: Self.request("http://ads.test/x", document)) == -1)
        #expect(Self.list("/ads/*$all").line(listing: Self.request("http://a.test/ads/", document)) == 1)
    }

    @Test func withoutSecFetchDestTheExtensionAndAcceptTell() {
        let list = Self.list("/t/*$script")
        #expect(list.line(listing: Self.request("http://a.test/t/x.js")) == 1)
        #expect(list.line(listing: Self.request("http://a.test/t/x.png")) == -1)
        #expect(list.line(listing: Self.request("http://a.test/t/x", [("Accept", "*/*")])) == -1)
        #expect(
            Self.list("/t/*$image").line(listing: Self.request("http://a.test/t/x", [("Accept", "image/avif,image/webp")])) == 1)
    }

    @Test(arguments: [
        ("third-party", "Sec-Fetch-Site", "cross-site", true), ("third-party", "Sec-Fetch-Site", "same-site", false),
        ("~third-party", "Sec-Fetch-Site", "same-origin", true), ("third-party", "Referer", "http://other.test/", true),
        ("third-party", "Referer", "http://www.ads.test/page", false), ("third-party", "X-None", "1", false),
        ("first-party", "Referer", "https://ads.test:81/", true), ("3p", "Origin", "http://other.test", true),
        ("domain=p.test", "Referer", "http://p.test/", true), ("domain=p.test", "Referer", "http://x.p.test/a", true),
        ("domain=p.test", "Referer", "http://xp.test/", false), ("domain=p.test|~b.p.test", "Referer", "http://b.p.test/", false),
        ("domain=~p.test", "Referer", "http://q.test/", true), ("domain=~p.test", "Referer", "http://p.test/", false),
        ("domain=~p.test", "X-None", "1", true), ("domain=p.test", "X-None", "1", false),
        ("domain=~p.test|a.p.test", "Referer", "http://a.p.test/", true),
    ])
    func parties(option: String, name: String, value: String, isBlocked: Bool) {
        let list = Self.list("||ads.test/*$\(option)")
        #expect((list.line(listing: Self.request("http://ads.test/x", [(name, value)])) == 1) == isBlocked)
    }

    @Test func sitesWithShortSecondLevelsAreApart() {
        let list = Self.list("||ads.co.uk^$third-party")
        #expect(list.line(listing: Self.request("http://ads.co.uk/", [("Referer", "http://news.co.uk/")])) == 1)
        #expect(list.line(listing: Self.request("http://ads.co.uk/", [("Referer", "http://www.ads.co.uk/")])) == -1)
    }

    @Test func exceptionsWinUnlessTheFilterIsImportant() {
        let list = Self.list("||ads.test^\n@@||ads.test/ok.js\n||bad.test^$important\n@@||bad.test^\n")
        #expect(list.line(listing: Self.request("http://ads.test/x.js")) == 1)
        #expect(list.line(listing: Self.request("http://ads.test/ok.js")) == -1)
        #expect(list.line(listing: Self.request("http://bad.test/")) == 3)
        #expect(list.count == 4)
    }

    @Test func whatIsNotUnderstoodIsReportedWithItsLine() {
        let list = Self.list(
            """
            [Adblock Plus 2.0]
            ! Title: test
            a.test##.ad
            a.test#?#div:has(.ad)
            /^https?:.*ads/
            ||a.test^$popup
            ||b.test^$domain=
            x y
            ||
            ||münchen.test^
            ||ok.test^
            """)
        #expect(list.faults.map(\.line) == [3, 4, 5, 6, 7, 8, 9, 10])
        #expect(list.faults[3].message == "the option \"popup\" is not understood")
        #expect(list.count == 1)
    }

    /// The index finds what a look at every filter finds.
    @Test func theIndexLosesNothing() {
        var random = TestRandom(state: 7)
        let words = ["ads", "track", "a", "b", "img", "xy", "banner", "js", "pixel", "t", "count"]
        func word() -> String { words.randomElement(using: &random) ?? "" }
        var filters: [String] = []
        for _ in 0..<400 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: filters.append("||\(word()).\(word()).test^")
            case 1: filters.append("||\(word()).test/\(word())")
            case 2: filters.append("/\(word())/*\(word())^")
            case 3: filters.append("\(word())-\(word()).")
            case 4: filters.append("|http://\(word()).*/\(word())|")
            default: filters.append("^\(word())^")
            }
        }
        let whole = Self.list(filters.joined(separator: "\n"))
        let single = filters.map(Self.list)
        for _ in 0..<400 {
            let url = "http://\(word()).\(word()).test/\(word())/\(word())-\(word()).\(word())"
            let request = Self.request(url)
            let expected = single.contains { $0.line(listing: request) >= 0 }
            #expect((whole.line(listing: request) >= 0) == expected, "\(url)")
        }
    }

    private static func adblockList(_ text: String) -> AdblockList {
        var parser = URLListParser()
        parser.parse(Array(text.utf8), .adblock)
        return AdblockList(parser.adblock)
    }

    /// Steps are counted, not time: each filter goes over the URL a few times at most, however often its key stands there.
    @Test func aURLThatRepeatsAKeyCostsNoMore() {
        let lines = (0..<40).map { "/adserve/*/zone\($0)/*.gif|" }.joined(separator: "\n")
        let list = Self.adblockList(lines)
        let url = "http://a.test/" + String(repeating: "adserve/", count: 900)
        #expect(list.line(listing: Self.request(url)) == -1)
        #expect(AdblockList.mostSteps - list.budget < 40 * url.count * 3)
        #expect(list.line(listing: Self.request(url + "zone7/x.gif")) == 8)
        // What was found out about one URL is not taken for another's.
        #expect(list.line(listing: Self.request(url + "zone7/x.gif")) == 8)
    }

    @Test func aLookUpEndsWhenItTakesTooLong() {
        let definition = URLListDefinition(path: "/list.txt", format: .adblock)
        let lines = (0..<1_000).map { "/adserve/*/z\($0)|" }.joined(separator: "\n")
        let costly = Self.request("http://a.test/" + String(repeating: "adserve/", count: 900))
        let list = Self.adblockList(lines)
        #expect(list.line(listing: costly) == URLList.undecided && list.budget == -1)
        // What can not be told is blocked by rules that block, as with a list that could not be read.
        let table = URLListTable([URLListSource(definition: definition, text: Array(lines.utf8))])
        #expect(table.verdict(0, costly) == .fails)
        #expect(table.verdict(0, Self.request("http://a.test/adserve/x/z7")) == .holds)
        #expect(table.verdict(0, Self.request("http://a.test/adserve/x/y")) == .refuses)
        let excepting = Self.adblockList("||a.test^\n" + lines.split(separator: "\n").map { "@@\($0)" }.joined(separator: "\n"))
        #expect(excepting.line(listing: costly) == URLList.undecided)
    }

    @Test func fiftyThousandFilters() {
        var text = ""
        for number in 0..<50_000 {
            switch number % 5 {
            case 0, 1: text += "||h\(number).test^\n"
            case 2: text += "||crowd.test/p/\(number)^\n"
            case 3: text += "/banner\(number)/*$image,third-party\n"
            default: text += "-ad\(number)-\n"
            }
        }
        let list = Self.list(text)
        #expect(list.faults.isEmpty && list.count == 50_000)
        let image = [("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Site", "cross-site")]
        for number in stride(from: 0, to: 50_000, by: 991) {
            let url =
                switch number % 5 {
                case 0, 1: "http://x.h\(number).test/q"
                case 2: "http://crowd.test/p/\(number)?x"
                case 3: "http://any.test/banner\(number)/x"
                default: "http://any.test/x-ad\(number)-y"
                }
            #expect(list.line(listing: Self.request(url, image)) == number + 1)
            #expect(list.line(listing: Self.request("http://clean.test/\(number)/index.html", image)) == -1)
        }
    }
}
