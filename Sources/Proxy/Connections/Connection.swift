internal import HTTP
public import Transport

/// A stream socket on a worker's loop, plain or with TLS: readiness, unsent output and orderly ends; what client and upstream
/// share.
///
/// Reading is edge-triggered: `isReadable` stays set until a read says otherwise, so a connection that was paused goes on
/// without a system call to find out. Output that the kernel does not take is kept in a leased buffer; whoever feeds this
/// connection pauses while there is some (``hasUnsentOutput``), which bounds that buffer by one read.
public class Connection: EventHandler {
    final let worker: Worker
    final let loop: EventLoop
    private(set) final var descriptor: Int32
    /// What the bytes are wrapped in; nil for a plain connection. See `Connection+TLS.swift`.
    final var tls: TLSSession?
    final var isReadable = false
    /// The peer has said that it will send no more; there may still be bytes to read.
    final var peerFinished = false
    /// Set when the kernel reported an error or both directions closed.
    final var isBroken = false
    final var isWritable = true
    private final var unsent: ByteBuffer?
    private final var unsentStart = 0
    /// Bytes that were spliced and that the peer has not taken yet; they come before `unsent`.
    private final var pipe: SplicePipe?
    /// What the kernel sends of a file, in the place of a pipe.
    final var file: FileStretch?
    /// Bytes received and not yet consumed: part of a head, or what follows the present message.
    final var input: ByteBuffer?

    init(worker: Worker, descriptor: Int32, tls: TLSSession? = nil) {
        self.worker = worker
        loop = worker.loop
        self.descriptor = descriptor
        self.tls = tls
        super.init()
    }

    deinit { if descriptor >= 0 { SystemCalls.close(descriptor) } }

    final var isOpen: Bool { descriptor >= 0 }
    final var hasUnsentOutput: Bool { unsent != nil || pipe != nil || file != nil }

    // MARK: What subclasses do

    /// Reads and works until nothing is left to do; called whenever something may have changed.
    func pump() {}
    /// All unsent output has gone.
    func outputDrained() {}
    /// Part of the unsent output has gone: the peer is alive.
    func outputMoved() {}
    /// A write failed: the peer takes nothing more. What it has sent may still be read.
    func writeFailed() {}
    /// The TLS handshake is complete: who the peer is, and which protocol it chose, is known. Nothing that it sent behind it has
    /// been looked at yet.
    func handshakeCompleted() {}
    /// A peer that leaves without close_notify may have been cut off: an error, unless what it sends says where it ends.
    var toleratesTruncation: Bool { false }

    // MARK: Events

    override public final func ready(_ readiness: Readiness) {
        worker.eventBegins()
        if readiness.contains(.failed) {
            isBroken = true
            isReadable = true
        }
        // Both directions may have ended in good order, with bytes still to be read.
        if readiness.contains(.peerFinished) || readiness.contains(.hungUp) {
            peerFinished = true
            isReadable = true
        }
        if readiness.contains(.readable) { isReadable = true }
        if readiness.contains(.writable) {
            isWritable = true
            becameWritable()
            if descriptor < 0 { return }
            if hasUnsentOutput && !sendUnsent() { return }
        }
        pump()
    }

    override public final func turn() {
        worker.eventBegins()
        if file != nil, isWritable, !sendUnsent() { return }
        if descriptor >= 0 { pump() }
    }

    /// The first writability of a connecting socket, among others.
    func becameWritable() {}

    // MARK: Input

    /// Reads once into `buffer`, behind what it holds.
    final func receive(into buffer: ByteBuffer, atMost limit: Int = Worker.receiveSize) -> IOResult {
        if let tls { return receive(through: tls, into: buffer) }
        var result = IOResult.wouldBlock
        var room = 0
        unsafe buffer.appendUninitialized(minimum: limit) { free in
            room = limit
            result = unsafe SystemCalls.receive(
                descriptor, into: UnsafeMutableRawBufferPointer(rebasing: free[0..<limit]))
            if case .bytes(let count) = result { return count }
            return 0
        }
        switch result {
        // A short read has emptied the socket; only an end may still be there, which has been announced then.
        case .bytes(let count): if count < room && !peerFinished && !isBroken { isReadable = false }
        case .wouldBlock: isReadable = false
        case .end: peerFinished = true
        case .failed: isBroken = true
        }
        return result
    }

