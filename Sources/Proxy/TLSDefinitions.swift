public import Transport

/// `listeners[].tls`: paths are absolute.
public struct ListenerTLS: Sendable, Hashable {
    public var certificates: [CertificateFiles]
    public var clientAuthorities: String?
    public var clientRevocations: String?
    public var clientAuthentication = TLSServerSettings.ClientAuthentication.none
    public var minimumVersion = TLSVersion.v12
    /// In the order of preference.
    public var protocols = ApplicationProtocol.offered
    public init(certificates: [CertificateFiles]) { self.certificates = certificates }

    public var files: [String] {
        certificates.flatMap { [$0.certificate, $0.key] } + [clientAuthorities, clientRevocations].compactMap { $0 }
    }
}

/// A certificate with its chain, and its key, both PEM; may be one file.
public struct CertificateFiles: Sendable, Hashable {
    public var certificate: String
    public var key: String
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// `upstreams.*.tls`: paths are absolute.
public struct UpstreamTLS: Sendable {
    /// Nil: the system's.
    public var authorities: String?
    public var certificate: CertificateFiles?
    /// Nil: the host of the server's URL.
    public var serverName: String?
    public var verifies = true
    public init() {}

    public var files: [String] {
        [authorities].compactMap { $0 } + (certificate.map { [$0.certificate, $0.key] } ?? [])
    }
}
