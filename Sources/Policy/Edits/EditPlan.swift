public import HTTP

/// The header edits of all rules that took a message, merged: asked once a line, then told to write its own lines.
///
/// Use: ``begin()``, ``admit(_:id:)`` for every line that survived hop-by-hop removal, ``finish(_:into:isFirstSend:)``; then
/// ``admitTrailer(_:id:)`` for trailers. One message at a time.
///
/// Constant lines are kept as blocks of bytes: one that anybody may see, one that holds secrets and goes to the upstream's own
/// origin only, and one for each credential. A block is wiped and built anew when a secret has changed.
public final class EditPlan {
    public enum Admission: Equatable {
        case keep, drop
        case rename(to: Int)
    }

    /// What `admit` needs of a ``LineOutcome``.
    struct Verdict {
        var admission: Admission
        /// Of ``satisfiedBy``.
        var defaults: Range<Int>
    }

    struct Spelling {
        var lowered: [UInt8]
        var verdict: Verdict
    }

    struct NameVerdicts {
        var spellings: [Spelling]
        var others: Verdict
    }

    let managed: ManagedNames
    let merger: PlanMerger
    var entries: [PlanEntry]
    let credentials: [CompiledCredential]
    let secrets: SecretTable
    private var filter: NameFilter
    private var globFilter = NameFilter()
    private var verdicts: [NameVerdicts] = []
    private var satisfiedBy: [Int32] = []
    private let scratch = ByteBuffer(capacity: 64)
    private let targets = ByteBuffer(capacity: 16)
    private var targetRanges: [ByteRange] = []
    /// One bit a default: some line makes it superfluous.
    private(set) var satisfied: [UInt64]

    /// Live entries and blockers that are not in a block, in order.
    let singles: [Int]
    /// The entry that says what Host is, or -1.
    let hostEntry: Int
    var presence: [Bool]
    let plain = ByteBuffer(capacity: 16)
    var plainBlock = ByteRange.empty
    /// The defaults that are written at once when no line of the message satisfies one, and their bits in `satisfied`.
    var defaultBlock = ByteRange.empty
    let blockDefaults: [Int]
    let blockDefaultMask: [UInt64]
    private(set) var defaultBlockHasFault = false
    var plainFault: Rejection?
    var bound = ByteBuffer(capacity: 16)
    var boundBlock = ByteRange.empty
    var boundBlockLines = 0
    var boundFault: Rejection?
    var builtGeneration = -1
    var sentCredentials: [Bool]

    init(merger: PlanMerger, managed: ManagedNames, credentials: [CompiledCredential], secrets: SecretTable) {
        self.merger = merger
        self.managed = managed
        self.credentials = credentials
        self.secrets = secrets
        entries = merger.entries
        let isHost = merger.entries.map { RuleFields.isHost(RuleBytes.lowered($0.name).span) }
        hostEntry = merger.entries.indices.last { merger.entries[$0].isLive && isHost[$0] } ?? -1
        singles = merger.entries.indices.filter { index in
            let entry = merger.entries[index]
            return entry.placement == .single && (entry.isLive || entry.isBlocker) && !isHost[index]
        }
        for index in entries.indices where isHost[index] { entries[index].placement = .single }
        presence = Array(repeating: false, count: entries.count)
        satisfied = Array(repeating: 0, count: (merger.defaultCount + 63) / 64)
        blockDefaults = merger.entries.indices.filter { merger.entries[$0].placement == .defaultBlock && !isHost[$0] }
        var mask = satisfied
        for index in blockDefaults {
            let number = merger.entries[index].defaultNumber
            mask[number >> 6] |= 1 << UInt64(number & 63)
        }
        blockDefaultMask = mask
        sentCredentials = Array(repeating: false, count: credentials.count)
        filter = managed.table.filter
        filter.formUnion(merger.table.filter)
        for glob in merger.globs {
            filter.insert(prefixOf: glob.glob.pattern)
            globFilter.insert(prefixOf: glob.glob.pattern)
        }
        for target in merger.renames {
            targetRanges.append(ByteRange(targets.count, target.count))
            targets.append(target)
        }
        for record in merger.records {
            let spellings = record.spellings.map { Spelling(lowered: $0.lowered, verdict: verdict($0.outcome)) }
            verdicts.append(NameVerdicts(spellings: spellings, others: verdict(record.others)))
        }
        buildPlain()
        defaultBlockHasFault = blockDefaults.contains { entries[$0].state != .ready }
    }

    deinit { bound.wipe() }

    private func verdict(_ outcome: LineOutcome) -> Verdict {
        let start = satisfiedBy.count
        satisfiedBy += outcome.defaults.map { Int32(truncatingIfNeeded: $0) }
        return Verdict(admission: outcome.admission, defaults: start..<satisfiedBy.count)
    }

    /// Forgets the lines of the message before.
    public func begin() {
        for index in satisfied.indices { satisfied[index] = 0 }
    }

    /// Says what becomes of one line, and remembers it for the sake of defaults.
    public func admit(_ name: Span<UInt8>, id: FieldID) -> Admission {
        guard filter.mayContain(name) else { return .keep }
        let hash = NameFold.hash(name)
        if managed.removes(name, hash: hash) { return .drop }
        let number = merger.table.find(name, hash: hash)
        if number < 0 { return isRemovedByPattern(name) ? .drop : .keep }
        let verdict = verdict(number, name)
        for index in verdict.defaults {
            let number = Int(satisfiedBy[index])
            satisfied[number >> 6] |= 1 << UInt64(number & 63)
        }
        return verdict.admission
    }

    /// The same filter for a trailer field; what a header would be renamed to has no place there.
    public func admitTrailer(_ name: Span<UInt8>, id: FieldID) -> Bool {
        guard filter.mayContain(name) else { return true }
        let hash = NameFold.hash(name)
        if managed.removes(name, hash: hash) { return false }
        let number = merger.table.find(name, hash: hash)
        if number < 0 { return !isRemovedByPattern(name) }
        return verdict(number, name).admission == .keep
    }

    /// The name that ``Admission/rename(to:)`` speaks of.
    @_lifetime(immortal)
    public func name(_ index: Int) -> Span<UInt8> {
        targets.span(targetRanges[index])
    }

    private func verdict(_ number: Int, _ name: Span<UInt8>) -> Verdict {
        for index in verdicts[number].spellings.indices
        where RuleBytes.equal(name, ignoringCase: verdicts[number].spellings[index].lowered) {
            return verdicts[number].spellings[index].verdict
        }
        return verdicts[number].others
    }

    private func isRemovedByPattern(_ name: Span<UInt8>) -> Bool {
        guard !merger.globs.isEmpty && globFilter.mayContain(name) else { return false }
        scratch.clear()
        for index in name.indices { scratch.append(NameFold.fold(name[index])) }
        for glob in merger.globs where glob.glob.matches(scratch.span) { return true }
        return false
    }

    func isSatisfied(_ number: Int) -> Bool { satisfied[number >> 6] >> UInt64(number & 63) & 1 == 1 }
}
