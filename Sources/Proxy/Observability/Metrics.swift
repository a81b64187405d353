public import HTTP
public import Policy

/// What became of a redirect that an upstream sent under a rule that follows them.
public enum RedirectResult: Int, Sendable, CaseIterable {
    case followed, handedBack, loop, refused

    var name: StaticString {
        switch self {
        case .followed: "followed"
        case .handedBack: "handed_back"
        case .loop: "loop"
        case .refused: "refused"
        }
    }
}

/// What became of a credential when a request was sent.
public enum InjectionResult: Int, Sendable, CaseIterable {
    case injected, failed, withheld

    var name: StaticString {
        switch self {
        case .injected: "injected"
        case .failed: "failed"
        case .withheld: "withheld"
        }
    }
}

/// TLS handshakes, by how they ended.
public struct Handshakes: Sendable {
    public var full: UInt64 = 0
    public var resumed: UInt64 = 0
    public var failed: UInt64 = 0

    public mutating func note(resumed isResumed: Bool) { if isResumed { resumed &+= 1 } else { full &+= 1 } }

    mutating func add(_ other: Handshakes) {
        full &+= other.full
        resumed &+= other.resumed
        failed &+= other.failed
    }
}

/// All counters of a worker, or the sum of several workers'.
public struct MetricsSnapshot: Sendable {
    /// Upper bounds of the buckets of request durations, in microseconds.
    static let durationBounds: [Int64] = [
        500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
    ]

    /// Keys: ``requestKey(listener:rule:status:method:)``.
    public var requests = CounterTable()
    /// One more than there are bounds; not cumulative.
    public var durations = [UInt64](repeating: 0, count: MetricsSnapshot.durationBounds.count + 1)
    public var durationMicroseconds: UInt64 = 0
    public var requestsInFlight = 0
    public var clientConnectionsOpen = 0
    public var clientConnectionsAccepted: UInt64 = 0
    public var clientConnectionsShed: UInt64 = 0
    public var clientHandshakes = Handshakes()
    public var upstreamHandshakes = Handshakes()
    /// Keys: ``upstreamKey(_:status:)``.
    public var upstreamRequests = CounterTable()
    public var upstreamConnectionsIdle = 0
    public var upstreamConnectionsActive = 0
    public var upstreamConnectionsOpened: UInt64 = 0
    public var upstreamConnectionsReused: UInt64 = 0
    public var upstreamConnectionsFailed: UInt64 = 0
    public var upstreamRetries: UInt64 = 0
    public var rejected = [UInt64](repeating: 0, count: Rejection.allCases.count)
    /// Keys: credential << 8 | result.
    public var injections = CounterTable()
    public var redirects = [UInt64](repeating: 0, count: RedirectResult.allCases.count)
    public var http2Abuse = [UInt64](repeating: 0, count: HTTP2Abuse.allCases.count)
    public var tunnelsOpen = 0
    public var tunnelsOpened: UInt64 = 0
    public var bytesReceived: UInt64 = 0
    public var bytesSent: UInt64 = 0

    public init() {}

    static func requestKey(listener: UInt16, rule: UInt16, status: Int, method: Method) -> UInt64 {
        UInt64(listener) << 40 | UInt64(rule) << 24 | code(status) << 8 | UInt64(method.rawValue)
    }

    static func upstreamKey(_ upstream: UInt16, status: Int) -> UInt64 { UInt64(upstream) << 16 | code(status) }

    /// 0 for what is no status code.
    private static func code(_ status: Int) -> UInt64 { status >= 100 && status <= 599 ? UInt64(status) : 0 }

    public static func + (left: MetricsSnapshot, right: MetricsSnapshot) -> MetricsSnapshot {
        var sum = left
        sum.requests = left.requests + right.requests
        for index in sum.durations.indices { sum.durations[index] &+= right.durations[index] }
        sum.durationMicroseconds &+= right.durationMicroseconds
        sum.requestsInFlight += right.requestsInFlight
        sum.clientConnectionsOpen += right.clientConnectionsOpen
        sum.clientConnectionsAccepted &+= right.clientConnectionsAccepted
        sum.clientConnectionsShed &+= right.clientConnectionsShed
        sum.clientHandshakes.add(right.clientHandshakes)
        sum.upstreamHandshakes.add(right.upstreamHandshakes)
        sum.upstreamRequests = left.upstreamRequests + right.upstreamRequests
        sum.upstreamConnectionsIdle += right.upstreamConnectionsIdle
        sum.upstreamConnectionsActive += right.upstreamConnectionsActive
        sum.upstreamConnectionsOpened &+= right.upstreamConnectionsOpened
        sum.upstreamConnectionsReused &+= right.upstreamConnectionsReused
        sum.upstreamConnectionsFailed &+= right.upstreamConnectionsFailed
        sum.upstreamRetries &+= right.upstreamRetries
        for index in sum.rejected.indices { sum.rejected[index] &+= right.rejected[index] }
        sum.injections = left.injections + right.injections
        for index in sum.http2Abuse.indices { sum.http2Abuse[index] &+= right.http2Abuse[index] }
        for index in sum.redirects.indices { sum.redirects[index] &+= right.redirects[index] }
        sum.tunnelsOpen += right.tunnelsOpen
        sum.tunnelsOpened &+= right.tunnelsOpened
        sum.bytesReceived &+= right.bytesReceived
        sum.bytesSent &+= right.bytesSent
        return sum
    }
}

