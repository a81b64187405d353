internal import HTTP

/// The server's end of a WebSocket that sends every message back (RFC 6455 sections 5 to 7); codec only, no connection.
///
/// Payload is never collected: what arrives of a frame goes out at once as a fragment of the same message, so that neither a
/// large frame nor a long message costs memory. What goes out is at most as long as what came in, but for a few octets a call.
final class WebSocketEcho {
    enum Outcome: Equatable {
        case open
        /// A Close frame has been written: nothing more is read or sent, and the connection is to end.
        case closed
    }

    /// Section 7.4.1.
    private enum CloseCode: UInt16 {
        case protocolError = 1002
        case invalidText = 1007
        case tooLarge = 1009
    }

    private enum Opcode: UInt8 {
        case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10
        var isControl: Bool { rawValue >= 8 }
    }

    private enum Phase { case header, data, control, closed }

    static let largestMessage: UInt64 = 64 << 20
    private static let largestControl: UInt64 = 125

    private var phase = Phase.header
    /// Of the frame under way: two octets, extended length, masking key.
    private let header = ByteBuffer(capacity: 16)
    private let controlPayload = ByteBuffer(capacity: 128)

    // The frame under way.
    private var opcode = Opcode.continuation
    private var isFinal = false
    private var left: UInt64 = 0
    private var maskIndex = 0

    // The message under way; nil between messages.
    private var message: Opcode?
    private var messageLength: UInt64 = 0
    private var hasSentPart = false
    private var text = UTF8Decoder()

    init() {}

    /// Works through `input` to its end and writes the frames that answer it.
    func receive(_ input: Span<UInt8>, into out: ByteBuffer) -> Outcome {
        var position = 0
        while position < input.count, phase != .closed {
            switch phase {
            case .header:
                header.append(input[position])
                position += 1
                readHeader(into: out)
            case .data:
                let count = Int(min(left, UInt64(input.count - position)))
                sendPart(input.extracting(position..<position + count), into: out)
                position += count
            case .control:
                let count = Int(min(left, UInt64(input.count - position)))
                appendUnmasked(input.extracting(position..<position + count), to: controlPayload)
                position += count
                left -= UInt64(count)
                if left == 0 { answerControl(into: out) }
            case .closed: break
            }
        }
        return phase == .closed ? .closed : .open
    }

    // MARK: Headers

    /// Section 5.2; called with every octet of a header.
    private func readHeader(into out: ByteBuffer) {
        if header.count == 2 { return checkStart(into: out) }
        guard header.count > 2, header.count == headerLength else { return }
        var length = UInt64(header[1] & 0x7f)
        if length > 125 {
            let octets = length == 126 ? 2 : 8
            length = 0
            for index in 2..<2 + octets { length = length << 8 | UInt64(header[index]) }
            // The shortest form of a length is the only one; the highest bit is zero.
            guard length > (octets == 2 ? 125 : 0xffff), length >> 63 == 0 else { return close(.protocolError, into: out) }
        }
        beginFrame(length, into: out)
    }

    private var headerLength: Int {
        switch header[1] & 0x7f {
        case 126: 2 + 2 + 4
        case 127: 2 + 8 + 4
        default: 2 + 4
        }
    }

    /// What can be told from the first two octets: no extension bits, a known opcode in its place, a mask (section 5.1).
    private func checkStart(into out: ByteBuffer) {
        guard header[0] & 0x70 == 0, header[1] & 0x80 != 0, let opcode = Opcode(rawValue: header[0] & 0x0f) else {
            return close(.protocolError, into: out)
        }
        self.opcode = opcode
        isFinal = header[0] & 0x80 != 0
        let isAllowed =
            switch opcode {
            case .continuation: message != nil
            case .text, .binary: message == nil
            case .close, .ping, .pong: isFinal && header[1] & 0x7f <= Self.largestControl  // section 5.5
            }
        if !isAllowed { close(.protocolError, into: out) }
    }

