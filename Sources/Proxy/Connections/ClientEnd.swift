internal import HTTP
internal import Policy
internal import Transport

/// The client's end of an exchange: a closed set, so that each call is a direct one.
///
/// Not counted: the loop keeps the object, and the exchange is told (`Exchange.clientGone`) before it leaves the loop.
enum ClientEnd {
    case http1(Uncounted<ClientConnection>)
    case http2(Uncounted<HTTP2ClientStream>)

    /// Whether what TLS has settled lets the client ask for the host; see ``HostPromise``.
    func promises(_ host: Span<UInt8>) -> Bool {
        switch self {
        case .http1(let client): client.with { $0.tls == nil || $0.promise.covers(host) }
        case .http2(let client): client.with { $0.promises(host) }
        }
    }

    /// Whom an upstream is told of (the PROXY protocol).
    var proxiedClient: ProxiedClient {
        switch self {
        case .http1(let client): client.with { $0.proxiedClient }
        case .http2(let client): client.with { $0.proxiedClient }
        }
    }

    var isHTTP2: Bool { if case .http2 = self { true } else { false } }

    var isReadingContent: Bool {
        switch self {
        case .http1(let client): client.with { $0.phase == .content }
        case .http2(let client): client.with { $0.phase == .content }
        }
    }

    var isTunnel: Bool {
        switch self {
        case .http1(let client): client.with { $0.phase == .tunnel }
        case .http2(let client): client.with { $0.phase == .tunnel }
        }
    }

    /// The request is for a tunnel and for nothing else.
    var demandsTunnel: Bool { if case .http2(let client) = self { client.with { $0.asksForTunnel } } else { false } }

    var hasUnsentOutput: Bool {
        switch self {
        case .http1(let client): client.with { $0.hasUnsentOutput }
        case .http2(let client): client.with { $0.hasUnsentOutput }
        }
    }

    func setDeadline(after milliseconds: Int) {
        switch self {
        case .http1(let client): client.with { $0.loop.setDeadline($0, after: milliseconds) }
        case .http2(let client): client.with { $0.loop.setDeadline($0, after: milliseconds) }
        }
    }

    func clearDeadline() {
        switch self {
        case .http1(let client): client.with { $0.loop.clearDeadline($0) }
        case .http2(let client): client.with { $0.loop.clearDeadline($0) }
        }
    }

    /// What it has sent can be taken again.
    func runSoon() {
        switch self {
        case .http1(let client): client.with { $0.loop.runSoon($0) }
        case .http2(let client): client.with { $0.loop.runSoon($0) }
        }
    }

    // MARK: The response, as text of HTTP/1.1

    /// An interim head stands in the output.
    func informationalWritten() {
        switch self {
        case .http1(let client): client.with { $0.worker.flushClientOutput() }
        case .http2(let client): client.with { $0.informationalWritten() }
        }
    }

    /// Whether the connection can carry another request once this response is sent.
    func decideToKeep() -> Bool {
        switch self {
        case .http1(let client): client.with { $0.decideToKeep() }
        case .http2: true
        }
    }

    /// What the client sends behind this request is in doubt. On a stream nothing is.
    func distrust() { if case .http1(let client) = self { client.with { $0.distrust() } } }

    func responseBegins(_ framing: BodyFraming) {
        switch self {
        case .http1(let client): client.with { $0.responseBegins(framing) }
        case .http2(let client): client.with { $0.responseBegins(framing) }
        }
    }

    func sendContent(_ content: Span<UInt8>) {
        switch self {
        case .http1(let client): client.with { $0.sendContent(content) }
        case .http2(let client): client.with { $0.sendContent(content) }
        }
    }

    func finishResponse(trailers: ByteBuffer?) {
        switch self {
        case .http1(let client): client.with { $0.finishResponse(trailers: trailers) }
        case .http2(let client): client.with { $0.finishResponse(trailers: trailers) }
        }
    }

    func abortResponse() {
        switch self {
        case .http1(let client): client.with { $0.abortResponse() }
        case .http2(let client): client.with { $0.abortResponse() }
        }
    }

    func becomeTunnel() {
        switch self {
        case .http1(let client): client.with { $0.becomeTunnel() }
        case .http2(let client): client.with { $0.becomeTunnel() }
        }
    }

    func upstreamFinishedTunnel() {
        switch self {
        case .http1(let client): client.with { $0.upstreamFinishedTunnel() }
        case .http2(let client): client.with { $0.upstreamFinishedTunnel() }
        }
    }
}
