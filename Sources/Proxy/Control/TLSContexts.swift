internal import Policy
public import Transport

/// What one worker makes TLS sessions from: for each listener and each upstream of a configuration that has TLS.
///
/// The control plane makes it from the files as they are now, one for each worker, and hands it over.
final class TLSContexts {
    var listeners: [TLSServerContext?] = []
    var upstreams: [TLSClientContext?] = []
    let tickets: TicketKeyRing?
    /// For redirect hops to other origins: verified by the system's authorities, without a certificate of ours.
    lazy var system: TLSClientContext? = try? TLSClientContext(TLSClientSettings())

    /// Of a configuration without TLS: OpenSSL is not so much as asked for its version.
    init() { tickets = nil }

    /// `keys`: nil when no listener has TLS.
    init(_ configuration: Configuration, keys: TicketKeys?) throws(TLSFiles.Failure) {
        let ring = keys.map { TicketKeyRing($0) }
        tickets = ring
        for listener in configuration.listeners {
            guard let tls = listener.tls, let ring else {
                listeners.append(nil)
                continue
            }
            let settings = try TLSFiles.settings(tls)
            do throws(TLSError) {
                listeners.append(try TLSServerContext(settings, tickets: ring))
            } catch {
                throw TLSFiles.Failure(path: listener.display, text: error.text)
            }
        }
        for upstream in configuration.upstreams {
            guard upstream.usesTLS else {
                upstreams.append(nil)
                continue
            }
            var settings = try TLSFiles.settings(upstream.tls)
            settings.protocols = upstream.applicationProtocol.offered
            do throws(TLSError) {
                upstreams.append(try TLSClientContext(settings))
            } catch {
                throw TLSFiles.Failure(path: upstream.name, text: error.text)
            }
        }
    }

    func listener(_ index: Int) -> TLSServerContext? { index < listeners.count ? listeners[index] : nil }
    func upstream(_ index: Int) -> TLSClientContext? { index < upstreams.count ? upstreams[index] : nil }
}

/// Certificates, keys and lists, read from their files.
public enum TLSFiles {
    public struct Failure: Error {
        public var path: String
        public var text: String
    }

    private static let largest = 16 << 20

    public static func settings(_ tls: ListenerTLS) throws(Failure) -> TLSServerSettings {
        var settings = TLSServerSettings(certificates: try tls.certificates.map(certificate))
        settings.clientAuthorities = try tls.clientAuthorities.map(authorities)
        settings.clientRevocations = try tls.clientRevocations.map(revocations)
        settings.clientAuthentication = tls.clientAuthentication
        settings.minimumVersion = tls.minimumVersion
        settings.protocols = tls.protocols
        return settings
    }

    public static func settings(_ tls: UpstreamTLS) throws(Failure) -> TLSClientSettings {
        var settings = TLSClientSettings()
        settings.authorities = try tls.authorities.map(authorities)
        settings.certificate = try tls.certificate.map(certificate)
        settings.verifies = tls.verifies
        return settings
    }

    public static func certificate(_ files: CertificateFiles) throws(Failure) -> TLSCertificate {
        // Both may be one file.
        var certificate = try read(files.certificate)
        defer { for index in certificate.indices { certificate[index] = 0 } }
        var key = try read(files.key)
        defer { for index in key.indices { key[index] = 0 } }
        do throws(TLSError) {
            return try TLSCertificate(certificate: certificate, key: key)
        } catch {
            throw Failure(path: error.isAboutKey ? files.key : files.certificate, text: error.text)
        }
    }

    public static func authorities(_ path: String) throws(Failure) -> [UInt8] {
        try checked(path) { (text) throws(TLSError) in try TLSFileCheck.authorities(text) }
    }

    public static func revocations(_ path: String) throws(Failure) -> [UInt8] {
        try checked(path) { (text) throws(TLSError) in try TLSFileCheck.revocations(text) }
    }

    private static func checked(_ path: String, _ check: ([UInt8]) throws(TLSError) -> Void) throws(Failure) -> [UInt8] {
        let text = try read(path)
        do throws(TLSError) { try check(text) } catch { throw Failure(path: path, text: error.text) }
        return text
    }

    private static func read(_ path: String) throws(Failure) -> [UInt8] {
        do throws(FileSystemError) {
            return try FileContent.read(path, limit: largest)
        } catch {
            throw Failure(path: path, text: error.description)
        }
    }
}

extension UpstreamDefinition.Choice {
    /// In a TLS handshake.
    var offered: [ApplicationProtocol] {
        switch self {
        case .auto, .h2c: ApplicationProtocol.offered
        case .http1: [.http11]
        case .h2: [.http2]
        }
    }
}

extension UpstreamDefinition {
    var usesTLS: Bool { servers.contains { $0.scheme == .https } }
}
