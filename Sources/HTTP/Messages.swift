/// The request methods that the proxy itself distinguishes (RFC 9110 section 9, RFC 5789); any other token is `.other`.
public enum Method: UInt8, Sendable, CaseIterable {
    case get, head, post, put, delete, connect, options, trace, patch, other

    /// RFC 9110 section 9.2.2: repeating the request does no more than sending it once.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        case .post, .connect, .patch, .other: false
        }
    }
}

/// Of a message as it was received; heads that came as fields of HTTP/2 are read as text of HTTP/1.1.
public enum HTTPVersion: UInt8, Sendable { case http10, http11, http2 }

/// How the content of a message is delimited on an HTTP/1.1 connection (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Equatable {
    case none
    case length(UInt64)
    case chunked
    /// Responses only: all until the connection ends.
    case untilClose

    /// There is no content, whatever else is to be expected.
    @inlinable public var isEmpty: Bool {
        switch self {
        case .none: true
        case .length(let length): length == 0
        case .chunked, .untilClose: false
        }
    }

    @inlinable public var isChunked: Bool { if case .chunked = self { true } else { false } }
    @inlinable public var endsWithConnection: Bool { if case .untilClose = self { true } else { false } }
}

/// The field names that some code asks for by name; all others are `.other` and compared by bytes.
public enum FieldID: UInt8, Sendable {
    case other
    case host, connection, contentLength, transferEncoding, te, trailer, upgrade, keepAlive, proxyConnection
    case proxyAuthorization, proxyAuthenticate, expect, via, cdnLoop, http2Settings
    case forwarded, xForwardedFor, xForwardedHost, xForwardedProto, xForwardedPort, xRealIP, xRequestID
    /// Any further name that begins with `X-Forwarded-` or `X-Original-`.
    case xForwardedOther
    case authorization, cookie, setCookie, location, contentLocation, refresh, cacheControl
    case contentType, accept, date, server, contentEncoding, referer, origin, secFetchDest, pragma, maxForwards
}

// An enum's own == is a call through a witness table in other targets; these are one comparison.
// SAFETY: each has a raw type of one octet and no payload, so its representation is one octet.
extension FieldID {
    @inlinable @inline(always)
    public static func == (left: FieldID, right: FieldID) -> Bool {
        unsafe unsafeBitCast(left, to: UInt8.self) == unsafeBitCast(right, to: UInt8.self)
    }
}

extension Method {
    @inlinable @inline(always)
    public static func == (left: Method, right: Method) -> Bool {
        unsafe unsafeBitCast(left, to: UInt8.self) == unsafeBitCast(right, to: UInt8.self)
    }
}

extension HTTPVersion {
    @inlinable @inline(always)
    public static func == (left: HTTPVersion, right: HTTPVersion) -> Bool {
        unsafe unsafeBitCast(left, to: UInt8.self) == unsafeBitCast(right, to: UInt8.self)
    }
}

/// One field line of a head: its name, its value without surrounding white space, both as ranges of the head's bytes.
public struct FieldLine: Sendable {
    public var name: ByteRange
    public var value: ByteRange
    public var id: FieldID

    public init(name: ByteRange, value: ByteRange, id: FieldID) {
        self.name = name
        self.value = value
        self.id = id
    }
}

/// A request head as the client sent it (RFC 9112 sections 2 to 6), copied into a buffer of its own and reused for the next.
///
/// Nothing here is canonical: that is Policy's work. Ranges point into ``bytes``.
public final class RequestHead {
    public let bytes = ByteBuffer(capacity: 1024)
    public internal(set) var lines: [FieldLine] = []
    public internal(set) var method: Method = .get
    public internal(set) var methodName: ByteRange = .empty
    public internal(set) var target: ByteRange = .empty
    public internal(set) var version: HTTPVersion = .http11
    public internal(set) var framing: BodyFraming = .none
    /// The connection may carry another request after this one (RFC 9112 section 9.3).
    public internal(set) var keepsAlive = true
    /// `Expect: 100-continue` on an HTTP/1.1 request with content (RFC 9110 section 10.1.1).
    public internal(set) var expectsContinue = false
    /// `TE` names `trailers` (RFC 9110 section 10.1.4).
    public internal(set) var takesTrailers = false
    /// `Connection` nominates `upgrade` and there is an `Upgrade` field (RFC 9110 section 7.8); its value is in the lines.
    public internal(set) var asksForUpgrade = false

    public init() { lines.reserveCapacity(32) }

    /// The text that was parsed stood for fields of HTTP/2.
    public func cameOverHTTP2() { version = .http2 }

    public func reset() {
        bytes.clear()
        lines.removeAll(keepingCapacity: true)
        method = .get
        methodName = .empty
        target = .empty
        version = .http11
        framing = .none
        keepsAlive = true
        expectsContinue = false
        takesTrailers = false
        asksForUpgrade = false
    }
}

/// A response head as the upstream sent it; the counterpart of ``RequestHead``.
public final class ResponseHead {
    public let bytes = ByteBuffer(capacity: 1024)
    public internal(set) var lines: [FieldLine] = []
    public internal(set) var status: Int = 0
    public internal(set) var reason: ByteRange = .empty
    public internal(set) var version: HTTPVersion = .http11
    public internal(set) var framing: BodyFraming = .none
    public internal(set) var keepsAlive = true

    public init() { lines.reserveCapacity(32) }

    public func reset() {
        bytes.clear()
        lines.removeAll(keepingCapacity: true)
        framing = .none
        keepsAlive = true
    }
}

/// What makes a message one that we refuse to pass on; the peer that sent it is at fault.
public enum HTTPError: Error, Sendable, Equatable {
    case malformed  // 400, 502
    case uriTooLong  // 414
    case headerTooLarge  // 431, 502
    case unsupportedVersion  // 505
    case unsupportedTransferCoding  // 501 for an otherwise well-formed list that does not end in chunked alone
}

/// Bounds on a head, checked while it is read.
public struct HeadLimits: Sendable {
    public var headerBytes = 16 * 1024
    public var headerCount = 100
    public var uriBytes = 8 * 1024
    public init() {}
}
