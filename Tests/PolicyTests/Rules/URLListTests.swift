import Testing

@testable import HTTP
@testable import Policy

struct URLListTests {
    private let list = URLList(
        Array(
            """
            # ads

            http://ads.test/x.js
            b.test/a/**   # all below
            /track/*.gif
            *.evil.test/**
            https://s.test:8443/
            c.test/p?id=*
            d*s.test/*
            """.utf8), format: .url)

    @Test(arguments: [
        (Scheme.http, "ads.test", "/x.js", 3), (.http, "ads.test", "/x.js?v=1", 3), (.https, "ads.test", "/x.js", -1),
        (.http, "ads.test", "/y.js", -1), (.http, "b.test", "/a", 4), (.https, "b.test", "/a/b/c", 4),
        (.http, "b.test", "/", -1),
        (.http, "any.test", "/track/1.gif", 5), (.http, "any.test", "/track/1/2.gif", -1),
        (.http, "x.evil.test", "/q", 6),
        (.http, "evil.test", "/q", -1), (.https, "s.test:8443", "/", 7), (.https, "s.test", "/", -1),
        (.http, "c.test", "/p?id=7", 8), (.http, "c.test", "/p", -1), (.http, "dogs.test", "/a", 9),
        (.http, "dogs.test", "/a/b", -1),
    ])
    func lists(scheme: Scheme, host: String, target: String, expected: Int) {
        #expect(list.line(listing: RuleFixture.request("GET", target, host: host, scheme: scheme)) == expected)
    }

    @Test func faultyLinesAreLeftOutAndReported() {
        let list = URLList(
            Array("a.test/x y\nftp://a.test/\nb.test\na.test:99999/\nu@a.test/\na.test/ok\n".utf8), format: .url)
        #expect(list.faults.map(\.line) == [1, 2, 3, 4, 5])
        #expect(list.faults[1].message == "the scheme must be http or https")
        #expect(list.faults[2].message == "a path is missing: write \"b.test/**\" for the whole host")
        #expect(list.count == 1)
    }

    private func warning(_ text: String, _ format: URLListDefinition.Format) -> String? {
        URLListSource(definition: URLListDefinition(path: "/l", format: format), text: Array(text.utf8)).warning
    }

    @Test func warningsAreOneLine() {
        #expect(warning("/x\n", .url) == nil)
        #expect(warning("/x\nb.test\n", .url)?.hasPrefix("1 line is skipped: line 2: a path is missing") == true)
        #expect(warning("/x\n" + String(repeating: "ftp://a/\n", count: 5), .url)?.hasSuffix("; and 2 more") == true)
        #expect(warning("*\n", .url) == "line 1: it lists the path / of every host; write \"/**\" for every URL")
        #expect(warning("||a.test^\n*\n", .adblock) == "line 2: it fits every URL")
        #expect(warning("*$image\n", .adblock) == nil)
        for format in [URLListDefinition.Format.url, .hosts, .adblock] { #expect(warning("", format) == "it lists nothing") }
        #expect(warning("@@||a.test^\n", .adblock) == "it lists nothing")
        #expect(warning("127.0.0.1 localhost\n", .hosts) == "it lists nothing")
    }

    @Test(arguments: [
        ("a.test/x", URLListDefinition.Format.url), ("a.test", .hosts), ("||a.test^", .adblock), ("! x\n||a.test^", .adblock),
    ])
    func aByteOrderMarkIsNoPartOfTheFirstLine(text: String, format: URLListDefinition.Format) {
        let list = URLList([0xef, 0xbb, 0xbf] + Array(text.utf8), format: format)
        #expect(list.faults.isEmpty && list.count == 1)
        #expect(list.line(listing: RuleFixture.request("GET", "/x", host: "a.test")) > 0)
    }

    @Test func hostsFiles() {
        let list = URLList(
            Array(
                "127.0.0.1 localhost\n0.0.0.0 ads.test Track.test # two\n::1 six.test\nbare.test\n0.0.0.0 b@d\n".utf8),
            format: .hosts)
        #expect(list.count == 4)
        #expect(list.faults == [URLListFault(line: 5, message: "\"b@d\" is not a host name")])
        for (host, line) in [
            ("ads.test", 2), ("track.test", 2), ("six.test", 3), ("bare.test", 4), ("localhost", -1),
            ("x.ads.test", -1),
        ] {
            #expect(list.line(listing: RuleFixture.request("GET", "/any", host: host)) == line)
        }
    }

    @Test func adblockSyntaxInAListOfURLsIsNamed() {
        let faults = URLList(Array("||ads.test^\n@@||ok.test^\n! comment\n".utf8), format: .url).faults
        #expect(faults.map(\.line) == [1, 2, 3])
        #expect(faults.allSatisfy { $0.message.contains("format: adblock") })
    }

    @Test func fiftyThousandLines() {
        var text = ""
        for number in 0..<50_000 {
            switch number % 4 {
            case 0: text += "http://h\(number).test/p/\(number)\n"
            case 1: text += "one.test/p/\(number)\n"
            case 2: text += "/p/\(number)/**\n"
            default: text += "h\(number % 100).test/q/\(number % 1_000)/*.js\n"
            }
        }
        let list = URLList(Array(text.utf8), format: .url)
        #expect(list.faults.isEmpty)
        for number in stride(from: 0, to: 50_000, by: 997) {
            let host = number % 4 == 0 ? "h\(number).test" : number % 4 == 3 ? "h\(number % 100).test" : "one.test"
            let path = number % 4 == 3 ? "/q/\(number % 1_000)/a.js" : "/p/\(number)"
            #expect(list.line(listing: RuleFixture.request("GET", path, host: host)) >= 0)
            #expect(list.line(listing: RuleFixture.request("GET", path + "x", host: host)) == -1)
        }
    }

    @Test func aReplacedListIsInForce() {
        let definition = URLListDefinition(path: "/list.txt", format: .url)
        let table = URLListTable([URLListSource(definition: definition, text: Array("/x\n".utf8))])
        var match = MatchDefinition()
        match.urlLists = [definition]
        let rule = RuleFixture.rule("ads", action: .block(BlockDefinition())) { $0.match = match }
        let rules = RuleSet([rule], credentials: [], secrets: SecretTable([]), urlLists: table)
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/x")).action == 0)
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/y")).action == nil)
        table.replace(0, text: Array("/y\n".utf8))
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/x")).action == nil)
        #expect(RuleFixture.take(rules, RuleFixture.request("GET", "/y")).action == 0)
    }
}
