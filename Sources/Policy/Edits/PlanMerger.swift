internal import HTTP

/// One rule's verbs with their names folded, so that merging many edits compares bytes only.
struct MergeStep {
    let step: PlanStep
    private var removed: [[UInt8]: String] = [:]
    private(set) var globs: [(glob: Glob, text: String)] = []
    private var renames: [[UInt8]: String] = [:]
    private var set: Set<[UInt8]> = []
    private(set) var names: [String] = []

    init(_ step: PlanStep) {
        self.step = step
        let star = UInt8(ascii: "*")
        for pattern in step.edits.remove {
            let folded = pattern.utf8.map { $0 == star ? $0 : NameFold.fold($0) }
            if folded.contains(star) {
                globs.append((Glob(folded, .value), pattern))
            } else {
                removed[folded] = pattern
                names.append(pattern)
            }
        }
        for rename in step.edits.rename {
            names += [rename.from, rename.to]
            let from = RuleBytes.lowered(rename.from)
            if renames[from] == nil { renames[from] = rename.to }
        }
        for edit in step.edits.set where !FieldNames.isReserved(edit.name) { set.insert(NameFold.folded(edit.name)) }
        names += (step.edits.set + step.edits.append + step.edits.defaults).map(\.name)
    }

    /// The pattern of `remove` that takes the name.
    func pattern(removing folded: [UInt8]) -> String? {
        removed[folded] ?? globs.first { $0.glob.matches(folded.span) }?.text
    }

    func target(renaming lowered: [UInt8]) -> String? { renames[lowered] }

    func sets(_ folded: [UInt8]) -> Bool { set.contains(folded) }
}

/// Merges the edits of a chain's rules, in order, into the lines to write and the outcome of each name.
///
/// What it makes behaves as if every rule's verbs were applied one after the other to the outgoing lines, credentials last.
struct PlanMerger {
    let credentialNames: [(name: String, credential: String)]
    private(set) var entries: [PlanEntry] = []
    private(set) var table = FoldedNameTable()
    private(set) var records: [NameRecord] = []
    private(set) var renames: [[UInt8]] = []
    private(set) var defaultCount = 0
    /// Patterns of `remove` with a star in them, folded.
    private(set) var globs: [(glob: Glob, reason: String)] = []
    private var steps: [MergeStep] = []
    private var credentialFolds: [[UInt8]] = []
    /// The numbers of a step's defaults, by folded name.
    private var defaults: [[[UInt8]: [Int]]] = []

    init(steps: [PlanStep], credentialNames: [(name: String, credential: String)], actionRuleName: String) {
        self.credentialNames = credentialNames
        credentialFolds = credentialNames.map { NameFold.folded($0.name) }
        self.steps = steps.map(MergeStep.init)
        for step in self.steps {
            globs += step.globs.map { ($0.glob, "rule \(step.step.ruleName) removes \($0.text)") }
            renames += step.step.edits.rename.map { Array($0.to.utf8) }
            merge(step, actionRuleName)
        }
        placeEntries()
        recordOutcomes()
    }

    // MARK: Lines to write

    /// Applies one rule's verbs in their fixed order to what the rules before it have written.
    private mutating func merge(_ merging: MergeStep, _ actionRuleName: String) {
        let step = merging.step
        for index in entries.indices where entries[index].isLive {
            if merging.pattern(removing: entries[index].folded) != nil {
                entries[index].isLive = false
                continue
            }
            guard let target = merging.target(renaming: RuleBytes.lowered(entries[index].name)) else { continue }
            entries[index].name = Array(target.utf8)
            if FieldNames.isReserved(target) { entries[index].isLive = false }
        }
        for index in entries.indices where entries[index].isLive && merging.sets(entries[index].folded) {
            entries[index].isLive = false
        }
        var last: [[UInt8]: Int] = [:]
        for edit in step.edits.set where !FieldNames.isReserved(edit.name) {
            entries.append(PlanEntry(edit, .set, step, actionRuleName: actionRuleName))
            if let previous = last.updateValue(entries.count - 1, forKey: entries[entries.count - 1].folded) {
                entries[previous].isLive = false
            }
        }
        for edit in step.edits.append where !FieldNames.isReserved(edit.name) {
            entries.append(PlanEntry(edit, .append, step, actionRuleName: actionRuleName))
        }
        defaults.append([:])
        for edit in step.edits.defaults where !FieldNames.isReserved(edit.name) && !FieldNames.isHost(edit.name) {
            addDefault(PlanEntry(edit, .default, step, actionRuleName: actionRuleName))
        }
    }

