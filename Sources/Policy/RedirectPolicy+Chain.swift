internal import HTTP

/// The hops of one exchange: where they went, what was left behind, which cookies they set. Reused.
public final class RedirectChain {
    public let url = ResolvedURL()
    public let origin = UpstreamOrigin()
    public let cookies = HopCookies()
    /// The client's credentials have been left behind at some hop and stay there.
    public private(set) var hasLeftOrigin = false
    /// Some hop came without content, which no later hop gets back.
    public private(set) var hasLostBody = false
    /// How the last request was sent.
    private(set) var lastScheme = Scheme.http
    private(set) var client: CanonicalRequest?
    private var fingerprints: [UInt64] = []
    private let scratch = ByteBuffer(capacity: 256)

    public init() {}

    /// How many hops have been followed.
    public var hopCount: Int { max(0, fingerprints.count - 1) }

    /// Begins with the client's own request, once the upstream is known and `origin.set` has been called.
    public func begin(_ client: CanonicalRequest, settings: CompiledCanonicalSettings) {
        self.client = client
        url.reset(settings)
        cookies.reset()
        hasLeftOrigin = false
        hasLostBody = false
        lastScheme = origin.scheme
        fingerprints.removeAll(keepingCapacity: true)
        scratch.clear()
        _ = cookies.append(
            client: client, includesClient: true, host: client.host, scheme: client.scheme, path: client.path,
            edits: EveryCookie(), to: scratch)
        var fingerprint = Fingerprint()
        fingerprint.add(client.methodName)
        fingerprint.add(client.scheme, client.host, client.effectivePort, client.target.span, scratch.span)
        fingerprints.append(fingerprint.value)
    }

    /// Drops what refers to the exchange that is over.
    public func end() {
        client = nil
        cookies.reset()
    }

    /// Enters the hop to `url`; false when the same method, URL and Cookie have been sent before.
    func enter(_ hop: RedirectPolicy.Hop, client: CanonicalRequest, keptContent: Bool) -> Bool {
        let hasLeft = hasLeftOrigin || !hop.isUpstreamOrigin
        scratch.clear()
        _ = cookies.append(
            client: client, includesClient: !hasLeft, host: hasLeft ? url.host : client.host, scheme: url.scheme,
            path: url.target.span(ByteRange(0, url.pathLength)), edits: EveryCookie(), to: scratch)
        var fingerprint = Fingerprint()
        if hop.method == .get {
            fingerprint.add(getToken.span)
        } else {
            fingerprint.add(client.methodName)
        }
        fingerprint.add(url.scheme, url.host, url.port, url.target.span, scratch.span)
        if fingerprints.contains(fingerprint.value) { return false }
        fingerprints.append(fingerprint.value)
        hasLeftOrigin = hasLeft
        if !keptContent { hasLostBody = true }
        lastScheme = hop.isUpstreamOrigin ? origin.scheme : url.scheme
        return true
    }

    private let getToken = RedirectChain.makeGetToken()

    private static func makeGetToken() -> ByteBuffer {
        let token = ByteBuffer(capacity: 16)
        token.append("GET")
        return token
    }

    /// FNV-1a over length-delimited parts. A server that finds two URLs of one value is answered 508, no more.
    private struct Fingerprint {
        private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }

        mutating func add(_ bytes: Span<UInt8>) {
            for index in 0..<bytes.count { add(bytes[index]) }
            for shift in 0..<4 { add(UInt8(truncatingIfNeeded: bytes.count >> (8 * shift))) }
        }

        mutating func add(
            _ scheme: Scheme, _ host: Span<UInt8>, _ port: UInt16, _ target: Span<UInt8>, _ cookie: Span<UInt8>
        ) {
            add(scheme.rawValue)
            add(host)
            add(UInt8(port >> 8))
            add(UInt8(port & 255))
            add(target)
            add(cookie)
        }
    }
}
