public import HTTP

extension CanonicalRequest {
    /// Becomes the canonical request of a redirect hop: the URL is the Location's, the field lines are the client's.
    ///
    /// `client` is the client's own canonical request, never an earlier hop, so that nothing of one hop is carried to
    /// the next. Without its content the request also loses the fields that describe it (RFC 9110 section 15.4). What
    /// the caller has once left behind (`leavesCredentialsBehind`) stays so on later hops.
    public func becomeHop(
        of client: CanonicalRequest, url: ResolvedURL, method: Method, keepsBody: Bool, leavesCredentialsBehind: Bool
    ) {
        head = client.head
        self.method = method
        scheme = url.scheme
        target.clear()
        target.append(url.target.span)
        pathLength = url.pathLength
        pathExtension = CanonicalTarget.pathExtension(of: target, pathLength: pathLength)
        authority.clear()
        authority.append(url.authority.span)
        hostLength = url.hostLength
        port = url.explicitPort
        clientAddress = client.clientAddress
        clientAddressText.clear()
        clientAddressText.append(client.clientAddressText.span)
        externalAuthority.clear()
        externalAuthority.append(client.externalAuthority.span)
        externalPort = client.externalPort
        fields = client.fields
        hostLine = client.hostLine
        HopByHop.clear(&droppedLines, lines: client.head.lines.count)
        for word in 0..<min(droppedLines.count, client.droppedLines.count) {
            droppedLines[word] = client.droppedLines[word]
        }
        if !keepsBody { dropContentFields() }
        self.leavesCredentialsBehind = leavesCredentialsBehind
        isHop = true
    }

    /// Becomes what the upstream has seen of `client`: the same request under the path that `paths` makes of its own. A relative
    /// Location is relative to that.
    public func becomeSent(_ client: CanonicalRequest, paths: PathMapping) {
        scheme = client.scheme
        target.clear()
        paths.appendUpstreamPath(client.path, to: target)
        pathLength = target.count
        if client.target.count > client.pathLength {
            target.append(UInt8(ascii: "?"))
            target.append(client.query)
        }
        authority.clear()
        authority.append(client.authority.span)
        hostLength = client.hostLength
        port = client.port
    }

    private func dropContentFields() {
        for line in 0..<head.lines.count {
            let name = head.bytes.span(head.lines[line].name)
            let describesContent =
                CanonicalBytes.hasPrefix(name, "content-") || CanonicalBytes.equalsIgnoringCase(name, "digest")
                || CanonicalBytes.equalsIgnoringCase(name, "repr-digest")
                || CanonicalBytes.equalsIgnoringCase(name, "last-modified")
            if describesContent { HopByHop.mark(line, in: &droppedLines) }
        }
    }

    /// The port that the URL names or means.
    public var effectivePort: UInt16 { port ?? scheme.defaultPort }
}
