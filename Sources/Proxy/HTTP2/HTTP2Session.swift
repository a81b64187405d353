internal import CNGHTTP2
internal import HTTP

/// An HTTP/2 session of libnghttp2: frames in, events out to the connection that owns it, and frames out.
///
/// SAFETY: the library's session is made in `init` and freed in `deinit`; its callbacks run only within `receive` and
/// `produce`, while the connection, and by it this object, is held by the caller. Pointers that the library hands to a callback
/// are read within it and never kept.
final class HTTP2Session {
    enum Role { case server, client }

    /// What became of bytes that were received.
    enum Receipt {
        case taken
        /// The peer has broken the protocol in a way that ends the session; a GOAWAY is ready to be sent.
        case over
    }

    /// What owns this object, for as long as itself.
    private(set) var connection: Uncounted<HTTP2Connection>!
    private let memory: HTTP2Memory
    let handle: OpaquePointer
    let role: Role
    /// Within `receive`: nothing may be produced.
    private(set) var isReceiving = false
    /// The header block that is being received; nil between blocks.
    var block: FieldBlock?
    /// The buffer that `produce` fills, which its caller holds; nil outside of it.
    private(set) var out: Uncounted<ByteBuffer>?
    /// Content was held back since `out` is full.
    var isHeldBack = false
    /// Content that has been received and not been taken yet, of all streams.
    private var heldContent = 0
    private var fields: [nghttp2_nv] = []
    private var walk: FrameWalk

    /// So much is gathered before it is sent.
    static let outputSize = 64 * 1024
    /// Some peers send no frame before a whole one has room.
    private static let smallestRoom: Int32 = 16 * 1024
    /// So much of a connection's window is given back at a time while there is room.
    private static let windowStep: Int32 = 64 * 1024

