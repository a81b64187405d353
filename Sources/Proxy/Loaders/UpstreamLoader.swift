internal import HTTP
internal import Policy
internal import Transport

/// Loads from an upstream, in the client's role: finds a connection, sends, and delivers what comes back; over HTTP/1.1 here,
/// over a stream of HTTP/2 in `UpstreamLoader+HTTP2.swift`.
///
/// Each exchange owns one and uses it for all its sends. Nothing is sent twice that could do something twice: a send that
/// failed is repeated only when nothing was sent, or when a request that is idempotent and has no content met a pooled
/// connection that the server had closed.
final class UpstreamLoader {
    enum Phase {
        case idle
        case waiting  // for an address or a free connection
        case connecting
        case head  // the request is being sent, or has been; the response has not begun
        case content
        case tunnel
    }

    /// The exchange owns this loader for as long as itself.
    private var owner: Uncounted<Exchange>!
    /// Counted: what happens for every request gets the exchange handed down.
    var exchange: Exchange { owner.object }
    let worker: Worker
    let loop: EventLoop
    /// The worker's: written to after `Worker.cork`.
    private let output: ByteBuffer
    let responseHead: ResponseHead
    var phase = Phase.idle
    var upstream: Upstream?
    var server: UpstreamServer?
    var connection: UpstreamConnection?
    /// Of a server that speaks HTTP/2: what the exchange goes over, in the connection's stead.
    var stream: HTTP2UpstreamStream?
    /// Times that a server has refused the stream, which it has not looked at then.
    var refusals = 0
    var nextAddress = 0
    var triedServers: UInt64 = 0
    var retriesLeft = 0
    var responseTimeout = 0
    var responseIdleTimeout = 0
    var connectTimeout = 0

    /// The request's content as it is framed towards the upstream.
    var requestFraming = BodyFraming.none
    var requestIsComplete = false
    var contentWasSent = false
    var responseHasBegun = false
    var responseFraming = BodyFraming.none
    var contentLeft: UInt64 = 0
    private var chunks: ChunkedDecoder?
    var informationalCount = 0
    var upstreamHasFinished = false
    var attempts = 0
    /// Counts the connections that were put to use: what was read from one is nothing to the next.
    var uses = 0

    static let mostInformational = 32

    init(worker: Worker) {
        self.worker = worker
        loop = worker.loop
        output = worker.upstreamOutput
        responseHead = worker.responseHead
    }

    /// Called once, by the exchange that owns it.
    func serve(_ exchange: Exchange) { owner = Uncounted(exchange) }

    var isWaiting: Bool { phase == .waiting || phase == .connecting }

    // MARK: Finding a connection

    func start(_ upstream: Upstream, _ proxy: ProxyPlan, for exchange: Exchange) {
        let framing = exchange.sentFraming
        if self.upstream !== upstream { self.upstream = upstream }
        let timeouts = upstream.timeouts
        responseTimeout = proxy.responseTimeout ?? timeouts.response
        responseIdleTimeout = proxy.responseIdleTimeout ?? timeouts.responseIdle
        connectTimeout = proxy.connectTimeout ?? timeouts.connect
        retriesLeft = proxy.retries
        requestFraming = framing
        requestIsComplete = framing.isEmpty
        contentWasSent = false
        responseHasBegun = false
        upstreamHasFinished = false
        informationalCount = 0
        triedServers = 0
        attempts = 0
        refusals = 0
        server = nil
        acquire(from: upstream, for: exchange)
    }

    func acquire(fresh: Bool = false) {
        if let upstream { acquire(from: upstream, for: exchange, fresh: fresh) }
    }

    private func acquire(from upstream: Upstream, for exchange: Exchange, fresh: Bool = false) {
        if server == nil {
            guard let picked = upstream.pickServer(tried: triedServers) else { return fail(.upstreamUnreachable) }
            server = picked
            nextAddress = 0
        }
        // The upstream keeps its servers.
        uncounted(server.unsafelyUnwrapped) { acquire(from: $0, of: upstream, for: exchange, fresh: fresh) }
    }

