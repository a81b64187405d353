import Testing

@testable import Config

@Suite struct RenderingTests {
    private let text = """
        listen: 127.0.0.1:1
        rules:

          - proxy: {upstrem: app, timeouts: {response: 10}}
          - {match: {path_regex: ^/a.*}, block: true}
        """

    private func errors() throws -> ConfigurationErrors {
        try #require(throws: ConfigurationErrors.self) { try load(text) }
    }

    @Test func plainOutputIsOneLineAProblem() throws {
        #expect(
            try errors().render(color: false) == """
                config.yaml:4:13: error: rules[0].proxy.upstrem: unknown key `upstrem` (did you mean `upstream`?)
                config.yaml:4:48: error: rules[0].proxy.timeouts.response: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found the bare number `10` (write `10s` if you mean seconds)
                config.yaml:5:26: warning: rules[1].match.path_regex: the whole path must match: the leading `^` says nothing

                """)
    }

    @Test func terminalOutputShowsTheLineAndACaret() throws {
        #expect(
            try errors().render(color: false, showsSource: true).hasPrefix(
                """
                config.yaml:4:13: error: rules[0].proxy.upstrem: unknown key `upstrem` (did you mean `upstream`?)
                 4 |   - proxy: {upstrem: app, timeouts: {response: 10}}
                   |             ^~~~~~~
                """))
    }

    @Test func coloursAreThoseOfCompilers() throws {
        let escape = "\u{1b}"
        #expect(
            try errors().render(color: true).hasSuffix(
                """
                \(escape)[1mconfig.yaml:5:26: \(escape)[0m\(escape)[1;35mwarning: \(escape)[0m\(escape)[1mrules[1].match.path_regex: the whole path must match: the leading `^` says nothing\(escape)[0m
                 \(escape)[34m5 |\(escape)[0m   - {match: {path_regex: ^/a.*}, block: true}
                 \(escape)[34m  |\(escape)[0m                          \(escape)[1;32m^~~~~\(escape)[0m

                """))
    }

    @Test func controlCharactersDoNotReachTheTerminal() throws {
        let error = try #require(throws: ConfigurationErrors.self) { try load("upstream: \"\\e[31mx\"\nlog: {\"a\\x9b\": 1}") }
        let shown = error.render(color: false, showsSource: true)
        #expect(shown.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value) })
        #expect(shown.contains("found `\\u{1b}[31mx`"))
    }

    @Test func controlCharactersInTheFileAreRefused() {
        #expect(messages("upstream: x\u{1}y") == ["config.yaml:1:12: error: a control character (remove it)"])
    }

    @Test func bytesThatAreNoUTF8AreRefused() throws {
        var reader = YAMLReader(Array("upstream: demo\nlog: ".utf8) + [0xff], file: "config.yaml")
        let error = try #require(throws: ConfigurationError.self) { try reader.document() }
        #expect(error.line == "config.yaml:2:6: error: not UTF-8 (save the file in UTF-8)")
    }
}
