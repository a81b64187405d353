internal import HTTP

// MARK: Content from socket to socket

extension UpstreamLoader {
    /// How much of the response's content may go to the client without being looked at; nil for none of it.
    var spliceTarget: (client: ClientConnection, limit: UInt64)? {
        guard phase == .content, contentLeft >= Worker.smallestSplice, case .length = responseFraming,
            let client = exchange.spliceClient
        else { return nil }
        return (client, contentLeft)
    }

    func spliced(_ count: Int) {
        contentLeft -= UInt64(count)
        exchange.loader(didSplice: count)
        if contentLeft == 0 { finish(trailers: nil) } else { setContentDeadline() }
    }

    /// Large content of the request may go to this connection without being looked at.
    var spliceConnection: UpstreamConnection? {
        guard phase == .head || phase == .content, let connection, connection.tls == nil, case .length = requestFraming,
            !connection.hasUnsentOutput, !connection.isWriteBroken
        else { return nil }
        worker.flushUpstreamOutput()
        return connection.hasUnsentOutput || !connection.isOpen ? nil : connection
    }

    func contentWasSpliced() {
        contentWasSent = true
        if connection?.hasUnsentOutput ?? false { setRequestDeadline() }
    }
}
