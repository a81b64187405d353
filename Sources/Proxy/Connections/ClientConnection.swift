internal import HTTP
internal import Policy
internal import Transport

/// The client's end of an HTTP/1.1 connection, in the server's role: heads and content in, one exchange at a time.
///
/// ```
/// (proxyHeader ─►) idle ─► head ─► content ─► answering ─► idle
///                    └──────────┴─► tunnel (after 101)   any ─► lingering ─► closed
/// ```
/// An idle connection owns no buffer and no exchange.
final class ClientConnection: Connection {
    enum Phase {
        case proxyHeader  // of the PROXY protocol, before anything else ─► idle, closed
        case idle  // ─► head, content, answering, lingering
        case head  // part of a head has arrived ─► content, answering, lingering
        case content  // reading the request's content ─► answering, tunnel, lingering, idle
        case answering  // the request is complete, its response is not ─► idle, lingering
        case tunnel  // bytes both ways ─► closed
        case lingering  // the last response is sent; what still arrives is thrown away ─► closed
    }

    private(set) var facts: ClientFacts
    let listener: Int
    var phase: Phase
    /// Of a TLS connection: see `ClientConnection+TLS.swift`.
    var promise = HostPromise.none
    /// Nil while idle, and while the rest of an answered request is being thrown away.
    var exchange: Exchange?
    var contentLeft: UInt64 = 0
    private var chunks: ChunkedDecoder?
    /// How the response under way is delimited; set with its head.
    var responseFraming = BodyFraming.none
    /// After this response the connection ends.
    var closesAfterResponse = false
    private var closesWhenDrained = false
    var halfClosedByUpstream = false
    private var isProbed = false
    private var isPaused = false
    /// No request has come yet: what comes may still be another protocol.
    var isFresh = true
    var takesHTTP2: Bool

    /// An answered request whose rest is at most this long is read to its end, so that the connection can be kept.
    private static let longestDiscard: UInt64 = 64 * 1024
    private static let readsPerTurn = 16

    init(
        worker: Worker, descriptor: Int32, facts: ClientFacts, listener: Int, takesHTTP2: Bool, tls: TLSSession?,
        awaitsProxyHeader: Bool
    ) {
        self.facts = facts
        self.listener = listener
        self.takesHTTP2 = takesHTTP2
        phase = awaitsProxyHeader ? .proxyHeader : .idle
        super.init(worker: worker, descriptor: descriptor, tls: tls)
    }

    /// The PROXY protocol has told whose connection this is.
    func becomeConnection(of facts: ClientFacts) {
        self.facts = facts
        phase = .idle
    }

    override func handshakeCompleted() { takeHandshake() }

    /// HTTP/1.1 requests say where they end, and tunnels are the parties' own.
    override var toleratesTruncation: Bool { true }

    /// Called once, when the connection has its place in the loop.
    func begin() { loop.setDeadline(self, after: worker.timeouts.header) }

    // MARK: Reading

    private var wantsInput: Bool {
        switch phase {
        case .idle, .head, .proxyHeader: !hasUnsentOutput
        case .content, .tunnel: exchange?.takesContent ?? true
        case .answering: false
        case .lingering: true
        }
    }

    override func pump() {
        if isBroken { return abandon() }
        if peerFinished, phase == .answering, !isProbed {
            // It may have gone, or just have nothing more to say: the kernel is to find out.
            isProbed = true
            SystemCalls.probeLiveness(descriptor)
        }
        var reads = 0
        while isOpen, wantsInput {
            if let own = input, phase != .head || own.count == 0 {
                let consumed = process(own)
                if !isOpen { break }
                keepInput(own, from: consumed)
                if consumed > 0 || !wantsInput { continue }
            }
            guard isReadable else { break }
            if reads == Self.readsPerTurn {
                loop.runSoon(self)
                break
            }
            reads += 1
            if !readOnce() { break }
        }
        worker.flushUpstreamOutput()
        worker.flushClientOutput()
        if isOpen, phase == .content { watchContent() }
    }