    private func acquire(from server: UpstreamServer, of upstream: Upstream, for exchange: Exchange, fresh: Bool) {
        if upstream.takesHTTP2, acquireStream(of: server, for: exchange) { return }
        if !fresh, let idle = server.takeIdle(for: exchange) {
            idle.isReused = true
            return use(idle, of: server, for: exchange)
        }
        guard upstream.hasRoom || upstream.makeRoom() else {
            phase = .waiting
            upstream.wait(self)
            exchange.wait(for: connectTimeout, then: .overloaded)
            return
        }
        guard server.hasAddresses(for: self) else {
            phase = .waiting
            exchange.wait(for: connectTimeout, then: .upstreamTimeout)
            return
        }
        connect(to: server)
    }

    func addressesArrived(_ server: UpstreamServer) {
        if phase == .waiting, self.server === server { acquire() }
    }

    func connect(to server: UpstreamServer) {
        while nextAddress < server.addresses.count {
            let address = server.addresses[nextAddress]
            nextAddress += 1
            guard !worker.isOwnListener(address), let opened = try? Socket.connect(to: address) else { continue }
            let connection = UpstreamConnection(
                worker: worker, descriptor: opened.descriptor, server: server, isConnected: opened.isConnected,
                client: server.proxiedClient(of: exchange), isForUpgrade: server.isUpgradedOverHTTP1(exchange))
            server.upstream.connectionOpened()
            guard (try? loop.add(connection, descriptor: opened.descriptor)) != nil else {
                connection.close()
                return fail(.overloaded)
            }
            worker.metrics.upstreamConnectionOpened()
            server.isConnecting(connection)
            if opened.isConnected, connection.greet() { return begin(on: connection, for: exchange) }
            guard connection.isOpen else { return fail(.upstreamTLS) }
            phase = .connecting
            self.connection = connection
            connection.work(for: self)
            loop.setDeadline(connection, after: connectTimeout)
            exchange.wait(for: connectTimeout + 1_000, then: .upstreamTimeout)
            return
        }
        nextServer()
    }

    /// Nothing was sent to a server that can not be reached: another may be asked instead.
    func nextServer() {
        guard let upstream, let server else { return }
        if let index = upstream.servers.firstIndex(where: { $0 === server }), index < 64 { triedServers |= 1 << UInt64(index) }
        self.server = nil
        if retriesLeft > 0, upstream.servers.count > 1 {
            retriesLeft -= 1
            acquire()
        } else {
            fail(.upstreamUnreachable)
        }
    }

    func connected() {
        guard let connection else { return }
        begin(on: connection, for: exchange)
    }

    /// It is known now what is spoken.
    private func begin(on connection: UpstreamConnection, for exchange: Exchange) {
        guard let upstream, upstream.takesHTTP2, !connection.isForUpgrade else {
            return use(connection, of: connection.server, for: exchange)
        }
        let server = connection.server
        if server.refusesHTTP2(connection) { return fail(.upstreamProtocolError) }
        if server.takesHTTP2(connection) { return beginHTTP2(on: connection, for: exchange) }
        let isNews = server.speaksHTTP1()
        use(connection, of: server, for: exchange)
        if isNews { upstream.serveWaiting() }
    }

    func connectFailed() {
        worker.metrics.upstreamConnectFailed()
        connection = nil
        phase = .waiting
        acquire(fresh: true)
    }

    /// The server has not proved who it is, or does not speak TLS as we do: nothing was sent, and nothing is tried instead.
    func handshakeFailed() {
        worker.metrics.upstreamConnectFailed()
        fail(.upstreamTLS)
    }

    // MARK: Sending

    private func use(_ connection: UpstreamConnection, of server: UpstreamServer, for exchange: Exchange) {
        let waited = phase == .waiting || phase == .connecting
        self.connection = connection
        connection.work(for: self)
        server.requestsUnderWay += 1
        phase = .head
        attempts += 1
        uses &+= 1
        if waited { exchange.stopWaiting() }
        worker.cork(connection)
        do {
            try exchange.writeRequestHead(for: server, to: output)
        } catch {
            output.clear()
            return fail(error)
        }
        exchange.requestWasSent(overReusedConnection: connection.isReused)
        if let replay = exchange.replayContent { sendFramed(replay.span) }
        // Sent anew, the content may have come to its end before.
        if exchange.contentIsComplete, requestFraming.isChunked { finishContent(nil) }
        setRequestDeadline(connection)
        if waited {
            worker.flushUpstreamOutput()
            exchange.clientMayContinue()
        }
    }

