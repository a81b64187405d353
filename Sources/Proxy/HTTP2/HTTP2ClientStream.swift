internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

/// A client's end of an exchange on one stream of HTTP/2; what ``ClientConnection`` is for HTTP/1.1.
///
/// ```
/// content ─► answering ─► (over)
///    └──────────┴─► tunnel (an extended CONNECT was accepted)
/// ```
final class HTTP2ClientStream: HTTP2Stream {
    enum Phase {
        case content  // the request's content is being received
        case answering  // the request is complete
        case tunnel  // bytes both ways
    }

    private(set) var phase = Phase.answering
    private var exchange: Exchange?
    /// A request whose content-length is 0 while its end has not come; begun with that end, so that content makes it malformed before
    /// anybody has acted on it (RFC 9113 section 8.1.1).
    private var held: Exchange?
    /// An extended CONNECT (RFC 8441): no answer but an accepted tunnel may look like success.
    private(set) var asksForTunnel = false
    private var hasTrailers = false
    private var responseHasBegun = false
    /// What the client may send ahead of us, and how much of its content has been taken as it came since it may.
    private var window = HTTP2Limits.streamWindow
    private var flowed = 0
    /// What we sent for a Sec-WebSocket-Key in its stead.
    private let key = ByteBuffer(capacity: 32)
    /// The worker's: where the next head is written; empty between calls.
    private let head: ByteBuffer

    override init(worker: Worker) {
        head = worker.streamHead
        super.init(worker: worker)
    }

    /// SAFETY: only connections of this kind take such streams.
    private var client: HTTP2ClientConnection? {
        index >= 0 ? unsafe unsafeDowncast(connection, to: HTTP2ClientConnection.self) : nil
    }

    var facts: ClientFacts { client?.facts ?? worker.noClient }
    var listener: Int { client?.listener ?? 0 }
    var proxiedClient: ProxiedClient { ProxiedClient(facts, descriptor: client?.descriptor ?? -1) }

    func promises(_ host: Span<UInt8>) -> Bool { client.map { $0.tls == nil || $0.promise.covers(host) } ?? true }

    override var isDone: Bool { exchange == nil && isFinished }

    // MARK: The request

    func begin(_ block: FieldBlock, endsStream: Bool, on client: HTTP2ClientConnection) {
        asksForTunnel = block.isExtendedConnect
        hasTrailers = false
        responseHasBegun = false
        window = HTTP2Limits.streamWindow
        flowed = 0
        phase = endsStream || asksForTunnel ? .answering : .content
        if asksForTunnel { worker.fillWebSocketKey(key) }
        block.finish(endsMessage: endsStream, key: asksForTunnel ? key : nil)
        switch block.fault {
        case .malformed: return refuseMalformed()
        case .tooLarge: return refuse(.headerTooLarge)
        case nil: break
        }
        exchange = worker.takeExchange()
        // The worker keeps it beyond this call when it is given back.
        uncounted(exchange.unsafelyUnwrapped) { begin($0, block.text, on: client) }
    }

    private func begin(_ exchange: Exchange, _ text: ByteBuffer, on client: HTTP2ClientConnection, isHeld: Bool = false) {
        do {
            // All of it, or it would not be what the fields said.
            guard try HTTP1.parseRequest(text.span, limits: worker.limits.head, into: exchange.head) == text.count else {
                return refuse(.badRequest, exchange)
            }
        } catch {
            return refuse(Rejection(error), exchange)
        }
        exchange.head.cameOverHTTP2()
        if phase == .content, !isHeld {
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
            if exchange.head.framing == .length(0) { return hold() }
        }
        exchange.begin(for: .http2(Uncounted(self)), client.facts, listener: client.listener)
    }

    /// A client that waits for 100 before its end would wait for a server that has not been asked (RFC 9110 section 10.1.1).
    private func hold() {
        held = exchange.take()
        guard let head = held?.head else { return }
        let waits = head.lines.contains { $0.id == .expect && HTTP1.listContains(head.bytes.span($0.value), "100-continue") }
        guard waits else { return }
        self.head.append("HTTP/1.1 100 Continue\r\n\r\n")
        informationalWritten()
    }