    /// A client that is not read, since what it sent has to go first, is not late.
    private func watchContent() {
        if exchange?.isWaiting ?? false { return }
        if !wantsInput {
            if !isPaused && !hasUnsentOutput { loop.clearDeadline(self) }
            isPaused = true
        } else if isPaused {
            isPaused = false
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        }
    }

    /// False when there is nothing to be had at present.
    private func readOnce() -> Bool {
        if phase == .proxyHeader { return readProxyHeader() }
        if phase == .content, tls == nil, chunks == nil, contentLeft >= Worker.smallestSplice, input == nil,
            let upstream = exchange?.spliceConnection, let result = upstream.splice(from: self, atMost: contentLeft)
        {
            return spliced(result)
        }
        if let input { return read(into: input) }
        return uncounted(worker.receiveBuffer) { buffer in
            buffer.clear()
            return read(into: buffer)
        }
    }

    private func read(into buffer: ByteBuffer) -> Bool {
        switch receive(into: buffer) {
        case .bytes:
            let consumed = process(buffer)
            if isOpen { keepInput(buffer, from: consumed) }
            return true
        case .wouldBlock:
            return false
        case .end:
            clientFinished()
            return false
        case .failed:
            noteHandshakeFailure()
            abandon()
            return false
        }
    }

    /// Works through what has been received; returns how much of it is done with.
    private func process(_ buffer: ByteBuffer) -> Int {
        var position = 0
        while isOpen, position < buffer.count, wantsInput {
            switch phase {
            case .idle, .head:
                guard let next = readHead(buffer, from: position) else { return position }
                position = next
            case .content:
                position = readContent(buffer, from: position)
            case .tunnel:
                exchange?.clientSent(buffer.span(ByteRange(position, buffer.count - position)))
                loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
                position = buffer.count
            case .answering, .proxyHeader:
                return position
            case .lingering:
                return buffer.count
            }
        }
        return position
    }

    private func readHead(_ buffer: ByteBuffer, from position: Int) -> Int? {
        let consumed: Int?
        do {
            consumed = try worker.withNextExchange { (next) throws(HTTPError) in
                try HTTP1.parseRequest(
                    buffer.span(ByteRange(position, buffer.count - position)), limits: worker.limits.head, into: next.head)
            }
        } catch {
            if error == .unsupportedVersion, becomesHTTP2(buffer, from: position) { return buffer.count }
            refuse(Rejection(error))
            return buffer.count
        }
        guard let consumed else {
            if phase == .idle {
                phase = .head
                loop.setDeadline(self, after: worker.timeouts.header)
            }
            return nil
        }
        exchange = worker.takeExchange()
        isFresh = false
        // The worker keeps it beyond this call when it is given back.
        uncounted(exchange.unsafelyUnwrapped) { begin($0) }
        return position + consumed
    }

    private func begin(_ exchange: Exchange) {
        switch exchange.head.framing {
        case .none, .length(0), .untilClose:
            phase = .answering
        case .length(let length):
            contentLeft = length
            phase = .content
        case .chunked:
            chunks = ChunkedDecoder(trailers: exchange.requestTrailers, limits: worker.limits.head)
            phase = .content
        }
        closesAfterResponse = !exchange.head.keepsAlive
        if phase == .content {
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        } else {
            loop.clearDeadline(self)
        }
        uncounted(facts) { exchange.begin(for: .http1(Uncounted(self)), $0, listener: listener) }
    }

    /// A head that can not be read: there is no telling where the next one begins.
    private func refuse(_ rejection: Rejection) {
        let exchange = worker.takeExchange()
        self.exchange = exchange
        phase = .answering
        closesAfterResponse = true
        exchange.refuse(rejection, for: .http1(Uncounted(self)), facts, listener: listener)
    }