    private mutating func addDefault(_ entry: PlanEntry) {
        var entry = entry
        entry.blockers = entries.indices.filter { entries[$0].isLive && entries[$0].folded == entry.folded }
        for blocker in entry.blockers { entries[blocker].isBlocker = true }
        entry.defaultNumber = defaultCount
        defaults[defaults.count - 1][entry.folded, default: []].append(defaultCount)
        defaultCount += 1
        entries.append(entry)
    }

    /// A constant goes into a block unless something else decides whether it is sent, or in which order.
    private mutating func placeEntries() {
        var groups: [[UInt8]: [Int]] = [:]
        for index in entries.indices {
            for (number, folded) in credentialFolds.enumerated() where folded == entries[index].folded {
                entries[index].replacedBy.append(number)
            }
            if entries[index].isLive { groups[entries[index].folded, default: []].append(index) }
        }
        for group in groups.values {
            let isBound = entries[group[0]].isBound
            let isSimple = group.allSatisfy { index in
                let entry = entries[index]
                return entry.template.isConstant && entry.verb != .default && !entry.isBlocker
                    && entry.replacedBy.isEmpty
                    && entry.isBound == isBound
            }
            if isSimple { for index in group { entries[index].placement = .block } }
            if group.count == 1, isLoneDefault(entries[group[0]]) { entries[group[0]].placement = .defaultBlock }
        }
    }

    /// A constant default that only a line of the message can make superfluous.
    private func isLoneDefault(_ entry: PlanEntry) -> Bool {
        entry.verb == .default && entry.template.isConstant && !entry.isBound && entry.blockers.isEmpty && !entry.isBlocker
            && entry.replacedBy.isEmpty
    }

    // MARK: Client lines

    private mutating func recordOutcomes() {
        let names = steps.flatMap(\.names) + credentialNames.map(\.name)
        for name in names { table.insert(Array(name.utf8)) }
        records = (0..<table.count).map { _ in NameRecord() }
        for name in names {
            let lowered = RuleBytes.lowered(name)
            let number = table.find(lowered.span)
            if number < 0 || records[number].spellings.contains(where: { $0.lowered == lowered }) { continue }
            records[number].spellings.append((lowered, outcome(of: lowered, canBeRenamed: true)))
        }
        for number in records.indices { records[number].others = outcome(of: table.name(number), canBeRenamed: false) }
    }

    /// Walks one line through all steps. A spelling that no edit mentions is never renamed; all else goes by the fold.
    private func outcome(of spelling: [UInt8], canBeRenamed: Bool) -> LineOutcome {
        var outcome = LineOutcome()
        var name = spelling
        var folded = NameFold.folded(name)
        for (number, merging) in steps.enumerated() {
            let rule = merging.step.ruleName
            if let pattern = merging.pattern(removing: folded) {
                return dropped(outcome, "rule \(rule) removes \(pattern)")
            }
            if canBeRenamed, let target = merging.target(renaming: name) {
                if FieldNames.isReserved(target) || FieldNames.isHost(target) {
                    return dropped(outcome, "rule \(rule) renames it to \(target), which is the proxy's to write")
                }
                name = RuleBytes.lowered(target)
                folded = NameFold.folded(name)
                outcome.admission = .rename(to: renames.firstIndex(of: Array(target.utf8)) ?? 0)
                outcome.reason = "rule \(rule) rename"
            }
            if merging.sets(folded) { return dropped(outcome, "rule \(rule) sets it") }
            outcome.defaults += defaults[number][folded] ?? []
        }
        if let credential = credentialFolds.firstIndex(of: folded) {
            return dropped(outcome, "credential \(credentialNames[credential].credential) sets it")
        }
        return outcome
    }

    private func dropped(_ outcome: LineOutcome, _ reason: String) -> LineOutcome {
        LineOutcome(admission: .drop, defaults: outcome.defaults, reason: reason)
    }
}
