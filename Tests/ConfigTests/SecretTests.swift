import Policy
import Proxy
import Testing

@testable import Config

@Suite struct SecretTests {
    @Test func credentialsAreSecretThroughout() throws {
        let folder = try TemporaryFolder()
        try folder.write("pw", "p:w\n")
        let configuration = try ConfigurationLoader.load(
            path: try folder.write(
                "config.yaml",
                """
                upstream: http://127.0.0.1:3000
                credentials:
                  token: {bearer: "${env:API_TOKEN}"}
                  service: {basic: {user: svc, password: "${file:pw}"}}
                  partner: {header: {name: X-Api-Key, value: "Key ${env:API_TOKEN}"}}
                  literal: {bearer: abc, hosts: ["*"]}
                rules:
                  - {match: {path: /1}, credential: token, proxy: {}}
                  - {match: {path: /2}, credential: [service, partner], on_missing: pass, proxy: {}}
                  - {credential: literal, proxy: {}}
                """), environment: { ["API_TOKEN": "t0ken"][$0] }
        ).configuration
        #expect(
            configuration.secrets.map(\.source) == [
                .environment("API_TOKEN"), .literal, .file(folder.path + "/pw"), .literal,
            ])
        #expect(configuration.secrets[2].value.equals(Secret(Array("p:w".utf8))))
        let credentials = configuration.credentials
        #expect(credentials.map(\.fieldName) == ["Authorization", "Authorization", "X-Api-Key", "Authorization"])
        guard case .bearer(let token) = credentials[0].kind, case .basic(let user, let password) = credentials[1].kind,
            case .header(_, let value) = credentials[2].kind, case .bearer(let literal) = credentials[3].kind
        else {
            Issue.record("not the kinds of the file")
            return
        }
        let values = [token, user, password, value, literal]
        #expect(values.map(shape) == [["secret 0"], ["secret 1"], ["secret 2"], ["literal Key ", "secret 0"], ["secret 3"]])
        #expect(values.map(\.display) == ["${env:API_TOKEN}", "***", "${file:pw}", "Key ${env:API_TOKEN}", "***"])
        #expect(values.allSatisfy { $0.isSecret })
        #expect(configuration.rules.map(\.credentials) == [[0], [1, 2], [3]])
        #expect(configuration.rules.map { $0.onMissing == .pass } == [false, true, false])
    }

    @Test func oneNewlineOfAFileIsDropped() throws {
        let folder = try TemporaryFolder()
        try folder.write("key", "k3y\n")
        let text = "upstream: demo\nrequest: {set: {X-Key: \"${file:key}\", X-Same: \"a ${file:key}\"}}"
        let configuration = try ConfigurationLoader.load(
            path: try folder.write("config.yaml", text), environment: { _ in nil }
        ).configuration
        #expect(configuration.secrets.map(\.source) == [.file(folder.path + "/key")])
        #expect(configuration.secrets[0].value.equals(Secret(Array("k3y".utf8))))
        #expect(configuration.rules[0].request.set.map { shape($0.value) } == [["secret 0"], ["literal a ", "secret 0"]])
        #expect(configuration.rules[0].request.set.map(\.value.display) == ["${file:key}", "a ${file:key}"])
        #expect(configuration.rules[0].request.set.map(\.value.isSecret) == [true, true])
    }

    @Test func hostsDefaultToTheServersOfTheRulesUpstreams() throws {
        let credentials = try load(
            """
            upstreams: {a: "http://A.test", b: "http://[::1]:3000", c: "unix:/run/c", d: demo}
            credentials: {one: {bearer: x}, all: {bearer: x}, own: {bearer: x, hosts: [a.test, "*.b.test:81"]}}
            rules:
              - {match: {path: /1}, credential: one, proxy: {upstream: b}}
              - {match: {path: /2}, credential: own, proxy: {upstream: a}}
              - {match: {path: /3}, credential: all}
              - {proxy: {upstream: a}}
            """
        ).configuration.credentials
        #expect(credentials[0].hosts == [DestinationPattern(host: .exact("[::1]"), port: 3000)])
        #expect(
            credentials[1].hosts == [
                DestinationPattern(host: .exact("a.test"), port: 80), DestinationPattern(host: .exact("[::1]"), port: 3000),
                DestinationPattern(host: .exact("localhost"), port: 80), DestinationPattern(host: .exact("demo"), port: 80),
            ])
        #expect(
            credentials[2].hosts == [
                DestinationPattern(host: .exact("a.test"), port: nil),
                DestinationPattern(host: .subdomains(of: "b.test"), port: 81),
            ])
    }

    static let displays: [(String, String, String)] = [
        ("Authorization", "Bearer ${env:T}", "Bearer ${env:T}"), ("Authorization", "Bearer test-token", "***"),
        ("authorization", "abc${env:T}", "***${env:T}"), ("Cookie", "sid={request.cookie.sid}", "***{request.cookie.sid}"),
        ("Proxy-Authorization", "Basic abc", "***"), ("X-Api-Key", "id ${env:T} {request.id}", "id ${env:T} {request.id}"),
        ("X-Plain", "$${env:T} {{", "$${env:T} {{"),
    ]

    @Test(arguments: displays)
    func secretIsShownAsItsSource(name: String, text: String, display: String) throws {
        let value = try load("upstream: demo\nrequest: {set: {\(name): \"\(text)\"}}", environment: ["T": "canary"])
            .configuration.rules[0].request.set[0].value
        #expect(value.display == display)
        #expect(value.isSecret == (name != "X-Plain"))
    }

    @Test func defaultOfAReferenceStandsForUnsetAndEmpty() throws {
        let set = try load(
            "upstream: demo\nresponse: {set: {A: \"${env:NONE:-x}\", B: \"${env:EMPTY:-y}\", C: \"${env:EMPTY}\", D: \"$${env:A}\"}}",
            environment: ["EMPTY": ""]
        ).configuration.rules[0].response.set
        #expect(set.map { shape($0.value) } == [["literal x"], ["literal y"], ["literal "], ["literal ${", "literal env:A}"]])
    }

    @Test func errorsDescribeThemselvesWithoutTheSource() {
        do {
            _ = try load("upstream: demo\ncredentials: {a: {bearer: canary}}\nlgo: {}")
            Issue.record("it is faulty")
        } catch {
            #expect("\(error)" == "config.yaml:3:1: error: unknown key `lgo` (did you mean `log`?)\n")
            #expect(!String(reflecting: error).contains("canary"))
        }
    }

    @Test func linesThatHoldSecretsAreNotShown() {
        let text = """
            upstream: demo
            credentials: {a: {bearer: canary-1, hots: [b]}}
            request: {set: {Authorization: canary-2, "B C": d}}
            log: {levl: info}
            """
        do {
            _ = try load(text)
            Issue.record("it is faulty")
        } catch {
            let shown = error.render(color: false, showsSource: true)
            #expect(!shown.contains("canary"))
            #expect(shown.contains(" 4 | log: {levl: info}"))
        }
    }
}