    private func beginHeld() {
        guard let held = held.take() else { return }
        guard let client, held.snapshot !== worker.snapshot else {
            exchange = held
            return held.begin(for: .http2(Uncounted(self)), facts, listener: listener)
        }
        // A request begins under the configuration of that moment; its head is read anew, since the limits may be others too.
        let fresh = worker.takeExchange()
        exchange = fresh
        begin(fresh, held.head.bytes, on: client, isHeld: true)
        worker.giveBack(held)
    }

    private func dropHeld() {
        guard let held = held.take() else { return }
        worker.giveBack(held)
    }

    private func refuseHeld(_ rejection: Rejection) {
        guard let held = held.take() else { return }
        exchange = held
        held.refuseRequest(rejection, for: .http2(Uncounted(self)), facts, listener: listener)
    }

    /// RFC 9113 section 8.1.1.
    private func refuseMalformed() {
        worker.metrics.rejected(.badRequest)
        reset(NGHTTP2_PROTOCOL_ERROR, byUs: false)
    }

    private func refuse(_ rejection: Rejection) { refuse(rejection, worker.takeExchange()) }

    private func refuse(_ rejection: Rejection, _ exchange: Exchange) {
        self.exchange = exchange
        exchange.refuse(rejection, for: .http2(Uncounted(self)), facts, listener: listener)
    }

    func trailersReceived(_ block: FieldBlock) {
        block.finish(endsMessage: true)
        if held != nil, let fault = block.fault { return refuseHeld(fault == .tooLarge ? .headerTooLarge : .badRequest) }
        beginHeld()
        guard let exchange else { return peerEnded() }
        let isRead: Void? = block.fault == nil ? try? exchange.requestTrailers.read(block.text, limits: worker.limits.head) : nil
        guard isRead != nil else {
            exchange.fail(block.fault == .tooLarge ? .headerTooLarge : .badRequest)
            return
        }
        hasTrailers = true
        peerEnded()
    }

    override func received(_ content: Span<UInt8>) {
        guard let exchange, phase != .answering || asksForTunnel else { return consume(content.count) }
        guard input == nil, phase != .answering, exchange.takesContent else {
            keep(content)
            flowed = 0
            return watchContent()
        }
        pass(content, to: exchange)
        watchContent()
        consume(content.count)
        taken(content.count)
    }

    /// Content that is taken as it comes waits for nothing but the client's window, which is a round trip long.
    private func taken(_ count: Int) {
        flowed += count
        guard flowed >= Int(window), index >= 0 else { return }
        flowed = 0
        let most = connection.streamCount == 1 ? HTTP2Limits.loneStreamWindow : HTTP2Limits.grownStreamWindow
        guard window < most else { return }
        window *= 2
        connection.session.setWindow(window, of: id)
    }

    private func pass(_ content: Span<UInt8>, to exchange: Exchange) {
        if phase == .tunnel { loop.setDeadline(self, after: worker.timeouts.tunnelIdle) }
        exchange.clientSent(content)
    }

    override func peerEnded() {
        super.peerEnded()
        beginHeld()
        if input == nil { finishRequest() }
    }

    /// As content is: not before whoever loads can take it.
    private func finishRequest() {
        guard let exchange, exchange.takesContent else { return }
        switch phase {
        case .content:
            phase = .answering
            isBlocked
                ? loop.setDeadline(self, after: worker.timeouts.writeIdle) : loop.clearDeadline(self)
            exchange.clientFinished(hasTrailers ? exchange.requestTrailers : nil)
        case .tunnel:
            loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
            exchange.clientFinished(nil)
        case .answering: break
        }
    }

    /// What was kept can be taken now, perhaps.
    override func turn() {
        worker.eventBegins()
        guard index >= 0 else { return }
        while let input, let exchange, phase != .answering, exchange.takesContent {
            let count = min(input.count, Worker.largestCopy)
            pass(input.span(ByteRange(0, count)), to: exchange)
            if index < 0 { break }
            inputTaken(count)
        }
        if exchange == nil { dropInput() }
        if input == nil, isEndedByPeer { finishRequest() }
        worker.flushUpstreamOutput()
        watchContent()
    }

