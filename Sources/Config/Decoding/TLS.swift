internal import Policy
internal import Proxy
internal import Transport

extension ConfigurationDecoder {
    /// `tls` and `protocols` of a listener.
    func listenerTLS(_ listener: Fields) -> ListenerTLS? {
        let protocols = listener.list("protocols").compactMap { word($0).flatMap(ApplicationProtocol.init(rawValue:)) }
        guard let fields = listener.fields("tls") else {
            if let value = listener["protocols"], protocols.contains(.http2), !listener.has("tls") {
                fail(value, "`h2` is spoken with TLS", hint: "write `h2c: true` for HTTP/2 without TLS")
            }
            return nil
        }
        var tls = ListenerTLS(certificates: [])
        for item in fields.list("certificates") {
            guard let entry = self.fields(item), let certificate = entry["cert"], let key = entry["key"],
                let files = certificateFiles(certificate, key)
            else { continue }
            tls.certificates.append(files)
        }
        if let list = fields["certificates"], list.node.items?.isEmpty ?? false { fail(list, "`certificates` is empty") }
        if !protocols.isEmpty { tls.protocols = protocols }
        if fields.word("min_version") == "1.3" { tls.minimumVersion = .v13 }
        clientAuthentication(fields, into: &tls)
        return tls
    }

    private func clientAuthentication(_ fields: Fields, into tls: inout ListenerTLS) {
        tls.clientAuthorities = fields["client_ca"].flatMap { file($0, TLSFiles.authorities) }
        tls.clientRevocations = fields["client_crl"].flatMap { file($0, TLSFiles.revocations) }
        switch fields.word("client_auth") {
        case "request": tls.clientAuthentication = .request
        case "require": tls.clientAuthentication = .require
        case "none": tls.clientAuthentication = .none
        default: tls.clientAuthentication = fields.has("client_ca") ? .require : .none
        }
        guard !fields.has("client_ca") else { return }
        if tls.clientAuthentication != .none, let value = fields["client_auth"] {
            fail(value, "clients' certificates can not be verified without `client_ca`", hint: "name the file of the authorities")
        }
        if let key = fields.key("client_crl") { fail(key, "`client_crl` belongs to a `client_ca`") }
    }

    /// `tls` of an upstream.
    func upstreamTLS(_ upstream: Fields, _ servers: [ServerDefinition]) -> UpstreamTLS {
        var tls = UpstreamTLS()
        guard let fields = upstream.fields("tls") else { return tls }
        if let key = upstream.key("tls"), !servers.isEmpty, !servers.contains(where: { $0.scheme == .https }) {
            warn(key, "without effect: no server of this upstream has an `https` URL")
        }
        tls.authorities = fields["ca"].flatMap { file($0, TLSFiles.authorities) }
        switch (fields["cert"], fields["key"]) {
        case (let certificate?, let key?): tls.certificate = certificateFiles(certificate, key)
        case (let certificate?, nil): fail(certificate, "`key` is missing: the key of this certificate")
        case (nil, let key?): fail(key, "`cert` is missing: the certificate of this key")
        case (nil, nil): break
        }
        if let name = fields["server_name"] {
            tls.serverName = parsed(name) { (text) throws(SyntaxProblem) -> String in
                let host = try HostSyntax.hostAndPort(text[...])
                if host.port != nil { throw SyntaxProblem("a server's name has no port") }
                return host.host
            }
        }
        if fields.boolean("insecure_skip_verify") ?? false, let key = fields.key("insecure_skip_verify") {
            tls.verifies = false
            warn(key, "the servers of this upstream are not verified: whoever is in between can read and change everything")
        }
        return tls
    }

    /// Reads both, so that what is wrong with them is known before anything depends on them.
    private func certificateFiles(_ certificate: Value, _ key: Value) -> CertificateFiles? {
        guard let certificatePath = text(certificate), let keyPath = text(key) else { return nil }
        let files = CertificateFiles(certificate: absolute(certificatePath), key: absolute(keyPath))
        do throws(TLSFiles.Failure) {
            if try TLSFiles.certificate(files).hasExpired { warn(certificate, "the certificate has expired") }
        } catch {
            let faulty = error.path == files.certificate ? certificate : key
            fail(faulty, "`\(quoted(faulty.node.text ?? error.path))`: \(error.text)")
            return nil
        }
        if FileContent.isReadableByOthers(files.key) {
            warn(key, "others can read this private key", hint: "chmod o-r `\(quoted(keyPath))`")
        }
        return files
    }

    private func file(_ value: Value, _ read: (String) throws(TLSFiles.Failure) -> [UInt8]) -> String? {
        guard let path = text(value).map(absolute) else { return nil }
        do throws(TLSFiles.Failure) {
            _ = try read(path)
            return path
        } catch {
            fail(value, "`\(quoted(value.node.text ?? ""))`: \(error.text)")
            return nil
        }
    }

    /// Where nobody is trusted, nobody could connect.
    func checkProxyProtocol(_ root: Fields, _ configuration: Configuration) {
        guard configuration.trustedProxies.isEmpty else { return }
        for (listener, item) in zip(configuration.listeners, root.list("listeners")) where listener.takesProxyProtocol {
            if case .unix = listener.address { continue }
            fail(
                item, "`proxy_protocol` is taken from `trusted_proxies` only, and there are none",
                hint: "add `trusted_proxies` with the addresses of the proxies in front")
        }
    }
}
