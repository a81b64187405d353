internal import HTTP

/// What counts as the upstream's origin while one exchange is served: its URL, and the authority of the Host that we
/// sent.
public final class UpstreamOrigin {
    public private(set) var scheme = Scheme.http
    /// `host[:port]` of the URL.
    private let authority = ByteBuffer(capacity: 64)
    private var hostLength = 0
    public private(set) var port: UInt16 = 80
    private let sent = ByteBuffer(capacity: 64)
    private var sentHostLength = 0
    private var sentPort: UInt16?

    public init() {}

    /// Takes the server's URL and the Host that was sent to it; what is no authority (a unix socket's) names nothing.
    public func set(scheme: Scheme, authority urlAuthority: Span<UInt8>, sentHost: Span<UInt8>) {
        self.scheme = scheme
        authority.clear()
        let parts = Authority.append(urlAuthority, to: authority)
        hostLength = parts?.hostLength ?? 0
        port = parts?.port ?? scheme.defaultPort
        sent.clear()
        let sentParts = Authority.append(sentHost, to: sent)
        sentHostLength = sentParts?.hostLength ?? 0
        sentPort = sentParts?.port
    }

    public var host: Span<UInt8> {
        @_lifetime(immortal) get {
            return authority.span(ByteRange(0, hostLength))
        }
    }

    public var sentHost: Span<UInt8> {
        @_lifetime(immortal) get {
            return sent.span(ByteRange(0, sentHostLength))
        }
    }

    /// The URL itself: same scheme, host and port.
    func isURL(_ scheme: Scheme, _ host: Span<UInt8>, _ port: UInt16) -> Bool {
        hostLength > 0 && scheme == self.scheme && port == self.port && CanonicalBytes.equals(host, self.host)
    }

    /// The Host that we sent, under whatever scheme.
    func isSentHost(_ scheme: Scheme, _ host: Span<UInt8>, _ port: UInt16) -> Bool {
        sentHostLength > 0 && port == sentPort ?? scheme.defaultPort && CanonicalBytes.equals(host, sentHost)
    }

    /// Whether a hop there is a hop to the upstream: its URL; the Host that we sent, under the scheme by which we sent
    /// it; or the client's own URL, which is how a relative Location names the upstream.
    func isOrigin(_ url: ResolvedURL, client: CanonicalRequest) -> Bool {
        if isURL(url.scheme, url.host, url.port) { return true }
        if url.scheme == scheme && isSentHost(url.scheme, url.host, url.port) { return true }
        return url.scheme == client.scheme && url.port == client.effectivePort && client.hostLength > 0
            && CanonicalBytes.equals(url.host, client.host)
    }
}