/// The counters of one worker: plain additions by its own thread, no atomics. Others get ``snapshot`` through its mailbox.
///
/// Listeners, rules, upstreams and credentials go by their numbers in ``MetricIndexes``, which stay the same over reloads.
public final class WorkerMetrics {
    private var counts = MetricsSnapshot()

    public init() {}

    /// A copy; the next addition after it copies the tables once.
    public var snapshot: MetricsSnapshot { counts }

    // MARK: Exchanges

    public func exchangeBegan() { counts.requestsInFlight += 1 }
    public func exchangeEnded() { counts.requestsInFlight -= 1 }

    /// `rule` and `listener` are numbers of ``MetricIndexes``, or `.none` there.
    public func requestAnswered(
        listener: UInt16, rule: UInt16, status: Int, method: Method, durationMicroseconds duration: Int64,
        bytesIn: UInt64, bytesOut: UInt64
    ) {
        counts.requests.add(MetricsSnapshot.requestKey(listener: listener, rule: rule, status: status, method: method))
        var bucket = 0
        while bucket < MetricsSnapshot.durationBounds.count && duration > MetricsSnapshot.durationBounds[bucket] {
            bucket += 1
        }
        counts.durations[bucket] &+= 1
        counts.durationMicroseconds &+= UInt64(max(0, duration))
        counts.bytesReceived &+= bytesIn
        counts.bytesSent &+= bytesOut
    }

    public func rejected(_ rejection: Rejection) {
        guard let index = Rejection.allCases.firstIndex(of: rejection) else { return }
        counts.rejected[index] &+= 1
    }

    func http2Abused(_ abuse: HTTP2Abuse) { counts.http2Abuse[abuse.rawValue] &+= 1 }

    public func redirected(_ result: RedirectResult) { counts.redirects[result.rawValue] &+= 1 }

    public func credential(_ credential: UInt16, _ result: InjectionResult) {
        counts.injections.add(UInt64(credential) << 8 | UInt64(result.rawValue))
    }

    public func tunnelOpened() {
        counts.tunnelsOpen += 1
        counts.tunnelsOpened &+= 1
    }

    public func tunnelClosed() { counts.tunnelsOpen -= 1 }

    // MARK: Client connections

    public func clientAccepted() {
        counts.clientConnectionsAccepted &+= 1
        counts.clientConnectionsOpen += 1
    }

    public func clientClosed() { counts.clientConnectionsOpen -= 1 }

    /// Turned away since there are too many.
    public func clientShed() { counts.clientConnectionsShed &+= 1 }

    public func handshakeCompleted(resumed: Bool) { counts.clientHandshakes.note(resumed: resumed) }
    public func handshakeFailed() { counts.clientHandshakes.failed &+= 1 }

    // MARK: Upstreams

    public func upstreamHandshakeCompleted(resumed: Bool) { counts.upstreamHandshakes.note(resumed: resumed) }
    public func upstreamHandshakeFailed() { counts.upstreamHandshakes.failed &+= 1 }

    /// Status 0: no answer came.
    public func upstreamAnswered(_ upstream: UInt16, status: Int) {
        counts.upstreamRequests.add(MetricsSnapshot.upstreamKey(upstream, status: status))
    }

    public func upstreamConnectionOpened() { counts.upstreamConnectionsOpened &+= 1 }
    public func upstreamConnectionReused() { counts.upstreamConnectionsReused &+= 1 }
    public func upstreamConnectFailed() { counts.upstreamConnectionsFailed &+= 1 }
    public func upstreamRetried() { counts.upstreamRetries &+= 1 }

    /// As they are now: set by the worker before it is asked for a snapshot, or whenever they change.
    public func setUpstreamConnections(idle: Int, active: Int) {
        counts.upstreamConnectionsIdle = idle
        counts.upstreamConnectionsActive = active
    }
}
