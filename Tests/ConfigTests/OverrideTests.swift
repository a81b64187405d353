import Policy
import Proxy
import Testing

@testable import Config

@Suite struct OverrideTests {
    private func overrides(_ change: (inout ConfigurationOverrides) -> Void) -> ConfigurationOverrides {
        var overrides = ConfigurationOverrides()
        change(&overrides)
        return overrides
    }

    @Test func flagsStandInForTheFile() throws {
        let overrides = overrides {
            $0.listen = .init(":81", from: "--listen")
            $0.upstream = .init("http://b.test", from: "--upstream")
            $0.workers = .init("2", from: "--workers")
            $0.logLevel = .init("debug", from: "--log-level")
            $0.logFormat = .init("json", from: "--log-format")
        }
        let configuration = try load(
            "listeners: [':80']\nupstreams: {default: http://a.test, other: demo}\nlog: {level: warn, access: false}",
            overrides: overrides
        ).configuration
        #expect(configuration.listeners.map(\.display) == [":81"])
        #expect(configuration.upstreams.map { $0.servers.map(\.authority) } == [["b.test"], []])
        #expect(configuration.workers == 2)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .json)
        #expect(!configuration.log.access)
    }

    @Test func headersAreSetByEveryRule() throws {
        let overrides = overrides {
            $0.headers = [
                .init("X-A: {request.id}", from: "--header"), .init("Authorization:Bearer ${env:T}", from: "--header"),
            ]
        }
        let configuration = try load(
            "upstream: demo\nrules:\n  - {match: {path: /a}, request: {set: {x_a: file}}, proxy: {}}\n  - {proxy: {}}",
            environment: ["T": "t"], overrides: overrides
        ).configuration
        for rule in configuration.rules {
            #expect(rule.request.set.map(\.name) == ["X-A", "Authorization"])
            #expect(rule.request.set.map(\.value.display) == ["{request.id}", "Bearer ${env:T}"])
        }
        let short = try load("upstream: demo", environment: ["T": "t"], overrides: overrides).configuration
        #expect(short.rules[0].request.set.map(\.name) == ["X-A", "Authorization"])
    }

    @Test func withoutFileFlagsAreEnough() throws {
        let overrides = overrides { $0.upstream = .init("http://a.test", from: "--upstream") }
        let configuration = try ConfigurationLoader.load(path: nil, environment: { _ in nil }, overrides: overrides)
            .configuration
        #expect(configuration.upstreams.map { $0.servers.map(\.authority) } == [["a.test"]])
    }

    @Test func errorsNameTheFlag() {
        let overrides = overrides {
            $0.listen = .init("8080", from: "--listen")
            $0.upstream = .init("a.test", from: "AUTHPROXY_UPSTREAM")
            $0.headers = [
                .init("nothing", from: "--header"), .init("Connection: close", from: "--header"),
                .init("X-A: ${env:NONE}", from: "--header"),
            ]
            $0.logLevel = .init("loud", from: "--log-level")
        }
        let address = "an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`"
        #expect(
            messages("", overrides: overrides) == [
                "--header: error: expected `Name: value`, found a text without a colon",
                "--listen: error: listen: expected \(address), found `8080` (write `:8080` for all addresses, or `127.0.0.1:8080`)",
                "AUTHPROXY_UPSTREAM: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `a.test` (did you mean `http://a.test`?)",
                "--header: error: request.set.Connection: `Connection` can not stand here: it belongs to one connection (RFC 9110 section 7.6.1), and the proxy writes it itself",
                "--header: error: request.set.X-A: the environment variable `NONE` is not set (set it, or give a default: `${env:NONE:-default}`)",
                "--log-level: error: log.level: expected `error`, `warn`, `info` or `debug`, found `loud`",
            ])
    }
}
