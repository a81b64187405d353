public import HTTP

/// The cookies that the hops of one exchange have set, for the hops that come after them (RFC 6265 section 5). Reused.
///
/// Not a jar: it lives as long as the exchange, and the client gets every Set-Cookie too. There is no list of public
/// suffixes; a Domain must match the host that sets it and have a dot.
public final class HopCookies {
    private struct Cookie {
        var name: ByteRange
        var value: ByteRange
        var domain: ByteRange
        var path: ByteRange
        var isHostOnly: Bool
        var isSecure: Bool
        /// Expired when it came: it takes away what the client or a hop before has under this name.
        var isRemoval: Bool
    }

    /// More than any browser is asked to keep for one site; what comes after that is for the client alone.
    private static let maximumCount = 64
    private static let maximumBytes = 32 * 1024

    private let bytes = ByteBuffer(capacity: 256)
    private var cookies: [Cookie] = []

    public init() {}

    public var isEmpty: Bool { cookies.isEmpty }

    /// Forgets everything; values are overwritten, since sessions are secrets of the client.
    public func reset() {
        if cookies.isEmpty { return }
        cookies.removeAll(keepingCapacity: true)
        bytes.wipe()
    }

    /// As long as the hops stay with the upstream, its names all mean the site that the client knows.
    @_lifetime(immortal)
    func host(of request: CanonicalRequest, client: CanonicalRequest) -> Span<UInt8> {
        return request.leavesCredentialsBehind ? request.host : client.host
    }

    /// Takes the Set-Cookie lines of the response to a request of the exchange.
    public func absorb(_ response: ResponseHead, to request: CanonicalRequest, client: CanonicalRequest, now: Int) {
        for line in response.lines where line.id == .setCookie {
            let value = response.bytes.span(line.value)
            guard cookies.count < HopCookies.maximumCount, bytes.count + value.count < HopCookies.maximumBytes else {
                return
            }
            absorb(value, request, client, now: now)
        }
    }

    private func absorb(_ value: Span<UInt8>, _ request: CanonicalRequest, _ client: CanonicalRequest, now: Int) {
        guard let parsed = SetCookie(value) else { return }
        let host = host(of: request, client: client)
        var domain = host
        var isHostOnly = true
        if let range = parsed.domain {
            let named = value.extracting(range)
            if HopCookies.isWithin(host, named) {
                domain = named
                isHostOnly = !HopCookies.hasDot(named)
            } else if !HopCookies.isWithin(request.host, named) {
                return
            }
        }
        let cookie = Cookie(
            name: copy(value.extracting(parsed.name)), value: copy(value.extracting(parsed.value)),
            domain: copyLowered(domain),
            path: copyPath(parsed, value, of: request), isHostOnly: isHostOnly, isSecure: parsed.isSecure,
            isRemoval: parsed.isExpired(in: value, now: now))
        store(cookie)
    }

    /// Section 5.3 step 11: the same name, domain and path is the same cookie, in its old place.
    private func store(_ cookie: Cookie) {
        for index in 0..<cookies.count {
            let other = cookies[index]
            guard CanonicalBytes.equals(bytes.span(other.name), bytes.span(cookie.name)),
                CanonicalBytes.equals(bytes.span(other.domain), bytes.span(cookie.domain)),
                CanonicalBytes.equals(bytes.span(other.path), bytes.span(cookie.path))
            else { continue }
            cookies[index] = cookie
            return
        }
        cookies.append(cookie)
    }

    /// Appends the client's cookies that no hop has replaced, then those of the hops; returns how many.
    func append(
        client: CanonicalRequest, includesClient: Bool, host: Span<UInt8>, scheme: Scheme, path: Span<UInt8>,
        edits: some CookieFilter, to out: ByteBuffer
    ) -> Int {
        var count = 0
        if includesClient {
            var pairs = CookiePairs(client)
            while let pair = pairs.next() {
                let name = client.head.bytes.span(pair.name)
                guard edits.admits(name), !isReplaced(name, host, scheme, path) else { continue }
                Cookies.appendPair(client.head.bytes.span(pair.whole), first: count == 0, to: out)
                count += 1
            }
        }
        for cookie in cookies where !cookie.isRemoval && belongs(cookie, host, scheme, path) {
            guard edits.admits(bytes.span(cookie.name)) else { continue }
            Cookies.appendPair(bytes.span(cookie.name), first: count == 0, to: out)
            out.append(UInt8(ascii: "="))
            out.append(bytes.span(cookie.value))
            count += 1
        }
        return count
    }

