internal import HTTP
internal import Transport

// The other transport: between this connection's bytes and its socket stands a `TLSSession`. Ciphertext never stays there: a
// read is decrypted at once, and what a session has to say is sent, or kept as unsent output, before the call that led to it
// returns.

extension Connection {
    /// Reads that lead to no plaintext in a row, before others get their turn.
    private static let fruitlessReads = 4
    /// EPROTO.
    private static let protocolError: Int32 = 71

    /// As `receive(into:)`: one read from the socket, decrypted behind what `buffer` holds.
    final func receive(through tls: TLSSession, into buffer: ByteBuffer) -> IOResult {
        if tls.peerHasFinished || tls.failure != nil { return sessionEnded(tls) }
        let wasEstablished = tls.isEstablished
        for _ in 0..<Self.fruitlessReads {
            let received = SystemCalls.receive(descriptor, into: tls.wire.incoming)
            var count = 0
            switch received {
            case .bytes(let some):
                count = some
                // A short read has emptied the socket; only an end may still be there, which has been announced then.
                if count < TLSWire.incomingSize && !peerFinished && !isBroken { isReadable = false }
            case .wouldBlock:
                isReadable = false
                return .wouldBlock
            case .end: peerFinished = true
            case .failed:
                isBroken = true
                return received
            }
            let length = decrypt(tls, count, isEnd: received == .end, into: buffer)
            if descriptor < 0 { return .wouldBlock }
            if !wasEstablished, tls.isEstablished { handshakeCompleted() }
            if length > 0 {
                // What ended behind it is found out by the next read.
                if tls.peerHasFinished || tls.failure != nil { isReadable = true }
                return .bytes(length)
            }
            if tls.peerHasFinished || tls.failure != nil { return sessionEnded(tls) }
            guard isReadable, descriptor >= 0 else { return .wouldBlock }
        }
        loop.runSoon(self)
        return .wouldBlock
    }

    private final func decrypt(_ tls: TLSSession, _ count: Int, isEnd: Bool, into buffer: ByteBuffer) -> Int {
        let before = buffer.count
        unsafe buffer.appendUninitialized(minimum: count + TLSWire.largestRest) { room in
            unsafe tls.decrypt(count, isEnd: isEnd, into: room)
        }
        // Part of a handshake, an alert, an answer to a key update.
        transmitWire(of: tls)
        return buffer.count - before
    }

    private final func sessionEnded(_ tls: TLSSession) -> IOResult {
        if tls.failure == nil || tls.isTruncated && tls.isEstablished && toleratesTruncation {
            peerFinished = true
            isReadable = true
            return .end
        }
        isBroken = true
        return .failed(Self.protocolError)
    }

    @inline(always) final func transmitWire(of tls: TLSSession) {
        if tls.wire.hasOutput { tls.wire.takeOutput { unsafe transmit($0) } }
    }

    final func send(through tls: TLSSession, _ bytes: UnsafeRawBufferPointer) {
        unsafe send(through: tls, UnsafeRawBufferPointer(start: nil, count: 0), then: bytes)
    }

    /// Encrypts and sends: what is small together becomes one record, large content as many as a flight holds at a time.
    final func send(through tls: TLSSession, _ first: UnsafeRawBufferPointer, then second: UnsafeRawBufferPointer) {
        guard unsafe first.isEmpty || tls.encrypt(first) else { return writeFailed() }
        var position = 0
        while position < second.count {
            let length = min(second.count - position, TLSWire.largestFlight)
            guard unsafe tls.encrypt(UnsafeRawBufferPointer(rebasing: second[position..<position + length])) else {
                transmitWire(of: tls)
                return writeFailed()
            }
            position += length
            transmitWire(of: tls)
            if descriptor < 0 { return }
        }
        transmitWire(of: tls)
    }

    // MARK: Ends

    /// close_notify: what was sent is all (RFC 8446 section 6.1).
    final func sayFarewell(_ tls: TLSSession) {
        tls.finishSending()
        transmitWire(of: tls)
    }

    /// The connection is about to be closed.
    final func endSession(_ tls: TLSSession, abruptly: Bool) {
        self.tls = nil
        if abruptly || isBroken || hasUnsentOutput { return }
        tls.finishSending()
        // A last word that is not worth waiting for.
        tls.wire.takeOutput { if !$0.isEmpty { _ = unsafe SystemCalls.send(descriptor, $0) } }
    }

    /// An idle TLS connection may hear of tickets and key updates; whether it has heard nothing else.
    final func isQuiet(through tls: TLSSession) -> Bool {
        guard SystemCalls.hasInput(descriptor) else {
            isReadable = false
            return true
        }
        let scratch = worker.buffers.lease()
        defer { worker.buffers.giveBack(scratch) }
        return receive(through: tls, into: scratch) == .wouldBlock && !isReadable
    }
}
