internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

/// The upstream's end of an HTTP/2 connection, in the client's role: many exchanges share it.
final class HTTP2UpstreamConnection: HTTP2Connection {
    let server: UpstreamServer
    /// For as long as there is a connection to it: it may be retired meanwhile.
    private let upstream: Upstream
    /// For whom it was opened, where the server is told so.
    let client: ProxiedClient?
    /// It has carried a request before.
    var isReused = false
    /// The server's SETTINGS have arrived.
    private(set) var isGreeted = false
    /// No streams are opened any more: GOAWAY, or an end that is near.
    private var isEnding = false
    private var lastHeardAt: Int64 = 0

    private static let readsPerTurn = 16
    /// Until the server has told, the first request goes alone: some end the connection over one stream too many.
    private static let assumedStreams = 1

    init(worker: Worker, server: UpstreamServer, client: ProxiedClient?) {
        self.server = server
        self.client = client
        upstream = server.upstream
        super.init(worker: worker, role: .client)
    }

    override var peerName: String { server.definition.authority }

    /// Called once, when the connection has its place in the loop; false when there is no memory for a session.
    func begin() -> Bool {
        guard session != nil else { return false }
        session.submitSettings(
            [
                NGHTTP2_SETTINGS_ENABLE_PUSH: 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE: UInt32(HTTP2Limits.upstreamStreamWindow),
                NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE: headerListSize,
            ], window: HTTP2Limits.upstreamConnectionWindow)
        loop.setDeadline(self, after: upstream.timeouts.idle)
        flushLater()
        return true
    }

    // MARK: Streams

    var hasRoom: Bool {
        guard isOpen, !isEnding, !isCondemned, !peerFinished, !isBroken else { return false }
        let told = nghttp2_session_get_remote_settings(session.handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        let most = isGreeted ? Int(clamping: told) : Self.assumedStreams
        return streamCount < min(most, HTTP2Limits.streamsOfUpstream)
            && nghttp2_session_check_request_allowed(session.handle) != 0
    }

    /// Extended CONNECT (RFC 8441 section 3).
    var takesTunnels: Bool {
        isGreeted && nghttp2_session_get_remote_settings(session.handle, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1
    }

    /// Sends the request whose head is this text of HTTP/1.1.
    func open(_ stream: HTTP2UpstreamStream, head: ByteBuffer, hasContent: Bool, isTunnel: Bool) -> Bool {
        let index = reserve()
        let id = session.submitRequest(
            head, scheme: server.definition.scheme == .https ? "https" : "http", index: index, hasContent: hasContent,
            isTunnel: isTunnel)
        guard id > 0 else {
            giveBack(index)
            return false
        }
        stream.begin(wasReused: isReused)
        stream.sendsContent = hasContent
        place(stream, id: id, at: index)
        loop.clearDeadline(self)
        flushLater()
        return true
    }

    override func headersBegan(_ id: Int32, isRequest: Bool) -> Bool {
        guard let hasHead = withUpstreamStream(id, { $0.hasHead }) else { return false }
        beginBlock(hasHead ? .trailers : .response, of: id)
        return true
    }

    override func headersEnded(_ id: Int32, endsStream: Bool) {
        guard let block = session.takeBlock() else { return }
        withUpstreamStream(id) { $0.headReceived(block, endsStream: endsStream) }
        worker.giveBack(block)
    }

    /// SAFETY: streams of another kind are never added.
    @discardableResult
    private func withUpstreamStream<R>(_ id: Int32, _ body: (HTTP2UpstreamStream) -> R) -> R? {
        withStream(id) { unsafe body(unsafeDowncast($0, to: HTTP2UpstreamStream.self)) }
    }

    override func streamLeft() {
        if streamCount == 0 { loop.setDeadline(self, after: upstream.timeouts.idle) }
        // Within the library's call nothing ends, and nobody is served.
        loop.runSoon(self)
    }

    override func settingsReceived() {
        isGreeted = true
        loop.runSoon(self)
    }

    override func goawayReceived(last: Int32) { isEnding = true }

    // MARK: Reading

    override func pump() {
        var reads = 0
        // Always: what streams can not pass on is bounded by their windows.
        while isOpen, isReadable, !isCondemned {
            if reads == Self.readsPerTurn {
                loop.runSoon(self)
                break
            }
            reads += 1
            let buffer = worker.receiveBuffer
            buffer.clear()
            switch receive(into: buffer) {
            case .bytes:
                lastHeardAt = loop.now
                if session.receive(buffer.span, for: self) == .over { isEnding = true }
            case .wouldBlock: break
            case .end, .failed:
                close()
                worker.flushClientOutput()
                return
            }
        }
        worker.flushClientOutput()
        guard isOpen else { return }
        flushLater()
        if isUnwanted { return end() }
        if hasRoom { upstream.serveWaiting() }
    }

    /// A stream has waited for too long. Where nothing at all was heard since it was opened, the connection may be dead, and others
    /// are not to wait for it too.
    func suspect(sinceOpening time: Int64) { if lastHeardAt <= time { isEnding = true } }

    /// Nobody uses it, and nobody will.
    private var isUnwanted: Bool { streamCount == 0 && (isEnding || upstream.isRetired || worker.isDraining) }

    // MARK: Ends

    override func sessionEnded() { close() }

    /// A newer configuration has taken over.
    func retire() { if isUnwanted { end() } }

    /// What its handshake was made with is no longer in force: it takes no more streams.
    func renew() {
        isEnding = true
        retire()
    }

    private func end() {
        session.terminate(NGHTTP2_NO_ERROR)
        flush()
        close()
    }

    override func outputMoved() { loop.setDeadline(self, after: worker.timeouts.writeIdle) }

    override func outputDrained() {
        loop.clearDeadline(self)
        if streamCount == 0 { loop.setDeadline(self, after: upstream.timeouts.idle) }
        super.outputDrained()
    }

    override func deadlinePassed() {
        if hasUnsentOutput { return close() }
        if streamCount == 0 { end() }
    }

    override func close() {
        guard isOpen else { return }
        isEnding = true
        server.remove(self)
        super.close()
        upstream.connectionClosed()
    }
}
