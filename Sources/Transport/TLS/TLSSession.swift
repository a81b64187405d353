internal import COpenSSL
internal import Glibc

/// Where the sessions of one thread read ciphertext from and write it to: no session holds such a buffer of its own.
///
/// SAFETY: the memory is owned; a session points at `state` and holds this object.
public final class TLSWire {
    /// A read from a socket goes here.
    public let incoming: UnsafeMutableRawBufferPointer
    /// Ciphertext that a read may leave within a session: part of a record.
    public static let largestRest = 18 * 1024
    public static let incomingSize = 64 * 1024 - largestRest
    /// So much is encrypted before it is sent: whole records.
    public static let largestFlight = 64 * 1024

    let state: UnsafeMutablePointer<copenssl_wire>
    let method: OpaquePointer

    public init() throws(TLSError) {
        guard let method = unsafe copenssl_wire_method() else { throw .taken("out of memory") }
        self.method = method
        unsafe incoming = .allocate(byteCount: Self.incomingSize, alignment: 16)
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: copenssl_wire())
    }

    deinit {
        unsafe copenssl_free(state.pointee.output)
        unsafe BIO_meth_free(method)
        unsafe state.deallocate()
        unsafe incoming.deallocate()
    }

    public var hasOutput: Bool { unsafe state.pointee.output_count > 0 }

    /// What the session has to say to its peer; gone when `body` returns.
    public func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
        let count = unsafe state.pointee.output_count
        unsafe state.pointee.output_count = 0
        unsafe body(UnsafeRawBufferPointer(start: state.pointee.output, count: count))
    }
}

/// One connection's TLS, a filter without a descriptor: ciphertext in, plaintext out, and the other way round.
///
/// Nothing here blocks or waits to write: what is to be sent stands on the wire after each call, and is the caller's to send
/// before any other session is used.
/// SAFETY: `ssl` is owned and used by one thread; its contexts and its wire are held.
public final class TLSSession {
    enum Role {
        case server(TLSServerContext)
        case client(TLSClientContext, TLSResumption)
    }

    private let ssl: OpaquePointer
    private let role: Role
    public let wire: TLSWire
    /// The handshake is complete: the peer is who it has to be.
    public private(set) var isEstablished = false
    /// The peer has said that it sends no more (close_notify, RFC 8446 section 6.1).
    public private(set) var peerHasFinished = false
    /// The connection ended without that: what came before may not be all.
    public private(set) var isTruncated = false
    /// The session can not go on.
    public private(set) var failure: TLSError?

    init(_ ssl: OpaquePointer, on wire: TLSWire, role: Role) throws(TLSError) {
        self.ssl = ssl
        self.wire = wire
        self.role = role
        guard unsafe copenssl_attach(ssl, wire.method, wire.state) == 1 else { throw .taken("out of memory") }
        switch role {
        case .server: unsafe SSL_set_accept_state(ssl)
        case .client: unsafe SSL_set_connect_state(ssl)
        }
    }

    deinit {
        // A session whose connection ended without a farewell may be resumed all the same.
        unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        unsafe SSL_free(ssl)
    }

    /// Begins the handshake: of a client's end, the first word.
    public func begin() { _ = unsafe note(SSL_do_handshake(ssl)) }

    /// What was received for one session is nothing to the next.
    private func clearWire() {
        unsafe wire.state.pointee.input = nil
        unsafe wire.state.pointee.input_count = 0
        unsafe wire.state.pointee.input_ended = 0
    }

