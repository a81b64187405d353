import Policy
import Proxy
import Testing

@testable import Config

@Suite struct ServeTests {
    private func serve(_ text: String) throws -> ServeDefinition {
        let loaded = try load("upstream: demo\nserve: \(text)\n")
        guard case .serve(let serve) = loaded.configuration.rules[0].action else {
            Issue.record("no serve action")
            return ServeDefinition(source: .file(""))
        }
        return serve
    }

    @Test func everyKeyIsRead() throws {
        let serve = try serve(
            """
            {dir: /tmp/, strip_prefix: /static, ignore_case: true, index: [a.html, b.html], spa_fallback: true, fallthrough: true,
             hidden: true, cache_control: "max-age=60", compress: false, cors: all, charset: latin1}
            """)
        #expect(serve.source == .folder("/tmp"))
        #expect(serve.stripPrefix == "/static")
        #expect(serve.index == ["a.html", "b.html"])
        #expect(serve.cacheControl == "max-age=60")
        #expect(serve.charset == "latin1")
        #expect(serve.crossOrigin == .all)
        #expect(serve.ignoresCase && serve.spaFallback && serve.fallsThrough && serve.servesHidden && !serve.compresses)
    }

    @Test func theDefaultsAreThoseOfTheDocument() throws {
        let serve = try serve("{dir: /tmp}")
        #expect(serve.index == ["index.html"])
        #expect(serve.charset == "utf-8")
        #expect(serve.crossOrigin == .auto)
        #expect(!serve.ignoresCase && !serve.spaFallback && !serve.fallsThrough && !serve.servesHidden && serve.compresses)
        #expect(!serve.isFlat && serve.stripPrefix == nil && serve.cacheControl == nil)
        #expect(try self.serve("{file: /etc/passwd, charset: none}").charset == nil)
        #expect(try self.serve("{file: /etc/passwd}").source == .file("/etc/passwd"))
    }

    @Test func aRelativePathBeginsAtTheFile() throws {
        let folder = try TemporaryFolder()
        try folder.write("a.txt", "x")
        let path = try folder.write("config.yaml", "serve: {file: ./a.txt}\n")
        let loaded = try ConfigurationLoader.load(path: path, environment: { _ in nil })
        guard case .serve(let serve) = loaded.configuration.rules[0].action else {
            Issue.record("no serve action")
            return
        }
        #expect(serve.source == .file(folder.path + "/a.txt"))
    }

    @Test func aFileWithoutRulesFallsThroughToItsUpstream() throws {
        let loaded = try load("upstream: demo\nserve: {dir: /tmp, fallthrough: true}\nrequest: {set: {A: b}}\n")
        #expect(loaded.configuration.rules.map(\.name) == ["default", "upstream"])
        guard case .proxy = loaded.configuration.rules[1].action else {
            Issue.record("no proxy action")
            return
        }
        #expect(loaded.configuration.warnings.isEmpty)
        #expect(try load("serve: {dir: /tmp, fallthrough: true}\n").configuration.rules.count == 1)
        #expect(try load("upstream: demo\nserve: {dir: /tmp}\n").configuration.rules.count == 1)
    }

    @Test func aRuleThatFallsThroughHidesNothing() {
        let rules = """
            upstream: demo
            credentials: {a: {bearer: x}}
            rules:
              - serve: {dir: /tmp, fallthrough: true}
                credential: a
              - proxy: {}
            """
        #expect(messages(rules).isEmpty)
        #expect(
            messages(rules.replacingFirst(", fallthrough: true", with: "")) == [
                "config.yaml:5:17: warning: rules[0].credential: not sent: the rule's action is `serve`, which sends nothing to an upstream",
                "config.yaml:6:5: warning: rules[1]: never reached: the rule `rule-1` above takes every request",
            ])
    }

    @Test(arguments: [
        ("{}", "1:8: error: serve: `file` or `dir` is missing (such as `serve: {dir: public}`)"),
        ("{file: /etc/passwd, dir: /tmp}", "1:28: error: serve.dir: `file` is given too (keep one of the two)"),
        ("{file: /tmp}", "1:15: error: serve.file: `/tmp` is a folder (write `dir` for the files in it)"),
        ("{dir: /etc/passwd}", "1:14: error: serve.dir: `/etc/passwd` is a file (write `file` to answer with it)"),
        ("{dir: /dev/null}", "1:14: error: serve.dir: `/dev/null` is neither a file nor a folder"),
        (
            "{dir: /nowhere/at/all}",
            "1:14: warning: serve.dir: `/nowhere/at/all` is not there; requests get 404 or go on until it is"
        ),
        (
            "{file: /etc/passwd, flat: true}",
            "1:28: error: serve.flat: `flat` is for `dir`; a `file` is sent whatever the path"
        ),
        (
            "{dir: /tmp, flat: true, strip_prefix: /a}",
            "1:32: error: serve.strip_prefix: `flat` is given too, which looks at the last segment only (keep one of the two)"
        ),
        (
            "{dir: /tmp, index: a/b}",
            "1:27: error: serve.index: expected a file's name such as `index.html`, found `a/b` (the name alone, such as `index.html`)"
        ),
        ("{dir: /tmp, cors: maybe}", "1:26: error: serve.cors: expected `auto`, `all` or `none`, found `maybe`"),
        (
            "{dir: /tmp, spa_fallback: yes}",
            "1:34: error: serve.spa_fallback: expected `true` or `false`, found `yes` (write `true`)"
        ),
        ("{dir: /tmp, falthrough: true}", "1:20: error: serve.falthrough: unknown key `falthrough` (did you mean `fallthrough`?)"),
        (
            "{dir: /tmp, cache_control: \"{client.ip}\"}",
            "1:35: error: serve.cache_control: no variable may stand here"
        ),
    ])
    func whatIsWrongIsTold(text: String, message: String) {
        #expect(messages("serve: \(text)\n") == ["config.yaml:" + message])
    }
}

extension String {
    fileprivate func replacingFirst(_ part: String, with other: String) -> String {
        guard let range = firstRange(of: part) else { return self }
        return self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}
