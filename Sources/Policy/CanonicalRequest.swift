package import HTTP

/// What is known about a client connection for as long as it lives.
package final class ClientFacts {
    package let peerAddress: IPAddress?  // nil: a unix socket
    package let peerPort: UInt16
    package let scheme: Scheme
    package let listenerPort: UInt16
    /// The peer is one of `trusted_proxies`: what it says about its client is believed.
    package let peerIsTrusted: Bool
    /// `127.0.0.1`, `2001:db8::1`; `unix` for a unix socket.
    package let addressText: ByteBuffer

    package init(
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
}

/// A request in its one canonical reading: what matchers, authenticators and `{request.*}` read, and where every send begins.
///
/// It is made from the client's head once (``canonicalise``); a redirect hop gets one of its own that shares the client's
/// fields (``becomeHop``). Objects are reused from request to request.
package final class CanonicalRequest {
    /// The client's field lines; never changed. `isDropped` says which of them end here.
    package internal(set) var head: RequestHead
    package internal(set) var method: Method = .get
    package internal(set) var scheme: Scheme = .http
    /// Origin-form: canonical path, then `?` and the query byte for byte. `*` for OPTIONS *.
    package let target = ByteBuffer(capacity: 256)
    package internal(set) var pathLength = 0
    /// Host[:port] lower-cased, without a default port being added or removed.
    package let authority = ByteBuffer(capacity: 64)
    /// Of the authority, brackets of an IPv6 literal included.
    package internal(set) var hostLength = 0
    package internal(set) var port: UInt16?
    /// The client as far as trusted proxies vouch for it; nil for a unix socket.
    package internal(set) var clientAddress: IPAddress?
    package let clientAddressText = ByteBuffer(capacity: 48)
    /// Of ``target``: the last segment's extension without the dot, as written; empty when there is none.
    package internal(set) var pathExtension = ByteRange.empty
    /// One bit a line: hop-by-hop, nominated by Connection, of the forwarded family, or not a strict name.
    package internal(set) var droppedLines: [UInt64] = [0, 0, 0, 0]
    /// A hop away from the client's origin: its Authorization, Cookie and Proxy-Authorization stay behind.
    package internal(set) var leavesCredentialsBehind = false
    package internal(set) var isHop = false

    private let getToken = ByteBuffer(capacity: 16)

    package init() {
        head = RequestHead()
        getToken.append("GET")
    }

    package func isDropped(_ line: Int) -> Bool {
        line >= droppedLines.count * 64 || droppedLines[line >> 6] >> UInt64(line & 63) & 1 == 1
    }

    package var path: Span<UInt8> {
        @_lifetime(immortal) get {
            return target.span(ByteRange(0, pathLength))
        }
    }

    /// Without the question mark; empty when there is none.
    package var query: Span<UInt8> {
        @_lifetime(immortal) get {
            let start = min(pathLength + 1, target.count)
            return target.span(ByteRange(start, target.count - start))
        }
    }

    package var host: Span<UInt8> {
        @_lifetime(immortal) get {
            return authority.span(ByteRange(0, hostLength))
        }
    }

    /// The token as sent; for a hop that changed the method, the new one.
    package var methodName: Span<UInt8> {
        @_lifetime(immortal) get {
            if method == .get && head.method != .get {
                return getToken.span(ByteRange(0, getToken.count))
            }
            return head.bytes.span(head.methodName)
        }
    }
}
