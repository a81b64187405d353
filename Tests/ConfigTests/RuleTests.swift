import Glibc
import Policy
import Proxy
import Testing

@testable import Config

@Suite struct RuleTests {
    @Test func everyMatchKeyIsRead() throws {
        let folder = try TemporaryFolder()
        try folder.write("list.txt", "/a\n")
        let loaded = try ConfigurationLoader.load(
            path: try folder.write(
                "config.yaml",
                """
                rules:
                  - match:
                      host: [API.example.com, "*.example.org", "*", "[::1]"]
                      path: /v1/**
                      path_regex: /v[0-9]+/.*
                      extension: [PNG, js]
                      method: [GET, PURGE]
                      scheme: https
                      header: {X-Debug: "1", X-Number: 2, X-Here: true, X-Gone: false, X-True: "true", X-Glob: {glob: "a*"}, X-Re: {regex: "[0-9]+"}}
                      query: {debug: "1"}
                      cookie: {beta: true}
                      client_ip: [10.0.0.0/8, "::1"]
                      url_list: [list.txt, {file: list.txt, format: hosts}]
                      not: {path: [/v1/public/**]}
                    block: true
                """), environment: { _ in nil })
        let match = try #require(loaded.configuration.rules[0].match)
        #expect(match.hosts == [.exact("api.example.com"), .subdomains(of: "example.org"), .any, .exact("[::1]")])
        #expect(match.paths == ["/v1/**"])
        #expect(match.pathRegex == ["/v[0-9]+/.*"])
        #expect(match.extensions == ["png", "js"])
        #expect(match.methods == ["GET", "PURGE"])
        #expect(match.schemes == [.https])
        #expect(
            match.headers.map { "\($0.name): \($0.value)" } == [
                "X-Debug: exact(\"1\")", "X-Number: exact(\"2\")", "X-Here: present", "X-Gone: absent",
                "X-True: exact(\"true\")",
                "X-Glob: glob(\"a*\")", "X-Re: regex(\"[0-9]+\")",
            ])
        #expect(match.query.map { "\($0.name): \($0.value)" } == ["debug: exact(\"1\")"])
        #expect(match.cookies.map { "\($0.name): \($0.value)" } == ["beta: present"])
        #expect(match.clientIP?.map(\.prefixLength) == [104, 128])
        #expect(match.urlLists.map(\.path) == [folder.path + "/list.txt", folder.path + "/list.txt"])
        #expect(match.urlLists.map(\.format) == [.url, .hosts])
        #expect(match.not.map(\.paths) == [["/v1/public/**"]])
        #expect(loaded.files == [folder.path + "/config.yaml", folder.path + "/list.txt"])
    }

    @Test func aListMayBeAsLargeWhenItIsFirstReadAsLater() throws {
        let folder = try TemporaryFolder()
        // One comment beyond what other files may have.
        try folder.write("list.txt", "! " + String(repeating: "x", count: FileReader.fileLimit) + "\n||ads.test^\n")
        let list = "{file: \(folder.path)/list.txt, format: adblock}"
        #expect(messages("upstream: demo\nrules:\n  - match: {url_list: \(list)}\n    block: true\n") == [])
        let body = messages("respond: {file: \(folder.path)/list.txt}\n")
        #expect(body.count == 1 && body[0].hasSuffix("can not be read: it is larger than 16 MiB"))
    }

    @Test func filesThatAreReadWholeAreRegular() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.path + "/fifo", 0o600) == 0)
        defer { unlink(folder.path + "/fifo") }
        for text in [
            "upstream: demo\nrules:\n  - match: {url_list: \(folder.path)/fifo}\n    block: true\n",
            "respond: {file: \(folder.path)/fifo}\n",
        ] {
            let found = messages(text)
            #expect(found.count == 1 && found[0].hasSuffix("can not be read: it is no regular file"), "\(found)")
        }
    }

    @Test func everyEditIsRead() throws {
        let rule = try load(
            """
            upstream: demo
            request:
              remove: [X-Internal, "X-Debug-*"]
              rename: {X-Old: X-New}
              set: {X-Env: prod, X-Version: 2, X-Line: "{request.method} {{x}", Host: a.test, X-Empty: ""}
              append: {X-Tag: a}
              default: {Accept-Language: en}
              query: {remove: [utm_source], set: {v: "2"}}
              cookies: {keep: [session], set: {beta: "1"}}
            response:
              remove: [Server]
              set: {Strict-Transport-Security: max-age=31536000}
            cache_storage: not_allowed
            """
        ).configuration.rules[0]
        #expect(rule.request.remove == ["X-Internal", "X-Debug-*"])
        #expect(rule.request.rename.map { [$0.from, $0.to] } == [["X-Old", "X-New"]])
        #expect(rule.request.set.map(\.name) == ["X-Env", "X-Version", "X-Line", "Host", "X-Empty"])
        #expect(
            rule.request.set.map { shape($0.value) } == [
                ["literal prod"], ["literal 2"], ["requestMethod", "literal  {x}"], ["literal a.test"], [],
            ])
        #expect(rule.request.set.allSatisfy { !$0.value.isSecret })
        #expect(rule.request.append.map(\.name) == ["X-Tag"])
        #expect(rule.request.defaults.map(\.name) == ["Accept-Language"])
        #expect(rule.query.remove == ["utm_source"])
        #expect(rule.query.set.map(\.name) == ["v"])
        #expect(rule.cookies.keep == ["session"])
        #expect(rule.cookies.set.map(\.name) == ["beta"])
        #expect(rule.response.remove == ["Server"])
        #expect(rule.response.set.map(\.name) == ["Strict-Transport-Security"])
        #expect(rule.cacheStorage == .notAllowed)
    }

    @Test func everyProxyKeyIsRead() throws {
        let rule = try load(
            """
            upstreams: {a: http://a, b: http://b}
            rules:
              - match: {path: /a}
                proxy: {upstream: a, redirects: pass, preserve_host: true, path: "/x{request.path}"}
              - proxy:
                  upstream: b
                  strip_prefix: /v1/
                  add_prefix: /v2
                  preserve_host: false
                  upgrades: [WebSocket]
                  timeouts: {connect: 1s, response: 2s, response_idle: 3s}
                  redirects: {follow: listed, hosts: [a.test, "*.b.test:81"], max: 3, body_buffer: 4KiB}
                  retries: 0
            """
        ).configuration.rules
        guard case .proxy(let first)? = rule[0].action, case .proxy(let proxy)? = rule[1].action else {
            Issue.record("no proxy actions")
            return
        }
        #expect(rule.map(\.name) == ["rule-1", "rule-2"])
        #expect(first.upstream == 0)
        guard case .pass = first.redirects.mode else { Issue.record("not pass"); return }
        #expect(first.preserveHost == .yes)
        #expect(first.path.map(shape) == ["literal /x", "requestPath"])
        #expect(proxy.upstream == 1)
        #expect(proxy.stripPrefix == "/v1")
        #expect(proxy.addPrefix == "/v2")
        #expect(proxy.preserveHost == .no)
        #expect(proxy.upgrades == ["websocket"])
        #expect([proxy.connectTimeout, proxy.responseTimeout, proxy.responseIdleTimeout] == [1000, 2000, 3000])
        guard case .follow(.listed) = proxy.redirects.mode else { Issue.record("not listed"); return }
        #expect(
            proxy.redirects.hosts == [
                DestinationPattern(host: .exact("a.test"), port: nil),
                DestinationPattern(host: .subdomains(of: "b.test"), port: 81),
            ])
        #expect(proxy.redirects.maximum == 3)
        #expect(proxy.redirects.bodyBuffer == 4096)
        #expect(proxy.retries == 0)
    }

    @Test func otherActionsAreRead() throws {
        let folder = try TemporaryFolder()
        try folder.write("a.css", "a{}")
        let rules = try ConfigurationLoader.load(
            path: try folder.write(
                "config.yaml",
                """
                rules:
                  - {match: {path: /1}, block: true}
                  - {match: {path: /2}, block: {status: 403, cache_control: max-age=60}}
                  - {match: {path: /3}, respond: {status: 418, headers: {X-Kind: teapot}, body: "short and stout"}}
                  - {match: {path: /4}, respond: {file: a.css}}
                  - {match: {path: /5}, redirect: {to: "https://{request.host}{request.target}"}}
                """), environment: { _ in nil }
        ).configuration.rules
        guard case .block(let block)? = rules[0].action, case .block(let forbidden)? = rules[1].action,
            case .respond(let text)? = rules[2].action, case .respond(let file)? = rules[3].action,
            case .redirect(let redirect)? = rules[4].action
        else {
            Issue.record("not the actions of the file")
            return
        }
        #expect(block.status == nil && block.cacheControl == nil)
        #expect(forbidden.status == 403 && forbidden.cacheControl == "max-age=60")
        #expect(text.status == 418)
        #expect(text.headers.map(\.name) == ["X-Kind"])
        #expect(text.body == Array("short and stout".utf8))
        #expect(text.contentType == "text/plain; charset=utf-8")
        #expect(file.body == Array("a{}".utf8))
        #expect(file.contentType == "text/css; charset=utf-8")
        #expect(shape(redirect.to) == ["literal https://", "requestHost", "requestTarget"])
        #expect(redirect.status == 308)
    }

    @Test func aRuleWithoutActionHandsOn() throws {
        let rules = try load("upstream: demo\nrules:\n  - {name: a, request: {set: {A: b}}}\n  - {name: b, proxy: {}}")
            .configuration.rules
        #expect(rules.map { $0.action == nil } == [true, false])
        #expect(rules.map(\.location.line) == [3, 4])
    }
}
