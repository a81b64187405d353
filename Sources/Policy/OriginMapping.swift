public import HTTP

/// Maps what a response says of the upstream's origin to the URL that the client knows, so that it comes back through
/// us.
///
/// Location, Content-Location, Refresh and Set-Cookie; only what names the upstream (its URL, or the Host that we sent,
/// under either scheme) is touched, and only when it can be read as such without doubt. One object per exchange,
/// reused.
public final class OriginMapping {
    private let origin: UpstreamOrigin
    private var client: CanonicalRequest?
    private var paths: PathMapping?
    private let host = ByteBuffer(capacity: 64)
    private let path = ByteBuffer(capacity: 256)
    private let whole = ByteBuffer(capacity: 256)

    /// `origin` is the exchange's; it is read when something is mapped.
    public init(origin: UpstreamOrigin) { self.origin = origin }

    /// `client` is the client's canonical request. `paths` is nil when the upstream's path comes from a template, which
    /// can't be undone: then only origins are mapped.
    public func begin(client: CanonicalRequest, paths: PathMapping?) {
        self.client = client
        self.paths = paths
    }

    public func end() {
        client = nil
        paths = nil
    }

    /// Appends the mapped value of a field; false and nothing appended when it passes as it is.
    public func append(_ value: Span<UInt8>, of field: FieldID, to out: ByteBuffer) -> Bool {
        guard let client else { return false }
        let start = out.count
        let isMapped =
            switch field {
            case .location, .contentLocation: appendReference(value, client, to: out)
            case .refresh: appendRefresh(value, client, to: out)
            case .setCookie: appendSetCookie(value, client, to: out)
            default: false
            }
        // What is the same as before is left to be passed on.
        if isMapped && !CanonicalBytes.equals(out.span(ByteRange(start, out.count - start)), value) { return true }
        out.truncate(to: start)
        return false
    }

    /// Appends the Location of a hop's response that is handed to the client: absolute, since the client knows no hop.
    public func append(_ url: ResolvedURL, to out: ByteBuffer) {
        guard let client else { return url.append(to: out) }
        whole.clear()
        url.append(to: whole)
        let start = out.count
        if appendReference(whole.span, client, to: out) { return }
        out.truncate(to: start)
        out.append(whole.span)
    }

    private func appendReference(_ text: Span<UInt8>, _ client: CanonicalRequest, to out: ByteBuffer) -> Bool {
        let parts = URLParts(text)
        guard let authority = parts.authority else {
            guard parts.schemeEnd == nil, let paths, !paths.isIdentity, !parts.path.isEmpty,
                text[parts.path.lowerBound] == UInt8(ascii: "/")
            else { return false }
            return appendRest(text, parts, paths, behindOrigin: false, to: out)
        }
        var scheme = origin.scheme
        if let end = parts.schemeEnd {
            guard let named = Scheme(text.extracting(0..<end)) else { return false }
            scheme = named
        }
        host.clear()
        guard let named = Authority.append(text.extracting(authority), to: host) else { return false }
        let port = named.port ?? scheme.defaultPort
        let name = host.span(ByteRange(0, named.hostLength))
        guard origin.isURL(scheme, name, port) || origin.isSentHost(scheme, name, port) else { return false }
        // Without a Host of the client's, its URL is not known; a path finds back all the same.
        let knowsOrigin = !client.externalAuthority.isEmpty
        if knowsOrigin {
            out.append(client.scheme == .https ? "https://" : "http://")
            out.append(client.externalAuthority.span)
        }
        return appendRest(text, parts, paths, behindOrigin: knowsOrigin, to: out)
    }

    /// The path in the client's terms, then query and fragment as they are.
    private func appendRest(
        _ text: Span<UInt8>, _ parts: URLParts, _ paths: PathMapping?, behindOrigin: Bool, to out: ByteBuffer
    ) -> Bool {
        let start = out.count
        let written = text.extracting(parts.path)
        if let paths, !paths.isIdentity {
            path.clear()
            // Read as the upstream would read it: a prefix is one only when no dot segment leads out of it again.
            do {
                var options = CanonicalTarget.Options()
                options.mergesSlashes = false
                if written.isEmpty {
                    path.append(UInt8(ascii: "/"))
                } else {
                    try CanonicalTarget.appendPath(written, options, to: path)
                }
            } catch {
                return false
            }
            guard paths.appendClientPath(path.span, to: out) else { return false }
        } else {
            if written.isEmpty { out.append(UInt8(ascii: "/")) }
            out.append(written)
        }
        // At the front, two slashes would begin an authority.
        if !behindOrigin && out.count - start > 1 {
            if out[start + 1] == UInt8(ascii: "/") || out[start + 1] == UInt8(ascii: "\\") { return false }
        }
        out.append(text.extracting(parts.path.upperBound..<text.count))
        return true
    }

