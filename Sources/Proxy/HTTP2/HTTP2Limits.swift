/// What a peer of HTTP/2 may do that costs us work and brings nobody forward; beyond, the connection ends with GOAWAY
/// ENHANCE_YOUR_CALM (RFC 9113 section 10.5).
enum HTTP2Limits {
    /// Streams that end in a reset, by the client's word or because of what it sent, for one connection: so many at once, and so
    /// many a second.
    static let resets = Allowance(burst: 200, perSecond: 20)
    /// SETTINGS, PING, PRIORITY and frames of unknown types.
    static let controlFrames = Allowance(burst: 200, perSecond: 20)
    /// DATA without content that does not end its stream.
    static let emptyFrames = Allowance(burst: 100, perSecond: 10)
    /// WINDOW_UPDATE frames beyond those that what we have sent explains.
    static let windowUpdates = Allowance(burst: 1_000, perSecond: 100)
    static let windowUpdatesForEachFrameSent = 8
    /// CONTINUATION frames of one header block.
    static let continuations = 8
    /// A head that we send, as the library estimates its size; heads have limits of their own before.
    static let largestHead = 8 << 20
    /// Acknowledgements that wait to be sent, since the peer does not read.
    static let pendingAcknowledgements = 200
    /// A stream whose peer takes less than this within `write_idle` is stalled.
    static let smallestProgress = 8 * 1024
    /// What a stream may have received that its exchange has not taken: the window it is given at first. It is doubled each time that so
    /// much was taken as it came.
    static let streamWindow: Int32 = 64 * 1024
    /// Up to this; a stream that is not read any more holds no more of the connection's window.
    static let grownStreamWindow: Int32 = 256 * 1024
    /// The same for a stream that is the only one.
    static let loneStreamWindow: Int32 = 1024 * 1024
    /// The same for what upstreams send; clients decide how many of these streams there are.
    static let upstreamStreamWindow: Int32 = 256 * 1024
    /// Streams at a time on one connection to an upstream, whatever it allows.
    static let streamsOfUpstream = 1_000
    /// What all streams of a client's connection may have received that nobody has taken: when slow readers hold so much, the other
    /// streams wait for them.
    static let connectionWindow: Int32 = 2 * 1024 * 1024
    /// So large that the streams' windows are what counts: a stream that is not read stops no other.
    static let upstreamConnectionWindow: Int32 = 16 * 1024 * 1024
}

/// Kinds of abuse, as metrics tell them apart.
enum HTTP2Abuse: Int, CaseIterable {
    case resets, controlFrames, emptyFrames, windowUpdates, continuations, headerFields, unreadAcknowledgements

    var name: StaticString {
        switch self {
        case .resets: "resets"
        case .controlFrames: "control_frames"
        case .emptyFrames: "empty_frames"
        case .windowUpdates: "window_updates"
        case .continuations: "continuations"
        case .headerFields: "header_fields"
        case .unreadAcknowledgements: "unread_acknowledgements"
        }
    }
}

/// Streams that have ended, as far as they are remembered, and whether we reset them: what their peer has sent before it knew is
/// no fault.
struct DepartedStreams {
    private var recent = InlineArray<64, Int32>(repeating: 0)
    private var next = 0

    mutating func add(_ id: Int32, wasReset: Bool) {
        recent[next] = wasReset ? -id : id
        next = (next + 1) % recent.count
    }

    /// Nil for a stream that is not remembered.
    func wasReset(_ id: Int32) -> Bool? {
        for index in recent.indices {
            if recent[index] == id { return false }
            if recent[index] == -id { return true }
        }
        return nil
    }
}

/// A bucket of what may still be done: it is filled at a rate, up to a burst.
struct Allowance {
    private let burst: Int64
    private let perSecond: Int64
    /// In thousandths.
    private var left: Int64
    private var filledAt: Int64 = 0

    init(burst: Int64, perSecond: Int64) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst * 1_000
    }

    /// Takes one at a time in milliseconds that never goes back; false when there is none left.
    mutating func take(now: Int64) -> Bool {
        if filledAt > 0 { left = min(burst * 1_000, left + (now - filledAt) * perSecond) }
        filledAt = now
        guard left >= 1_000 else { return false }
        left -= 1_000
        return true
    }

    /// Gives some back that were earned.
    mutating func earn(_ count: Int64) { left = min(burst * 1_000, left + count * 1_000) }
}
