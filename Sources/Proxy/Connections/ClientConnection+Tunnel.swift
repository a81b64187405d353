internal import HTTP
internal import Transport

// After 101 (RFC 9110 section 15.2.2) the connection carries bytes both ways, until both ends have finished.

extension ClientConnection {
    func becomeTunnel() {
        phase = .tunnel
        responseFraming = .untilClose
        loop.setDeadline(self, after: worker.timeouts.tunnelIdle)
        if input != nil || isReadable { loop.runSoon(self) }
    }

    func tunnelEndedByUpstream() {
        worker.flushClientOutput()
        guard isOpen else { return }
        if peerFinished && !hasUnsentOutput { return close() }
        closesAfterResponse = true
        phase = .answering
        isReadable = true
        closeGracefully()
    }

    /// The upstream sends no more through the tunnel; the client still may.
    func upstreamFinishedTunnel() {
        worker.flushClientOutput()
        halfClosedByUpstream = true
        if isOpen && !hasUnsentOutput { finishSending() }
    }
}
