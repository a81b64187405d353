internal import HTTP
internal import Policy
internal import Transport

// Servers that speak HTTP/2: few connections with many streams.

extension UpstreamServer {
    /// HTTP/2 is what its connections speak, as far as that is known.
    private var expectsHTTP2: Bool {
        switch upstream.definition.applicationProtocol {
        case .http1: false
        case .h2, .h2c: true
        // Until it is known, one finds it out for all.
        case .auto: speaksHTTP2 ?? true
        }
    }

    /// A connection is on its way that will have room for streams.
    var isAboutToSpeakHTTP2: Bool {
        expectsHTTP2 && (connecting?.isOpen ?? false) || multiplexed.contains { !$0.isGreeted && $0.isOpen }
    }

    func isConnecting(_ connection: UpstreamConnection) {
        if upstream.takesHTTP2, !connection.isForUpgrade { connecting = connection }
    }

    /// Few servers know tunnels over HTTP/2: where both protocols may be spoken, an upgrade is asked for over HTTP/1.1.
    func isUpgradedOverHTTP1(_ exchange: Exchange) -> Bool {
        guard upstream.takesHTTP2, exchange.head.asksForUpgrade else { return false }
        return upstream.definition.applicationProtocol == .auto
    }

    /// What the connection that is now established speaks.
    func takesHTTP2(_ connection: UpstreamConnection) -> Bool {
        switch upstream.definition.applicationProtocol {
        case .http1: false
        case .h2c: connection.tls == nil || connection.tls?.negotiatedProtocol == .http2
        case .h2, .auto: connection.tls?.negotiatedProtocol == .http2
        }
    }

    /// HTTP/2 is demanded, and the server has chosen otherwise.
    func refusesHTTP2(_ connection: UpstreamConnection) -> Bool {
        upstream.definition.applicationProtocol == .h2 && !takesHTTP2(connection)
    }

    /// Gives the socket to a connection that speaks HTTP/2; nil when that can not be.
    func becomeHTTP2(_ connection: UpstreamConnection) -> HTTP2UpstreamConnection? {
        let successor = HTTP2UpstreamConnection(worker: worker, server: self, client: connection.client)
        connection.work(for: nil)
        connection.handOver(to: successor)
        connecting = nil
        speaksHTTP2 = true
        guard successor.begin() else {
            successor.close()
            return nil
        }
        multiplexed.append(successor)
        return successor
    }

    /// The connection speaks HTTP/1.1; true when that is news.
    func speaksHTTP1() -> Bool {
        connecting = nil
        defer { speaksHTTP2 = false }
        return speaksHTTP2 != false
    }

    func connectionWithRoom(for exchange: Exchange) -> HTTP2UpstreamConnection? {
        if multiplexed.isEmpty { return nil }
        let client = proxiedClient(of: exchange)
        return multiplexed.first { $0.client == client && $0.hasRoom }
    }

    var hasStreamRoom: Bool { multiplexed.contains { $0.hasRoom } }

    var unusedCount: Int { multiplexed.count { $0.streamCount == 0 } }

    func remove(_ connection: HTTP2UpstreamConnection) { multiplexed.removeAll { $0 === connection } }

    /// New streams go to new connections.
    func renewStreams() { for connection in multiplexed { connection.renew() } }

    func retireStreams() { for connection in multiplexed { connection.retire() } }
}

extension UpstreamDefinition {
    /// Some server may speak HTTP/2.
    var takesHTTP2: Bool {
        switch applicationProtocol {
        case .http1: false
        case .h2, .h2c: true
        case .auto: usesTLS
        }
    }
}
