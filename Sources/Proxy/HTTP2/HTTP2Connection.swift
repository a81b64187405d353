internal import CNGHTTP2
internal import HTTP
internal import Policy
internal import Transport

/// A connection that speaks HTTP/2, of either role: frames in, frames out, and the streams between.
///
/// What its streams send within a turn of the loop leaves in one write at the turn's end, or when much has gathered. An idle one
/// owns its session and no buffer.
class HTTP2Connection: Connection {
    /// What a stream has for the library when it asks for content.
    enum Offer {
        case later
        case content(Int, isLast: Bool)
        case contentBeforeTrailers(Int, ByteBuffer)
    }

    /// Nil when there was no memory for one.
    final let session: HTTP2Session!
    /// The header block that is being received; nil between blocks.
    final var block: FieldBlock? { session?.block }
    private final var blockStream: Int32 = 0
    /// The loop keeps streams, also those that are spare; a place is empty as soon as its stream leaves.
    private(set) final var streams: [Uncounted<HTTP2Stream>?] = []
    private final var freeIndexes: [Int] = []
    final var streamCount: Int { streams.count - freeIndexes.count }

    // Output.
    private final var gathered: ByteBuffer?
    /// Small content of all streams, until it becomes frames or its stream has to keep it.
    private final var stash: ByteBuffer?
    private final var changed: [StreamMark] = []
    private final var moved: [StreamMark] = []
    private final var isFlushPlanned = false
    private final var isTransmitting = false

    // What the peer costs.
    private final var controlFrames = HTTP2Limits.controlFrames
    private final var emptyFrames = HTTP2Limits.emptyFrames
    private final var windowUpdates = HTTP2Limits.windowUpdates
    private final var resets = HTTP2Limits.resets
    private final var lastStream: Int32 = 0
    private final var departed = DepartedStreams()
    /// The session has ended by a fault of the peer's; what it sends is not looked at any more.
    private(set) final var isCondemned = false

    /// Frames say where they end.
    override var toleratesTruncation: Bool { true }

    /// A stream that something is to be done about, as long as it is still there.
    private struct StreamMark {
        var index: Int
        var id: Int32
    }

    init(worker: Worker, role: HTTP2Session.Role) {
        session = HTTP2Session(role: role, templates: worker.http2)
        super.init(worker: worker, descriptor: -1)
        session?.serve(self)
    }

    // MARK: What subclasses do

    /// A header block begins; false refuses it, and the stream is reset.
    func headersBegan(_ id: Int32, isRequest: Bool) -> Bool { false }
    /// It has ended.
    func headersEnded(_ id: Int32, endsStream: Bool) {}
    func goawayReceived(last: Int32) {}
    func settingsReceived() {}
    func pingAnswered() {}
    /// Our end of the stream has been sent.
    func endSent(_ id: Int32) {}
    /// After a stream has left.
    func streamLeft() {}
    /// Nothing is to be received or sent any more, by an error of the peer's or since both have said so.
    func sessionEnded() {}

    /// MAX_HEADER_LIST_SIZE: fields as RFC 9113 section 6.5.2 counts them, 32 octets each beside what stands in HTTP/1.1.
    final var headerListSize: UInt32 {
        UInt32(clamping: worker.limits.head.headerBytes + 28 * worker.limits.head.headerCount)
    }

    // MARK: Streams

    final func beginBlock(_ kind: FieldBlock.Kind, of stream: Int32) {
        blockStream = stream
        session.block = worker.takeFieldBlock()
        uncounted(session.block.unsafelyUnwrapped) { $0.begin(kind, limits: worker.limits.head) }
    }

    final func add(_ stream: HTTP2Stream, id: Int32) {
        let index = reserve()
        place(stream, id: id, at: index)
        session.setIndex(index, of: id)
    }

    /// A place for a stream that is not there yet.
    final func reserve() -> Int {
        if let free = freeIndexes.popLast() { return free }
        streams.append(nil)
        return streams.count - 1
    }

    final func giveBack(_ index: Int) { freeIndexes.append(index) }

    final func place(_ stream: HTTP2Stream, id: Int32, at index: Int) {
        streams[index] = Uncounted(stream)
        stream.join(self, id: id, index: index)
    }

    /// Nil when there is no such stream.
    @discardableResult
    @inline(__always) final func withStream<R>(_ id: Int32, _ body: (HTTP2Stream) -> R) -> R? {
        guard let index = session.index(of: id) else { return nil }
        return withStream(StreamMark(index: index, id: id), body)
    }

    @discardableResult
    @inline(__always) private final func withStream<R>(_ mark: StreamMark, _ body: (HTTP2Stream) -> R) -> R? {
        guard mark.index < streams.count, let stream = streams[mark.index] else { return nil }
        return stream.with { $0.id == mark.id ? body($0) : nil }
    }

