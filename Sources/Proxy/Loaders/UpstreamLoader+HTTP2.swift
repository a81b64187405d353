internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

// Loading over a stream of HTTP/2: the head is written and read as the text of HTTP/1.1, and the rest are the stream's frames.

extension UpstreamLoader {
    /// A server that refuses streams again and again is asked no more.
    private static let mostRefusals = 3

    // MARK: Finding a stream

    /// True when there is a stream, or when one is waited for.
    func acquireStream(of server: UpstreamServer, for exchange: Exchange) -> Bool {
        if server.isUpgradedOverHTTP1(exchange) { return false }
        if let connection = server.connectionWithRoom(for: exchange) {
            open(on: connection, for: exchange)
            return true
        }
        guard server.isAboutToSpeakHTTP2 else { return false }
        phase = .waiting
        upstream?.wait(self)
        exchange.wait(for: connectTimeout, then: .upstreamTimeout)
        return true
    }

    /// The connection turns out to speak HTTP/2: this exchange has its first stream, those that wait have the next.
    func beginHTTP2(on connection: UpstreamConnection, for exchange: Exchange) {
        let server = connection.server
        // A server that makes us talk while it does not listen is none to speak to.
        guard !connection.hasUnsentOutput, let successor = server.becomeHTTP2(connection) else {
            return fail(.upstreamProtocolError)
        }
        self.connection = nil
        open(on: successor, for: exchange)
        server.upstream.serveWaiting()
    }

    private func open(on connection: HTTP2UpstreamConnection, for exchange: Exchange) {
        // Whether there may be tunnels is told by the server's first frame.
        if exchange.head.asksForUpgrade, !connection.isGreeted {
            phase = .waiting
            upstream?.wait(self)
            return exchange.wait(for: connectTimeout, then: .upstreamTimeout)
        }
        let waited = phase == .waiting || phase == .connecting
        connection.server.requestsUnderWay += 1
        phase = .head
        attempts += 1
        uses &+= 1
        responseHasBegun = false
        if waited { exchange.stopWaiting() }
        let text = worker.requestText
        text.clear()
        // What it holds may be a secret.
        defer { text.wipe() }
        let stream = worker.takeUpstreamStream()
        self.stream = stream
        stream.loader = self
        do {
            try exchange.writeRequestHead(for: connection.server, to: text)
        } catch {
            return fail(error)
        }
        let isTunnel = exchange.asksForUpgrade
        if isTunnel, !connection.takesTunnels { return fail(.upstreamProtocolError) }
        guard connection.open(stream, head: text, hasContent: isTunnel || !requestFraming.isEmpty, isTunnel: isTunnel) else {
            return fail(.upstreamProtocolError)
        }
        exchange.requestWasSent(overReusedConnection: connection.isReused)
        connection.isReused = true
        if let replay = exchange.replayContent { stream.send(replay.span) }
        if exchange.contentIsComplete, !requestFraming.isEmpty { finishStream(nil) }
        setStreamDeadline()
        if waited { exchange.clientMayContinue() }
    }

    // MARK: Sending

    func finishStream(_ trailers: TrailerSection?) {
        guard let stream else { return }
        var lines: ByteBuffer?
        if let trailers, !trailers.lines.isEmpty {
            let buffer = worker.buffers.lease()
            exchange.writeRequestTrailers(trailers, to: buffer)
            lines = buffer
        }
        stream.finish(trailers: lines)
        if let lines { worker.buffers.giveBack(lines) }
        if phase == .tunnel, upstreamHasFinished { return finish(trailers: nil) }
        setStreamDeadline()
    }

    func setStreamDeadline() {
        guard let stream else { return }
        if stream.hasUnsentOutput {
            loop.setDeadline(stream, after: worker.timeouts.writeIdle)
        } else if phase == .head {
            requestIsComplete ? loop.setDeadline(stream, after: responseTimeout) : loop.clearDeadline(stream)
        } else if phase == .tunnel || !exchange.wantsData {
            loop.clearDeadline(stream)
        } else {
            loop.setDeadline(stream, after: responseIdleTimeout)
        }
    }

    func resumeStream() {
        guard let stream else { return }
        setStreamDeadline()
        loop.runSoon(stream)
    }

    // MARK: Receiving

