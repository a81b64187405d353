internal import CNGHTTP2
internal import HTTP
internal import Transport

/// One stream of an HTTP/2 connection, of either role: what it sends, and what it has received that nobody has taken yet.
///
/// It has a place in the loop for its deadline. Objects are reused.
class HTTP2Stream: EventHandler {
    final let worker: Worker
    final let loop: EventLoop
    private final let buffers: BufferPool
    /// Set by `join`; asked for only while the stream is part of the connection, which the loop keeps.
    private(set) final var owner: Uncounted<HTTP2Connection>!
    private(set) final var id: Int32 = 0
    /// Where the connection keeps it; negative when it belongs to none.
    private(set) final var index = -1

    // Output.
    private final var unsent: ByteBuffer?
    private final var unsentStart = 0
    /// Content that lies in the connection's stash; there is no `unsent` then.
    private final var stashed = ByteRange.empty
    /// Content that is sent from where it lies; only while `send` runs.
    private final var direct: UnsafeRawBufferPointer?
    private final var trailers: ByteBuffer?
    /// Nothing is sent behind what there is.
    private(set) final var isFinished = false
    /// Content could not go: the peer's window or its socket is full.
    private(set) final var isBlocked = false
    /// The frame that ends our side has become one.
    private final var isEndSent = false
    private final var isChanged = false
    private final var movedCount = 0
    /// We end it for reasons of our own.
    final var isEndedByUs = false
    /// A RST_STREAM of ours has gone out.
    private(set) final var isResetByUs = false

    // Input.
    private(set) final var input: ByteBuffer?
    /// The peer's end has come, behind `input`.
    private(set) final var isEndedByPeer = false

    /// From so much on, content is sent from where it lies.
    private static let smallestDirect = 8 * 1024
    /// So much is gathered of small pieces before they are sent within a turn.
    private static let mostGathered = 32 * 1024

    init(worker: Worker) {
        self.worker = worker
        loop = worker.loop
        buffers = worker.buffers
        super.init()
    }

    final func join(_ connection: HTTP2Connection, id: Int32, index: Int) {
        owner = Uncounted(connection)
        self.id = id
        self.index = index
        isFinished = false
        isBlocked = false
        isEndSent = false
        isChanged = false
        isEndedByUs = false
        isResetByUs = false
        isEndedByPeer = false
        movedCount = 0
        unsentStart = 0
        stashed = .empty
        unsafe direct = nil
    }

    /// Counted: for what does not happen to every stream.
    final var connection: HTTP2Connection { owner.object }

    /// It is part of no connection any more.
    final func leave() {
        dropInput()
        // What is being sent is nothing to the stream that this object is next.
        unsafe direct = nil
        index = -1
        dropOutput()
        loop.clearDeadline(self)
        left()
    }

    // MARK: What subclasses do

    /// Nothing was under way on it when it ended.
    var isDone: Bool { isFinished && isEndedByPeer }
    /// Content of the peer's.
    func received(_ content: Span<UInt8>) {}
    /// The peer's last frame has come.
    func peerEnded() { markEnded() }
    final func markEnded() { isEndedByPeer = true }
    /// The stream is over, for whatever reason.
    func closed(_ code: UInt32) {}
    /// After `closed`: the object can be used again.
    func left() {}
    /// Content that was held back has all gone.
    func outputDrained() {}
    /// Content is held back from now on.
    func outputBlocked() {}

    // MARK: Output

    final var hasUnsentOutput: Bool { isBlocked }

    /// Bytes that have not become frames.
    final var pending: Int {
        if let direct = unsafe direct { return direct.count }
        if !stashed.isEmpty { return Int(stashed.length) }
        return unsent == nil ? 0 : uncounted(unsent.unsafelyUnwrapped) { $0.count } - unsentStart
    }

    final func send(_ content: Span<UInt8>) {
        guard content.count > 0, index >= 0 else { return }
        owner.with { connection in
            let isSmall = content.count < Self.smallestDirect
            if !isSmall, pending == 0, !connection.session.isReceiving { return sendDirectly(content, over: connection) }
            let isStashed = isSmall && unsent == nil && !isBlocked && connection.stash(content, behind: &stashed)
            if !isStashed { keepUnsent(content, connection) }
            change()
            if !isBlocked, pending > Self.mostGathered || connection.isStashFull { connection.transmit() }
        }
    }

    private final func sendDirectly(_ content: Span<UInt8>, over connection: HTTP2Connection) {
        let id = id
        unsafe content.withUnsafeBytes { bytes in
            unsafe direct = bytes
            change()
            connection.transmit()
            // The stream may have ended meanwhile.
            guard index >= 0, self.id == id, owner.with({ $0 === connection }), let rest = unsafe direct else { return }
            unsafe direct = nil
            // What the library has not taken.
            guard rest.count > 0 else { return }
            let buffer = buffers.lease()
            unsafe buffer.append(rest)
            unsent = buffer
            unsentStart = 0
            block()
        }
    }