    /// Keeps what of `buffer` lies behind `consumed`; `buffer` may be the worker's or this connection's own.
    final func keepInput(_ buffer: ByteBuffer, from consumed: Int) {
        if let own = input {
            if consumed >= own.count {
                input = nil
                worker.buffers.giveBack(own)
            } else {
                own.removeFirst(consumed)
            }
        } else if consumed < buffer.count {
            let kept = worker.buffers.lease()
            kept.append(buffer.span(ByteRange(consumed, buffer.count - consumed)))
            input = kept
        }
    }

    /// What was received for a message that is over is nothing to the next one.
    final func dropInput() {
        guard let input else { return }
        self.input = nil
        worker.buffers.giveBack(input)
    }

    // MARK: Output

    /// Sends all of `bytes`, now or as the peer takes it.
    final func send(_ bytes: ByteBuffer) {
        if bytes.isEmpty || descriptor < 0 { return }
        unsafe bytes.withUnsafeBytes { unsafe send($0) }
    }

    final func send(_ bytes: UnsafeRawBufferPointer) {
        if let tls { return unsafe send(through: tls, bytes) }
        unsafe transmit(bytes)
    }

    /// Sends bytes as they stand: plaintext, or TLS records.
    @inline(always) final func transmit(_ bytes: UnsafeRawBufferPointer) {
        if pipe != nil || file != nil, unsent == nil { unsent = worker.buffers.lease() }
        if let unsent {
            unsafe unsent.append(bytes)
            return
        }
        var sent = 0
        if isWritable {
            switch unsafe SystemCalls.send(descriptor, bytes) {
            case .bytes(let count): sent = count
            case .wouldBlock: isWritable = false
            case .end: break
            case .failed:
                writeFailed()
                return
            }
        }
        if sent < bytes.count {
            isWritable = false
            keepUnsent(unsafe UnsafeRawBufferPointer(rebasing: bytes[sent...]))
        }
    }

    /// Sends `head` and then `content` in one call, copying nothing that the kernel takes.
    final func send(_ head: ByteBuffer, then content: Span<UInt8>) {
        if descriptor < 0 { return }
        unsafe head.withUnsafeBytes { first in
            unsafe content.withUnsafeBytes { second in
                unsafe send(first, then: second)
            }
        }
    }

    private final func send(_ first: UnsafeRawBufferPointer, then second: UnsafeRawBufferPointer) {
        if first.isEmpty { return unsafe send(second) }
        if let tls { return unsafe send(through: tls, first, then: second) }
        guard !hasUnsentOutput, isWritable else {
            unsafe send(first)
            if descriptor >= 0 { unsafe send(second) }
            return
        }
        switch unsafe SystemCalls.send(descriptor, first, second) {
        case .bytes(let count):
            if count < first.count { keepUnsent(unsafe UnsafeRawBufferPointer(rebasing: first[count...])) }
            let sentOfSecond = max(0, count - first.count)
            if sentOfSecond < second.count {
                keepUnsent(unsafe UnsafeRawBufferPointer(rebasing: second[sentOfSecond...]))
            }
        case .wouldBlock, .end:
            keepUnsent(first)
            keepUnsent(second)
        case .failed: writeFailed()
        }
    }

    private final func keepUnsent(_ bytes: UnsafeRawBufferPointer) {
        isWritable = false
        let buffer = unsent ?? worker.buffers.lease()
        unsafe buffer.append(bytes)
        if unsent == nil {
            unsent = buffer
            unsentStart = 0
            outputMoved()
        }
    }