    func setRequestDeadline() {
        if let connection { setRequestDeadline(connection) } else if stream != nil { setStreamDeadline() }
    }

    private func setRequestDeadline(_ connection: UpstreamConnection) {
        if connection.hasUnsentOutput {
            loop.setDeadline(connection, after: worker.timeouts.writeIdle)
        } else if requestIsComplete && phase == .head {
            loop.setDeadline(connection, after: responseTimeout)
        } else if phase == .head {
            loop.clearDeadline(connection)
        }
    }

    var takesContent: Bool {
        guard let connection, phase != .connecting else { return stream.map { !$0.hasUnsentOutput } ?? false }
        return !connection.hasUnsentOutput || connection.isWriteBroken
    }

    func send(_ content: Span<UInt8>) {
        if content.count > 0 { contentWasSent = true }
        sendFramed(content)
    }

    private func sendFramed(_ content: Span<UInt8>) {
        guard let connection, !connection.isWriteBroken, content.count > 0 else {
            stream?.send(content)
            return
        }
        worker.cork(connection)
        if requestFraming.isChunked && phase != .tunnel {
            output.append(hexadecimal: UInt(content.count))
            output.append("\r\n")
            output.append(content)
            output.append("\r\n")
        } else if output.count + content.count <= Worker.largestCopy {
            output.append(content)
        } else {
            connection.send(output, then: content)
            output.clear()
        }
        if output.count > Worker.receiveSize { worker.flushUpstreamOutput() }
    }

    func finishContent(_ trailers: TrailerSection?) {
        requestIsComplete = true
        guard let connection else { return finishStream(trailers) }
        if phase == .tunnel {
            worker.flushUpstreamOutput()
            connection.finishSending()
            if upstreamHasFinished { finish(trailers: nil) }
            return
        }
        if requestFraming.isChunked, !connection.isWriteBroken {
            worker.cork(connection)
            output.append("0\r\n")
            if let trailers { exchange.writeRequestTrailers(trailers, to: output) }
            output.append("\r\n")
        }
        setRequestDeadline()
    }

    func outputDrained() {
        if phase == .tunnel || phase == .content { setContentDeadline() } else { setRequestDeadline() }
        exchange.clientMayContinue()
    }

    // MARK: Receiving

    var wantsInput: Bool { phase == .head || owner.with { $0.wantsData } }

    private func wantsInput(_ exchange: Exchange) -> Bool { phase == .head || exchange.wantsData }

    /// Kept input is worth a look without more bytes: not when it is part of a head.
    var canUseInput: Bool { phase != .head }

    func resume() {
        guard let connection else { return resumeStream() }
        setContentDeadline()
        loop.runSoon(connection)
    }

    func setContentDeadline() {
        if let connection { setContentDeadline(connection) } else if stream != nil { setStreamDeadline() }
    }

    private func setContentDeadline(_ connection: UpstreamConnection) {
        if connection.hasUnsentOutput {
            loop.setDeadline(connection, after: worker.timeouts.writeIdle)
        } else if phase == .tunnel || !owner.with({ $0.wantsData }) {
            loop.clearDeadline(connection)  // the client's deadline is what counts
        } else {
            loop.setDeadline(connection, after: responseIdleTimeout)
        }
    }

    /// Works through what has been received; returns how much of it is done with.
    func process(_ buffer: ByteBuffer) -> Int { owner.with { process(buffer, for: $0) } }

    private func process(_ buffer: ByteBuffer, for exchange: Exchange) -> Int {
        var position = 0
        let use = uses
        while connection != nil, use == uses, position < buffer.count, wantsInput(exchange) {
            switch phase {
            case .head:
                guard let next = readHead(buffer, from: position, for: exchange) else { return position }
                position = next
            case .content:
                position = readContent(buffer, from: position, for: exchange)
            case .tunnel:
                exchange.loader(didReceiveData: buffer.span(ByteRange(position, buffer.count - position)))
                position = buffer.count
            case .idle, .waiting, .connecting:
                return position
            }
        }
        if use != uses { return buffer.count }
        if phase == .content || phase == .tunnel { setContentDeadline() }
        return position
    }

