internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

/// The upstream's end of an exchange on one stream of HTTP/2.
final class HTTP2UpstreamStream: HTTP2Stream {
    /// Nil when the exchange wants no more of it.
    var loader: UpstreamLoader?
    /// The response's head has come: what follows are trailers.
    private(set) var hasHead = false
    /// The connection had carried a request before.
    private(set) var wasReused = false
    private var hasTrailers = false
    private var openedAt: Int64 = 0

    func begin(wasReused: Bool) {
        hasHead = false
        hasTrailers = false
        isGone = false
        openedAt = loop.now
        self.wasReused = wasReused
    }

    /// Both ends have been sent, or need not be.
    var isOver: Bool { isGone || isEndedByPeer && (isFinished || !sendsContent) }
    var sendsContent = false
    private var isGone = false

    func headReceived(_ block: FieldBlock, endsStream: Bool) {
        guard let loader else { return }
        if block.kind == .trailers { return trailersReceived(block, for: loader) }
        hasHead = block.status >= 200
        if endsStream { markEnded() }
        loader.streamSent(block, endsStream: endsStream)
        if endsStream { deliverEnd() }
    }

    private func trailersReceived(_ block: FieldBlock, for loader: UpstreamLoader) {
        block.finish(endsMessage: true)
        do {
            guard block.fault == nil else { return loader.fail(.upstreamProtocolError) }
            try loader.exchange.responseTrailers.read(block.text, limits: worker.limits.head)
        } catch {
            return loader.fail(.upstreamProtocolError)
        }
        hasTrailers = true
        peerEnded()
    }

    override func received(_ content: Span<UInt8>) {
        guard let loader else { return consume(content.count) }
        guard hasHead else { return loader.fail(.upstreamProtocolError) }
        guard input == nil, loader.wantsInput else { return keep(content) }
        loader.streamSent(content)
        consume(content.count)
    }

    override func peerEnded() {
        super.peerEnded()
        if input == nil { deliverEnd() }
    }

    private func deliverEnd() {
        guard let loader else { return }
        loader.streamEnded(trailers: hasTrailers ? loader.exchange.responseTrailers : nil)
    }

    /// What was kept can be delivered now, perhaps.
    override func turn() {
        worker.eventBegins()
        while index >= 0, let input, let loader, loader.wantsInput {
            let count = min(input.count, Worker.receiveSize)
            loader.streamSent(input.span(ByteRange(0, count)))
            inputTaken(count)
        }
        if index >= 0, input == nil, isEndedByPeer { deliverEnd() }
        worker.flushClientOutput()
    }

    override func closed(_ code: UInt32) {
        isGone = true
        guard let loader else { return }
        // What has come in full is delivered, however the stream ends (RFC 9113 section 8.1).
        if isEndedByPeer {
            while let input, index >= 0, self.loader === loader {
                loader.streamSent(input.span(ByteRange(0, input.count)))
                inputTaken(input.count)
            }
            if self.loader === loader { deliverEnd() }
        } else {
            loader.streamBroke(isUntouched: code == NGHTTP2_REFUSED_STREAM.rawValue)
        }
        // A tunnel of which only one side had ended.
        if self.loader === loader { loader.fail(.upstreamProtocolError) }
    }

    override func left() { worker.giveBack(self) }

    override func outputBlocked() { loader?.setStreamDeadline() }

    override func outputDrained() { loader?.outputDrained() }

    override func deadlinePassed() {
        guard let loader else { return }
        // SAFETY: only connections of this kind take such streams.
        if index >= 0 { unsafe unsafeDowncast(connection, to: HTTP2UpstreamConnection.self).suspect(sinceOpening: openedAt) }
        loader.deadlinePassed()
    }
}
