internal import HTTP
internal import Policy
internal import Transport

/// For whom a connection to an upstream is opened, and where the client connected: what the PROXY protocol tells.
struct ProxiedClient: Equatable {
    var source: SocketAddress?
    var destination: SocketAddress?

    /// The client of this connection, and where it has come.
    init(_ facts: ClientFacts, descriptor: Int32) {
        source = SocketAddress(literal: facts.addressString, port: facts.peerPort)
        destination = descriptor >= 0 ? Socket.localAddress(descriptor) : nil
    }
}

// What comes between a connected socket and the first request: the PROXY protocol's header, then the TLS handshake.

extension UpstreamConnection {
    /// Says what is to be said before HTTP. True when HTTP can begin; else the loader will be told, or, when the connection is
    /// closed, what was wanted is impossible.
    func greet() -> Bool {
        if let version = server.upstream.definition.proxyProtocol {
            ProxyHeader.make(version, from: client?.source, to: client?.destination).withUnsafeBytes { unsafe transmit($0) }
        }
        guard server.definition.scheme == .https else { return true }
        do throws(TLSError) {
            let session = try server.makeSession(offering: isForUpgrade ? [.http11] : nil)
            tls = session
            session.begin()
            transmitWire(of: session)
            if let failure = session.failure { throw failure }
        } catch {
            server.logHandshakeFailure(error)
            close()
        }
        return false
    }

    /// Drives the handshake. A server that speaks HTTP before it is asked does not speak it to us.
    func shakeHands(_ tls: TLSSession, for loader: UpstreamLoader) {
        guard isReadable else { return }
        worker.receiveBuffer.clear()
        switch receive(into: worker.receiveBuffer) {
        case .wouldBlock:
            guard isOpen, tls.isEstablished else { return }
            worker.metrics.upstreamHandshakeCompleted(resumed: tls.wasResumed)
            loader.connected()
            worker.flushUpstreamOutput()
            worker.flushClientOutput()
        case .bytes: handshakeFailed(TLSError("the server spoke before it was asked"), loader)
        case .end, .failed: handshakeFailed(tls.failure ?? TLSError("the connection ended in the handshake"), loader)
        }
    }

    private func handshakeFailed(_ error: TLSError, _ loader: UpstreamLoader) {
        worker.metrics.upstreamHandshakeFailed()
        server.logHandshakeFailure(error)
        // What was to be resumed may be what is refused.
        server.resumption.forget()
        loader.handshakeFailed()
        worker.flushClientOutput()
    }

    /// TLS 1.3 lets a server refuse our certificate when the handshake is over for us.
    var refusedCertificate: Bool {
        guard let failure = tls?.failure, !(tls?.isTruncated ?? true) else { return false }
        server.logHandshakeFailure(failure)
        return true
    }
}

extension UpstreamServer {
    /// Whom a connection of this server is for; nil where it is not told.
    func proxiedClient(of exchange: Exchange) -> ProxiedClient? {
        guard upstream.definition.proxyProtocol != nil else { return nil }
        return exchange.client?.proxiedClient
    }

    /// The newest idle connection that may carry the exchange.
    func takeIdle(for exchange: Exchange) -> UpstreamConnection? {
        guard upstream.definition.proxyProtocol != nil else { return takeIdle() }
        return takeIdle(where: { [client = exchange.client?.proxiedClient] in $0.client == client })
    }

    func makeSession(offering protocols: [ApplicationProtocol]?) throws(TLSError) -> TLSSession {
        guard let context = upstream.tls else { throw TLSError("TLS is not set up") }
        return try context.session(on: worker.wire(), to: serverName, resuming: resumption, offering: protocols)
    }

    /// The name that the server has to prove, and is asked for.
    private var serverName: String {
        if let name = upstream.definition.tls.serverName { return name }
        switch definition.address {
        case .tcp(let host, _): return host
        case .unix: return "localhost"
        }
    }

    /// At most one line a second: an upstream whose certificate has expired is refused by every request.
    func logHandshakeFailure(_ error: TLSError) {
        guard worker.loop.now >= logsHandshakesAgainAt else { return }
        logsHandshakesAgainAt = worker.loop.now + 1_000
        worker.log(.error, "upstream \(upstream.definition.name): \(definition.authority): upstream_tls: \(error.text)")
    }
}
