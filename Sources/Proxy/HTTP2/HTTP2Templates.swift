internal import CNGHTTP2
internal import HTTP

/// What all sessions of a worker have in common: the library's callbacks and options.
///
/// SAFETY: both are made here and freed with this object; the library copies them when it makes a session. Each callback gets
/// the session that `HTTP2Session.init` named as its user data, which is alive for as long as the library calls.
final class HTTP2Templates {
    let callbacks: OpaquePointer?
    let options: OpaquePointer?
    let memory = HTTP2Memory()

    init() {
        var made: OpaquePointer?
        nghttp2_session_callbacks_new(&made)
        callbacks = made
        options = Self.options()
        setFrameCallbacks()
        setFieldCallbacks()
        setContentCallbacks()
    }

    deinit {
        nghttp2_session_callbacks_del(callbacks)
        nghttp2_option_del(options)
    }

    private static func options() -> OpaquePointer? {
        var made: OpaquePointer?
        nghttp2_option_new(&made)
        nghttp2_option_set_no_auto_window_update(made, 1)
        nghttp2_option_set_no_closed_streams(made, 1)
        nghttp2_option_set_max_send_header_block_length(made, HTTP2Limits.largestHead)
        nghttp2_option_set_max_outbound_ack(made, HTTP2Limits.pendingAcknowledgements)
        nghttp2_option_set_max_continuations(made, HTTP2Limits.continuations)
        // Counted by ourselves, with the resets that we are made to send.
        nghttp2_option_set_stream_reset_rate_limit(made, UInt64.max >> 1, UInt64.max >> 1)
        return made
    }

    static func provider(_ index: Int) -> nghttp2_data_provider {
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(truncatingIfNeeded: index)
        provider.read_callback = { _, stream, _, length, flags, source, data in
            guard let flags = unsafe flags, let source = unsafe source else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
            let offer = HTTP2Templates.withConnection(data) { $0.offer(Int(unsafe source.pointee.fd), atMost: length) }
            switch offer {
            case .later: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            case .content(let count, let isLast):
                if count > 0 { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue }
                if isLast { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
                return count
            case .contentBeforeTrailers(let count, let lines):
                if count > 0 { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue }
                unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
                if HTTP2Templates.withSession(data, { $0.submitTrailers(lines, stream: stream) }) {
                    unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
                }
                return count
            }
        }
        return provider
    }

    /// No reference is counted: whoever made the library call holds the session.
    private static func withSession<R>(_ data: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> R) -> R {
        guard let data = unsafe data else { preconditionFailure("a callback has its session") }
        return unsafe Unmanaged<HTTP2Session>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
    }

    /// Nor here: the connection holds its session.
    private static func withConnection<R>(_ data: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> R) -> R {
        withSession(data) { session in
            session.connection.with(body)
        }
    }

    private static let failure = NGHTTP2_ERR_CALLBACK_FAILURE.rawValue

    // MARK: Callbacks

    private func setFrameCallbacks() {
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
            guard let frame = unsafe frame else { return HTTP2Templates.failure }
            let header = unsafe frame.pointee.hd
            let ends = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
            HTTP2Templates.withConnection(data) { connection in
                switch UInt32(header.type) {
                case NGHTTP2_HEADERS.rawValue:
                    connection.headersEnded(header.stream_id, endsStream: ends)
                case NGHTTP2_DATA.rawValue where ends: connection.peerEnded(header.stream_id)
                case NGHTTP2_SETTINGS.rawValue:
                    if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { connection.settingsReceived() }
                case NGHTTP2_PING.rawValue:
                    if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { connection.pingAnswered() }
                case NGHTTP2_GOAWAY.rawValue:
                    unsafe connection.goawayReceived(last: frame.pointee.goaway.last_stream_id)
                default: break
                }
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, data in
            guard let frame = unsafe frame else { return HTTP2Templates.failure }
            let header = unsafe frame.pointee.hd
            HTTP2Templates.withConnection(data) {
                $0.frameSent(type: header.type, flags: header.flags, stream: header.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, data in
            guard let frame = unsafe frame else { return HTTP2Templates.failure }
            let header = unsafe frame.pointee.hd
            // A head that can not be sent: the peer is not to wait for it.
            if UInt32(header.type) == NGHTTP2_HEADERS.rawValue {
                HTTP2Templates.withSession(data) { $0.reset(header.stream_id, NGHTTP2_INTERNAL_ERROR) }
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, data in
            HTTP2Templates.withConnection(data) { $0.streamClosed(stream, code: code) }
            return 0
        }
    }

    private func setFieldCallbacks() {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, data in
            guard let frame = unsafe frame else { return HTTP2Templates.failure }
            let header = unsafe frame.pointee.hd
            // What a server pushes is refused.
            guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
            let isFirst = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
            let isTaken = HTTP2Templates.withConnection(data) { $0.headersBegan(header.stream_id, isRequest: isFirst) }
            return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, _, name, nameCount, value, valueCount, _, data in
            HTTP2Templates.withSession(data) { session in
                if session.block == nil { return 0 }
                let isFlood = uncounted(session.block.unsafelyUnwrapped) { block in
                    block.add(
                        unsafe Span(_unsafeStart: name ?? UnsafePointer(HTTP2Names.status.utf8Start), count: nameCount),
                        unsafe Span(_unsafeStart: value ?? UnsafePointer(HTTP2Names.status.utf8Start), count: valueCount))
                    return block.isFlood
                }
                return isFlood ? session.connection.with { $0.abusedWithin(.headerFields) } : 0
            }
        }
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, nameCount, _, valueCount, _, data in
            // The stream is reset: a field that is not what it should be is not passed over.
            NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
    }

    private func setContentCallbacks() {
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, data in
            guard let bytes = unsafe bytes else { return 0 }
            HTTP2Templates.withConnection(data) { unsafe $0.received(Span(_unsafeStart: bytes, count: count), on: stream) }
            return 0
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, frame, frameHeader, count, source, data in
            guard let frame = unsafe frame, let frameHeader = unsafe frameHeader, let source = unsafe source else {
                return HTTP2Templates.failure
            }
            return HTTP2Templates.withSession(data) { session in
                guard let out = session.out else { return HTTP2Templates.failure }
                if out.with({ $0.count >= HTTP2Session.outputSize }) {
                    session.isHeldBack = true
                    return NGHTTP2_ERR_WOULDBLOCK.rawValue
                }
                let (index, stream) = unsafe (Int(source.pointee.fd), frame.pointee.hd.stream_id)
                return HTTP2Templates.withConnection(data) { connection in
                    // A frame that was held back may have outlived what it was to carry; its length is fixed. The stream is reset then.
                    guard connection.holds(count, at: index, of: stream) else {
                        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
                    }
                    out.with { out in
                        unsafe out.append(UnsafeRawBufferPointer(start: frameHeader, count: 9))
                        connection.take(count, of: index, into: out)
                    }
                    return 0
                }
            }
        }
    }
}
