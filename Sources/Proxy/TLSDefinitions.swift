package import Transport

/// `listeners[].tls`: paths are absolute.
package struct ListenerTLS: Sendable, Hashable {
    package var certificates: [CertificateFiles]
    package var clientAuthorities: String?
    package var clientRevocations: String?
    package var clientAuthentication = TLSServerSettings.ClientAuthentication.none
    package var minimumVersion = TLSVersion.v12
    /// In the order of preference.
    package var protocols = ApplicationProtocol.offered
    package init(certificates: [CertificateFiles]) { self.certificates = certificates }

    package var files: [String] {
        certificates.flatMap { [$0.certificate, $0.key] } + [clientAuthorities, clientRevocations].compactMap { $0 }
    }
}

/// A certificate with its chain, and its key, both PEM; may be one file.
package struct CertificateFiles: Sendable, Hashable {
    package var certificate: String
    package var key: String
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// `upstreams.*.tls`: paths are absolute.
package struct UpstreamTLS: Sendable {
    /// Nil: the system's.
    package var authorities: String?
    package var certificate: CertificateFiles?
    /// Nil: the host of the server's URL.
    package var serverName: String?
    package var verifies = true
    package init() {}

    package var files: [String] {
        [authorities].compactMap { $0 } + (certificate.map { [$0.certificate, $0.key] } ?? [])
    }
}
