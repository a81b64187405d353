import HTTP
import Policy
import Proxy
import Testing

@testable import Config

@Suite struct LoadingTests {
    @Test func shortFormIsOneRuleForEveryRequest() throws {
        let configuration = try load(
            """
            listen: 127.0.0.1:8080
            upstream: http://127.0.0.1:3000
            request:
              set:
                Authorization: Bearer ${env:API_TOKEN}
            """, environment: ["API_TOKEN": "t0ken"]
        ).configuration
        #expect(
            configuration.listeners == [
                ListenerDefinition(address: .tcp(host: "127.0.0.1", port: 8080), display: "127.0.0.1:8080")
            ])
        let server = ServerDefinition(
            scheme: .http, address: .tcp(host: "127.0.0.1", port: 3000), authority: "127.0.0.1:3000", basePath: "")
        #expect(configuration.upstreams.map(\.name) == ["default"])
        #expect(configuration.upstreams[0].servers == [server])
        let rule = try #require(configuration.rules.first)
        #expect(configuration.rules.count == 1)
        #expect(rule.name == "default")
        #expect(rule.match == nil)
        guard case .proxy(let proxy)? = rule.action else { Issue.record("no proxy action"); return }
        #expect(proxy.upstream == 0)
        let value = try #require(rule.request.set.first?.value)
        #expect(value.isSecret)
        #expect(value.display == "Bearer ${env:API_TOKEN}")
        #expect(shape(value) == ["literal Bearer ", "secret 0"])
        #expect(configuration.secrets.map(\.source) == [.environment("API_TOKEN")])
        #expect(configuration.secrets[0].value.equals(Secret(Array("t0ken".utf8))))
    }

    @Test func withoutFileTheDemoAnswers() throws {
        let loaded = try ConfigurationLoader.load(path: nil, environment: { _ in nil })
        #expect(loaded.configuration.upstreams.map(\.isDemo) == [true])
        #expect(loaded.configuration.listeners.map(\.display) == ["127.0.0.1:8080"])
        #expect(loaded.configuration.file == nil)
        #expect(loaded.files.isEmpty)
    }

    @Test func missingFileIsSaid() {
        let error = #expect(throws: ConfigurationErrors.self) {
            try ConfigurationLoader.load(path: "/nonexistent/config.yaml", environment: { _ in nil })
        }
        #expect(
            error?.render(color: false)
                == "/nonexistent/config.yaml: error: the configuration can not be read: No such file or directory\n")
    }

    @Test func everySettingIsRead() throws {
        let configuration = try load(
            """
            upstream: demo
            trusted_proxies: 10.0.0.0/8
            limits: {header_bytes: 4KiB, header_count: 50, uri_bytes: 2KiB, body: 1MiB, connections: 10}
            timeouts: {header: 1s, body_idle: 2s, write_idle: 250ms, keepalive: 1m30s, tunnel_idle: 2h, shutdown: 5s}
            canonical: {encoded_slash: reject, merge_slashes: false, dot_segments: reject, header_names: any, keep: [X_A, x_b]}
            workers: 3
            instance: edge-1
            admin: {listen: "127.0.0.1:9901", token: "${env:ADMIN}", socket: /run/a.sock}
            log: {level: debug, format: json, access: false, file: stdout}
            """, environment: ["ADMIN": "x"]
        ).configuration
        #expect(configuration.trustedProxies == [AddressRange(address: IPAddress(v4: 0x0a00_0000), prefixLength: 104)])
        #expect(configuration.limits.head.headerBytes == 4096)
        #expect(configuration.limits.head.headerCount == 50)
        #expect(configuration.limits.head.uriBytes == 2048)
        #expect(configuration.limits.body == 1 << 20)
        #expect(configuration.limits.connections == 10)
        let timeouts = configuration.timeouts
        #expect([timeouts.header, timeouts.bodyIdle, timeouts.writeIdle] == [1000, 2000, 250])
        #expect([timeouts.keepalive, timeouts.tunnelIdle, timeouts.shutdown] == [90_000, 7_200_000, 5000])
        #expect(configuration.canonical.encodedSlash == .reject)
        #expect(!configuration.canonical.mergeSlashes)
        #expect(configuration.canonical.dotSegments == .reject)
        #expect(configuration.canonical.headerNames == .any)
        #expect(configuration.canonical.keep == ["X_A", "x_b"])
        #expect(configuration.workers == 3)
        #expect(configuration.instance == "edge-1")
        #expect(configuration.admin.listen?.address == .tcp(host: "127.0.0.1", port: 9901))
        #expect(configuration.admin.token == SecretID(0))
        #expect(configuration.admin.socket == "/run/a.sock")
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .json)
        #expect(!configuration.log.access)
        #expect(configuration.log.destination == .stdout)
    }

    static let addresses: [(String, ListenerDefinition.Address)] = [
        ("127.0.0.1:80", .tcp(host: "127.0.0.1", port: 80)), ("[::1]:80", .tcp(host: "::1", port: 80)),
        (":80", .tcp(host: "", port: 80)), ("*:80", .tcp(host: "", port: 80)),
        ("localhost:80", .tcp(host: "127.0.0.1", port: 80)),
        ("127.0.0.1:0", .tcp(host: "127.0.0.1", port: 0)), ("unix:/run/a.sock", .unix(path: "/run/a.sock", mode: nil)),
        ("unix:a.sock", .unix(path: "/etc/authproxy/a.sock", mode: nil)), ("fd:3", .inherited(descriptor: 3)),
    ]

    @Test(arguments: addresses)
    func addressIsRead(text: String, address: ListenerDefinition.Address) throws {
        let loaded = try load("upstream: demo\nlisten: \"\(text)\"", file: "/etc/authproxy/config.yaml")
        #expect(loaded.configuration.listeners == [ListenerDefinition(address: address, display: text)])
    }

    @Test func listenersMayBeSeveral() throws {
        let configuration = try load(
            "upstream: demo\nlisteners: [':80', {address: 'unix:/a', mode: '0660'}, {address: ':81', h2c: true, protocols: [http/1.1]}]"
        ).configuration
        #expect(
            configuration.listeners.map(\.address) == [
                .tcp(host: "", port: 80), .unix(path: "/a", mode: 0o660), .tcp(host: "", port: 81),
            ])
        #expect(configuration.listeners.map(\.takesHTTP2) == [false, false, true])
        #expect(try load("upstream: demo\nlimits: {h2_streams: 7}").configuration.limits.streams == 7)
    }

    static let urls: [(String, ServerDefinition)] = [
        (
            "http://A.Test",
            ServerDefinition(scheme: .http, address: .tcp(host: "a.test", port: 80), authority: "a.test", basePath: "")
        ),
        ("http://a:80/", ServerDefinition(scheme: .http, address: .tcp(host: "a", port: 80), authority: "a", basePath: "")),
        (
            "http://[::1]:3000/base/",
            ServerDefinition(scheme: .http, address: .tcp(host: "::1", port: 3000), authority: "[::1]:3000", basePath: "/base")
        ),
        (
            "unix:/run/app",
            ServerDefinition(scheme: .http, address: .unix(path: "/run/app"), authority: "localhost", basePath: "")
        ),
    ]

    @Test(arguments: urls)
    func upstreamURLIsRead(text: String, server: ServerDefinition) throws {
        #expect(try load("upstream: \(text)").configuration.upstreams[0].servers == [server])
    }

    @Test func upstreamKeysAreRead() throws {
        let upstream = try load(
            """
            upstreams:
              app:
                servers: [http://a, http://b]
                balance: least_requests
                protocol: http/1.1
                proxy_protocol: none
                timeouts: {connect: 1s, response: 2s, response_idle: 3s, idle: 4s}
                pool: {max_connections: 5, max_idle: 6}
            """
        ).configuration.upstreams[0]
        #expect(upstream.name == "app")
        #expect(upstream.servers.map(\.authority) == ["a", "b"])
        #expect(upstream.balance == .leastRequests)
        let timeouts = upstream.timeouts
        #expect([timeouts.connect, timeouts.response, timeouts.responseIdle, timeouts.idle] == [1000, 2000, 3000, 4000])
        #expect([upstream.pool.maximumConnections, upstream.pool.maximumIdle] == [5, 6])
    }

    @Test func anchorsStandForValues() throws {
        let configuration = try load("upstream: demo\nrequest:\n  set: {X-A: &one \"1\", X-B: *one}").configuration
        #expect(configuration.rules[0].request.set.map(\.name) == ["X-A", "X-B"])
        #expect(configuration.rules[0].request.set.map(\.value.display) == ["1", "1"])
    }

    @Test func structuralPlacesTakeReferencesAsText() throws {
        let configuration = try load(
            """
            listen: ${env:LISTEN}
            upstream: ${env:ORIGIN:-http://127.0.0.1:3000}
            workers: "${env:WORKERS}"
            timeouts: {header: "${env:TIME}"}
            response: {set: {X-Stage: "${env:STAGE}"}}
            """, environment: ["LISTEN": ":81", "WORKERS": "2", "TIME": "3s", "STAGE": "{prod}"]
        ).configuration
        #expect(configuration.listeners == [ListenerDefinition(address: .tcp(host: "", port: 81), display: ":81")])
        #expect(configuration.upstreams[0].servers[0].authority == "127.0.0.1:3000")
        #expect(configuration.workers == 2)
        #expect(configuration.timeouts.header == 3000)
        #expect(configuration.secrets.isEmpty)
        // What a reference stands for is not read again: these are no variables.
        #expect(shape(configuration.rules[0].response.set[0].value) == ["literal {prod}"])
    }
}

/// The parts of a value as texts.
func shape(_ value: ValueTemplate) -> [String] {
    value.parts.map {
        switch $0 {
        case .literal(let bytes): "literal " + String(decoding: bytes, as: UTF8.self)
        case .secret(let id): "secret \(id.index)"
        case .variable(let variable): "\(variable)"
        }
    }
}