    /// A head has come, as text in `block`; of the request's stream.
    func streamSent(_ block: FieldBlock, endsStream: Bool) {
        let exchange: Exchange = exchange
        let isTunnel = exchange.asksForUpgrade && (200..<300).contains(block.status)
        let method = exchange.current.method
        block.finish(
            endsMessage: endsStream, bodyless: isTunnel || method == .head || block.status == 204 || block.status == 304)
        guard block.fault == nil else { return fail(.upstreamProtocolError) }
        let text = isTunnel ? switching(block.text, for: exchange) : block.text
        do {
            let consumed = try HTTP1.parseResponse(
                text.span, requestMethod: method, limits: worker.limits.head, into: responseHead)
            guard consumed == text.count else { return fail(.upstreamProtocolError) }
        } catch {
            return fail(.upstreamProtocolError)
        }
        if isTunnel { return becomeStreamTunnel(for: exchange) }
        if responseHead.status >= 200 { return deliverStream(responseHead, to: exchange) }
        informationalCount += 1
        if informationalCount > Self.mostInformational || endsStream { return fail(.upstreamProtocolError) }
        exchange.loader(didReceiveInformational: responseHead)
    }

    private func deliverStream(_ head: ResponseHead, to exchange: Exchange) {
        responseHasBegun = true
        phase = .content
        switch exchange.loader(didReceiveResponse: head) {
        case .allow, .becomeTunnel: setStreamDeadline()
        case .cancel:
            release(reusable: false)
            exchange.loaderDidCancel()
        }
    }

    /// The 101 that an upgrade would have got (RFC 8441 section 5), with the answer to the client's key.
    private func switching(_ answer: ByteBuffer, for exchange: Exchange) -> ByteBuffer {
        let text = worker.requestText
        text.clear()
        text.append("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ")
        if let token = exchange.upgradeToken { text.append(exchange.head.bytes.span(token)) }
        text.append("\r\n")
        for line in exchange.head.lines
        where HTTP1.equalsIgnoringCase(exchange.head.bytes.span(line.name), "sec-websocket-key") {
            text.append("Sec-WebSocket-Accept: ")
            WebSocketHandshake.appendAccept(for: exchange.head.bytes.span(line.value), to: text)
            text.append("\r\n")
        }
        let span = answer.span
        text.append(span.extracting(HeadFields(span).startLine.upperBound + 2..<span.count))
        return text
    }

    private func becomeStreamTunnel(for exchange: Exchange) {
        responseHasBegun = true
        guard exchange.loader(didReceiveResponse: responseHead) == .becomeTunnel else { return fail(.upstreamProtocolError) }
        phase = .tunnel
        requestIsComplete = false
        setStreamDeadline()
        exchange.clientMayContinue()
    }

    func streamSent(_ content: Span<UInt8>) {
        exchange.loader(didReceiveData: content)
        if stream != nil { setStreamDeadline() }
    }

    /// The server has sent all of its end, and all of it has been delivered.
    func streamEnded(trailers: TrailerSection?) {
        switch phase {
        case .content: finish(trailers: trailers)
        case .tunnel:
            upstreamHasFinished = true
            exchange.loaderDidFinishSending()
            if requestIsComplete { finish(trailers: nil) }
        case .head: fail(.upstreamProtocolError)
        case .idle, .waiting, .connecting: break
        }
    }

    /// The stream is over before its time. `isUntouched`: the server has not looked at it (RFC 9113 section 8.7).
    func streamBroke(isUntouched: Bool) {
        guard phase == .head, !responseHasBegun, exchange.contentCanBeReplayed else { return fail(.upstreamProtocolError) }
        let isStale = (stream?.wasReused ?? false) && exchange.current.method.isIdempotent && !contentWasSent
        guard isUntouched ? refusals < Self.mostRefusals : isStale && retriesLeft > 0 else {
            return fail(.upstreamProtocolError)
        }
        if isUntouched { refusals += 1 } else { retriesLeft -= 1 }
        worker.metrics.upstreamRetried()
        release(reusable: false)
        nextAddress = 0
        acquire(fresh: true)
    }

    // MARK: Ends

    func release(_ stream: HTTP2UpstreamStream) {
        stream.loader = nil
        server?.requestsUnderWay -= 1
        if stream.index < 0 {
            worker.giveBack(stream)
        } else if !stream.isOver {
            stream.reset(NGHTTP2_CANCEL)
        }
    }
}
