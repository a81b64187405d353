import HTTP
import Testing

@testable import Policy

struct CredentialTests {
    private static func hosts(_ names: String...) -> [DestinationPattern] {
        names.map { DestinationPattern(host: .exact($0), port: nil) }
    }

    private static let bearer = CredentialDefinition(
        name: "static_token", kind: .bearer(RuleFixture.value("$0")), hosts: hosts("up.test"))
    private static let basic = CredentialDefinition(
        name: "service", kind: .basic(user: RuleFixture.value("svc"), password: RuleFixture.value("$1")),
        hosts: hosts("up.test"))
    private static let header = CredentialDefinition(
        name: "partner", kind: .header(name: "X-Api-Key", value: RuleFixture.value("$0")),
        hosts: [DestinationPattern(host: .subdomains(of: "test"), port: 8443)])
    private static let perClient = CredentialDefinition(
        name: "per_client",
        kind: .basic(user: RuleFixture.value("{request.header.x-user}"), password: RuleFixture.value("$1")),
        hosts: hosts("up.test"))
    private static let elsewhere = CredentialDefinition(
        name: "elsewhere", kind: .bearer(RuleFixture.value("two")), hosts: hosts("other.test"))

    private func send(
        _ credentials: [CredentialDefinition], _ fields: [(String, String)] = [],
        onMissing: RuleDefinition.OnMissing = .fail,
        destination: String = "up.test", port: UInt16 = 80, isFirstSend: Bool = true,
        secrets: [String] = ["s3cr3t", "p:w"],
        lost: Bool = false, _ configure: (inout RuleDefinition) -> Void = { _ in }
    ) throws(Rejection) -> [String] {
        let rule = RuleFixture.rule("r") {
            $0.credentials = Array(credentials.indices)
            $0.onMissing = onMissing
            configure(&$0)
        }
        let rules = RuleFixture.rules([rule], credentials: credentials, secrets: secrets)
        if lost { rules.update(SecretID(0), nil) }
        let request = RuleFixture.request(fields: fields)
        let plan = rules.plan(for: RuleFixture.take(rules, request))
        let context = RuleFixture.context(
            request, destination: destination, port: port, isUpstreamOrigin: destination == "up.test")
        return try RuleFixture.send(plan.request, request, context, isFirstSend: isFirstSend)
    }

    @Test func eachKindWritesItsLineOverTheClients() throws {
        let evil = [("Authorization", "EVIL"), ("authorization", "EVIL"), ("x_api_key", "EVIL")]
        #expect(try send([Self.bearer], evil) == ["x_api_key: EVIL", "Authorization: Bearer s3cr3t"])
        #expect(try send([Self.basic], evil) == ["x_api_key: EVIL", "Authorization: Basic c3ZjOnA6dw=="])
        #expect(try send([Self.header], [("x_api_key", "EVIL")], port: 8443) == ["X-Api-Key: s3cr3t"])
    }

    @Test func aVariableInACredentialIsReadPerRequest() throws {
        #expect(try send([Self.perClient], [("X-User", "al")]) == ["X-User: al", "Authorization: Basic YWw6cDp3"])
        #expect(throws: Rejection.internalError) { try send([Self.perClient], [("X-User", "a:l")]) }
        #expect(throws: Rejection.credentialUnavailable) { try send([Self.perClient]) }
        #expect(try send([Self.perClient], onMissing: .pass) == [])
    }

    @Test func onlyToItsHosts() throws {
        #expect(throws: Rejection.credentialUnavailable) { try send([Self.header], port: 80) }
        #expect(try send([Self.header], onMissing: .pass, port: 80) == [])
        #expect(try send([Self.bearer], destination: "evil.test", isFirstSend: false) == [])
        #expect(
            try send([Self.header], destination: "x.y.test", port: 8443, isFirstSend: false) == ["X-Api-Key: s3cr3t"])
        #expect(try send([Self.header], destination: "test", port: 8443, isFirstSend: false) == [])
    }

    @Test func ofTwoForOneFieldTheLastThatMayGoIsSent() throws {
        let both = [Self.bearer, Self.elsewhere]
        #expect(try send(both, isFirstSend: false) == ["Authorization: Bearer s3cr3t"])
        #expect(try send(both, destination: "other.test", isFirstSend: false) == ["Authorization: Bearer two"])
        #expect(try send([Self.bearer, Self.basic]) == ["Authorization: Basic c3ZjOnA6dw=="])
    }

    @Test func aLostSecretObeysOnMissing() throws {
        #expect(throws: Rejection.credentialUnavailable) { try send([Self.bearer], lost: true) }
        #expect(throws: Rejection.credentialUnavailable) { try send([Self.bearer], isFirstSend: false, lost: true) }
        #expect(try send([Self.bearer], [("Authorization", "EVIL")], onMissing: .pass, lost: true) == [])
        let fallback = try send([Self.bearer], onMissing: .pass, lost: true) {
            $0.request.set = [("Authorization", RuleFixture.value("Basic guest", isSecret: true))]
        }
        #expect(fallback == ["Authorization: Basic guest"])
    }

    @Test func itTakesThePlaceOfEdits() throws {
        let sent = try send([Self.bearer], [("X-Auth", "client")]) {
            $0.request.rename = [("X-Auth", "Authorization")]
            $0.request.set = [("authorization", RuleFixture.value("guest", isSecret: true))]
        }
        #expect(sent == ["Authorization: Bearer s3cr3t"])
    }

    @Test func anIllegalSecretIsAnInternalError() {
        #expect(throws: Rejection.internalError) { try send([Self.bearer], secrets: ["a\nb", ""]) }
        #expect(throws: Rejection.internalError) { try send([Self.basic], secrets: ["", "a\nb"]) }
    }
}
