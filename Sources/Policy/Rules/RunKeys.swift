internal import HTTP

/// Globs without a beginning of their own are filed by a run of eight bytes, or of three, that whatever fits them must have.
extension FilingKey {
    /// Of each length, so many windows of one glob are weighed: enough to find a rare one, and a long line costs no more than another.
    private static let mostCandidates = 32

    /// The key of a glob for hosts or paths; nil when no run of it is long enough.
    static func run(of glob: Glob, isHost: Bool) -> FilingKey? {
        var windows: [Window] = []
        for (turn, length) in RunFilter.lengths.enumerated() {
            let most = (turn + 1) * mostCandidates
            for run in glob.runs where windows.count < most {
                RunFilter.forEachWindow(run.span, length) {
                    guard windows.count < most else { return }
                    windows.append(Window(hash: RunFilter.hash($0, length, isHost: isHost), length: length))
                }
            }
        }
        guard let first = windows.first else { return nil }
        return FilingKey(kind: isHost ? .hostRun : .pathRun, length: first.length, hash: first.hash, candidates: windows)
    }

    /// With that of the windows that fewest others have; of equals the first, which is long.
    func resolved(_ crowd: BucketTable) -> FilingKey {
        guard var best = candidates.first else { return self }
        var least = crowd.find(best.hash).end
        for candidate in candidates.dropFirst() {
            let count = crowd.find(candidate.hash).end
            if count < least { (best, least) = (candidate, count) }
        }
        return FilingKey(kind: kind, length: best.length, hash: best.hash, candidates: [])
    }
}

/// Says at once that most windows of a host or path are nobody's key.
struct RunFilter {
    static let lengths = [8, 3]

    private var bits: [UInt64] = []
    private var shift: UInt64 = 63
    private var hasLength: (long: Bool, short: Bool) = (false, false)
    let isHost: Bool

    init(isHost: Bool) { self.isHost = isHost }

    /// `keys`: those of the kind, resolved.
    init(_ keys: [FilingKey], isHost: Bool) {
        self.isHost = isHost
        if keys.isEmpty { return }
        var words = 8
        while words * 64 < keys.count * 16 { words *= 2 }
        bits = Array(repeating: 0, count: words)
        shift = UInt64(64 - (words * 64).trailingZeroBitCount)
        for key in keys {
            let bit = Int(truncatingIfNeeded: key.hash >> shift)
            bits[bit >> 6] |= 1 << UInt64(bit & 63)
            if key.length == 8 { hasLength.long = true } else { hasLength.short = true }
        }
    }

    var isEmpty: Bool { bits.isEmpty }

    /// Calls `body` with the hashes of the windows that may be a key.
    @inline(__always)
    func forEachKey(in text: Span<UInt8>, _ body: (UInt64) -> Void) {
        if hasLength.long { forEachKey(in: text, 8, body) }
        if hasLength.short { forEachKey(in: text, 3, body) }
    }

    @inline(__always)
    private func forEachKey(in text: Span<UInt8>, _ length: Int, _ body: (UInt64) -> Void) {
        RunFilter.forEachWindow(text, length) { window in
            let hash = RunFilter.hash(window, length, isHost: isHost)
            let bit = Int(truncatingIfNeeded: hash >> shift)
            if bits[bit >> 6] >> UInt64(bit & 63) & 1 == 1 { body(hash) }
        }
    }

    @inline(__always)
    static func hash(_ window: UInt64, _ length: Int, isHost: Bool) -> UInt64 {
        let kind = isHost ? FilingKey.Kind.hostRun : .pathRun
        let spread = (window ^ UInt64(length) << 56) &* 0x9e37_79b9_7f4a_7c15
        return KeyHash.finish(spread, kind.rawValue)
    }

    /// Every run of so many bytes, up to eight, as one word.
    @inline(__always)
    static func forEachWindow(_ text: Span<UInt8>, _ length: Int, _ body: (UInt64) -> Void) {
        let mask: UInt64 = length == 8 ? .max : 1 << UInt64(length * 8) - 1
        var window: UInt64 = 0
        for index in text.indices {
            window = window << 8 | UInt64(text[index])
            if index + 1 >= length { body(window & mask) }
        }
    }
}
