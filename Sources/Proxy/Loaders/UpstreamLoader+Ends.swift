internal import HTTP
internal import Policy
internal import Transport

// How a load comes to its end, in order or not.

extension UpstreamLoader {
    // MARK: Ends

    func finish(trailers: TrailerSection?) { finish(exchange, trailers: trailers, leftover: 0) }

    func finish(_ exchange: Exchange, trailers: TrailerSection?, leftover: Int) {
        let reusable = canBeKept && requestIsComplete && leftover == 0 && phase == .content && !responseFraming.endsWithConnection
        release(reusable: reusable)
        exchange.loaderDidFinish(trailers: trailers)
    }

    /// The server sends no more.
    func upstreamFinished() {
        switch phase {
        case .head: connectionBroke()
        case .content where responseFraming.endsWithConnection:
            // A reset is no end, also when a write has taken the error that told of it.
            guard let connection, !connection.isBroken, !connection.isWriteBroken else { return fail(.upstreamProtocolError) }
            finish(trailers: nil)
        case .tunnel:
            upstreamHasFinished = true
            connection?.isReadable = false
            exchange.loaderDidFinishSending()
            if requestIsComplete { finish(trailers: nil) }
        case .content: fail(.upstreamProtocolError)
        case .idle, .waiting, .connecting: break
        }
    }

    /// The connection failed; in phase `head` before an answer.
    func connectionBroke() {
        guard phase == .head, !responseHasBegun, let connection, connection.isReused, retriesLeft > 0,
            exchange.current.method.isIdempotent, !contentWasSent
        else {
            return fail(connection?.refusedCertificate ?? false ? .upstreamTLS : .upstreamProtocolError)
        }
        retriesLeft -= 1
        worker.metrics.upstreamRetried()
        release(reusable: false)
        nextAddress = 0
        acquire(fresh: true)
    }

    func deadlinePassed() {
        if phase == .connecting, let server {
            connection?.close()
            connection = nil
            if nextAddress < server.addresses.count { return connect(to: server) }
        }
        fail(.upstreamTimeout)
    }

    func fail(_ rejection: Rejection) {
        release(reusable: false)
        exchange.loader(didFailWith: rejection)
    }

    /// Lets go of the connection, and of any place in a queue.
    func release(reusable: Bool) {
        if phase == .waiting {
            upstream?.stopWaiting(self)
            server?.stopWaitingForAddress(self)
        }
        if isWaiting { exchange.stopWaiting() }
        let wasConnecting = phase == .connecting
        phase = .idle
        if let stream = stream.take() { return release(stream) }
        guard let connection = connection.take() else { return }
        letGo(of: connection, wasConnecting: wasConnecting, reusable: reusable)
    }

    private func letGo(of connection: UpstreamConnection, wasConnecting: Bool, reusable: Bool) {
        connection.work(for: nil)
        connection.dropInput()
        let server = connection.server
        if !wasConnecting { server.requestsUnderWay -= 1 }
        // What the client sent while the answer was coming still has to go out.
        if worker.isCorked(connection) { worker.flushUpstreamOutput() }
        if reusable, connection.isOpen, !connection.hasUnsentOutput, !connection.isWriteBroken, !connection.peerFinished {
            server.giveBack(connection)
        } else {
            connection.close()
        }
    }

    func stop() { release(reusable: false) }
}
