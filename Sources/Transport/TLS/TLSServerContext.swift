internal import COpenSSL
internal import Glibc

/// What a listener says of TLS, with the content of its files.
public struct TLSServerSettings {
    public enum ClientAuthentication: Sendable { case none, request, require }

    public var certificates: [TLSCertificate]
    public var clientAuthorities: [UInt8]?
    public var clientRevocations: [UInt8]?
    public var clientAuthentication = ClientAuthentication.none
    public var minimumVersion = TLSVersion.v12
    /// In the order of preference.
    public var protocols = ApplicationProtocol.offered

    public init(certificates: [TLSCertificate]) { self.certificates = certificates }
}

/// A listener's side of TLS for one worker: its certificates, and what sessions are made from.
///
/// SAFETY: the contexts are owned; sessions hold this object, so what the contexts' callbacks are given outlives every use.
public final class TLSServerContext {
    private let table: ServerNameTable
    private let certificates: [TLSCertificate]
    /// One for each group of the table.
    private var contexts: [OpaquePointer] = []
    private let ring: TicketKeyRing
    /// The protocols' wire form behind its length.
    private let offer: UnsafeMutableBufferPointer<UInt8>

    public init(_ settings: TLSServerSettings, tickets ring: TicketKeyRing) throws(TLSError) {
        certificates = settings.certificates
        table = ServerNameTable(certificates.map { ($0.names, $0.keyType) })
        self.ring = ring
        let list = ApplicationProtocol.wireForm(settings.protocols)
        offer = .allocate(capacity: list.count + 1)
        _ = unsafe offer.initialize(from: [UInt8(list.count)] + list)
        for group in table.groups { contexts.append(try makeContext(settings, group)) }
        for context in contexts { nameCallback(context) }
    }

    deinit {
        for context in contexts { unsafe SSL_CTX_free(context) }
        unsafe offer.deallocate()
    }

    private func makeContext(_ settings: TLSServerSettings, _ group: ServerNameTable.Group) throws(TLSError) -> OpaquePointer {
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { throw .taken("no TLS context to be had") }
        do throws(TLSError) {
            unsafe copenssl_set_modes(context)
            unsafe copenssl_set_server_options(context)
            unsafe copenssl_set_minimum_version(context, settings.minimumVersion.number)
            guard unsafe SSL_CTX_set_cipher_list(context, TLSParameters.ciphers) == 1,
                unsafe SSL_CTX_set_ciphersuites(context, TLSParameters.suites) == 1,
                unsafe copenssl_set_groups(context, TLSParameters.groups) == 1
            else { throw .taken("OpenSSL does not know the ciphers") }
            for index in group { try certificates[index].install(in: context) }
            try demandClients(settings, of: context)
            unsafe SSL_CTX_set_num_tickets(context, 1)
            unsafe SSL_CTX_set_timeout(context, TicketKeys.lifetime)
            unsafe copenssl_use_tickets(context, ring.state)
            unsafe copenssl_offer_protocols(context, offer.baseAddress)
        } catch {
            unsafe SSL_CTX_free(context)
            throw error
        }
        return context
    }

    /// A session is resumed only where the same is asked of clients: what that is becomes part of the session's context.
    private func demandClients(_ settings: TLSServerSettings, of context: OpaquePointer) throws(TLSError) {
        var identity: [UInt8] = [0]
        if settings.clientAuthentication != .none, let authorities = settings.clientAuthorities {
            identity = [settings.clientAuthentication == .require ? 2 : 1] + authorities + (settings.clientRevocations ?? [])
            let demand = settings.clientAuthentication == .require ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | demand, nil)
            let store = unsafe SSL_CTX_get_cert_store(context)
            for one in try PEM.certificates(authorities) {
                unsafe X509_STORE_add_cert(store, one)
                // Told to clients, who choose by it.
                unsafe SSL_CTX_add_client_CA(context, one)
                unsafe X509_free(one)
            }
            for one in try settings.clientRevocations.map(PEM.revocations) ?? [] {
                unsafe copenssl_add_revocations(store, one)
                unsafe X509_CRL_free(one)
            }
        }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        unsafe EVP_Digest(identity, identity.count, &digest, nil, EVP_sha256(), nil)
        unsafe SSL_CTX_set_session_id_context(context, digest, 32)
    }

    private func nameCallback(_ context: OpaquePointer) {
        unsafe copenssl_set_server_name_callback(
            context,
            { ssl, _, argument in
                guard let ssl = unsafe ssl, let argument = unsafe argument else { return SSL_TLSEXT_ERR_NOACK }
                return unsafe Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue().choose(for: ssl)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Shows the certificates that are for the name which the client asked for.
    private func choose(for ssl: OpaquePointer) -> Int32 {
        guard let name = Self.serverName(of: ssl), let group = table.group(for: name) else { return SSL_TLSEXT_ERR_NOACK }
        unsafe SSL_set_SSL_CTX(ssl, contexts[group])
        return SSL_TLSEXT_ERR_OK
    }

    private static func serverName(of ssl: OpaquePointer) -> String? {
        guard let text = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else { return nil }
        let name = unsafe String(cString: text).lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// The names that requests over a connection may be for: nil where the client asked for none that a certificate is for, so
    /// that nothing is promised.
    func promise(of ssl: OpaquePointer) -> [CertificateNames]? {
        guard let name = Self.serverName(of: ssl), let group = table.group(for: name) else { return nil }
        return table.groups[group].map { certificates[$0].names }
    }

    /// The server's end of a connection that has just been accepted.
    public func session(on wire: TLSWire) throws(TLSError) -> TLSSession {
        guard let ssl = unsafe SSL_new(contexts[table.defaultGroup]) else { throw .taken("no TLS session to be had") }
        return try TLSSession(ssl, on: wire, role: .server(self))
    }
}