    private func readContent(_ buffer: ByteBuffer, from position: Int) -> Int {
        loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        let span = buffer.span
        guard chunks != nil else {
            let count = Int(min(contentLeft, UInt64(span.count - position)))
            contentLeft -= UInt64(count)
            exchange?.clientSent(span.extracting(position..<position + count))
            if contentLeft == 0 { requestComplete() }
            return position + count
        }
        var next = position
        do {
            while isOpen, phase == .content, wantsInput {
                switch try chunks!.next(span, from: &next) {
                case .data(let start, let count):
                    exchange?.clientSent(span.extracting(start..<start + count))
                case .needMore:
                    return next
                case .end:
                    requestComplete()
                    return next
                }
            }
        } catch {
            contentMalformed(Rejection(error))
            return buffer.count
        }
        return next
    }

    func requestComplete() {
        let trailers = chunks == nil ? nil : exchange?.requestTrailers
        chunks = nil
        guard let exchange else {
            // The rest of a request that has been answered.
            becomeIdle()
            return
        }
        if phase == .content {
            phase = .answering
            if hasUnsentOutput {
                loop.setDeadline(self, after: worker.timeouts.writeIdle)
            } else {
                loop.clearDeadline(self)
            }
        }
        exchange.clientFinished(trailers)
    }

    private func contentMalformed(_ rejection: Rejection) {
        guard let exchange else { return close() }
        closesAfterResponse = true
        exchange.fail(rejection)
    }

    /// The client sends no more. Between requests that is the end; after a request it may still read the response.
    func clientFinished() {
        switch phase {
        case .idle, .proxyHeader: close()
        case .lingering: closesWhenDrained ? isReadable = false : close()
        case .head: abandon()
        case .content: exchange == nil ? close() : abandon()
        case .tunnel:
            loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
            exchange?.clientFinished(nil)
            isReadable = false
        case .answering: break
        }
    }

    /// The client is gone: so is what was done for it.
    func abandon() {
        let exchange = exchange
        self.exchange = nil
        exchange?.clientGone()
        close()
    }

    // MARK: Answering

    /// What the client sends is in doubt, so what follows is not read.
    func distrust() { closesAfterResponse = true }

    /// Whether the connection can carry another request once this response is sent; decided with the response's head.
    func decideToKeep() -> Bool {
        if closesAfterResponse || worker.isDraining {
            closesAfterResponse = true
            return false
        }
        if phase == .content {
            let discardable = chunks == nil && contentLeft <= Self.longestDiscard && exchange?.head.expectsContinue != true
            if !discardable { closesAfterResponse = true }
        }
        return !closesAfterResponse
    }

    /// The scratch buffer that this connection's next output is written to; sent at the end of the turn, or before.
    func output() -> ByteBuffer {
        worker.cork(self)
        return worker.clientOutput
    }

    /// The head has been written to `output()`; what follows is delimited like this.
    func responseBegins(_ framing: BodyFraming) {
        responseFraming = framing
        if framing.endsWithConnection { closesAfterResponse = true }
    }

    func sendContent(_ content: Span<UInt8>) {
        let out = output()
        switch responseFraming {
        case .none: break
        case .length, .untilClose:
            if out.count + content.count <= Worker.largestCopy {
                out.append(content)
            } else {
                send(out, then: content)
                out.clear()
            }
        case .chunked:
            out.append(hexadecimal: UInt(content.count))
            out.append("\r\n")
            out.append(content)
            out.append("\r\n")
            if out.count > Worker.receiveSize { worker.flushClientOutput() }
        }
        if hasUnsentOutput {
            loop.setDeadline(self, after: worker.timeouts.writeIdle)
        } else if phase == .tunnel {
            loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
        }
    }

