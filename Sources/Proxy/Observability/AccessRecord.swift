package import HTTP

/// What one exchange leaves behind for the access log: its numbers. Filled in while it goes on.
package struct AccessRecord: Sendable {
    /// Microseconds of the monotonic clock.
    package var startedAt: Int64 = 0
    package var endedAt: Int64 = 0
    /// What the client was sent; 499 when it went away before, 0 when nothing was sent.
    package var status = 0
    /// Content only, as received and as sent.
    package var bytesIn: UInt64 = 0
    package var bytesOut: UInt64 = 0
    /// 0 when no upstream answered.
    package var upstreamStatus = 0
    /// When the last request to an upstream was begun; 0 when none was.
    package var upstreamStartedAt: Int64 = 0
    package var upstreamAnsweredAt: Int64 = 0
    /// Sends to upstreams, retries and redirect hops included.
    package var attempts = 0
    /// Redirects followed.
    package var hops = 0
    /// The last send went over a connection that had been used before.
    package var connectionWasReused = false
    /// Why the proxy itself answered or ended the exchange.
    package var reason: StaticString?

    package init() {}

    package mutating func reset(startedAt time: Int64) {
        self = AccessRecord()
        startedAt = time
    }

    package mutating func upstreamAsked(at time: Int64, overReusedConnection isReused: Bool) {
        attempts += 1
        upstreamStartedAt = time
        upstreamAnsweredAt = 0
        upstreamStatus = 0
        connectionWasReused = isReused
    }

    package mutating func upstreamAnswered(_ status: Int, at time: Int64) {
        upstreamStatus = status
        upstreamAnsweredAt = time
    }

    package var durationMicroseconds: Int64 { max(0, endedAt - startedAt) }

    /// From the request to the head of the answer; nil when there was none.
    package var upstreamMicroseconds: Int64? {
        upstreamAnsweredAt > 0 && upstreamStartedAt > 0 ? max(0, upstreamAnsweredAt - upstreamStartedAt) : nil
    }
}

/// The texts of an access log line, read where they lie; what is empty is left out of the line.
package struct AccessTexts: ~Escapable {
    package var requestID: Span<UInt8>
    package var clientAddress: Span<UInt8>
    package var method: Span<UInt8>
    package var host: Span<UInt8>
    package var path: Span<UInt8>
    /// Only the names in it are written.
    package var query: Span<UInt8>
    package var rule: Span<UInt8>
    package var upstream: Span<UInt8>
    package var version = HTTPVersion.http11

    @_lifetime(immortal)
    package init() {
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