    /// False when the connection is gone or its output failed.
    private final func sendUnsent() -> Bool {
        if pipe != nil || file != nil {
            pipe != nil ? drainPipe() : drainFile()
            if descriptor < 0 { return false }
            if pipe != nil || file != nil { return true }
            if unsent == nil {
                outputDrained()
                return descriptor >= 0
            }
        }
        guard let buffer = unsent else { return true }
        let rest = buffer.count - unsentStart
        let result = unsafe buffer.withUnsafeBytes { bytes in
            unsafe SystemCalls.send(descriptor, UnsafeRawBufferPointer(rebasing: bytes[unsentStart...]))
        }
        switch result {
        case .bytes(let count):
            unsentStart += count
            if count < rest {
                isWritable = false
                outputMoved()
                return true
            }
            dropUnsent()
            outputDrained()
            return descriptor >= 0
        case .wouldBlock, .end:
            isWritable = false
            return true
        case .failed:
            dropUnsent()
            writeFailed()
            return descriptor >= 0
        }
    }

    // MARK: From socket to socket

    /// Moves up to `limit` bytes from `source` to this connection's peer; nil when that can not be done now. What the result says
    /// is about reading from `source`. Precondition: no output is unsent.
    final func splice(from source: Connection, atMost limit: UInt64) -> IOResult? {
        guard let pipe = worker.pipes.lease() else { return nil }
        let result = pipe.fill(from: source.descriptor, atMost: Int(min(limit, UInt64(SplicePipe.capacity))))
        switch result {
        case .bytes:
            self.pipe = pipe
            drainPipe()
        case .wouldBlock:
            source.isReadable = false
            worker.pipes.giveBack(pipe)
        case .end:
            source.peerFinished = true
            worker.pipes.giveBack(pipe)
        case .failed:
            source.isBroken = true
            worker.pipes.giveBack(pipe)
        }
        return result
    }

    private final func drainPipe() {
        guard let pipe, isWritable else { return }
        while pipe.count > 0 {
            switch pipe.drain(to: descriptor, more: false) {
            case .bytes: continue
            case .wouldBlock, .end:
                isWritable = false
                return outputMoved()
            case .failed:
                self.pipe = nil
                worker.pipes.giveBack(pipe)
                return writeFailed()
            }
        }
        self.pipe = nil
        worker.pipes.giveBack(pipe)
    }

    final func dropUnsent() {
        file = nil
        if let pipe {
            self.pipe = nil
            worker.pipes.giveBack(pipe)
        }
        guard let buffer = unsent else { return }
        unsent = nil
        worker.buffers.giveBack(buffer)
    }

    // MARK: Another protocol

    /// Gives the descriptor and its place in the loop to a connection that has none yet and that speaks another protocol. What
    /// was received and kept is dropped: the caller passes it on.
    final func handOver(to other: Connection) {
        precondition(other.descriptor < 0 && !hasUnsentOutput, "only a connection at rest is handed over")
        other.descriptor = descriptor
        other.tls = tls
        tls = nil
        other.isReadable = isReadable
        other.isWritable = isWritable
        other.peerFinished = peerFinished
        other.isBroken = isBroken
        descriptor = -1
        dropInput()
        worker.loop.replace(self, with: other)
    }

    // MARK: Ends

    /// Says that no more is sent, keeps reading.
    final func finishSending() {
        guard descriptor >= 0 else { return }
        if let tls {
            sayFarewell(tls)
            // What the farewell waits for would be cut off.
            if descriptor < 0 || hasUnsentOutput { return }
        }
        SystemCalls.finishSending(descriptor)
    }

    /// Leaves the loop and closes; with `reset` the peer sees at once that what it got is not complete.
    final func closeDescriptor(reset: Bool = false) {
        guard descriptor >= 0 else { return }
        if let tls { endSession(tls, abruptly: reset) }
        loop.remove(self)
        if reset { SystemCalls.resetOnClose(descriptor) }
        SystemCalls.close(descriptor)
        descriptor = -1
        dropUnsent()
        dropInput()
    }
}
