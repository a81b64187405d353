import HTTP
import Testing

@testable import HTML

struct SecurityPolicyTests {
    private static let script = EditedPages.definition(.bodyEnd, .javascript(Array("1".utf8)))
    private static let style = EditedPages.definition(.bodyEnd, .css(Array("p{}".utf8)))

    /// The policy with a nonce for a script and a style sheet.
    private static func edited(_ policy: String, _ demands: [PolicyDemand] = [.inlineScript, .inlineStyle]) -> String {
        var text = Array(policy.utf8)
        for edit in SecurityPolicy(text).nonceEdits(for: demands).reversed() {
            text.replaceSubrange(edit.range, with: Array("\(edit.words)'nonce-N'".utf8))
        }
        return String(decoding: text, as: UTF8.self)
    }

    @Test(arguments: [
        ("script-src 'self'", "script-src 'self' 'nonce-N'"),
        ("script-src 'self'; style-src 'none' ", "script-src 'self' 'nonce-N'; style-src 'none'; style-src-elem 'nonce-N' "),
        ("default-src 'none';", "default-src 'none'; script-src-elem 'nonce-N'; style-src-elem 'nonce-N'"),
        ("script-src-elem 'NONE'; style-src a", "script-src-elem 'nonce-N'; style-src a 'nonce-N'"),
        ("default-src 'self' https:", "default-src 'self' https: 'nonce-N'"),
        ("default-src 'self'; script-src 'unsafe-inline' ;", "default-src 'self' 'nonce-N'; script-src 'unsafe-inline' ;"),
        ("script-src 'unsafe-inline' 'nonce-a'", "script-src 'unsafe-inline' 'nonce-a' 'nonce-N'"),
        ("script-src 'unsafe-inline' 'strict-dynamic'", "script-src 'unsafe-inline' 'strict-dynamic' 'nonce-N'"),
        ("style-src 'unsafe-inline' 'SHA256-x='", "style-src 'unsafe-inline' 'SHA256-x=' 'nonce-N'"),
        ("SCRIPT-SRC-ELEM a.test; script-src 'self'", "SCRIPT-SRC-ELEM a.test 'nonce-N'; script-src 'self'"),
        ("script-src", "script-src 'nonce-N'"), ("script-src a; script-src b", "script-src a 'nonce-N'; script-src b"),
        ("img-src 'self'", "img-src 'self'"), ("", ""), (";;", ";;"),
    ])
    func everyListThatDecidesGetsTheNonceUnlessThatWouldWeakenThePage(policy: String, expected: String) {
        #expect(Self.edited(policy) == expected)
    }

    @Test func onlyWhatIsInsertedIsAskedFor() {
        #expect(Self.edited("script-src a; style-src b", [.inlineStyle]) == "script-src a; style-src b 'nonce-N'")
        #expect(Self.edited("script-src a; style-src b", []) == "script-src a; style-src b")
    }

    @Test(arguments: [
        ("script-src 'self'", PolicyDemand.inlineScript, false), ("script-src 'unsafe-inline'", .inlineScript, true),
        ("script-src 'unsafe-inline' 'nonce-a'", .inlineScript, false), ("img-src a", .inlineScript, true),
        ("default-src 'none'", .inlineStyle, false), ("script-src 'self'", .script(url: "/a.js"), true),
        ("script-src 'self' 'strict-dynamic'", .script(url: "/a.js"), false), ("script-src a.test", .script(url: "/a.js"), false),
        ("script-src a.test", .script(url: "https://a.test/x.js"), true),
        ("style-src https:", .style(url: "https://b.test/"), true),
        ("style-src https:", .style(url: "http://b.test/"), false), ("sandbox; script-src *", .script(url: "/a.js"), false),
        ("sandbox allow-scripts", .inlineScript, true),
        ("script-src 'self'", .script(url: "data:text/javascript,1"), false),
        ("script-src 'self'", .script(url: "blob:https://app.test/1"), false),
        ("script-src 'self'", .script(url: " da\nTa:text/javascript,1"), false),
        ("script-src *", .script(url: "data:text/javascript,1"), false),
        ("script-src data:", .script(url: "data:text/javascript,1"), true),
        ("style-src blob:", .style(url: "blob:https://app.test/1"), true),
        ("style-src 'self'", .style(url: "a/b:c.css"), true), ("style-src 'self'", .style(url: "?a=b:c"), true),
        ("style-src 'self'", .style(url: "/\\a.test/x.css"), false), ("style-src 'self'", .style(url: "//a.test/x"), false),
        ("style-src http:", .style(url: "https://b.test/"), true), ("style-src *", .style(url: "https://b.test/"), true),
        ("style-src https://b.test", .style(url: "https://b.test/x"), true),
    ])
    func whatALeftPolicyForbidsIsSkipped(policy: String, demand: PolicyDemand, isAllowed: Bool) {
        #expect(SecurityPolicy(Array(policy.utf8)).allows(demand, hasNonce: false) == isAllowed)
    }