    private final func remove(_ stream: HTTP2Stream) {
        guard stream.index >= 0 else { return }
        streams[stream.index] = nil
        freeIndexes.append(stream.index)
        stream.leave()
    }

    final func streamClosed(_ id: Int32, code: UInt32) {
        // A header block that the library has refused does not end by itself.
        if id == blockStream { dropBlock() }
        withStream(id) { stream in
            let isOver = code == NGHTTP2_NO_ERROR.rawValue && stream.isDone
            if isOver {
                resets.earn(1)
            } else if session.role == .server, !stream.isEndedByUs, !resets.take(now: loop.now) {
                abused(.resets)
            }
            departed.add(id, wasReset: stream.isResetByUs)
            stream.closed(code)
            remove(stream)
            streamLeft()
        }
    }

    final func received(_ content: Span<UInt8>, on id: Int32) {
        emptyFrames.earn(1)
        session.contentReceived(content.count)
        if withStream(id, { $0.received(content) }) == nil { session.consume(content.count, of: id) }
    }

    final func peerEnded(_ id: Int32) { withStream(id) { $0.peerEnded() } }

    // MARK: Abuse

    /// Whether what is to be said of a frame depends on the frames before it.
    final func needsState(_ head: FrameHead) -> Bool {
        head.type == NGHTTP2_DATA.rawValue || head.type == NGHTTP2_HEADERS.rawValue && head.stream <= lastStream
    }