    private func isReplaced(_ name: Span<UInt8>, _ host: Span<UInt8>, _ scheme: Scheme, _ path: Span<UInt8>) -> Bool {
        if name.isEmpty { return false }
        for cookie in cookies where CanonicalBytes.equals(bytes.span(cookie.name), name) {
            if belongs(cookie, host, scheme, path) { return true }
        }
        return false
    }

    /// Section 5.4 step 1.
    private func belongs(_ cookie: Cookie, _ host: Span<UInt8>, _ scheme: Scheme, _ path: Span<UInt8>) -> Bool {
        if cookie.isSecure && scheme != .https { return false }
        let domain = bytes.span(cookie.domain)
        guard cookie.isHostOnly ? CanonicalBytes.equals(host, domain) : HopCookies.isWithin(host, domain) else {
            return false
        }
        return HopCookies.pathMatches(path, bytes.span(cookie.path))
    }

    private func copy(_ text: Span<UInt8>) -> ByteRange {
        let range = ByteRange(bytes.count, text.count)
        bytes.append(text)
        return range
    }

    private func copyLowered(_ text: Span<UInt8>) -> ByteRange {
        let range = ByteRange(bytes.count, text.count)
        for index in 0..<text.count { bytes.append(CanonicalBytes.lowered(text[index])) }
        return range
    }

    /// Section 5.1.4: without a usable Path, the directory of the request's path.
    private func copyPath(_ parsed: SetCookie, _ value: Span<UInt8>, of request: CanonicalRequest) -> ByteRange {
        let slash = UInt8(ascii: "/")
        if let path = parsed.path, !path.isEmpty, value[path.lowerBound] == slash {
            return copy(value.extracting(path))
        }
        let path = request.path
        var end = path.count
        while end > 1 && path[end - 1] != slash { end -= 1 }
        if end > 1 { return copy(path.extracting(0..<(end - 1))) }
        let range = ByteRange(bytes.count, 1)
        bytes.append(slash)
        return range
    }

    static func isSame(_ host: Span<UInt8>, _ domain: Span<UInt8>) -> Bool {
        CanonicalBytes.equalsIgnoringCase(host, domain)
    }

    static func hasDot(_ domain: Span<UInt8>) -> Bool {
        CanonicalBytes.firstIndex(of: UInt8(ascii: "."), in: domain) != nil && !isAddress(domain)
    }

    static func isAddress(_ host: Span<UInt8>) -> Bool {
        !host.isEmpty && (host[0] == UInt8(ascii: "[") || IPAddress.parseIPv4(host) != nil)
    }

    /// Section 5.1.3, in any case: the host is the domain, or a name below it.
    static func isWithin(_ host: Span<UInt8>, _ domain: Span<UInt8>) -> Bool {
        if isSame(host, domain) { return !host.isEmpty }
        guard host.count > domain.count + 1, hasDot(domain), !isAddress(host) else { return false }
        let start = host.count - domain.count
        return host[start - 1] == UInt8(ascii: ".") && isSame(host.extracting(start..<host.count), domain)
    }

    /// Section 5.1.4.
    static func pathMatches(_ path: Span<UInt8>, _ prefix: Span<UInt8>) -> Bool {
        guard path.count >= prefix.count, CanonicalBytes.equals(path.extracting(0..<prefix.count), prefix) else {
            return false
        }
        if path.count == prefix.count || prefix.isEmpty { return true }
        return prefix[prefix.count - 1] == UInt8(ascii: "/") || path[prefix.count] == UInt8(ascii: "/")
    }
}