    private func readHead(_ buffer: ByteBuffer, from position: Int, for exchange: Exchange) -> Int? {
        responseHasBegun = true
        let head = responseHead
        let consumed: Int?
        do {
            consumed = try HTTP1.parseResponse(
                buffer.span(ByteRange(position, buffer.count - position)), requestMethod: exchange.current.method,
                limits: worker.limits.head, into: head)
        } catch {
            fail(.upstreamProtocolError)
            return buffer.count
        }
        guard let consumed else { return nil }
        let next = position + consumed
        if head.status == 101 { return switchProtocols(head) ? next : buffer.count }
        if head.status < 200 {
            informationalCount += 1
            if informationalCount > Self.mostInformational {
                fail(.upstreamProtocolError)
                return buffer.count
            }
            exchange.loader(didReceiveInformational: head)
            return next
        }
        return deliver(head, leftover: buffer.count - next, to: exchange) ? next : buffer.count
    }

    private func switchProtocols(_ head: ResponseHead) -> Bool {
        guard exchange.asksForUpgrade, exchange.loader(didReceiveResponse: head) == .becomeTunnel else {
            fail(.upstreamProtocolError)
            return false
        }
        phase = .tunnel
        // From here on the client's bytes are content that ends when it finishes sending.
        requestIsComplete = false
        setContentDeadline()
        return true
    }

    /// False when what is left of the buffer is done with too.
    private func deliver(_ head: ResponseHead, leftover: Int, to exchange: Exchange) -> Bool {
        responseFraming = head.framing
        canBeKept = head.keepsAlive
        phase = .content
        chunks = nil
        contentLeft = 0
        var isEmpty = false
        switch head.framing {
        case .none: isEmpty = true
        case .length(let length):
            contentLeft = length
            isEmpty = length == 0
        case .chunked: chunks = ChunkedDecoder(trailers: exchange.responseTrailers, limits: worker.limits.head)
        case .untilClose: break
        }
        switch exchange.loader(didReceiveResponse: head) {
        case .allow, .becomeTunnel:
            if isEmpty { finish(exchange, trailers: nil, leftover: leftover) }
            return true
        case .cancel:
            // Drained where all of it is here already; a connection with an unread rest carries nothing more.
            let isHere = isEmpty || chunks == nil && !head.framing.endsWithConnection && contentLeft == UInt64(leftover)
            release(reusable: isHere && canBeKept && requestIsComplete)
            exchange.loaderDidCancel()
            return false
        }
    }

    var canBeKept = false

    private func readContent(_ buffer: ByteBuffer, from position: Int, for exchange: Exchange) -> Int {
        let span = buffer.span
        switch responseFraming {
        case .none:
            return buffer.count
        case .untilClose:
            exchange.loader(didReceiveData: span.extracting(position..<span.count))
            return span.count
        case .length:
            let count = Int(min(contentLeft, UInt64(span.count - position)))
            contentLeft -= UInt64(count)
            exchange.loader(didReceiveData: span.extracting(position..<position + count))
            if contentLeft == 0, connection != nil { finish(exchange, trailers: nil, leftover: span.count - position - count) }
            return position + count
        case .chunked:
            return readChunks(span, from: position, for: exchange)
        }
    }

    private func readChunks(_ span: Span<UInt8>, from position: Int, for exchange: Exchange) -> Int {
        var next = position
        do {
            while connection != nil, phase == .content, chunks != nil {
                switch try chunks!.next(span, from: &next) {
                case .data(let start, let count): exchange.loader(didReceiveData: span.extracting(start..<start + count))
                case .needMore: return next
                case .end: finish(exchange, trailers: exchange.responseTrailers, leftover: span.count - next)
                }
            }
        } catch {
            fail(.upstreamProtocolError)
            return span.count
        }
        return next
    }
}