    /// In a buffer of its own, behind what is stashed.
    private final func keepUnsent(_ content: Span<UInt8>, _ connection: HTTP2Connection) {
        keepStashed(connection)
        let buffer = unsent ?? buffers.lease()
        unsent = buffer
        buffer.append(content)
    }

    private final func keepStashed(_ connection: HTTP2Connection) {
        if stashed.isEmpty { return }
        let buffer = buffers.lease()
        connection.appendStashed(stashed, to: buffer)
        stashed = .empty
        unsent = buffer
        unsentStart = 0
    }

    /// Nothing follows; `lines` are trailers.
    final func finish(trailers lines: ByteBuffer?) {
        guard index >= 0 else { return }
        if let lines, !lines.isEmpty {
            let kept = buffers.lease()
            kept.append(lines.span)
            trailers = kept
        }
        isFinished = true
        change()
    }

    /// The connection is to look at this stream when it sends.
    final func change() {
        if isChanged { return }
        isChanged = true
        owner.with { $0.changed(self) }
    }

    /// Called by the connection when it has sent what could be sent.
    final func settle() {
        isChanged = false
        // The end alone, or trailers, may wait for the peer's window as content does.
        guard unsafe direct == nil, pending > 0 || isFinished && !isEndSent else { return }
        owner.with { keepStashed($0) }
        block()
    }

    /// Our side has ended.
    final func endWasSent() {
        isEndSent = true
        guard isBlocked, pending == 0 else { return }
        isBlocked = false
        outputDrained()
    }

    private final func block() {
        if isBlocked { return }
        isBlocked = true
        movedCount = 0
        outputBlocked()
    }

    final func outputMoved() {
        guard isBlocked else { return }
        if pending == 0, !isFinished || isEndSent {
            isBlocked = false
            return outputDrained()
        }
        // A peer that takes an octet now and then is stalled.
        if movedCount >= HTTP2Limits.smallestProgress {
            movedCount = 0
            loop.setDeadline(self, after: worker.timeouts.writeIdle)
        }
    }

    final func offer(atMost limit: Int) -> HTTP2Connection.Offer {
        let pending = pending
        let count = min(pending, limit)
        guard count == pending, isFinished else { return count == 0 ? .later : .content(count, isLast: false) }
        if let trailers { return .contentBeforeTrailers(count, trailers) }
        return .content(count, isLast: true)
    }

    final func take(_ count: Int, into out: ByteBuffer) {
        movedCount += count
        if let bytes = unsafe direct {
            unsafe out.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            unsafe direct = UnsafeRawBufferPointer(rebasing: bytes[count...])
            return
        }
        if !stashed.isEmpty {
            let range = ByteRange(start: stashed.start, length: UInt32(truncatingIfNeeded: count))
            owner.with { $0.appendStashed(range, to: out) }
            stashed.start += range.length
            stashed.length -= range.length
            return
        }
        guard let unsent else { return }
        out.append(unsent.span(ByteRange(unsentStart, count)))
        unsentStart += count
        if unsentStart == unsent.count {
            unsentStart = 0
            self.unsent = nil
            buffers.giveBack(unsent)
        }
    }

    final func dropOutput() {
        if let unsent {
            self.unsent = nil
            buffers.giveBack(unsent)
        }
        unsentStart = 0
        stashed = .empty
        if let trailers {
            self.trailers = nil
            buffers.giveBack(trailers)
        }
    }

    /// Ends the stream for both sides.
    final func reset(_ code: nghttp2_error_code, byUs: Bool = true) {
        guard index >= 0 else { return }
        if byUs { isEndedByUs = true }
        connection.session.reset(id, code)
        connection.flushLater()
    }

    final func resetWasSent() { isResetByUs = true }

    // MARK: Input

    final func keep(_ content: Span<UInt8>) {
        let buffer = input ?? buffers.lease()
        input = buffer
        buffer.append(content)
    }

    final func consume(_ count: Int) {
        guard count > 0, index >= 0 else { return }
        owner.with { connection in
            connection.session.consume(count, of: id)
            if !connection.session.isReceiving { connection.flushLater() }
        }
    }

    /// Forgets what nobody wants any more, so that the peer may go on.
    final func dropInput() {
        guard let input else { return }
        self.input = nil
        consume(input.count)
        buffers.giveBack(input)
    }

    /// The first `count` bytes of `input` are taken.
    final func inputTaken(_ count: Int) {
        guard let input else { return }
        if count == input.count {
            self.input = nil
            buffers.giveBack(input)
        } else {
            input.removeFirst(count)
        }
        consume(count)
    }
}
