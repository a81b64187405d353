public import HTTP

/// What one exchange leaves behind for the access log: its numbers. Filled in while it goes on.
public struct AccessRecord: Sendable {
    /// Microseconds of the monotonic clock.
    public var startedAt: Int64 = 0
    public var endedAt: Int64 = 0
    /// What the client was sent; 499 when it went away before, 0 when nothing was sent.
    public var status = 0
    /// Content only, as received and as sent.
    public var bytesIn: UInt64 = 0
    public var bytesOut: UInt64 = 0
    /// 0 when no upstream answered.
    public var upstreamStatus = 0
    /// When the last request to an upstream was begun; 0 when none was.
    public var upstreamStartedAt: Int64 = 0
    public var upstreamAnsweredAt: Int64 = 0
    /// Sends to upstreams, retries and redirect hops included.
    public var attempts = 0
    /// Redirects followed.
    public var hops = 0
    /// The last send went over a connection that had been used before.
    public var connectionWasReused = false
    /// Why the proxy itself answered or ended the exchange.
    public var reason: StaticString?

    public init() {}

    public mutating func reset(startedAt time: Int64) {
        self = AccessRecord()
        startedAt = time
    }

    public mutating func upstreamAsked(at time: Int64, overReusedConnection isReused: Bool) {
        attempts += 1
        upstreamStartedAt = time
        upstreamAnsweredAt = 0
        upstreamStatus = 0
        connectionWasReused = isReused
    }

    public mutating func upstreamAnswered(_ status: Int, at time: Int64) {
        upstreamStatus = status
        upstreamAnsweredAt = time
    }

    public var durationMicroseconds: Int64 { max(0, endedAt - startedAt) }

    /// From the request to the head of the answer; nil when there was none.
    public var upstreamMicroseconds: Int64? {
        upstreamAnsweredAt > 0 && upstreamStartedAt > 0 ? max(0, upstreamAnsweredAt - upstreamStartedAt) : nil
    }
}

/// The texts of an access log line, read where they lie; what is empty is left out of the line.
public struct AccessTexts: ~Escapable {
    public var requestID: Span<UInt8>
    public var clientAddress: Span<UInt8>
    public var method: Span<UInt8>
    public var host: Span<UInt8>
    public var path: Span<UInt8>
    /// Only the names in it are written.
    public var query: Span<UInt8>
    public var rule: Span<UInt8>
    public var upstream: Span<UInt8>
    public var version = HTTPVersion.http11

    @_lifetime(immortal)
    public init() {
        let none = unsafe _overrideLifetime(Span<UInt8>(), borrowing: ())
        requestID = none
        clientAddress = none
        method = none
        host = none
        path = none
        query = none
        rule = none
        upstream = none
    }
}
