public import HTTP

/// Writes what an upstream is told of the request's way: the forwarded family, Via and CDN-Loop, as one unit.
///
/// The client's own lines of these names never go out. What a trusted proxy said is continued, what anybody else said
/// is forgotten.
public enum ForwardedWriter {
    /// Appends field lines. `request` is the client's canonical request, also when a hop is being sent; `instance` is
    /// this proxy's name without `authproxy-`.
    public static func append(
        _ request: CanonicalRequest, client: ClientFacts, instance: Span<UInt8>, to out: ByteBuffer
    ) {
        appendForwardedFor(request, client, to: out)
        if !request.externalAuthority.isEmpty {
            out.append("X-Forwarded-Host: ")
            out.append(request.externalAuthority.span)
            out.append("\r\n")
        }
        out.append(request.scheme == .https ? "X-Forwarded-Proto: https\r\n" : "X-Forwarded-Proto: http\r\n")
        if request.externalPort != 0 {
            out.append("X-Forwarded-Port: ")
            out.append(decimal: UInt(request.externalPort))
            out.append("\r\n")
        }
        if request.clientAddress != nil {
            out.append("X-Real-IP: ")
            out.append(request.clientAddressText.span)
            out.append("\r\n")
        }
        appendForwarded(request, client, to: out)
        appendWay(request, instance: instance, to: out)
    }

    /// Via and CDN-Loop alone: what is told to origins that are not to know the client.
    public static func appendWay(_ request: CanonicalRequest, instance: Span<UInt8>, to out: ByteBuffer) {
        // RFC 9110 section 7.6.3 and RFC 8586: anybody's entries are continued, trusted or not.
        out.append("Via: ")
        if request.fields.contains(.via) { appendChain(.via, of: request, to: out) }
        switch request.head.version {
        case .http10: out.append("1.0 authproxy-")
        case .http11: out.append("1.1 authproxy-")
        case .http2: out.append("2.0 authproxy-")
        }
        out.append(instance)
        out.append("\r\nCDN-Loop: ")
        if request.fields.contains(.cdnLoop) { appendChain(.cdnLoop, of: request, to: out) }
        out.append("authproxy-")
        out.append(instance)
        out.append("\r\n")
    }

    private static func appendForwardedFor(_ request: CanonicalRequest, _ client: ClientFacts, to out: ByteBuffer) {
        let continues = client.peerIsTrusted && request.fields.contains(.forwardedFor)
        guard continues || client.peerAddress != nil else { return }
        let start = out.count
        out.append("X-Forwarded-For: ")
        let hasChain = continues && appendChain(.xForwardedFor, of: request, to: out)
        if client.peerAddress != nil {
            out.append(client.addressText.span)
        } else if hasChain {
            out.truncate(to: out.count - 2)
        } else {
            return out.truncate(to: start)
        }
        out.append("\r\n")
    }

    /// RFC 7239: what has a colon or brackets is quoted; a peer without an address is `unknown` (section 6.2).
    private static func appendForwarded(_ request: CanonicalRequest, _ client: ClientFacts, to out: ByteBuffer) {
        out.append("Forwarded: ")
        if client.peerIsTrusted && request.fields.contains(.forwarded) { appendChain(.forwarded, of: request, to: out) }
        if let address = client.peerAddress {
            out.append(address.isIPv4 ? "for=" : "for=\"[")
            out.append(client.addressText.span)
            if !address.isIPv4 { out.append("]\"") }
        } else {
            out.append("for=unknown")
        }
        if !request.externalAuthority.isEmpty {
            let authority = request.externalAuthority.span
            let isQuoted = CanonicalBytes.firstIndex(of: UInt8(ascii: ":"), in: authority) != nil
            out.append(isQuoted ? ";host=\"" : ";host=")
            out.append(authority)
            if isQuoted { out.append(UInt8(ascii: "\"")) }
        }
        out.append(request.scheme == .https ? ";proto=https\r\n" : ";proto=http\r\n")
    }

    /// Appends each line's value and `, `; false when all of them are empty.
    @discardableResult
    private static func appendChain(_ id: FieldID, of request: CanonicalRequest, to out: ByteBuffer) -> Bool {
        var hasChain = false
        var line = request.nextLine(id)
        while let current = line {
            let value = request.value(current)
            if !value.isEmpty {
                out.append(value)
                out.append(", ")
                hasChain = true
            }
            line = request.nextLine(id, after: current)
        }
        return hasChain
    }
}
