internal import HTTP

// Who the client is and how it came, as far as trusted proxies vouch for it.

extension CanonicalRequest {
    /// Takes the connection's facts, and from a trusted peer what it says of its own client.
    func takeClient(_ client: ClientFacts, trusted: [AddressRange]) {
        scheme = client.scheme
        clientAddress = client.peerAddress
        externalAuthority.clear()
        externalAuthority.append(authority.span)
        externalPort = client.listenerPort
        clientAddressText.clear()
        guard client.peerIsTrusted else { return clientAddressText.append(client.addressText.span) }

        if let address = forwardedClient(trusted) {
            clientAddress = address
            address.append(to: clientAddressText)
        } else {
            clientAddressText.append(client.addressText.span)
        }
        takeForwardedScheme()
        takeForwardedHost()
        takeForwardedPort()
    }

    /// Walks the chain of proxies from its end (RFC 7239 section 5.2): the first address that is not trusted is the
    /// client.
    ///
    /// nil: there is no chain, or something in the part that was walked is no address; the peer is all that is known
    /// then.
    private func forwardedClient(_ trusted: [AddressRange]) -> IPAddress? {
        let isForwarded = !fields.contains(.forwardedFor)
        if isForwarded && !fields.contains(.forwarded) { return nil }
        collectElements(isForwarded ? .forwarded : .xForwardedFor)
        var client: IPAddress?
        var index = elements.count
        while index > 0 {
            index -= 1
            let element = head.bytes.span(elements[index])
            guard let address = isForwarded ? ForwardedElement.address(in: element) : ForwardedElement.node(element)
            else {
                return nil
            }
            client = address
            if !isTrusted(address, trusted) { break }
        }
        return client
    }

    private func isTrusted(_ address: IPAddress, _ trusted: [AddressRange]) -> Bool {
        for range in trusted where range.contains(address) { return true }
        return false
    }

    private func collectElements(_ id: FieldID) {
        elements.removeAll(keepingCapacity: true)
        for line in head.lines where line.id == id {
            let value = head.bytes.span(line.value)
            var list = ListElements()
            while let range = list.next(in: value) {
                elements.append(ByteRange(Int(line.value.start) + range.lowerBound, range.count))
            }
        }
    }

    /// The last element: what the peer that we trust has added, whoever began the list.
    private func lastElement(_ id: FieldID) -> ByteRange? {
        collectElements(id)
        return elements.last
    }

    private func takeForwardedScheme() {
        if fields.contains(.forwardedProto) {
            guard let range = lastElement(.xForwardedProto), let said = Scheme(head.bytes.span(range)) else { return }
            scheme = said
        } else if fields.contains(.forwarded) {
            guard let range = lastElement(.forwarded) else { return }
            let element = head.bytes.span(range)
            guard let proto = ForwardedElement.parameter("proto", in: element),
                let said = Scheme(element.extracting(proto))
            else { return }
            scheme = said
        }
    }

    private func takeForwardedHost() {
        guard fields.contains(.forwardedHost), let range = lastElement(.xForwardedHost) else { return }
        let start = externalAuthority.count
        guard Authority.append(head.bytes.span(range), to: externalAuthority) != nil else { return }
        externalAuthority.removeFirst(start)
    }

    private func takeForwardedPort() {
        if fields.contains(.forwardedPort) {
            guard let range = lastElement(.xForwardedPort),
                let said = CanonicalBytes.decimal(head.bytes.span(range), limit: 65535)
            else { return }
            externalPort = UInt16(said)
        } else if fields.contains(.forwardedProto) || fields.contains(.forwarded) {
            // Our listener's port is none that the client knows of.
            externalPort = port ?? scheme.defaultPort
        }
    }
}

extension Scheme {
    /// In any case; nil for any other scheme than these two.
    public init?(_ text: Span<UInt8>) {
        if CanonicalBytes.equalsIgnoringCase(text, "http") {
            self = .http
        } else if CanonicalBytes.equalsIgnoringCase(text, "https") {
            self = .https
        } else {
            return nil
        }
    }
}

/// One hop of Forwarded (RFC 7239 section 4) or X-Forwarded-For.
enum ForwardedElement {
    /// An address, as such or with a port, an IPv6 one in brackets or not; nil for names, `unknown` and anything else.
    static func node(_ text: Span<UInt8>) -> IPAddress? {
        if text.isEmpty { return nil }
        if text[0] == UInt8(ascii: "[") {
            guard let close = CanonicalBytes.firstIndex(of: UInt8(ascii: "]"), in: text),
                isPort(text, from: close + 1)
            else { return nil }
            return IPAddress.parseIPv6(text.extracting(1..<close))
        }
        if let address = IPAddress.parse(text) { return address }
        guard let colon = CanonicalBytes.firstIndex(of: UInt8(ascii: ":"), in: text), isPort(text, from: colon),
            let address = IPAddress.parseIPv4(text.extracting(0..<colon))
        else { return nil }
        return IPAddress(v4: address)
    }

    private static func isPort(_ text: Span<UInt8>, from colon: Int) -> Bool {
        if colon == text.count { return true }
        guard text[colon] == UInt8(ascii: ":") else { return false }
        return CanonicalBytes.decimal(text.extracting((colon + 1)..<text.count), limit: 65535) != nil
    }

    static func address(in element: Span<UInt8>) -> IPAddress? {
        guard let range = parameter("for", in: element) else { return nil }
        return node(element.extracting(range))
    }

    /// The value of a parameter without its quotes; `name` is lower-case. What a backslash stands in matches nothing
    /// later.
    static func parameter(_ name: StaticString, in element: Span<UInt8>) -> Range<Int>? {
        var parameters = ListElements(separator: UInt8(ascii: ";"))
        while let range = parameters.next(in: element) {
            let pair = element.extracting(range)
            guard let equals = CanonicalBytes.firstIndex(of: UInt8(ascii: "="), in: pair),
                CanonicalBytes.equalsIgnoringCase(pair.extracting(0..<equals), name)
            else { continue }
            let start = range.lowerBound + equals + 1
            let end = range.upperBound
            if end - start >= 2 && element[start] == UInt8(ascii: "\"") && element[end - 1] == UInt8(ascii: "\"") {
                return (start + 1)..<(end - 1)
            }
            return start..<end
        }
        return nil
    }
}