    /// A client that is not read, since what it sent has to go first, is not late.
    private func watchContent() {
        guard phase == .content, let exchange, !exchange.isWaiting, !isBlocked else { return }
        if input != nil {
            loop.clearDeadline(self)
        } else {
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        }
    }

    // MARK: The response

    /// The head stands in the output.
    func responseBegins(_ framing: BodyFraming) {
        defer { head.clear() }
        guard index >= 0 else { return }
        responseHasBegun = true
        let isEmpty = framing.isEmpty
        owner.with { connection in
            connection.session.submitResponse(head, stream: id, index: isEmpty ? nil : index)
            connection.flushLater()
        }
    }

    func informationalWritten() {
        if index >= 0, !head.isEmpty, !responseHasBegun {
            connection.session.submitInformational(head, stream: id)
            connection.flushLater()
        }
        head.clear()
    }

    func sendContent(_ content: Span<UInt8>) {
        send(content)
        if phase == .tunnel, !isBlocked { loop.setDeadline(self, after: worker.timeouts.tunnelIdle) }
    }

    /// Ends the response; `trailers` holds complete field lines.
    func finishResponse(trailers: ByteBuffer?) {
        exchange = nil
        dropInput()
        finish(trailers: trailers)
        if isBlocked {
            loop.setDeadline(self, after: worker.timeouts.writeIdle)
        } else {
            loop.clearDeadline(self)
        }
    }

    func abortResponse() {
        exchange = nil
        dropInput()
        guard index >= 0 else { return }
        // A reset overtakes what has not become a frame yet.
        connection.transmit()
        reset(NGHTTP2_INTERNAL_ERROR)
    }

    // MARK: Tunnel

    /// Whether a 101 is the answer to the handshake that we made of an extended CONNECT (RFC 6455 section 4.2.2): whoever has
    /// invented the key checks what comes of it.
    func isHandshakeAnswered(_ head: ResponseHead, to request: RequestHead) -> Bool {
        guard let sent = request.lines.first(where: { HTTP1.equalsIgnoringCase(request.bytes.span($0.name), "sec-websocket-key") })
        else { return true }
        let wanted = ByteBuffer(capacity: 32)
        WebSocketHandshake.appendAccept(for: request.bytes.span(sent.value), to: wanted)
        return head.lines.contains { line in
            HTTP1.equalsIgnoringCase(head.bytes.span(line.name), "sec-websocket-accept")
                && wanted.equals(head.bytes.span(line.value))
        }
    }

    /// The upstream has switched protocols; its 101 stands in the output.
    func becomeTunnel() {
        phase = .tunnel
        defer { head.clear() }
        guard index >= 0 else { return }
        responseHasBegun = true
        connection.session.submitTunnel(head, stream: id, index: index)
        connection.flushLater()
        loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
        if input != nil || isEndedByPeer { loop.runSoon(self) }
    }

    /// The upstream sends no more; the client still may.
    func upstreamFinishedTunnel() { finish(trailers: nil) }

    // MARK: The stream's moments

    override func outputBlocked() { loop.setDeadline(self, after: worker.timeouts.writeIdle) }

    override func outputDrained() {
        switch phase {
        case .content: loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        case .tunnel: loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
        case .answering: loop.clearDeadline(self)
        }
        exchange?.clientDrained()
    }

    override func closed(_ code: UInt32) {
        dropHeld()
        guard let exchange else { return }
        self.exchange = nil
        exchange.clientGone()
    }

    override func left() { worker.giveBack(self) }

    override func deadlinePassed() {
        guard index >= 0 else { return }
        if isBlocked { return abandon() }
        refuseHeld(.requestTimeout)
        guard let exchange else { return connection.flushLater() }
        switch phase {
        case .content where exchange.isWaiting: exchange.waitExpired()
        // What other streams have sent fills the connection's window: the client is not late, it may not send.
        case .content where connection.session.isWindowUsedUp: loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        case .content: exchange.fail(.requestTimeout)
        case .answering: exchange.waitExpired()
        case .tunnel: abandon()
        }
        connection.flushLater()
    }

    /// Nobody waits for the answer, or it can not go on.
    func abandon() {
        closed(NGHTTP2_CANCEL.rawValue)
        dropOutput()
        reset(NGHTTP2_CANCEL)
    }
}
