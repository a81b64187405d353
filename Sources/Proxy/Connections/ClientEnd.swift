internal import HTTP
internal import Policy
internal import Transport

/// The client's end of an exchange: a closed set, so that each call is a direct one.
enum ClientEnd {
    case http1(ClientConnection)
    case http2(HTTP2ClientStream)

    /// Whether what TLS has settled lets the client ask for the host; see ``HostPromise``.
    func promises(_ host: Span<UInt8>) -> Bool {
        switch self {
        case .http1(let client): client.tls == nil || client.promise.covers(host)
        case .http2(let client): client.promises(host)
        }
    }

    /// Whom an upstream is told of (the PROXY protocol).
    var proxiedClient: ProxiedClient {
        switch self {
        case .http1(let client): client.proxiedClient
        case .http2(let client): client.proxiedClient
        }
    }

    var isHTTP2: Bool { if case .http2 = self { true } else { false } }

    var isReadingContent: Bool {
        switch self {
        case .http1(let client): client.phase == .content
        case .http2(let client): client.phase == .content
        }
    }

    var isTunnel: Bool {
        switch self {
        case .http1(let client): client.phase == .tunnel
        case .http2(let client): client.phase == .tunnel
        }
    }

    /// The request is for a tunnel and for nothing else.
    var demandsTunnel: Bool { if case .http2(let client) = self { client.asksForTunnel } else { false } }

    var hasUnsentOutput: Bool {
        switch self {
        case .http1(let client): client.hasUnsentOutput
        case .http2(let client): client.hasUnsentOutput
        }
    }

    func setDeadline(after milliseconds: Int) {
        switch self {
        case .http1(let client): client.loop.setDeadline(client, after: milliseconds)
        case .http2(let client): client.worker.loop.setDeadline(client, after: milliseconds)
        }
    }

    func clearDeadline() {
        switch self {
        case .http1(let client): client.loop.clearDeadline(client)
        case .http2(let client): client.worker.loop.clearDeadline(client)
        }
    }

    /// What it has sent can be taken again.
    func runSoon() {
        switch self {
        case .http1(let client): client.loop.runSoon(client)
        case .http2(let client): client.worker.loop.runSoon(client)
        }
    }

    // MARK: The response, as text of HTTP/1.1

    /// Where the next head is written.
    func output() -> ByteBuffer {
        switch self {
        case .http1(let client): client.output()
        case .http2(let client): client.output()
        }
    }

    /// An interim head stands in `output()`.
    func informationalWritten() {
        switch self {
        case .http1(let client): client.worker.flushClientOutput()
        case .http2(let client): client.informationalWritten()
        }
    }

    /// Whether the connection can carry another request once this response is sent.
    func decideToKeep() -> Bool {
        switch self {
        case .http1(let client): client.decideToKeep()
        case .http2: true
        }
    }

    /// What the client sends behind this request is in doubt. On a stream nothing is.
    func distrust() { if case .http1(let client) = self { client.distrust() } }

    func responseBegins(_ framing: BodyFraming) {
        switch self {
        case .http1(let client): client.responseBegins(framing)
        case .http2(let client): client.responseBegins(framing)
        }
    }

    func sendContent(_ content: Span<UInt8>) {
        switch self {
        case .http1(let client): client.sendContent(content)
        case .http2(let client): client.sendContent(content)
        }
    }

    func finishResponse(trailers: ByteBuffer?) {
        switch self {
        case .http1(let client): client.finishResponse(trailers: trailers)
        case .http2(let client): client.finishResponse(trailers: trailers)
        }
    }

    func abortResponse() {
        switch self {
        case .http1(let client): client.abortResponse()
        case .http2(let client): client.abortResponse()
        }
    }

    func becomeTunnel() {
        switch self {
        case .http1(let client): client.becomeTunnel()
        case .http2(let client): client.becomeTunnel()
        }
    }

    func upstreamFinishedTunnel() {
        switch self {
        case .http1(let client): client.upstreamFinishedTunnel()
        case .http2(let client): client.upstreamFinishedTunnel()
        }
    }
}
