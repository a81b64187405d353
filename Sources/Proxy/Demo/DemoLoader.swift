internal import HTTP
internal import Policy
internal import Transport

/// Answers for `upstream: demo`: an origin without a network, for seeing what the rules do to a request.
///
/// It goes by the same path as any upstream: its heads are read by our own parser and edited by the rules, its data waits for
/// the client, and its redirects may be followed. What it shows of the request is what an upstream would have been sent.
final class DemoLoader {
    enum Phase {
        case idle
        /// The request's content is coming in; it is counted and dropped ─► idle, events, bytes, tunnel
        case content
        case events  // ─► idle
        case bytes  // ─► idle
        case tunnel  // after 101 ─► idle
    }

    unowned let exchange: Exchange
    var phase = Phase.idle
    private(set) var route = DemoRoute.page
    /// Octets of the request's content so far.
    private(set) var contentLength: UInt64 = 0
    private(set) var startedAt: Int64 = 0
    /// The head that is being written.
    let text = ByteBuffer(capacity: 512)
    private var status = 200
    private let head = ResponseHead()

    // What outlives the head; see DemoLoader+Streams.swift.
    var ticker: DemoTicker?
    var eventsSent = 0
    /// A second passed while the client took nothing.
    var eventIsDue = false
    var bytesLeft: UInt64 = 0
    var block: ByteBuffer?
    var echo: WebSocketEcho?

    init(exchange: Exchange) { self.exchange = exchange }

    var worker: Worker { exchange.worker }

    // MARK: The request

    /// An answer is given when the request's content has arrived: a client that is still sending need not be told to stop.
    func start() {
        route = exchange.demoRoute
        contentLength = UInt64(exchange.replayContent?.count ?? 0)
        startedAt = SystemClock.microseconds()
        do {
            try exchange.injectForDemo()
        } catch {
            return exchange.loader(didFailWith: error)
        }
        if exchange.contentIsComplete || exchange.discardsContent { return answer() }
        phase = .content
        if exchange.head.expectsContinue && contentLength == 0 { sayContinue() }
    }

    /// RFC 9110 section 10.1.1.
    private func sayContinue() {
        text.clear()
        text.append("HTTP/1.1 100 Continue\r\n\r\n")
        if readHead() { exchange.loader(didReceiveInformational: head) }
    }

    /// Content is dropped as it comes; in a tunnel what comes is sent back, so the client has to take that first.
    var takesContent: Bool { phase == .tunnel ? exchange.wantsData : true }

    func send(_ content: Span<UInt8>) {
        switch phase {
        case .content: contentLength &+= UInt64(content.count)
        case .tunnel: sendBack(content)
        case .idle, .events, .bytes: break
        }
    }

    func finishContent() {
        switch phase {
        case .content: answer()
        case .tunnel: finish()
        case .idle, .events, .bytes: break
        }
    }

    func resume() {
        switch phase {
        case .idle, .content: break
        case .events: if eventIsDue { sendEvent() }
        case .bytes: pour()
        case .tunnel: exchange.clientMayContinue()
        }
    }

    func stop() {
        phase = .idle
        echo = nil
        if let ticker {
            self.ticker = nil
            worker.loop.remove(ticker)
        }
        if let block {
            self.block = nil
            worker.buffers.giveBack(block)
        }
    }

    // MARK: Heads

    func beginHead(_ status: Int, type: StaticString? = nil) {
        self.status = status
        text.clear()
        text.append("HTTP/1.1 ")
        text.append(decimal: status)
        text.append(" ")
        text.append(ReasonPhrase.of(status))
        text.append("\r\nServer: authproxy-demo\r\n")
        if status == 101 { return }
        text.append("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n")
        if let type {
            text.append("Content-Type: ")
            text.append(type)
            text.append("\r\n")
        }
    }

    func appendLength(_ length: UInt64) {
        text.append("Content-Length: ")
        text.append(decimal: UInt(length))
        text.append("\r\n")
    }

    /// Reads what has been written to `text`, all of which is one head.
    private func readHead() -> Bool {
        let consumed = try? HTTP1.parseResponse(
            text.span, requestMethod: exchange.current.method, limits: HeadLimits(), into: head)
        return consumed == text.count
    }

    /// Ends the head and hands it over; false when nothing of the response is to follow, and `exchange` is no more to be used.
    func passHead() -> Bool {
        text.append("\r\n")
        guard readHead() else {
            stop()
            exchange.loader(didFailWith: .internalError)
            return false
        }
        switch exchange.loader(didReceiveResponse: head) {
        case .allow, .becomeTunnel: return true
        case .cancel:
            stop()
            // A redirect that is followed, or an edit that went wrong; a 101 can only be the latter.
            if status == 101 { exchange.loader(didFailWith: .internalError) } else { exchange.loaderDidCancel() }
            return false
        }
    }

    /// The response under way may have content: not one to HEAD, for one.
    var hasContent: Bool { head.framing != .none }

    /// Hands over a whole response with this content, and gives the buffer back.
    func deliver(_ content: ByteBuffer) {
        let worker = worker
        defer { worker.buffers.giveBack(content) }
        if status != 204 && status != 304 { appendLength(UInt64(content.count)) }
        guard passHead() else { return }
        if hasContent, content.count > 0 { exchange.loader(didReceiveData: content.span) }
        finish()
    }

    func finish() {
        stop()
        exchange.loaderDidFinish(trailers: nil)
    }
}