    private func beginFrame(_ length: UInt64, into out: ByteBuffer) {
        left = length
        maskIndex = 0
        if opcode.isControl {
            controlPayload.clear()
            phase = .control
            if length == 0 { answerControl(into: out) }
            return
        }
        if message == nil {
            message = opcode
            messageLength = 0
            hasSentPart = false
            text = UTF8Decoder()
        }
        guard length <= Self.largestMessage - messageLength else { return close(.tooLarge, into: out) }
        messageLength += length
        phase = .data
        if length == 0 { sendPart(Span(), into: out) }
    }

    private func endFrame() {
        header.clear()
        phase = .header
    }

    // MARK: Messages

    /// Sends a piece of the frame's payload on as a fragment; the message's last one is final (section 5.4).
    private func sendPart(_ payload: Span<UInt8>, into out: ByteBuffer) {
        guard let message else { return }
        left -= UInt64(payload.count)
        let endsMessage = left == 0 && isFinal
        let mark = out.count
        if payload.count > 0 || endsMessage {
            appendFrameStart(hasSentPart ? .continuation : message, isFinal: endsMessage, length: payload.count, to: out)
            let start = out.count
            appendUnmasked(payload, to: out)
            if message == .text && !isText(out, from: start, endsMessage: endsMessage) {
                out.truncate(to: mark)
                return close(.invalidText, into: out)
            }
            hasSentPart = true
        }
        if endsMessage { self.message = nil }
        if left == 0 { endFrame() }
    }

    /// Section 8.1; a scalar may be cut by fragments, but not by the end of the message.
    private func isText(_ buffer: ByteBuffer, from start: Int, endsMessage: Bool) -> Bool {
        for index in start..<buffer.count where text.take(buffer[index]) == .invalid { return false }
        return !endsMessage || text.isComplete
    }

    /// Section 5.3.
    private func appendUnmasked(_ payload: Span<UInt8>, to out: ByteBuffer) {
        let key = header.count - 4
        for index in 0..<payload.count {
            out.append(payload[index] ^ header[key + maskIndex])
            maskIndex = (maskIndex + 1) & 3
        }
    }

    private func appendFrameStart(_ opcode: Opcode, isFinal: Bool, length: Int, to out: ByteBuffer) {
        out.append(opcode.rawValue | (isFinal ? 0x80 : 0))
        switch length {
        case ...125: out.append(UInt8(truncatingIfNeeded: length))
        case ...0xffff:
            out.append(126)
            append(UInt16(truncatingIfNeeded: length), to: out)
        default:
            out.append(127)
            for shift in stride(from: 56, through: 0, by: -8) { out.append(UInt8(truncatingIfNeeded: length >> shift)) }
        }
    }

    private func append(_ number: UInt16, to out: ByteBuffer) {
        out.append(UInt8(truncatingIfNeeded: number >> 8))
        out.append(UInt8(truncatingIfNeeded: number))
    }

    // MARK: Control frames

    /// Section 5.5.
    private func answerControl(into out: ByteBuffer) {
        switch opcode {
        case .close: return answerClose(into: out)
        case .ping:
            appendFrameStart(.pong, isFinal: true, length: controlPayload.count, to: out)
            out.append(controlPayload.span)
        case .pong, .continuation, .text, .binary: break
        }
        endFrame()
    }

    /// Sections 5.5.1 and 7.4: the client's code goes back to it.
    private func answerClose(into out: ByteBuffer) {
        let payload = controlPayload.span
        if payload.isEmpty {
            appendFrameStart(.close, isFinal: true, length: 0, to: out)
            phase = .closed
            return
        }
        guard payload.count >= 2 else { return close(.protocolError, into: out) }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard Self.maySend(code) else { return close(.protocolError, into: out) }
        var reason = UTF8Decoder()
        for index in 2..<payload.count where reason.take(payload[index]) == .invalid { return close(.invalidText, into: out) }
        guard reason.isComplete else { return close(.invalidText, into: out) }
        close(code, into: out)
    }

    /// The codes that may stand in a Close frame: registered ones, but for those that say that there was none, and private ones.
    private static func maySend(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    private func close(_ code: CloseCode, into out: ByteBuffer) { close(code.rawValue, into: out) }

    private func close(_ code: UInt16, into out: ByteBuffer) {
        appendFrameStart(.close, isFinal: true, length: 2, to: out)
        append(code, to: out)
        phase = .closed
    }
}