    /// `0; url=http://...`, the URL perhaps in quotes, as browsers read it (HTML section 4.2.5.3).
    private func appendRefresh(_ value: Span<UInt8>, _ client: CanonicalRequest, to out: ByteBuffer) -> Bool {
        guard var start = OriginMapping.startOfRefreshURL(value) else { return false }
        var end = value.count
        if start < end, value[start] == UInt8(ascii: "\"") || value[start] == UInt8(ascii: "'") {
            let quote = value[start]
            start += 1
            end = CanonicalBytes.firstIndex(of: quote, in: value, from: start) ?? end
        }
        out.append(value.extracting(0..<start))
        guard appendReference(value.extracting(start..<end), client, to: out) else { return false }
        out.append(value.extracting(end..<value.count))
        return true
    }

    private static func startOfRefreshURL(_ value: Span<UInt8>) -> Int? {
        var position = 0
        while position < value.count
            && (CanonicalBytes.isDigit(value[position]) || value[position] == UInt8(ascii: "."))
        {
            position += 1
        }
        while position < value.count && CanonicalBytes.isWhitespace(value[position]) { position += 1 }
        guard position < value.count, value[position] == UInt8(ascii: ";") || value[position] == UInt8(ascii: ",")
        else { return nil }
        position += 1
        while position < value.count && CanonicalBytes.isWhitespace(value[position]) { position += 1 }
        guard CanonicalBytes.hasPrefix(value.extracting(position..<value.count), "url") else { return position }
        var equals = position + 3
        while equals < value.count && CanonicalBytes.isWhitespace(value[equals]) { equals += 1 }
        guard equals < value.count, value[equals] == UInt8(ascii: "=") else { return position }
        equals += 1
        while equals < value.count && CanonicalBytes.isWhitespace(value[equals]) { equals += 1 }
        return equals
    }
}

extension OriginMapping {
    /// Domain, Path and Secure of a Set-Cookie in the client's terms; everything else byte for byte.
    private func appendSetCookie(_ value: Span<UInt8>, _ client: CanonicalRequest, to out: ByteBuffer) -> Bool {
        var parts = SetCookieParts()
        guard let pair = parts.next(in: value) else { return false }
        out.append(value.extracting(pair.whole))
        // A browser does not take a Secure cookie from a plain connection, nor SameSite=None without Secure.
        let losesSecure = client.scheme == .http && origin.scheme == .https
        while let part = parts.next(in: value) {
            let name = value.extracting(part.name ?? part.value)
            if CanonicalBytes.equalsIgnoringCase(name, "domain"), part.name != nil {
                appendDomain(value, part, client, to: out)
            } else if CanonicalBytes.equalsIgnoringCase(name, "path"), part.name != nil {
                appendPath(value, part, to: out)
            } else if losesSecure && CanonicalBytes.equalsIgnoringCase(name, "secure") {
                continue
            } else if losesSecure && CanonicalBytes.equalsIgnoringCase(name, "samesite")
                && CanonicalBytes.equalsIgnoringCase(value.extracting(part.value), "none")
            {
                continue
            } else {
                appendAttribute(value.extracting(part.whole), to: out)
            }
        }
        return true
    }

    private func appendAttribute(_ text: Span<UInt8>, to out: ByteBuffer) {
        out.append(UInt8(ascii: ";"))
        out.append(text)
    }

    /// A domain that the client's host lies in stays; one of the upstream's becomes the client's host, or nothing where
    /// that is an address or a single label, which no Domain may be.
    private func appendDomain(
        _ value: Span<UInt8>, _ part: SetCookieParts.Part, _ client: CanonicalRequest, to out: ByteBuffer
    ) {
        var start = part.value.lowerBound
        if start < part.value.upperBound && value[start] == UInt8(ascii: ".") { start += 1 }
        let domain = value.extracting(start..<part.value.upperBound)
        let known = externalHost(of: client)
        let isUpstream = HopCookies.isWithin(origin.host, domain) || HopCookies.isWithin(origin.sentHost, domain)
        if !isUpstream || HopCookies.isWithin(known, domain) {
            return appendAttribute(value.extracting(part.whole), to: out)
        }
        guard HopCookies.hasDot(known) else { return }
        out.append("; Domain=")
        out.append(known)
    }

    @_lifetime(immortal)
    private func externalHost(of client: CanonicalRequest) -> Span<UInt8> {
        host.clear()
        let parts = Authority.append(client.externalAuthority.span, to: host)
        return host.span(ByteRange(0, parts?.hostLength ?? 0))
    }

    private func appendPath(_ value: Span<UInt8>, _ part: SetCookieParts.Part, to out: ByteBuffer) {
        let start = out.count
        if let paths, !paths.isIdentity {
            out.append("; Path=")
            if paths.appendClientCookiePath(value.extracting(part.value), to: out) { return }
            out.truncate(to: start)
        }
        appendAttribute(value.extracting(part.whole), to: out)
    }
}
