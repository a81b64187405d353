internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

/// The client's end of an HTTP/2 connection, in the server's role: each stream is one exchange.
///
/// ```
/// open ─► announced ─► ended ─► lingering ─► closed
///   └────────────────────┴────────┘ (a fault of the client's, or nothing to do for long)
/// ```
final class HTTP2ClientConnection: HTTP2Connection {
    enum Phase {
        case open  // ─► announced, ended, lingering
        case announced  // the client knows that we end; what it has sent meanwhile is still taken ─► ended
        case ended  // no streams but those that there are ─► lingering
        case lingering  // all is sent; what still arrives is thrown away ─► closed
    }

    let facts: ClientFacts
    let listener: Int
    private(set) var phase = Phase.open
    /// See ``HostPromise``.
    var promise = HostPromise.none
    /// The client's preface and its SETTINGS have arrived.
    private var isGreeted = false
    /// The client sends no more: what it has asked for in full is answered, then the connection ends.
    private var hasClientFinished = false

    private static let readsPerTurn = 16
    /// When the client does not answer our PING, the announcement is taken as read.
    private static let announcementTime = 1_000

    init(worker: Worker, facts: ClientFacts, listener: Int) {
        self.facts = facts
        self.listener = listener
        super.init(worker: worker, role: .server)
    }

    override var peerName: String { String(decoding: Array(copying: facts.addressText.span), as: UTF8.self) }

    /// Called once, when the connection has its place in the loop; `first` is what has been received already.
    func begin(_ first: Span<UInt8>) {
        guard session != nil else { return close() }
        let limits = worker.limits
        session.submitSettings(
            [
                NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS: UInt32(clamping: limits.streams),
                NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE: UInt32(HTTP2Limits.streamWindow),
                NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE: headerListSize,
                NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL: 1,
                NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES: 1,
            ], window: HTTP2Limits.connectionWindow)
        loop.setDeadline(self, after: worker.timeouts.header)
        if first.count > 0 { take(first) }
        if isOpen { afterReading() }
    }

    // MARK: Reading

    override func pump() {
        if isBroken, !isReadable || hasClientFinished { return close() }
        var reads = 0
        // A client that does not read what it is sent is not read either.
        while isOpen, isReadable, !hasClientFinished, phase == .lingering || !isCondemned && !hasUnsentOutput {
            if reads == Self.readsPerTurn {
                loop.runSoon(self)
                break
            }
            reads += 1
            let buffer = worker.receiveBuffer
            buffer.clear()
            switch receive(into: buffer) {
            case .bytes: take(buffer.span)
            case .wouldBlock: break
            case .end: clientFinished()
            case .failed: return close()
            }
        }
        worker.flushUpstreamOutput()
        if isOpen { afterReading() }
    }

    /// As with HTTP/1.1, an end behind complete requests says that the client sends no more, not that it has gone. The GOAWAY that
    /// goes out finds one that has closed; from then on the kernel asks.
    private func clientFinished() {
        if phase == .lingering || isBroken || !isGreeted { return close() }
        hasClientFinished = true
        flush()
        guard isOpen else { return }
        if streamCount == 0, !hasUnsentOutput { return close() }
        for case let found? in streams {
            found.with { found in
                // SAFETY: streams of another kind are never added.
                if !session.isEndedByPeer(found.id) { unsafe unsafeDowncast(found, to: HTTP2ClientStream.self).abandon() }
            }
        }
        SystemCalls.probeLiveness(descriptor)
        endStreamsToCome()
    }

    private func take(_ bytes: Span<UInt8>) {
        if phase == .lingering || isCondemned { return }
        switch session.receive(bytes, for: self) {
        case .taken: break
        case .over: linger()
        }
    }

    private func afterReading() {
        flushLater()
        if phase != .lingering, session.isOver || isCondemned { return linger() }
        setDeadline()
    }

    private func setDeadline() {
        switch phase {
        case .lingering, .announced: return
        case .open, .ended: break
        }
        if hasUnsentOutput { return }
        if !isGreeted || block != nil {
            let time = worker.timeouts.header
            if !isTimed { loop.setDeadline(self, after: worker.isDraining ? min(time, worker.lingerTime) : time) }
            isTimed = true
        } else if streamCount == 0 {
            isTimed = false
            loop.setDeadline(self, after: worker.timeouts.keepalive)
        } else {
            isTimed = false
            loop.clearDeadline(self)
        }
    }

