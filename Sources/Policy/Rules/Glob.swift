internal import HTTP

/// An anchored glob over bytes, matched in one pass over the text by the set of positions the pattern can be at.
///
/// Paths: `*` stays within a segment, `**` crosses them, a final `/**` is the path before it, and all below. Values and names:
/// every run of stars is any bytes. Nothing else is special. What stands before the first and after the last star is compared
/// as it is; the positions are only followed in between, and only when there are several stars.
final class Glob {
    enum Kind { case path, value }

    private enum Step {
        static let star: UInt16 = 256  // any bytes but a slash
        static let any: UInt16 = 257  // any bytes
        static let subtree: UInt16 = 258  // the end, or a slash and any bytes
    }

    let pattern: [UInt8]
    let kind: Kind
    /// Before the first star, without the slash of a final `/**`.
    let prefix: [UInt8]
    private let middle: [UInt16]
    private let suffix: [UInt8]
    private var active: [UInt64]
    private var following: [UInt64]

    var isExact: Bool { middle.isEmpty }
    /// `/x/**` and nothing more.
    var isSubtree: Bool { middle.count == 2 && middle[0] == Step.subtree && suffix.isEmpty }

    init(_ pattern: [UInt8], _ kind: Kind) {
        let steps = Glob.steps(of: pattern, kind)
        let first = steps.firstIndex { $0 > 255 } ?? steps.count
        let last = steps.lastIndex { $0 > 255 } ?? steps.count - 1
        self.pattern = pattern
        self.kind = kind
        prefix = steps[..<first].map { UInt8(truncatingIfNeeded: $0) }
        middle = first < steps.count ? Array(steps[first...last]) : []
        suffix = first < steps.count ? steps[(last + 1)...].map { UInt8(truncatingIfNeeded: $0) } : []
        let needsPositions = middle.count > 2 || middle.count == 2 && middle[0] != Step.subtree
        let words = needsPositions ? middle.count / 64 + 1 : 0
        active = Array(repeating: 0, count: words)
        following = active
    }

    convenience init(_ pattern: String, _ kind: Kind) { self.init(Array(pattern.utf8), kind) }

    private static func steps(of pattern: [UInt8], _ kind: Kind) -> [UInt16] {
        let star = UInt8(ascii: "*")
        var steps: [UInt16] = []
        var index = 0
        while index < pattern.count {
            guard pattern[index] == star else {
                steps.append(UInt16(pattern[index]))
                index += 1
                continue
            }
            var run = 0
            while index < pattern.count && pattern[index] == star { (run, index) = (run + 1, index + 1) }
            let crosses = kind == .value || run > 1
            if crosses && kind == .path && index == pattern.count && steps.last == UInt16(UInt8(ascii: "/")) {
                steps.removeLast()
                steps.append(Step.subtree)
            }
            steps.append(crosses ? Step.any : Step.star)
        }
        return steps
    }

    /// What stands between its stars: whatever fits has all of them.
    var runs: [[UInt8]] {
        let between = middle.split { $0 > 255 }.map { $0.map { UInt8(truncatingIfNeeded: $0) } }
        return [prefix] + between + [suffix]
    }

    func matches(_ text: Span<UInt8>) -> Bool {
        if middle.isEmpty { return RuleBytes.equal(text, prefix) }
        guard text.count >= prefix.count + suffix.count else { return false }
        for index in prefix.indices where text[index] != prefix[index] { return false }
        let end = text.count - suffix.count
        for index in suffix.indices where text[end + index] != suffix[index] { return false }
        return middleMatches(text, from: prefix.count, to: end)
    }

    private func middleMatches(_ text: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        if middle.count == 1 {
            if middle[0] == Step.any { return true }
            for index in start..<end where text[index] == UInt8(ascii: "/") { return false }
            return true
        }
        if isSubtree { return start == end || text[start] == UInt8(ascii: "/") }
        for word in active.indices { active[word] = 0 }
        activate(0, in: &active)
        for index in start..<end {
            let byte = text[index]
            var isAlive = false
            for word in following.indices { following[word] = 0 }
            for word in active.indices {
                var bits = active[word]
                while bits != 0 {
                    let position = word * 64 + bits.trailingZeroBitCount
                    bits &= bits &- 1
                    isAlive = advance(position, over: byte) || isAlive
                }
            }
            if !isAlive { return false }
            swap(&active, &following)
        }
        if active[middle.count >> 6] >> UInt64(middle.count & 63) & 1 == 1 { return true }
        // The path itself, for a final `/**`.
        let base = middle.count - 2
        return middle[base] == Step.subtree && active[base >> 6] >> UInt64(base & 63) & 1 == 1
    }

    private func advance(_ position: Int, over byte: UInt8) -> Bool {
        guard position < middle.count else { return false }
        switch middle[position] {
        case Step.any: activate(position, in: &following)
        case Step.star:
            if byte == UInt8(ascii: "/") { return false }
            activate(position, in: &following)
        case Step.subtree:
            if byte != UInt8(ascii: "/") { return false }
            activate(position + 1, in: &following)
        default:
            if middle[position] != UInt16(byte) { return false }
            activate(position + 1, in: &following)
        }
        return true
    }

    /// A star may also stand for nothing: the position behind it is reached with it.
    private func activate(_ position: Int, in set: inout [UInt64]) {
        var position = position
        set[position >> 6] |= 1 << UInt64(position & 63)
        while position < middle.count && (middle[position] == Step.star || middle[position] == Step.any) {
            position += 1
            set[position >> 6] |= 1 << UInt64(position & 63)
        }
    }
}
