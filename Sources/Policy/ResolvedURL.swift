public import HTTP

/// The URL that a Location leads to (RFC 3986 section 5.2), in canonical form. One object serves all hops of an
/// exchange.
public final class ResolvedURL {
    public private(set) var scheme = Scheme.http
    /// `host[:port]` as it is sent in Host: lower case, without the scheme's default port.
    public let authority = ByteBuffer(capacity: 64)
    /// Brackets of an IPv6 literal included.
    public private(set) var hostLength = 0
    /// nil: the scheme's default port.
    public private(set) var explicitPort: UInt16?
    /// Origin-form.
    public let target = ByteBuffer(capacity: 256)
    public private(set) var pathLength = 0
    /// Without the number sign; escaped where the Location was not.
    public let fragment = ByteBuffer(capacity: 32)
    public private(set) var hasFragment = false

    private let path = ByteBuffer(capacity: 256)
    private var options = CanonicalTarget.Options()

    public init() {}

    public var host: Span<UInt8> {
        @_lifetime(immortal) get {
            return authority.span(ByteRange(0, hostLength))
        }
    }

    public var port: UInt16 { explicitPort ?? scheme.defaultPort }

    /// At the start of an exchange: no fragment to inherit; paths will be canonical in the way that the client's are.
    public func reset(_ settings: CompiledCanonicalSettings) {
        options = settings.target
        // RFC 3986 section 5.2.4: in a reference they are no trick.
        options.rejectsDotSegments = false
        authority.clear()
        hostLength = 0
        explicitPort = nil
        target.clear()
        pathLength = 0
        fragment.clear()
        hasFragment = false
    }

    /// Resolves a Location against the URL of the request that it answers.
    ///
    /// False, and only the fragment is still of use, when it is no http or https URL that can be sent: other schemes,
    /// user information, an authority or a path that is refused from clients too. A Location without a fragment
    /// inherits that of the hop before (RFC 9110 section 10.2.2).
    public func resolve(_ reference: Span<UInt8>, against base: CanonicalRequest) -> Bool {
        let parts = URLParts(reference)
        scheme = base.scheme
        if let schemeEnd = parts.schemeEnd {
            guard let named = Scheme(reference.extracting(0..<schemeEnd)) else { return false }
            scheme = named
            // RFC 3986 section 5.2.2 is strict: `http:x` is no reference to the base, and as a URL it has no host.
            if parts.authority == nil { return false }
        }
        guard takeAuthority(parts, reference, base), takeTarget(parts, reference, base) else { return false }
        guard let start = parts.fragmentStart else { return true }
        return takeFragment(reference.extracting(start..<reference.count))
    }

    private func takeAuthority(_ parts: URLParts, _ reference: Span<UInt8>, _ base: CanonicalRequest) -> Bool {
        authority.clear()
        let result: Authority?
        if let own = parts.authority {
            result = Authority.append(reference.extracting(own), to: authority)
        } else {
            result = Authority.append(base.authority.span, to: authority)
        }
        guard let result else { return false }
        hostLength = result.hostLength
        explicitPort = result.port
        if explicitPort == scheme.defaultPort {
            explicitPort = nil
            authority.truncate(to: hostLength)
        }
        return true
    }

    private func takeTarget(_ parts: URLParts, _ reference: Span<UInt8>, _ base: CanonicalRequest) -> Bool {
        target.clear()
        path.clear()
        let own = reference.extracting(parts.path)
        let keepsBasePath = own.isEmpty && parts.authority == nil
        if keepsBasePath {
            path.append(base.path)
        } else if parts.authority != nil || own[0] == UInt8(ascii: "/") {
            path.append(own)
        } else {
            appendDirectory(of: base)
            path.append(own)
        }
        if path.isEmpty || path[0] == UInt8(ascii: "*") {
            path.clear()
            path.append(UInt8(ascii: "/"))
        }
        do {
            try CanonicalTarget.appendPath(path.span, options, to: target)
            pathLength = target.count
            if let query = parts.query {
                target.append(UInt8(ascii: "?"))
                try CanonicalTarget.appendLenientQuery(reference.extracting(query), to: target)
            } else if keepsBasePath && base.target.count > base.pathLength {
                target.append(UInt8(ascii: "?"))
                target.append(base.query)
            }
            return true
        } catch {
            return false
        }
    }

    /// RFC 3986 section 5.2.3: all of the base path up to its last slash.
    private func appendDirectory(of base: CanonicalRequest) {
        let basePath = base.path
        var end = basePath.count
        while end > 0 && basePath[end - 1] != UInt8(ascii: "/") { end -= 1 }
        if end == 0 { path.append(UInt8(ascii: "/")) }
        path.append(basePath.extracting(0..<end))
    }

    private func takeFragment(_ text: Span<UInt8>) -> Bool {
        fragment.clear()
        hasFragment = true
        do {
            try CanonicalTarget.appendLenientQuery(text, to: fragment)
            return true
        } catch {
            fragment.clear()
            hasFragment = false
            return false
        }
    }

    /// Appends the absolute URL, for a Location that is handed on: a relative one would be resolved against the wrong
    /// URL.
    public func append(to out: ByteBuffer) {
        out.append(scheme == .https ? "https://" : "http://")
        out.append(authority.span)
        out.append(target.span)
        if hasFragment {
            out.append(UInt8(ascii: "#"))
            out.append(fragment.span)
        }
    }
}

/// The components of a URI reference as RFC 3986 appendix B cuts it, not looked at any closer.
struct URLParts {
    var schemeEnd: Int?
    var authority: Range<Int>?
    var path: Range<Int>
    var query: Range<Int>?
    var fragmentStart: Int?

    init(_ text: Span<UInt8>) {
        var end = text.count
        if let number = CanonicalBytes.firstIndex(of: UInt8(ascii: "#"), in: text) {
            fragmentStart = number + 1
            end = number
        }
        var position = 0
        if let colon = URLParts.endOfScheme(text, end) {
            schemeEnd = colon
            position = colon + 1
        }
        let slash = UInt8(ascii: "/")
        if end - position >= 2 && text[position] == slash && text[position + 1] == slash {
            position += 2
            let start = position
            while position < end && text[position] != slash && text[position] != UInt8(ascii: "?") { position += 1 }
            authority = start..<position
        }
        let pathStart = position
        while position < end && text[position] != UInt8(ascii: "?") { position += 1 }
        path = pathStart..<position
        if position < end { query = (position + 1)..<end }
    }

    /// The colon behind `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )`.
    private static func endOfScheme(_ text: Span<UInt8>, _ end: Int) -> Int? {
        var index = 0
        while index < end {
            let byte = text[index]
            if byte == UInt8(ascii: ":") { return index == 0 ? nil : index }
            let isLetter = (byte | 0x20) &- 0x61 < 26
            let mayFollow =
                CanonicalBytes.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
            if !isLetter && (index == 0 || !mayFollow) { return nil }
            index += 1
        }
        return nil
    }
}