    /// Nil when there is no memory for it.
    init?(role: Role, templates: HTTP2Templates) {
        var made: OpaquePointer?
        self.role = role
        walk = FrameWalk(hasPreface: role == .server)
        memory = templates.memory
        // Copied by the library.
        var calls = memory.calls
        let result =
            role == .server
            ? nghttp2_session_server_new3(&made, templates.callbacks, nil, templates.options, &calls)
            : nghttp2_session_client_new3(&made, templates.callbacks, nil, templates.options, &calls)
        guard result == 0, let made else { return nil }
        handle = made
        nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(self).toOpaque())
        fields.reserveCapacity(32)
    }

    deinit { nghttp2_session_del(handle) }

    /// Called once, by the connection that owns it.
    func serve(_ connection: HTTP2Connection) { self.connection = Uncounted(connection) }

    // MARK: In and out

    /// The connection sees each frame's head before the library sees the frame, and after all that came before it.
    func receive(_ bytes: Span<UInt8>, for connection: HTTP2Connection) -> Receipt {
        var fed = 0
        var position = 0
        while let head = walk.next(in: bytes, from: &position) {
            let start = max(fed, position - 9)
            if connection.needsState(head), start > fed {
                if feed(bytes.extracting(fed..<start), for: connection) == .over { return .over }
                fed = start
            }
            guard connection.frameBegan(head) else { return .over }
        }
        let receipt = feed(bytes.extracting(fed..<bytes.count), for: connection)
        if receipt == .taken, role == .server { giveWindowBack() }
        return receipt
    }

    /// The header block that has ended.
    func takeBlock() -> FieldBlock? { block.take() }

    private func feed(_ bytes: Span<UInt8>, for connection: HTTP2Connection) -> Receipt {
        isReceiving = true
        defer { isReceiving = false }
        let result = unsafe bytes.withUnsafeBufferPointer { unsafe nghttp2_session_mem_recv(handle, $0.baseAddress, $0.count) }
        if result >= 0 { return .taken }
        switch Int32(truncatingIfNeeded: result) {
        case NGHTTP2_ERR_FLOODED.rawValue: connection.abused(.unreadAcknowledgements)
        case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue: connection.abused(.continuations)
        case NGHTTP2_ERR_CALLBACK_FAILURE.rawValue: break  // whoever returned it has said why
        default: terminate(NGHTTP2_PROTOCOL_ERROR)
        }
        return .over
    }

    /// Appends frames that are to be sent to `out`; false when there are no more, true when `out` is full.
    func produce(into out: ByteBuffer) -> Bool {
        self.out = Uncounted(out)
        defer { self.out = nil }
        while true {
            isHeldBack = false
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(handle, &start)
            if count > 0, let start = unsafe start {
                unsafe out.append(UnsafeRawBufferPointer(start: start, count: count))
                if out.count >= Self.outputSize { return true }
                continue
            }
            return isHeldBack
        }
    }

    var isOver: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

    // MARK: The connection's frames

    func submitSettings(_ settings: KeyValuePairs<nghttp2_settings_id, UInt32>, window: Int32) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.key.rawValue), value: $0.value) }
        _ = unsafe nghttp2_submit_settings(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        nghttp2_session_set_local_window_size(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, window)
    }

    /// Tells the peer why it ends; nothing is read any more.
    func terminate(_ code: nghttp2_error_code) { nghttp2_session_terminate_session(handle, code.rawValue) }

    /// The first step of an orderly end: streams that are on their way are still taken (RFC 9113 section 6.8).
    func announceEnd() { nghttp2_submit_shutdown_notice(handle) }

    /// The second: the streams that have come are the last.
    func end() {
        let last = nghttp2_session_get_last_proc_stream_id(handle)
        _ = unsafe nghttp2_submit_goaway(
            handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    func submitPing() { _ = unsafe nghttp2_submit_ping(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    // MARK: Streams

    /// Where the connection keeps the stream.
    func setIndex(_ index: Int, of stream: Int32) {
        _ = nghttp2_session_set_stream_user_data(handle, stream, UnsafeMutableRawPointer(bitPattern: index + 1))
    }

    func index(of stream: Int32) -> Int? {
        guard let mark = unsafe nghttp2_session_get_stream_user_data(handle, stream) else { return nil }
        return Int(bitPattern: mark) - 1
    }

    func reset(_ stream: Int32, _ code: nghttp2_error_code) {
        nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// The peer has sent all of the stream.
    func isEndedByPeer(_ stream: Int32) -> Bool { nghttp2_session_get_stream_remote_close(handle, stream) == 1 }

    /// There is content again for a stream that had none.
    func resume(_ stream: Int32) { nghttp2_session_resume_data(handle, stream) }

    /// Content has come. What upstreams send is bounded by the streams' windows alone.
    func contentReceived(_ count: Int) {
        switch role {
        case .client: nghttp2_session_consume_connection(handle, count)
        case .server: heldContent += count
        }
    }

    /// Content of the stream, which may have ended, has been taken: its peer may send as much again.
    func consume(_ count: Int, of stream: Int32) {
        if role == .client {
            nghttp2_session_consume_stream(handle, stream, count)
            return
        }
        heldContent -= count
        nghttp2_session_consume(handle, stream, count)
        giveWindowBack()
    }

    /// All of a client's connection window but what is held: what the library has passed over (padding, content of streams that
    /// were reset) is given back too. By steps while there is room, at once when there is next to none.
    private func giveWindowBack() {
        let room = nghttp2_session_get_local_window_size(handle)
        let used = HTTP2Limits.connectionWindow - room - Int32(clamping: heldContent)
        guard used >= Self.windowStep || used > 0 && room < Self.smallestRoom else { return }
        nghttp2_submit_window_update(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, used)
    }

    /// The peer may send so much on the stream before any is taken.
    func setWindow(_ size: Int32, of stream: Int32) {
        nghttp2_session_set_local_window_size(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, size)
    }

    /// The peer may send next to nothing on any stream until content is taken.
    var isWindowUsedUp: Bool { nghttp2_session_get_local_window_size(handle) < Self.smallestRoom }

    /// A final response, with its content to be asked for by `index`, or without any.
    func submitResponse(_ head: ByteBuffer, stream: Int32, index: Int?) {
        let span = head.span
        var walk = HeadFields(span)
        fields.removeAll(keepingCapacity: true)
        unsafe span.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe append(HTTP2Names.status, base + 9, 3)
            unsafe collect(&walk, span, base, dropsHost: false)
            guard let index else {
                _ = unsafe nghttp2_submit_response(handle, stream, fields, fields.count, nil)
                return
            }
            var provider = HTTP2Templates.provider(index)
            _ = unsafe nghttp2_submit_response(handle, stream, fields, fields.count, &provider)
        }
    }

    /// The answer to an extended CONNECT that the head of a 101 stands for (RFC 8441 section 5): 200, and content both ways.
    func submitTunnel(_ head: ByteBuffer, stream: Int32, index: Int) {
        let span = head.span
        var walk = HeadFields(span)
        fields.removeAll(keepingCapacity: true)
        unsafe span.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            let status: StaticString = "200"
            unsafe append(HTTP2Names.status, status.utf8Start, 3)
            unsafe collect(&walk, span, base, dropsHost: false)
            // It answers a key that the client never had.
            drop("sec-websocket-accept")
            var provider = HTTP2Templates.provider(index)
            _ = unsafe nghttp2_submit_response(handle, stream, fields, fields.count, &provider)
        }
    }

    /// A request whose head is this text; with `isTunnel` an extended CONNECT for its Upgrade (RFC 8441 section 4). Zero or less when
    /// there can be no more.
    func submitRequest(_ head: ByteBuffer, scheme: StaticString, index: Int, hasContent: Bool, isTunnel: Bool) -> Int32 {
        let span = head.span
        var walk = HeadFields(span)
        fields.removeAll(keepingCapacity: true)
        guard let line = walk.requestLine(span) else { return 0 }
        return unsafe span.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            if isTunnel {
                let connect: StaticString = "CONNECT"
                unsafe append(HTTP2Names.method, connect.utf8Start, connect.utf8CodeUnitCount)
                unsafe append(HTTP2Names.tunnelled, span, base, .upgrade)
            } else {
                unsafe append(HTTP2Names.method, base + line.method.lowerBound, line.method.count)
            }
            unsafe append(HTTP2Names.scheme, scheme.utf8Start, scheme.utf8CodeUnitCount)
            unsafe append(HTTP2Names.authority, span, base, .host)
            unsafe append(HTTP2Names.path, base + line.target.lowerBound, line.target.count)
            unsafe collect(&walk, span, base, dropsHost: true)
            if isTunnel { drop("sec-websocket-key") }
            let mark = UnsafeMutableRawPointer(bitPattern: index + 1)
            guard hasContent else {
                return unsafe nghttp2_submit_request(handle, nil, fields, fields.count, nil, mark)
            }
            var provider = HTTP2Templates.provider(index)
            return unsafe nghttp2_submit_request(handle, nil, fields, fields.count, &provider, mark)
        }
    }

    /// The value of the first line that is this field.
    private func append(_ name: StaticString, _ span: Span<UInt8>, _ base: UnsafePointer<UInt8>, _ id: FieldID) {
        var walk = HeadFields(span)
        while let field = walk.next(in: span) {
            guard HTTP1.fieldID(span.extracting(field.name)) == id else { continue }
            return unsafe append(name, base + field.value.lowerBound, field.value.count)
        }
    }

    private func drop(_ name: StaticString) {
        fields.removeAll { field in
            unsafe HTTP1.equalsIgnoringCase(Span(_unsafeStart: field.name, count: field.namelen), name)
        }
    }

    /// An interim response (RFC 9110 section 15.2).
    func submitInformational(_ head: ByteBuffer, stream: Int32) {
        let span = head.span
        var walk = HeadFields(span)
        fields.removeAll(keepingCapacity: true)
        unsafe span.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe append(HTTP2Names.status, base + 9, 3)
            unsafe collect(&walk, span, base, dropsHost: false)
            _ = unsafe nghttp2_submit_headers(
                handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, fields, fields.count, nil)
        }
    }

    /// Trailer fields, which end the stream; called when the last of the content is asked for.
    func submitTrailers(_ lines: ByteBuffer, stream: Int32) -> Bool {
        let span = lines.span
        var walk = HeadFields(span, hasStartLine: false)
        fields.removeAll(keepingCapacity: true)
        return unsafe span.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            unsafe collect(&walk, span, base, dropsHost: false)
            if fields.isEmpty { return false }
            return unsafe nghttp2_submit_trailer(handle, stream, fields, fields.count) == 0
        }
    }

    /// Fields for the library, which copies them: pointers into `base`, or to literals.
    func collect(_ walk: inout HeadFields, _ span: Span<UInt8>, _ base: UnsafePointer<UInt8>, dropsHost: Bool) {
        while let field = walk.next(in: span) {
            let id = HTTP1.fieldID(span.extracting(field.name))
            if id.isConnectionSpecific || id == .host && dropsHost { continue }
            fields.append(
                unsafe nghttp2_nv(
                    name: UnsafeMutablePointer(mutating: base + field.name.lowerBound),
                    value: UnsafeMutablePointer(mutating: base + field.value.lowerBound), namelen: field.name.count,
                    valuelen: field.value.count, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
        }
    }

    func append(_ name: StaticString, _ value: UnsafePointer<UInt8>, _ count: Int) {
        fields.append(
            unsafe nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value),
                namelen: name.utf8CodeUnitCount, valuelen: count, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
    }
}

/// Names of pseudo-header fields (RFC 9113 section 8.3, RFC 8441 section 4).
enum HTTP2Names {
    static let status: StaticString = ":status"
    static let method: StaticString = ":method"
    static let scheme: StaticString = ":scheme"
    static let authority: StaticString = ":authority"
    static let path: StaticString = ":path"
    static let tunnelled: StaticString = ":protocol"
}
