public import HTTP

/// What is known about a client connection for as long as it lives.
public final class ClientFacts {
    public let peerAddress: IPAddress?  // nil: a unix socket
    public let peerPort: UInt16
    public let scheme: Scheme
    public let listenerPort: UInt16
    /// The peer is one of `trusted_proxies`: what it says about its client is believed.
    public let peerIsTrusted: Bool
    /// `127.0.0.1`, `2001:db8::1`; `unix` for a unix socket.
    public let addressText: ByteBuffer
    /// Of the certificate that the client has shown and that was verified: its subject (RFC 2253), its alternative names.
    public private(set) var certificateSubject: ByteBuffer?
    public private(set) var certificateNames: ByteBuffer?

    public init(
        peerAddress: IPAddress?, peerPort: UInt16, scheme: Scheme, listenerPort: UInt16, peerIsTrusted: Bool,
        addressText: ByteBuffer
    ) {
        self.peerAddress = peerAddress
        self.peerPort = peerPort
        self.scheme = scheme
        self.listenerPort = listenerPort
        self.peerIsTrusted = peerIsTrusted
        self.addressText = addressText
    }

    /// Not for the data path.
    public var addressString: String {
        let bytes = addressText.span
        return String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
    }

    public func setCertificate(subject: String, alternativeNames: String) {
        let texts = [subject, alternativeNames].map { text in
            let buffer = ByteBuffer(capacity: text.utf8.count)
            buffer.append(text: text)
            return buffer
        }
        certificateSubject = texts[0]
        certificateNames = alternativeNames.isEmpty ? nil : texts[1]
    }
}

/// A request in its one canonical reading: what matchers, authenticators and `{request.*}` read, and where every send
/// begins.
///
/// It is made from the client's head once (``canonicalise``); a redirect hop gets one of its own that shares the
/// client's fields (``becomeHop``). Objects are reused from request to request.
public final class CanonicalRequest {
    /// The client's field lines; never changed. `isDropped` says which of them end here.
    public internal(set) var head: RequestHead
    public internal(set) var method: Method = .get
    public internal(set) var scheme: Scheme = .http
    /// Origin-form: canonical path, then `?` and the query byte for byte. `*` for OPTIONS *.
    public let target = ByteBuffer(capacity: 256)
    public internal(set) var pathLength = 0
    /// Host[:port] lower-cased, without a default port being added or removed.
    public let authority = ByteBuffer(capacity: 64)
    /// Of the authority, brackets of an IPv6 literal included.
    public internal(set) var hostLength = 0
    public internal(set) var port: UInt16?
    /// The client as far as trusted proxies vouch for it; nil for a unix socket.
    public internal(set) var clientAddress: IPAddress?
    public let clientAddressText = ByteBuffer(capacity: 48)
    /// Of ``target``: the last segment's extension without the dot, as written; empty when there is none.
    public internal(set) var pathExtension = ByteRange.empty
    /// One bit a line: hop-by-hop, nominated by Connection, of the forwarded family, or not a strict name.
    public internal(set) var droppedLines: [UInt64] = [0, 0, 0, 0]
    /// A hop away from the client's origin: its Authorization, Cookie and Proxy-Authorization stay behind.
    public internal(set) var leavesCredentialsBehind = false
    public internal(set) var isHop = false

    /// The authority that the client's own URL had: of X-Forwarded-Host where a trusted proxy vouches for it, else
    /// ``authority``.
    public let externalAuthority = ByteBuffer(capacity: 64)
    /// The port that the client connected to, as far as trusted proxies vouch for it.
    public internal(set) var externalPort: UInt16 = 0

    /// The last Host that was read and is still in ``authority``: clients mostly ask for the same one again.
    let lastHost = ByteBuffer(capacity: 64)
    var lastHostLength = 0
    var lastPort: UInt16?
    private let getToken = ByteBuffer(capacity: 16)
    /// Which fields there are, so that what is absent is not looked for.
    var fields: FieldSet = []
    var hostLine: Int?
    /// Elements of a list that is being walked from its end, as ranges of the head.
    var elements: [ByteRange] = []

    struct FieldSet: OptionSet {
        let rawValue: UInt16
        static let connection = FieldSet(rawValue: 1 << 0)
        static let via = FieldSet(rawValue: 1 << 1)
        static let cdnLoop = FieldSet(rawValue: 1 << 2)
        static let forwarded = FieldSet(rawValue: 1 << 3)
        static let forwardedFor = FieldSet(rawValue: 1 << 4)
        static let forwardedHost = FieldSet(rawValue: 1 << 5)
        static let forwardedProto = FieldSet(rawValue: 1 << 6)
        static let forwardedPort = FieldSet(rawValue: 1 << 7)
        static let cookie = FieldSet(rawValue: 1 << 8)
        /// What tells of others that the request has passed.
        static let chains: FieldSet = [
            .via, .cdnLoop, .forwarded, .forwardedFor, .forwardedHost, .forwardedProto, .forwardedPort,
        ]
    }

    public init() {
        head = RequestHead()
        getToken.append("GET")
    }

    /// Forgets what a request that was refused had, so that nothing of it, half read, is taken for a canonical request.
    public func reset() {
        target.clear()
        pathLength = 0
        pathExtension = .empty
        authority.clear()
        lastHost.clear()
        hostLength = 0
        port = nil
        clientAddress = nil
        clientAddressText.clear()
        externalAuthority.clear()
        leavesCredentialsBehind = false
        isHop = false
    }

    public func isDropped(_ line: Int) -> Bool {
        line >= droppedLines.count * 64 || droppedLines[line >> 6] >> UInt64(line & 63) & 1 == 1
    }

    /// The line does not go out: dropped, or a credential of the client's that stays behind on this hop.
    public func isWithheld(_ line: Int) -> Bool {
        if isDropped(line) { return true }
        guard leavesCredentialsBehind, line < head.lines.count else { return false }
        switch head.lines[line].id {
        case .authorization, .cookie, .proxyAuthorization: return true
        default: return false
        }
    }

    /// The first line after `previous` that has this name, dropped or not: how Via, CDN-Loop or Cookie lines are
    /// walked.
    public func nextLine(_ id: FieldID, after previous: Int = -1) -> Int? {
        var line = previous + 1
        while line < head.lines.count {
            if head.lines[line].id == id { return line }
            line += 1
        }
        return nil
    }

    @_lifetime(immortal)
    public func value(_ line: Int) -> Span<UInt8> {
        return head.bytes.span(head.lines[line].value)
    }

    public var path: Span<UInt8> {
        @_lifetime(immortal) get {
            return target.span(ByteRange(0, pathLength))
        }
    }

    /// Without the question mark; empty when there is none.
    public var query: Span<UInt8> {
        @_lifetime(immortal) get {
            let start = min(pathLength + 1, target.count)
            return target.span(ByteRange(start, target.count - start))
        }
    }

    public var host: Span<UInt8> {
        @_lifetime(immortal) get {
            return authority.span(ByteRange(0, hostLength))
        }
    }

    /// The token as sent; for a hop that changed the method, the new one.
    public var methodName: Span<UInt8> {
        @_lifetime(immortal) get {
            if method == .get && head.method != .get {
                return getToken.span(ByteRange(0, getToken.count))
            }
            return head.bytes.span(head.methodName)
        }
    }
}
