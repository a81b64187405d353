internal import HTTP
internal import Policy
internal import Transport

/// What a client's TLS handshake has settled about the hosts that it may ask for (RFC 9110 section 7.4).
///
/// A client that gave a name (SNI) and was shown a certificate for it knows that it speaks with that name's server; a request for
/// a host that the certificate is not for was meant for another server.
enum HostPromise {
    /// No TLS, no name, or none that a certificate is for: any host.
    case none
    /// The hosts of these certificates. `last` is the host of the request before, which most often is that of the next.
    case names([CertificateNames], last: ByteBuffer)

    func covers(_ host: Span<UInt8>) -> Bool {
        // Without a host, as HTTP/1.0 has it, a request is for whom it was sent to.
        guard case .names(let names, let last) = self, !host.isEmpty else { return true }
        if last.equals(host) { return true }
        var text = String(decoding: Array(copying: host), as: UTF8.self)
        if text.hasSuffix(".") { text.removeLast() }
        guard names.contains(where: { $0.covers(text) }) else { return false }
        last.clear()
        last.append(host)
        return true
    }
}

extension ClientConnection {
    /// The handshake is over: the client is known as far as it will be.
    func takeHandshake() {
        guard let tls else { return }
        loop.setDeadline(self, after: worker.timeouts.header)
        takesHTTP2 = tls.negotiatedProtocol == .http2
        worker.metrics.handshakeCompleted(resumed: tls.wasResumed)
        if let names = tls.promisedNames { promise = .names(names, last: ByteBuffer(capacity: 32)) }
        if let identity = tls.peerIdentity {
            facts.setCertificate(subject: identity.subject, alternativeNames: identity.alternativeNames)
        }
    }

    /// The handshake failed: told, counted, and explained to who meant plain HTTP.
    func noteHandshakeFailure() {
        guard let tls, !tls.isEstablished, let failure = tls.failure else { return }
        worker.metrics.handshakeFailed()
        worker.log(.debug, "TLS with a client failed: \(failure.text)")
        if failure.isPlainRequest {
            let answer = Self.advice
            unsafe transmit(UnsafeRawBufferPointer(start: answer.utf8Start, count: answer.utf8CodeUnitCount))
        }
    }

    private static let advice: StaticString = """
        HTTP/1.1 400 Bad Request\r
        Authproxy-Error: bad_request\r
        Content-Type: text/plain\r
        Content-Length: 45\r
        Connection: close\r
        \r
        This address speaks https, the request http.

        """

    // MARK: The PROXY protocol

    /// Whom an upstream is told of.
    var proxiedClient: ProxiedClient { ProxiedClient(facts, descriptor: descriptor) }

    /// Takes the header once all of it is there; false when there is nothing to be had at present.
    ///
    /// It is looked at before it is taken, and only it is taken: what follows may be TLS.
    func readProxyHeader() -> Bool {
        var header = ProxyHeader.Reading.incomplete
        var isFaulty = false
        let seen = withUnsafeTemporaryAllocation(byteCount: ProxyHeader.longest, alignment: 1) { bytes in
            let result = unsafe SystemCalls.peek(descriptor, into: bytes)
            guard case .bytes(let count) = result else { return result }
            do throws(ProxyHeader.Malformed) {
                let span = unsafe Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[0..<count])) as Span<UInt8>
                header = try ProxyHeader.parse(span)
                if case .header(let length, _) = header {
                    _ = unsafe SystemCalls.receive(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes[0..<length]))
                }
            } catch {
                isFaulty = true
            }
            return result
        }
        if isFaulty {
            worker.log(.warn, "a connection from \(facts.addressString) did not begin as the PROXY protocol demands")
            close()
            return false
        }
        guard case .bytes = seen else {
            seen == .wouldBlock ? isReadable = false : close()
            return false
        }
        guard case .header(_, let source) = header else {
            peerFinished ? close() : (isReadable = false)
            return false
        }
        if let source { becomeConnection(of: facts(for: source)) } else { becomeConnection(of: facts) }
        return true
    }

    private func facts(for source: SocketAddress) -> ClientFacts {
        let address = source.ipBits.map { IPAddress(high: $0.high, low: $0.low) }
        let text = ByteBuffer(capacity: 16)
        address?.append(to: text)
        let isTrusted = address.map { address in worker.snapshot.trustedProxies.contains { $0.contains(address) } } ?? false
        return ClientFacts(
            peerAddress: address, peerPort: source.port, scheme: facts.scheme, listenerPort: facts.listenerPort,
            peerIsTrusted: isTrusted, addressText: text)
    }
}
