internal import HTTP
internal import Transport

extension ClientConnection {
    /// RFC 9113 section 3.3: a client that knows sends the preface of HTTP/2 at once. It reads like a head of a version that is
    /// not ours, so that only such a head costs the look. With TLS it is what the handshake has settled.
    func becomesHTTP2(_ buffer: ByteBuffer, from position: Int) -> Bool {
        guard isFresh, HTTP2Preface.begins(buffer.span(ByteRange(position, buffer.count - position))) else { return false }
        guard takesHTTP2 else {
            worker.log(.info, "a client spoke HTTP/2 where it is not taken: without TLS, the listener's `h2c: true` allows that")
            return false
        }
        isFresh = false
        let successor = HTTP2ClientConnection(worker: worker, facts: facts, listener: listener)
        // What has been received may be kept in a buffer that goes with this connection.
        let received = ByteBuffer(capacity: buffer.count - position)
        received.append(buffer.span(ByteRange(position, buffer.count - position)))
        successor.promise = promise
        handOver(to: successor)
        successor.begin(received.span)
        if successor.isOpen { worker.loop.runSoon(successor) }
        return true
    }
}