    /// False when the connection ends by it.
    final func frameBegan(_ head: FrameHead) -> Bool {
        if isCondemned { return false }
        if let code = fault(of: head) {
            isCondemned = true
            session.terminate(code)
            return false
        }
        let isAcknowledgement = head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch UInt32(head.type) {
        case NGHTTP2_DATA.rawValue:
            // More than padding can be, on a stream that has ended: content that was under way, and is not earned below.
            if head.length > 256, session.index(of: head.stream) == nil { break }
            if head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) == 0, !emptyFrames.take(now: loop.now) {
                return abused(.emptyFrames)
            }
        case NGHTTP2_WINDOW_UPDATE.rawValue:
            if !windowUpdates.take(now: loop.now) { return abused(.windowUpdates) }
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_CONTINUATION.rawValue, NGHTTP2_RST_STREAM.rawValue, NGHTTP2_GOAWAY.rawValue:
            break
        case NGHTTP2_SETTINGS.rawValue where isAcknowledgement, NGHTTP2_PING.rawValue where isAcknowledgement: break
        default:
            if !controlFrames.take(now: loop.now) { return abused(.controlFrames) }
        }
        return true
    }

    /// What the library, which does not remember streams that have ended, lets pass (RFC 9113 section 5.1).
    private final func fault(of head: FrameHead) -> nghttp2_error_code? {
        let id = head.stream
        switch UInt32(head.type) {
        case NGHTTP2_PRIORITY.rawValue where id == 0: return NGHTTP2_PROTOCOL_ERROR  // section 6.3
        case NGHTTP2_PRIORITY.rawValue where id == head.dependency: return NGHTTP2_PROTOCOL_ERROR  // RFC 7540 section 5.3.1
        case NGHTTP2_HEADERS.rawValue where isOfPeer(id) && id > lastStream:
            lastStream = id
            return nil
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard isOfPeer(id), id <= lastStream, session.index(of: id) == nil else { return nil }
            // What was under way when we reset the stream is passed over.
            guard let isReset = departed.wasReset(id) else { return NGHTTP2_PROTOCOL_ERROR }
            return isReset ? nil : NGHTTP2_STREAM_CLOSED
        default: return nil
        }
    }

    private final func isOfPeer(_ id: Int32) -> Bool { session.role == .server && id & 1 == 1 }

    /// A stream too many, which the library has refused before it was ours.
    private final func refused(_ id: Int32) {
        departed.add(id, wasReset: true)
        if session.role == .server, !resets.take(now: loop.now) { abused(.resets) }
    }

    final func frameSent(type: UInt8, flags: UInt8, stream: Int32) {
        if UInt32(type) == NGHTTP2_RST_STREAM.rawValue {
            if withStream(stream, { $0.resetWasSent() }) == nil { refused(stream) }
        }
        guard UInt32(type) == NGHTTP2_DATA.rawValue || UInt32(type) == NGHTTP2_HEADERS.rawValue else { return }
        controlFrames.earn(1)
        windowUpdates.earn(Int64(HTTP2Limits.windowUpdatesForEachFrameSent))
        if flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
            withStream(stream) { $0.endWasSent() }
            endSent(stream)
        }
    }

    /// The connection ends: its peer does too much of what serves nobody. False, for callbacks.
    @discardableResult final func abused(_ abuse: HTTP2Abuse) -> Bool {
        if isCondemned { return false }
        isCondemned = true
        worker.metrics.http2Abused(abuse)
        worker.log(.warn, "HTTP/2 peer \(peerName): too many \(abuse.name), connection ended")
        session.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
        return false
    }

    final func abusedWithin(_ abuse: HTTP2Abuse) -> Int32 {
        abused(abuse)
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }

    /// For the log.
    var peerName: String { "" }

    // MARK: Output

    /// The stream has something to send, or to end.
    final func changed(_ stream: HTTP2Stream) {
        changed.append(StreamMark(index: stream.index, id: stream.id))
        flushLater()
    }

    /// Keeps content of a stream whose kept content is `range`; false where it can not go on behind that.
    final func stash(_ content: Span<UInt8>, behind range: inout ByteRange) -> Bool {
        if stash == nil { stash = worker.frameBuffers.lease() }
        return uncounted(stash.unsafelyUnwrapped) { stash in
            if stash.count >= Self.mostStashed { return false }
            if range.isEmpty {
                range = ByteRange(stash.count, content.count)
            } else if range.end == stash.count {
                range.length += UInt32(truncatingIfNeeded: content.count)
            } else {
                return false
            }
            stash.append(content)
            return true
        }
    }

    /// Beyond, while nothing may be sent, streams keep what they have themselves.
    private static let mostStashed = 128 * 1024

    final func appendStashed(_ range: ByteRange, to out: ByteBuffer) {
        guard stash != nil else { return }
        uncounted(stash.unsafelyUnwrapped) { out.append($0.span(range)) }
    }

    /// So much has been stashed that it is better sent now.
    final var isStashFull: Bool { stash.map { $0.count > HTTP2Session.outputSize } ?? false }

    /// At the end of the turn.
    final func flushLater() {
        if isFlushPlanned { return }
        isFlushPlanned = true
        worker.flushLater(self)
    }

    final func flushIsDue() {
        isFlushPlanned = false
        flush()
        if isOpen, session.isOver || isCondemned { sessionEnded() }
    }

    /// Sends all that may be sent now.
    final func flush() {
        guard isOpen else { return }
        transmit()
        guard isOpen, let out = gathered else { return }
        gathered = nil
        send(out)
        worker.frameBuffers.giveBack(out)
    }

    /// Makes frames of what streams have, and sends what gathers beyond a buffer.
    final func transmit() {
        guard isOpen, !isTransmitting, !session.isReceiving else { return }
        isTransmitting = true
        // More may change while frames are made; they are for the next time.
        let count = changed.count
        for mark in changed { withStream(mark) { session.resume($0.id) } }
        while isOpen, !hasUnsentOutput {
            let out = gathered ?? worker.frameBuffers.lease()
            gathered = out
            let isFull = session.produce(into: out)
            if !isFull { break }
            send(out)
            out.clear()
        }
        isTransmitting = false
        settle(count)
    }

    /// Streams whose content could not go are told to wait, and those whose content has gone to go on.
    private final func settle(_ count: Int) {
        for index in 0..<count { withStream(changed[index]) { $0.settle() } }
        changed.removeFirst(count)
        if changed.isEmpty { dropStash() }
        if moved.isEmpty { return }
        let marks = moved
        moved.removeAll(keepingCapacity: true)
        for mark in marks { withStream(mark) { $0.outputMoved() } }
    }

    final func offer(_ index: Int, atMost limit: Int) -> Offer {
        // Never the end of a stream that was given up: it would make what was cut look complete.
        guard index < streams.count, let stream = streams[index] else { return .later }
        return stream.with { $0.offer(atMost: limit) }
    }

    /// Whether the stream still has so much content.
    final func holds(_ count: Int, at index: Int, of id: Int32) -> Bool {
        withStream(StreamMark(index: index, id: id)) { $0.pending >= count } ?? false
    }

    final func take(_ count: Int, of index: Int, into out: ByteBuffer) {
        guard index < streams.count, let stream = streams[index] else { return }
        stream.with { stream in
            stream.take(count, into: out)
            if stream.isBlocked { moved.append(StreamMark(index: index, id: stream.id)) }
        }
    }

    override func outputDrained() {
        flush()
        if isOpen { loop.runSoon(self) }
    }

    override func writeFailed() {
        isBroken = true
        isReadable = true
        loop.runSoon(self)
    }

    // MARK: Ends

    /// Ends all streams, then the connection, at once.
    func close() {
        guard isOpen else { return }
        endStreams()
        closeDescriptor()
        dropGathered()
    }

    final func endStreams() {
        for case let stream? in streams {
            stream.with { stream in
                stream.closed(NGHTTP2_CANCEL.rawValue)
                remove(stream)
            }
        }
    }

    private final func dropBlock() {
        guard let block = session?.takeBlock() else { return }
        worker.giveBack(block)
    }

    private final func dropGathered() {
        dropBlock()
        dropStash()
        guard let gathered else { return }
        self.gathered = nil
        worker.frameBuffers.giveBack(gathered)
    }

    private final func dropStash() {
        guard let stash else { return }
        self.stash = nil
        worker.frameBuffers.giveBack(stash)
    }
}