    /// The time for the preface or for a header block runs; it does not begin anew with every frame.
    private var isTimed = true

    override func settingsReceived() { isGreeted = true }

    // MARK: Streams

    override func headersBegan(_ id: Int32, isRequest: Bool) -> Bool {
        beginBlock(isRequest ? .request : .trailers, of: id)
        if isRequest { worker.takeClientStream().with { add($0, id: id) } }
        return true
    }

    override func headersEnded(_ id: Int32, endsStream: Bool) {
        guard let block = session.takeBlock() else { return }
        withStream(id) { found in
            // SAFETY: streams of another kind are never added.
            let stream = unsafe unsafeDowncast(found, to: HTTP2ClientStream.self)
            block.kind == .trailers ? stream.trailersReceived(block) : stream.begin(block, endsStream: endsStream, on: self)
        }
        worker.giveBack(block)
    }

    /// RFC 9113 section 8.1: a response that came before all of the request has: the client need not send the rest.
    override func endSent(_ id: Int32) {
        if !session.isEndedByPeer(id) { session.reset(id, NGHTTP2_NO_ERROR) }
    }

    override func streamLeft() {
        guard streamCount == 0 else { return }
        flushLater()
        // Within the library's call nothing ends; the turn's end is soon enough.
        loop.runSoon(self)
    }

    // MARK: Ends

    /// The worker goes away, or what the connection came by does: streams end, new ones go elsewhere (RFC 9113 section 6.8).
    func drain() {
        if phase == .lingering, worker.isDraining, !hasUnsentOutput { loop.setDeadline(self, after: worker.lingerTime) }
        if phase == .ended, worker.isDraining, isTimed {
            // What had a header block's time has a stop's.
            isTimed = false
            setDeadline()
        }
        guard phase == .open else { return }
        phase = .announced
        // Another deadline takes the place of a header block's, which begins anew behind it.
        isTimed = false
        session.announceEnd()
        session.submitPing()
        // Behind unsent output the announcement has not gone yet; the client's time to take that output goes on.
        if !hasUnsentOutput { loop.setDeadline(self, after: Self.announcementTime) }
        flushLater()
    }

    override func pingAnswered() { if phase == .announced { endStreamsToCome() } }

    private func endStreamsToCome() {
        phase = .ended
        session.end()
        flushLater()
        if streamCount == 0 { loop.runSoon(self) } else { setDeadline() }
    }

    override func sessionEnded() { linger() }

    /// Sends what is left, and reads on for a while: an end with unread input would destroy what was sent.
    private func linger() {
        guard phase != .lingering else { return }
        phase = .lingering
        endStreams()
        loop.setDeadline(self, after: hasUnsentOutput ? worker.timeouts.writeIdle : worker.lingerTime)
        flush()
        guard isOpen, !hasUnsentOutput else { return }
        finishSending()
        if peerFinished { return close() }
        // What has been left unread since the fault may hold the client's end.
        if isReadable { loop.runSoon(self) }
    }

    override func outputDrained() {
        super.outputDrained()
        guard isOpen, !hasUnsentOutput else { return }
        if phase == .lingering {
            finishSending()
            if hasClientFinished { return close() }
            loop.setDeadline(self, after: worker.lingerTime)
        } else if phase == .announced {
            loop.setDeadline(self, after: Self.announcementTime)
        } else {
            setDeadline()
        }
    }

    override func outputMoved() { loop.setDeadline(self, after: worker.timeouts.writeIdle) }

    override func deadlinePassed() {
        if hasUnsentOutput || phase == .lingering { return close() }
        switch phase {
        case .announced: endStreamsToCome()
        case .open, .ended, .lingering:
            guard streamCount == 0 || !isGreeted || block != nil else { return }
            session.terminate(NGHTTP2_NO_ERROR)
            linger()
        }
    }

    override func close() {
        guard isOpen else { return }
        super.close()
        worker.clientClosed(self)
    }
}