    private static func page(_ page: String, _ definitions: [InsertionDefinition], nonce: String, policies: [String] = []) -> String
    {
        func edit(_ slices: [Int]) -> String {
            String(
                decoding: EditedPages.edit(
                    Array(page.utf8), definitions, mode: nonce.isEmpty ? .leave : .nonce, nonce: nonce, policies: policies,
                    slices: slices), as: UTF8.self)
        }
        let whole = edit([])
        #expect(edit(Array(0..<page.utf8.count)) == whole)
        return whole
    }

    @Test func policiesOfMetaElementsGetTheNonce() {
        #expect(
            Self.page(
                "<head><meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'; img-src *\"></head>x",
                [Self.script], nonce: "N")
                == "<head><meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'; img-src *; script-src-elem 'nonce-N'\"></head>x"
                + "<script nonce=\"N\">1</script>")
        #expect(
            Self.page(
                "<meta content='script-src &#39;self&#39;; style-src b' http-equiv=content-security-policy>x",
                [Self.script, Self.style],
                nonce: "N")
                == "<meta content='script-src &#39;self&#39; &#39;nonce-N&#39;; style-src b &#39;nonce-N&#39;' "
                + "http-equiv=content-security-policy>x<script nonce=\"N\">1</script><style nonce=\"N\">p{}</style>")
        #expect(
            Self.page("<meta http-equiv=content-security-policy content=default-src>x", [Self.script], nonce: "N")
                == "<meta http-equiv=content-security-policy content=default-src&#32;&#39;nonce-N&#39;>x<script nonce=\"N\">1</script>"
        )
        // In a body such an element is no policy.
        let body = "<body><meta http-equiv=content-security-policy content=default-src></body>"
        #expect(
            Self.page(body, [Self.script], nonce: "N").hasPrefix(
                "<body><meta http-equiv=content-security-policy content=default-src>"))
    }

    @Test func leftPoliciesOfMetaElementsAreObeyed() {
        let page = "<head><meta http-equiv=Content-Security-Policy content=\"script-src 'self'\"></head><body>x</body>"
        #expect(
            Self.page(page, [Self.script, Self.style], nonce: "") == page.replacing("</body>", with: "<style>p{}</style></body>"))
        #expect(Self.page("<body>x</body>", [Self.script], nonce: "", policies: ["script-src 'self'"]) == "<body>x</body>")
        // One that comes later has no say.
        let early = EditedPages.definition(.headStart, .javascript(Array("1".utf8)))
        #expect(Self.page(page, [early], nonce: "").hasPrefix("<head><script>1</script><meta"))
    }

    @Test func snippetsCarryTheNonceInEveryTagThatNeedsIt() {
        let html = EditedPages.definition(
            .bodyEnd,
            .html(Array("<p title='<script>'><script async>x</script><style>y</style><LINK rel=stylesheet href=/z.css>".utf8)))
        #expect(
            Self.page("<body>", [html], nonce: "N", policies: ["default-src 'self'"])
                == "<body><p title='<script>'><script nonce=\"N\" async>x</script><style nonce=\"N\">y</style>"
                + "<LINK nonce=\"N\" rel=stylesheet href=/z.css>")
        let insertion = PageInsertions([html], mode: .nonce).insertions[0]
        #expect(insertion.demands == [.inlineScript, .inlineStyle, .style(url: "/z.css")])
        #expect(Self.page("<body>", [html], nonce: "", policies: ["script-src 'self'"]) == "<body>")
    }
}

extension String {
    fileprivate func replacing(_ text: String, with other: String) -> String {
        split(separator: text, omittingEmptySubsequences: false).joined(separator: other)
    }
}
