import HTTP
import Testing

@testable import Policy

struct EditPlanTests {
    private func send(
        _ rules: RuleSet, _ fields: [(String, String)], isUpstreamOrigin: Bool = true, isFirstSend: Bool = true,
        destination: String = "up.test", port: UInt16 = 80
    ) throws(Rejection) -> [String] {
        let request = RuleFixture.request(fields: fields)
        let plan = rules.plan(for: RuleFixture.take(rules, request))
        let context = RuleFixture.context(
            request, destination: destination, port: port, isUpstreamOrigin: isUpstreamOrigin)
        return try RuleFixture.send(plan.request, request, context, isFirstSend: isFirstSend)
    }

    private func literals(_ pairs: [(String, String)]) -> [(name: String, value: ValueTemplate)] {
        pairs.map { ($0.0, RuleFixture.value($0.1)) }
    }

    @Test func theFiveVerbs() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") {
                $0.request.remove = ["X-Internal", "X-Debug-*"]
                $0.request.rename = [("X-Old", "X-New")]
                $0.request.set = literals([("X-Env", "prod")])
                $0.request.append = literals([("X-Tag", "a")])
                $0.request.defaults = literals([("Accept-Language", "en")])
            }
        ])
        let sent = try send(
            rules,
            [
                ("X-Internal", "1"), ("X-Debug-Level", "2"), ("x-debug-trace", "3"), ("X-Debug", "4"), ("X-Old", "5"),
                ("x-env", "client"), ("X-Tag", "z"), ("X_Tag", "evil"), ("x.env", "evil"), ("X_Internal", "evil"),
            ])
        #expect(sent == ["X-Debug: 4", "X-New: 5", "X-Tag: z", "X-Env: prod", "X-Tag: a", "Accept-Language: en"])
        #expect(try send(rules, [("accept-language", "de")]) == ["accept-language: de", "X-Env: prod", "X-Tag: a"])
    }

    @Test func managedNamesOfRulesThatDidNotMatchAreRemovedToo() throws {
        var elsewhere = MatchDefinition()
        elsewhere.paths = ["/elsewhere"]
        var other = ProxyDefinition()
        other.upstream = 1
        let rules = RuleFixture.rules(
            [
                RuleFixture.rule("same") {
                    $0.match = elsewhere
                    $0.request.set = literals([("X-User", "u")])
                    $0.credentials = [0]
                },
                RuleFixture.rule("other", action: .proxy(other)) {
                    $0.match = elsewhere
                    $0.request.set = literals([("X-Other", "o")])
                },
                RuleFixture.rule("edits", action: nil) {
                    $0.match = elsewhere
                    $0.request.defaults = literals([("X-Lang", "en")])
                },
                RuleFixture.rule("all"),
            ],
            credentials: [
                CredentialDefinition(
                    name: "key", kind: .header(name: "X-Api-Key", value: RuleFixture.value("k")), hosts: [])
            ])
        let sent = try send(
            rules,
            [
                ("X-User", "evil"), ("x_user", "evil"), ("X-API_KEY", "evil"), ("X-Other", "fine"), ("X-Lang", "fine"),
                ("X_Lang", "evil"),
            ])
        #expect(sent == ["X-Other: fine", "X-Lang: fine"])
        let hop = rules.planWithoutRule(towards: 0)
        let request = RuleFixture.request(fields: [("X_User", "evil"), ("X-Other", "fine")])
        #expect(try RuleFixture.send(hop.request, request, RuleFixture.context(request)) == ["X-Other: fine"])
    }

    @Test func rulesEditInOrder() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("one", action: nil) {
                $0.request.set = literals([("X-A", "1"), ("X-B", "1"), ("X-C", "1")])
            },
            RuleFixture.rule("two", action: nil) {
                $0.request.remove = ["x_a"]
                $0.request.rename = [("X-B", "X-D")]
                $0.request.set = literals([("X-C", "2")])
                $0.request.append = literals([("X-C", "3")])
            },
            RuleFixture.rule("three") { $0.request.defaults = literals([("X-A", "4"), ("X-C", "4")]) },
        ])
        #expect(try send(rules, []).sorted() == ["X-A: 4", "X-C: 2", "X-C: 3", "X-D: 1"])
    }

    @Test func anAbsentVariableIsNoLineAndADefaultMayApply() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("one", action: nil) {
                $0.request.set = literals([("X-User", "{request.header.x-ask}"), ("X-Text", "<{client.user}>")])
            },
            RuleFixture.rule("two") { $0.request.defaults = literals([("X-User", "nobody")]) },
        ])
        #expect(try send(rules, []).sorted() == ["X-Text: <>", "X-User: nobody"])
        #expect(try send(rules, [("X-Ask", "me")]).sorted() == ["X-Ask: me", "X-Text: <>", "X-User: me"])
        #expect(try send(rules, [("X-User", "evil")]).sorted() == ["X-Text: <>", "X-User: nobody"])
    }

    @Test func orderOfOneNameIsKeptWhereverItsLinesComeFrom() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") {
                $0.request.append = literals([("X-T", "1"), ("X-T", "{request.method}"), ("X-T", "3")])
            }
        ])
        #expect(try send(rules, [("X-T", "0")]) == ["X-T: 0", "X-T: 1", "X-T: GET", "X-T: 3"])
    }

    @Test func anIllegalValueIsAnInternalError() {
        let secret = RuleFixture.rules(
            [RuleFixture.rule("r") { $0.request.set = literals([("X", "$0")]) }], secrets: ["a\r\nX-Evil: 1"])
        #expect(throws: Rejection.internalError) { try send(secret, []) }
        let variable = RuleFixture.rules([
            RuleFixture.rule("r") { $0.request.set = literals([("X", "{request.header.y}")]) }
        ])
        #expect(throws: Rejection.internalError) { try send(variable, [("Y", "a\u{0}b")]) }
    }

    @Test func framingAndHostAreTheWriters() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") {
                $0.request.set = literals([("Content-Length", "9"), ("Host", "{request.host}"), ("X-A", "1")])
                $0.request.rename = [("X-Old", "Transfer-Encoding"), ("X-Older", "Host")]
            }
        ])
        #expect(try send(rules, [("X-Old", "chunked"), ("X-Older", "evil")]) == ["X-A: 1"])
        let request = RuleFixture.request()
        let plan = rules.plan(for: RuleFixture.take(rules, request)).request
        let out = ByteBuffer()
        #expect(plan.setsHost)
        #expect(try plan.writeHost(RuleFixture.context(request), into: out))
        #expect(RuleFixture.text(out) == "a.test")
    }

    @Test func secretsGoToTheUpstreamsOriginOnly() throws {
        let rules = RuleFixture.rules(
            [
                RuleFixture.rule("r") {
                    $0.request.set = literals([("X-Key", "k$0"), ("X-Env", "prod"), ("X-Both", "{request.method} $0")])
                    $0.request.set.append(("Authorization", RuleFixture.value("Bearer test", isSecret: true)))
                }
            ], secrets: ["s3"])
        let all = ["Authorization: Bearer test", "X-Both: GET s3", "X-Env: prod", "X-Key: ks3"]
        #expect(try send(rules, [("X-Key", "client")]).sorted() == all)
        #expect(try send(rules, [("X-Key", "client")], isUpstreamOrigin: false) == ["X-Env: prod"])
        let request = RuleFixture.request()
        let context = RuleFixture.context(request, isUpstreamOrigin: false)
        let plan = rules.plan(for: RuleFixture.take(rules, request))
        _ = try RuleFixture.send(plan.request, request, context)
        #expect(context.withheld == 3)
        #expect(plan.injectsAuthorization)
    }

    @Test func aChangedSecretIsInForceAtOnceAndALostOneObeysOnMissing() throws {
        for onMissing in [RuleDefinition.OnMissing.fail, .pass] {
            let rules = RuleFixture.rules(
                [
                    RuleFixture.rule("r") {
                        $0.request.set = literals([("X-Key", "$0"), ("X-Late", "$0{request.method}")])
                        $0.onMissing = onMissing
                    }
                ], secrets: ["old"])
            #expect(try send(rules, []).sorted() == ["X-Key: old", "X-Late: oldGET"])
            rules.update(SecretID(0), Secret(Array("a longer new value".utf8)))
            #expect(try send(rules, []).sorted() == ["X-Key: a longer new value", "X-Late: a longer new valueGET"])
            rules.update(SecretID(0), nil)
            if onMissing == .pass {
                #expect(try send(rules, [("X-Key", "client")]) == [])
            } else {
                #expect(throws: Rejection.credentialUnavailable) { try send(rules, []) }
            }
        }
    }

    @Test func trailersPassTheSameFilter() {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") {
                $0.request.set = literals([("X-Env", "prod")])
                $0.request.append = literals([("X-Tag", "a")])
                $0.request.remove = ["X-Internal", "X-D-*"]
                $0.request.rename = [("X-Old", "X-New")]
            }
        ])
        let plan = rules.plan(for: RuleFixture.take(rules, RuleFixture.request())).request
        let verdicts = [
            ("X-Env", false), ("x_env", false), ("X-Tag", true), ("x.tag", false), ("X_Internal", false),
            ("x-d-1", false),
            ("X-Old", false), ("Grpc-Status", true),
        ]
        for (name, expected) in verdicts {
            #expect(plan.admitTrailer(text: name) == expected, "\(name)")
        }
    }

    @Test func responseEditsHaveNoManagedNames() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") {
                $0.response.remove = ["Server", "X-Powered-*"]
                $0.response.rename = [("X-Old", "X-New")]
                $0.response.set = literals([("Strict-Transport-Security", "max-age=31536000")])
                $0.response.defaults = literals([("Cache-Control", "no-cache")])
                $0.request.set = literals([("X-Env", "prod")])
            }
        ])
        let request = RuleFixture.request(fields: [
            ("Server", "o"), ("X-Powered-By", "y"), ("X-Old", "old"), ("Cache-Control", "no-store"),
            ("strict-transport-security", "max-age=1"), ("X-Env", "origin"),
        ])
        let plan = rules.plan(for: RuleFixture.take(rules, request)).response
        let sent = try RuleFixture.send(plan, request, RuleFixture.context(request))
        #expect(
            sent == [
                "X-New: old", "Cache-Control: no-store", "X-Env: origin", "Strict-Transport-Security: max-age=31536000",
            ])
    }

    @Test func hundredConstantLinesAreOneBlock() throws {
        let rules = RuleFixture.rules([
            RuleFixture.rule("r") { $0.request.set = literals((0..<100).map { ("X-\($0)", "v\($0)") }) }
        ])
        let plan = rules.plan(for: RuleFixture.take(rules, RuleFixture.request())).request
        #expect(plan.singles.isEmpty)
        #expect(try send(rules, []) == (0..<100).map { "X-\($0): v\($0)" })
    }

    @Test func descriptionsShowWhereLinesComeFromAndNoSecret() {
        let rules = RuleFixture.rules(
            [
                RuleFixture.rule("r") {
                    $0.request.set = literals([
                        ("X-Key", "k$0"), ("X-Env", "{request.method}"), ("X-User", "{client.user}"),
                    ])
                    $0.request.remove = ["X-Debug-*"]
                    $0.request.rename = [("X-Old", "X-New")]
                    $0.credentials = [0]
                }
            ],
            credentials: [
                CredentialDefinition(
                    name: "c", kind: .bearer(RuleFixture.value("$0")),
                    hosts: [DestinationPattern(host: .exact("up.test"), port: nil)])
            ], secrets: ["s3"])
        let request = RuleFixture.request(fields: [
            ("X-A", "1"), ("X-Old", "2"), ("X-Debug-B", "3"), ("x_env", "4"), ("Authorization", "5"),
        ])
        let plan = rules.plan(for: RuleFixture.take(rules, request)).request
        let description = plan.describe(request, RuleFixture.context(request))
        #expect(
            description.lines == [
                .init(name: "X-A", value: "1", provenance: "client"),
                .init(name: "X-New", value: "2", provenance: "client, rule r rename"),
                .init(name: "X-Key", value: "k$0", provenance: "rule r set"),
                .init(name: "X-Env", value: "GET", provenance: "rule r set"),
                .init(name: "Authorization", value: "Bearer $0", provenance: "credential c"),
            ])
        #expect(
            description.removed == [
                .init(name: "X-Debug-B", reason: "rule r removes X-Debug-*"),
                .init(name: "x_env", reason: "managed: rule r sets it"),
                .init(name: "Authorization", reason: "managed: credential c sets it"),
            ])
        #expect(description.withheld == [.init(name: "X-User", reason: "rule r set: its variable is absent")])
    }
}
