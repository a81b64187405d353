import HTTP
import Testing

@testable import Proxy

@Suite struct DemoPageTests {
    private func page(_ view: DemoRequestView, contentLength: UInt64 = 0, isLanding: Bool = false) -> String {
        text {
            DemoPage(view: view, contentLength: contentLength, isLanding: isLanding, nonce: Array("0badcafe".utf8)).append(to: $0)
        }
    }

    @Test func eachRowSaysWhereItsFieldCameFrom() {
        let page = page(demoView())
        #expect(page.contains("<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">Accept</th>"))
        #expect(
            page.contains(
                "<tr role=\"row\" class=\"injected\"><th role=\"rowheader\" scope=\"row\">X-Env</th><td role=\"cell\"><bdi>prod</bdi></td>"
                    + "<td role=\"cell\"><span class=\"from\">rule <b>api</b> · set</span></td></tr>"))
        #expect(
            page.contains("<bdi>Bearer ${env:API_TOKEN}</bdi></td><td role=\"cell\"><span class=\"from\">credential <b>service</b>")
        )
        #expect(page.contains("<tr role=\"row\" class=\"own\"><th role=\"rowheader\" scope=\"row\">Via</th>"))
        #expect(page.contains("<del>x_env</del></th><td role=\"cell\">rule api sets it</td>"))
        #expect(page.contains("<strong>2 header fields were injected</strong>, 1 was removed. "))
        #expect(page.contains("data-name=\"X-Env\""))
    }

    @Test func withoutRulesNothingIsClaimed() {
        let page = page(DemoRequestView(method: Array("GET".utf8), target: Array("/".utf8)))
        #expect(page.contains("<strong>No header fields were injected</strong>, nothing was removed. "))
        #expect(!page.contains("id=\"removed\""))
        #expect(!page.contains("id=\"forge\""))
    }

    @Test func nothingOfTheRequestBecomesMarkup() {
        let attack = "\"'><script>alert(1)</script>&"
        var view = DemoRequestView(method: Array(attack.utf8), target: Array(attack.utf8))
        view.fields = [
            DemoField(name: attack, value: attack, origin: .rule(name: attack, verb: attack)),
            DemoField(name: attack, value: attack, origin: .credential(name: attack)),
        ]
        view.removed = [DemoRemoval(name: attack, reason: attack)]
        let page = page(view)
        #expect(!page.contains("<script>alert"))
        #expect(!page.contains("\"'>"))
        #expect(page.components(of: "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;") == 13)
    }

    @Test func onlyWhatCarriesTheNonceRuns() {
        let page = page(demoView())
        #expect(page.contains("<style nonce=\"0badcafe\">"))
        #expect(page.contains("<script nonce=\"0badcafe\">"))
        #expect(page.components(of: "<script") == 1)
        #expect(page.components(of: "style=") == 0)
        #expect(page.components(of: "onclick") == 0)
        #expect(
            text { DemoPage.appendPolicy(nonce: Array("0badcafe".utf8), to: $0) }
                == "default-src 'none'; style-src 'nonce-0badcafe'; script-src 'nonce-0badcafe'; img-src data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    }

    @Test func nothingComesFromElsewhereAndThePageIsSmall() {
        let page = page(demoView())
        #expect(page.utf8.count < 20 * 1024)
        #expect(!page.contains("http://") && !page.contains("https://"))
    }

    @Test func addressesStandBehindThePrefixThatTheClientUses() {
        var view = demoView()
        #expect(page(view).contains("<body data-base=\"\">"))
        #expect(page(view).contains("<a href=\"/status/503\">/status/503</a>"))
        view.base = Array("/de\"mo".utf8)
        #expect(page(view).contains("<body data-base=\"/de&quot;mo\">"))
        #expect(page(view).contains("<a href=\"/de&quot;mo/status/503\">/status/503</a>"))
    }

    @Test func whatWasNotAddedIsTold() {
        var view = demoView()
        view.withheld = [DemoRemoval(name: "X-Key", reason: "<its secret can not be had>")]
        #expect(page(view).contains("<h2 id=\"withheld\">What was not added this time</h2>"))
        #expect(page(view).contains("<del>X-Key</del></th><td role=\"cell\">&lt;its secret can not be had&gt;</td>"))
    }

    /// A default or an appended value leaves the client's own alone: forging it shows nothing.
    @Test(arguments: [
        ("X-Env", DemoField.Origin.rule(name: "r", verb: "set"), true), ("X-Env", .rule(name: "r", verb: "default"), false),
        ("X-Env", .rule(name: "r", verb: "append"), false), ("X-Env", .credential(name: "c"), true), ("X-Env", .client, false),
        ("X-Env", .authproxy, false), ("Host", .rule(name: "r", verb: "set"), false),
        ("cookie", .rule(name: "r", verb: "set"), false),
    ])
    func onlyWhatOverridesTheClientIsWorthForging(name: String, origin: DemoField.Origin, isOffered: Bool) {
        var view = DemoRequestView(method: [], target: [])
        view.fields = [DemoField(name: name, value: "1", origin: origin)]
        #expect(page(view).contains("id=\"forge\"") == isOffered)
    }

    @Test(arguments: [
        ("client", DemoField.Origin.client), ("client, rule api rename", .rule(name: "api", verb: "rename")),
        ("rule all the rest set", .rule(name: "all the rest", verb: "set")), ("credential my own", .credential(name: "my own")),
        ("client, edited by cookies", .client), ("authproxy", .authproxy), ("", .client), ("rule ", .client),
    ])
    func provenanceIsReadFromItsWords(words: String, origin: DemoField.Origin) {
        #expect(DemoField.Origin(provenance: words) == origin)
    }

    @Test func contentAndLandingAreTold() {
        #expect(page(demoView(), contentLength: 1).contains("It came with 1 byte of content."))
        #expect(page(demoView(), contentLength: 1024).contains("It came with 1024 bytes of content."))
        #expect(page(demoView(), isLanding: true).contains("You have landed"))
        #expect(!page(demoView()).contains("You have landed"))
    }
}

extension String {
    func components(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