    /// Ends the response; `trailers` holds complete field lines.
    func finishResponse(trailers: ByteBuffer?) {
        if responseFraming.isChunked {
            let out = output()
            out.append("0\r\n")
            if let trailers { out.append(trailers.span) }
            out.append("\r\n")
        }
        exchange = nil
        if phase == .tunnel { return tunnelEndedByUpstream() }
        if closesAfterResponse { return closeGracefully() }
        if phase == .content {
            // The rest is thrown away, then the connection is idle.
            loop.setDeadline(self, after: worker.timeouts.bodyIdle)
            if input != nil || isReadable { loop.runSoon(self) }
            return
        }
        becomeIdle()
    }

    private func becomeIdle() {
        phase = .idle
        if worker.isDraining { return closeGracefully() }
        // The end of the response may still be on its way: that is no idleness.
        loop.setDeadline(self, after: hasUnsentOutput ? worker.timeouts.writeIdle : worker.timeouts.keepalive)
        // What the client has sent meanwhile is read in a turn of its own: the caller may be using the worker's buffers.
        if input != nil || isReadable { loop.runSoon(self) }
    }

    /// The response can not be completed: the client must be able to see that.
    func abortResponse() {
        exchange = nil
        worker.flushClientOutput()
        closeDescriptor(reset: responseFraming.endsWithConnection)
        worker.clientClosed(self)
    }

    /// Sends what is left, then ends the connection so that the client gets all of it.
    func closeGracefully() {
        worker.flushClientOutput()
        guard isOpen else { return }
        if hasUnsentOutput {
            closesWhenDrained = true
            phase = .lingering
            loop.setDeadline(self, after: worker.timeouts.writeIdle)
            return
        }
        // A request read to its end, with nothing behind it: closing can not destroy what was sent.
        if phase == .answering, !isReadable, input == nil { return close() }
        phase = .lingering
        finishSending()
        loop.setDeadline(self, after: worker.lingerTime)
        dropInput()
        loop.runSoon(self)
    }

    // MARK: Connection's moments

    override func outputDrained() {
        if closesWhenDrained {
            closesWhenDrained = false
            phase = .answering
            return closeGracefully()
        }
        if halfClosedByUpstream { finishSending() }
        switch phase {
        case .answering: loop.clearDeadline(self)
        case .content: loop.setDeadline(self, after: worker.timeouts.bodyIdle)
        case .tunnel: loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
        case .idle:
            loop.setDeadline(self, after: worker.timeouts.keepalive)
            if input != nil || isReadable { loop.runSoon(self) }
        case .head, .lingering, .proxyHeader: break
        }
        exchange?.clientDrained()
    }

    override func outputMoved() {
        if phase != .tunnel { loop.setDeadline(self, after: worker.timeouts.writeIdle) }
    }

    override func writeFailed() {
        // The event that says so follows; the stack below may still be delivering to us.
        isBroken = true
        isReadable = true
        loop.runSoon(self)
    }

    override func deadlinePassed() {
        if hasUnsentOutput { return abandon() }
        switch phase {
        case .idle, .lingering, .proxyHeader: close()
        case .head: refuse(.requestTimeout)
        case .content:
            guard let exchange else { return close() }
            if !exchange.isWaiting && !wantsInput { return }
            closesAfterResponse = true
            exchange.isWaiting ? exchange.waitExpired() : exchange.fail(.requestTimeout)
        case .answering: exchange?.waitExpired()
        case .tunnel: abandon()
        }
        worker.flushClientOutput()
    }

    /// The worker is going away: idle connections at once, others after their response.
    func drain() {
        closesAfterResponse = true
        switch phase {
        case .idle, .proxyHeader: if hasUnsentOutput { closeGracefully() } else { close() }
        case .lingering: if !hasUnsentOutput { loop.setDeadline(self, after: worker.lingerTime) }
        case .head: loop.setDeadline(self, after: worker.lingerTime)
        // The rest of a request that has been answered.
        case .content where exchange == nil: closeGracefully()
        case .content, .answering, .tunnel: break
        }
    }

    func close() {
        guard isOpen else { return }
        if let exchange {
            self.exchange = nil
            exchange.clientGone()
        }
        closeDescriptor()
        worker.clientClosed(self)
    }
}
