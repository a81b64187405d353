public import HTML
internal import HTTP

/// What a chain of matched rules does to a request and its response, merged once and used for every request they take.
public final class ChainPlan {
    /// Indexes of the matched rules, in order.
    public let rules: [Int]
    /// The rule with the action, or -1: no rule took the request (a redirect hop).
    public let actionRule: Int
    public let action: ActionDefinition?
    /// The action's kind with what it needs, each made ready.
    public let proxy: ProxyPlan?
    public let block: BlockDefinition?
    public let serve: ServePlan?
    /// Of all rules of the chain, by index into the configuration's credentials.
    public let credentialIndexes: [Int]
    /// Of the rule with the action; for logs.
    public let ruleName: String
    public let request: EditPlan
    public let response: EditPlan
    public let query: QueryEdits
    public let cookies: CompiledCookieEdits
    /// `proxy.path`.
    public let path: PathPlan?
    public let respond: RespondPlan?
    public let redirect: RedirectPlan?
    /// The request that is sent is an authorised one, which a cache in front can not see (RFC 9111 section 3.5).
    public let injectsAuthorization: Bool
    /// The last rule that says anything but `auto` has its way.
    public let cacheStorage: CacheStorage
    /// What is inserted into pages, of all rules together; nil for nothing, and where the answer is an empty one.
    public let page: PageInsertions?

    init(
        rules: [Int], actionRule: Int, definitions: [RuleDefinition], credentials: [CredentialDefinition],
        managed: ManagedNames, insertions: PageInsertions?, secrets: SecretTable
    ) {
        let chain = rules.map { definitions[$0] }
        let name = actionRule >= 0 ? definitions[actionRule].name : ""
        let injected = ChainPlan.credentials(chain, credentials, actionRuleName: name)
        self.rules = rules
        self.actionRule = actionRule
        action = actionRule >= 0 ? definitions[actionRule].action : nil
        credentialIndexes = chain.flatMap(\.credentials)
        if case .proxy(let definition)? = action { proxy = ProxyPlan(definition) } else { proxy = nil }
        if case .block(let definition)? = action { block = definition } else { block = nil }
        if case .serve(let definition)? = action { serve = ServePlan(definition) } else { serve = nil }
        ruleName = name
        request = EditPlan(
            merger: PlanMerger(
                steps: zip(rules, chain).map {
                    PlanStep(rule: $0, ruleName: $1.name, edits: $1.request, onMissing: $1.onMissing)
                },
                credentialNames: injected.map { ($0.definition.fieldName, $0.definition.name) }, actionRuleName: name),
            managed: managed, credentials: injected, secrets: secrets)
        response = EditPlan(
            merger: PlanMerger(
                steps: zip(rules, chain).map {
                    PlanStep(rule: $0, ruleName: $1.name, edits: $1.response, onMissing: $1.onMissing)
                }, credentialNames: [], actionRuleName: name),
            managed: ManagedNames(), credentials: [], secrets: secrets)
        query = QueryEdits(chain, actionRuleName: name, secrets: secrets)
        cookies = CompiledCookieEdits(chain, actionRuleName: name, secrets: secrets)
        injectsAuthorization = !injected.isEmpty || cookies.setsCookies || request.writesAuthorization
        cacheStorage = chain.last { $0.cacheStorage != .auto }?.cacheStorage ?? .auto
        page = block == nil ? insertions : nil
        switch action {
        case .proxy(let proxy):
            path = proxy.path.map { PathPlan($0, ruleName: name, secrets: secrets) }
            (respond, redirect) = (nil, nil)
        case .respond(let definition):
            respond = RespondPlan(definition, ruleName: name, secrets: secrets)
            (path, redirect) = (nil, nil)
        case .redirect(let definition):
            redirect = RedirectPlan(definition, ruleName: name, secrets: secrets)
            (path, respond) = (nil, nil)
        case .block, .serve, nil: (path, respond, redirect) = (nil, nil, nil)
        }
    }

    /// The credentials of all rules of the chain, in order; the later of two for one field comes first in its right to be sent.
    private static func credentials(
        _ chain: [RuleDefinition], _ definitions: [CredentialDefinition], actionRuleName: String
    ) -> [CompiledCredential] {
        var compiled: [CompiledCredential] = []
        for rule in chain {
            for index in rule.credentials where definitions.indices.contains(index) {
                compiled.append(
                    CompiledCredential(
                        definitions[index], index: index, ruleName: rule.name, actionRuleName: actionRuleName,
                        onMissing: rule.onMissing))
            }
        }
        for (index, credential) in compiled.enumerated() {
            let folded = NameFold.folded(credential.definition.fieldName)
            credential.replacedBy = compiled.indices.filter {
                $0 > index && NameFold.folded(compiled[$0].definition.fieldName) == folded
            }
        }
        return compiled
    }

    /// Forgets all bytes of secrets until the next request needs them.
    func wipeSecrets() { request.wipeSecrets() }
}

extension EditPlan {
    /// A line of Authorization or Cookie is among those that rules write.
    var writesAuthorization: Bool {
        entries.contains {
            $0.isLive && ($0.folded == Array("authorization".utf8) || $0.folded == Array("cookie".utf8))
        }
    }
}
