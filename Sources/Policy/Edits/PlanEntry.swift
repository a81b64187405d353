internal import HTTP

/// One rule's edits with what they need to be merged.
struct PlanStep {
    var rule: Int
    var ruleName: String
    var edits: EditsDefinition
    var onMissing: RuleDefinition.OnMissing
}

/// One line that a plan writes, or would: the symbolic result of a `set`, `append` or `default`.
struct PlanEntry {
    enum Verb: String { case set, append, `default` }
    /// Where its bytes are: in a block with others, in the block of defaults that nothing of the plan decides about, or on its
    /// own since order or presence matters.
    enum Placement { case block, defaultBlock, single }
    enum State { case ready, unavailable, illegal }

    let verb: Verb
    let template: CompiledTemplate
    let ruleName: String
    let onMissing: RuleDefinition.OnMissing
    /// As it will be written; a later `rename` changes it.
    var name: [UInt8] { didSet { folded = NameFold.folded(name) } }
    private(set) var folded: [UInt8]
    /// Entries that make this default superfluous when they are present.
    var blockers: [Int] = []
    /// The number of the default, -1 for other verbs.
    var defaultNumber = -1
    /// A later edit has removed or replaced it; it may still block a default.
    var isLive = true
    var isBlocker = false
    /// Credentials that take its place when they are sent.
    var replacedBy: [Int] = []
    var placement = Placement.single
    /// Of the line in its store, when it is constant.
    var line = ByteRange.empty
    var state = State.ready

    init(_ edit: (name: String, value: ValueTemplate), _ verb: Verb, _ step: PlanStep, actionRuleName: String) {
        self.verb = verb
        template = CompiledTemplate(edit.value, ruleName: actionRuleName)
        ruleName = step.ruleName
        onMissing = step.onMissing
        name = Array(edit.name.utf8)
        folded = NameFold.folded(name)
    }

    /// Goes to the upstream's own origin only.
    var isBound: Bool { template.isSecret || template.holdsSecrets }
}

/// What becomes of one client line, found by walking it through all steps once.
struct LineOutcome {
    var admission = EditPlan.Admission.keep
    /// Defaults that such a line makes superfluous.
    var defaults: [Int] = []
    /// Why it is dropped or renamed, for a person.
    var reason = ""
}

/// Outcomes of the spellings of one folded name.
struct NameRecord {
    var spellings: [(lowered: [UInt8], outcome: LineOutcome)] = []
    var others = LineOutcome()
}
