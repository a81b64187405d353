internal import HTML
internal import HTTP

/// Which rules a request has been matched by, in order, and which of them has the action; reused from request to request.
public final class Decision {
    public fileprivate(set) var matched: [Int] = []
    /// The index of the rule whose action ends the chain; nil while there is none.
    public fileprivate(set) var action: Int?

    public init() { matched.reserveCapacity(16) }

    public func reset() {
        matched.removeAll(keepingCapacity: true)
        action = nil
    }
}

/// All rules, compiled for one worker: finds those that a request matches and what they do together.
///
/// A rule is filed under its most selective hosts and paths, so that the cost of ``take(_:into:from:)`` is that of the
/// rules that may match, not of all. Every candidate's keys are verified in full.
public final class RuleSet {
    let definitions: [RuleDefinition]
    let credentials: [CredentialDefinition]
    let secrets: SecretTable
    let matches: [CompiledMatch?]
    private let hasAction: [Bool]
    private let blocks: [Bool]
    private let index: HostPathIndex
    private let plans: PlanCache
    private var managed: [Int: ManagedNames] = [:]
    private var pages: [[Int]: PageInsertions] = [:]

    public init(
        _ rules: [RuleDefinition], credentials: [CredentialDefinition], secrets: SecretTable, urlLists: URLListTable
    ) {
        definitions = rules
        self.credentials = credentials
        self.secrets = secrets
        let compiled = rules.map { rule in rule.match.map { CompiledMatch($0, urlLists) } }
        matches = compiled
        hasAction = rules.map { $0.action != nil }
        blocks = rules.map { if case .block = $0.action { true } else { false } }
        index = HostPathIndex(compiled.map { $0?.filing ?? Filing() })
        plans = PlanCache()
    }

    public var count: Int { definitions.count }

    public func name(_ rule: Int) -> String { definitions[rule].name }

    /// Appends the rules that match, in order from rule `start` on, up to and with the first that has an action.
    public func take(_ request: CanonicalRequest, into decision: Decision, from start: Int = 0) {
        index.begin(host: request.host, path: request.path, from: start)
        var rule = index.next()
        while rule >= 0 {
            if holds(rule, request) {
                decision.matched.append(rule)
                if hasAction[rule] {
                    decision.action = rule
                    return
                }
            }
            rule = index.next()
        }
    }

    /// The rule that took the request has no file for it: the chain goes on behind that rule, whose edits stay.
    public func takeOn(_ request: CanonicalRequest, into decision: Decision) {
        guard let action = decision.action else { return }
        decision.action = nil
        take(request, into: decision, from: action + 1)
    }

    /// A matcher that can not tell denies: the rule does not take the request, unless it is one that blocks.
    func holds(_ rule: Int, _ request: CanonicalRequest) -> Bool {
        guard let match = matches[rule] else { return true }
        switch match.verdict(request) {
        case .holds: return true
        case .refuses: return false
        case .fails: return blocks[rule]
        }
    }

    /// What the matched rules do together; merged at first use and remembered.
    ///
    /// Without an action the matched rules do nothing (a hop that no rule takes): see ``planWithoutRule(towards:)``.
    public func plan(for decision: Decision) -> ChainPlan {
        guard let action = decision.action else { return planWithoutRule(towards: nil) }
        if let plan = plans.find(decision.matched, key: 0) { return plan }
        var upstream: Int?
        if case .proxy(let proxy) = definitions[action].action { upstream = proxy.upstream }
        let plan = makePlan(decision.matched, action: action, towards: upstream)
        plans.insert(plan, decision.matched, key: 0)
        return plan
    }

    /// For a redirect hop that no rule takes: no edit and no credential, but the names that rules manage towards that upstream
    /// are still removed from the client's lines.
    public func planWithoutRule(towards upstream: Int?) -> ChainPlan {
        let key = 1 + (upstream ?? -1) + 1
        if let plan = plans.find([], key: key) { return plan }
        let plan = makePlan([], action: -1, towards: upstream)
        plans.insert(plan, [], key: key)
        return plan
    }

    private func makePlan(_ rules: [Int], action: Int, towards upstream: Int?) -> ChainPlan {
        ChainPlan(
            rules: rules, actionRule: action, definitions: definitions, credentials: credentials,
            managed: managedNames(upstream ?? -1), insertions: insertions(rules), secrets: secrets)
    }

    /// The rules' insertions in the rules' order; the last rule that has some decides what becomes of policies. Texts may be
    /// large, and chains many: what the same rules insert is made once.
    private func insertions(_ rules: [Int]) -> PageInsertions? {
        let inserting = rules.filter { !(definitions[$0].html?.insertions.isEmpty ?? true) }
        if let present = pages[inserting] { return present }
        let texts = inserting.compactMap { definitions[$0].html }
        let made = texts.last.map { PageInsertions(texts.flatMap(\.insertions), mode: $0.mode) }
        if let made { pages[inserting] = made }
        return made
    }

    /// Rules without an action, or that fall through, may write towards every upstream, the others towards their own.
    private func managedNames(_ upstream: Int) -> ManagedNames {
        if let present = managed[upstream] { return present }
        let names = ManagedNames()
        for rule in definitions {
            switch rule.action {
            case nil: names.insert(rule, credentials)
            case .proxy(let proxy): if proxy.upstream == upstream { names.insert(rule, credentials) }
            case .serve(let serve): if serve.fallsThrough { names.insert(rule, credentials) }
            case .block, .respond, .redirect: break
            }
        }
        managed[upstream] = names
        return names
    }

    /// Puts a secret's new value in force and wipes what was built from the old one.
    public func update(_ id: SecretID, _ secret: Secret?) {
        secrets.update(id, secret)
        plans.forEach { $0.wipeSecrets() }
    }
}

/// Plans by the chain of rules that they are for; emptied when it is full, since a configuration has few chains in use.
private final class PlanCache {
    private static let maximumCount = 1024

    private var plans: [ChainPlan] = []
    /// Those that were there when it was emptied, till it is full again: a caller may be using one.
    private var former: [ChainPlan] = []
    private var keys: [Int] = []
    private var slots: [Int32]

    init() { slots = Array(repeating: -1, count: PlanCache.maximumCount * 2) }

    func find(_ rules: [Int], key: Int) -> ChainPlan? {
        var slot = hash(rules, key)
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if keys[index] == key && plans[index].rules == rules { return plans[index] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    func insert(_ plan: ChainPlan, _ rules: [Int], key: Int) {
        if plans.count >= PlanCache.maximumCount {
            former = plans
            plans = []
            keys.removeAll(keepingCapacity: true)
            for slot in slots.indices { slots[slot] = -1 }
        }
        var slot = hash(rules, key)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(truncatingIfNeeded: plans.count)
        plans.append(plan)
        keys.append(key)
    }

    func forEach(_ body: (ChainPlan) -> Void) {
        for plan in plans { body(plan) }
        for plan in former { body(plan) }
    }

    private func hash(_ rules: [Int], _ key: Int) -> Int {
        var state = KeyHash.start ^ UInt64(truncatingIfNeeded: key)
        for rule in rules {
            state = (state ^ UInt64(truncatingIfNeeded: rule)) &* 0x0000_0100_0000_01b3
            state ^= state >> 32
        }
        return Int(truncatingIfNeeded: state) & (slots.count - 1)
    }
}