    /// Takes the first `count` bytes of what the wire received; with `isEnd` no more will come. Returns how many bytes of
    /// plaintext it has written into `room`.
    ///
    /// Precondition: `room` has at least `count + TLSWire.largestRest` bytes, so that nothing is left on the wire.
    public func decrypt(_ count: Int, isEnd: Bool = false, into room: UnsafeMutableRawBufferPointer) -> Int {
        precondition(room.count >= count + TLSWire.largestRest, "plaintext has room")
        unsafe wire.state.pointee.input = UnsafePointer(wire.incoming.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe wire.state.pointee.input_count = count
        unsafe wire.state.pointee.input_ended = isEnd ? 1 : 0
        defer { clearWire() }
        var written = 0
        while written < room.count {
            var part = 0
            let result = unsafe SSL_read_ex(ssl, room.baseAddress.map { unsafe $0 + written }, room.count - written, &part)
            written += part
            if result != 1 {
                _ = note(result, isEnd: isEnd)
                break
            }
            if !isEnd, unsafe wire.state.pointee.input_count == 0, unsafe SSL_has_pending(ssl) == 0 { break }
        }
        if !isEstablished, failure == nil, unsafe SSL_is_init_finished(ssl) == 1 { isEstablished = true }
        return written
    }

    /// Puts plaintext on the wire as records; false when the session has failed.
    public func encrypt(_ plaintext: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position < plaintext.count {
            var part = 0
            let result = unsafe SSL_write_ex(
                ssl, plaintext.baseAddress.map { unsafe $0 + position }, plaintext.count - position, &part)
            if result != 1 { return note(result) }
            position += part
        }
        return true
    }

    /// Says that nothing more is sent.
    public func finishSending() {
        guard isEstablished, failure == nil else { return }
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// What a call's result means; false unless the session can go on.
    private func note(_ result: Int32, isEnd: Bool = false) -> Bool {
        if result == 1 { return true }
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return true
        case SSL_ERROR_ZERO_RETURN:
            peerHasFinished = true
            return true
        default:
            if isEnd { isTruncated = true }
            failure = reason(isEnd: isEnd)
            return false
        }
    }

    private func reason(isEnd: Bool) -> TLSError {
        let verdict = unsafe SSL_get_verify_result(ssl)
        guard verdict == Int(X509_V_OK) || isEstablished else {
            ERR_clear_error()
            return unsafe TLSError("the certificate is not accepted: " + String(cString: X509_verify_cert_error_string(verdict)))
        }
        if isEnd {
            ERR_clear_error()
            return TLSError(isEstablished ? "the connection ended without a farewell" : "the connection ended in the handshake")
        }
        return .taken("the connection failed")
    }

    // MARK: What the handshake has shown

    /// What ALPN chose; nil when the peer does not speak ALPN, which means HTTP/1.1.
    public var negotiatedProtocol: ApplicationProtocol? {
        var start: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &start, &length)
        guard length > 0 else { return nil }
        return unsafe ApplicationProtocol(
            rawValue: String(decoding: UnsafeBufferPointer(start: start, count: Int(length)), as: UTF8.self))
    }

    public var wasResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// The names that the client may ask for on this connection: those of the certificates that it was shown for the name that
    /// it gave. Nil where it gave none that a certificate is for.
    public var promisedNames: [CertificateNames]? {
        guard case .server(let context) = role else { return nil }
        return unsafe context.promise(of: ssl)
    }

    /// The certificate that the peer has shown, and that was verified: subject (RFC 2253) and alternative names. Only
    /// printable ASCII is in them.
    public var peerIdentity: (subject: String, alternativeNames: String)? {
        guard let certificate = unsafe copenssl_peer_certificate(ssl) else { return nil }
        defer { unsafe X509_free(certificate) }
        return (Self.subject(of: certificate), Self.alternativeNames(of: certificate))
    }

    /// SAFETY: the text lives as long as the BIO that it was printed to.
    private static func subject(of certificate: OpaquePointer) -> String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(bio) }
        _ = unsafe copenssl_subject(certificate, bio)
        var start: UnsafeMutablePointer<CChar>?
        let length = unsafe copenssl_memory(bio, &start)
        let text = unsafe UnsafeBufferPointer(start: start, count: max(0, length)).map { UInt8(bitPattern: $0) }
        return String(decoding: text.filter { $0 >= 0x20 && $0 < 0x7f }, as: UTF8.self)
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> String {
        var parts: [String] = []
        CertificateNames.forEachAlternativeName(of: certificate) { kind, bytes in
            let label = kind == "d" ? "DNS:" : kind == "e" ? "email:" : kind == "u" ? "URI:" : "IP:"
            if kind == "i" {
                if let text = CertificateNames.address(bytes) { parts.append(label + text) }
            } else if bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ",") }) {
                parts.append(label + String(decoding: bytes, as: UTF8.self))
            }
        }
        return parts.joined(separator: ",")
    }
}
