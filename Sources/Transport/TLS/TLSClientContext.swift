internal import COpenSSL
internal import Glibc

/// How an upstream's servers are to prove who they are, and how the proxy does, with the content of the files.
public struct TLSClientSettings {
    /// PEM; nil: the system's.
    public var authorities: [UInt8]?
    public var certificate: TLSCertificate?
    public var verifies = true
    public var protocols = ApplicationProtocol.offered
    public init() {}
}

/// The proxy's side of TLS towards an upstream, for one worker.
///
/// SAFETY: the context is owned, and sessions hold this object.
public final class TLSClientContext {
    private let context: OpaquePointer
    private let verifies: Bool

    public init(_ settings: TLSClientSettings) throws(TLSError) {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw .taken("no TLS context to be had") }
        self.context = context
        verifies = settings.verifies
        unsafe copenssl_set_modes(context)
        unsafe copenssl_set_client_options(context)
        unsafe copenssl_set_minimum_version(context, TLSVersion.v12.number)
        guard unsafe SSL_CTX_set_cipher_list(context, TLSParameters.ciphers) == 1,
            unsafe SSL_CTX_set_ciphersuites(context, TLSParameters.suites) == 1,
            unsafe copenssl_set_groups(context, TLSParameters.groups) == 1
        else { throw .taken("OpenSSL does not know the ciphers") }
        let offer = ApplicationProtocol.wireForm(settings.protocols)
        unsafe SSL_CTX_set_alpn_protos(context, offer, UInt32(offer.count))
        unsafe SSL_CTX_set_verify(context, settings.verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        try trust(settings.authorities)
        try settings.certificate?.install(in: context)
        // Sessions are kept by whoever connects, each for its server.
        unsafe SSL_CTX_sess_set_new_cb(context) { ssl, session in
            guard let ssl = unsafe ssl, let session = unsafe session, let owner = unsafe SSL_get_ex_data(ssl, 0) else { return 0 }
            return unsafe Unmanaged<TLSResumption>.fromOpaque(owner).takeUnretainedValue().keep(session) ? 1 : 0
        }
    }

    deinit { unsafe SSL_CTX_free(context) }

    private func trust(_ authorities: [UInt8]?) throws(TLSError) {
        guard let authorities else {
            // A folder of hashed names: a certificate is read when one that it issued is first seen.
            unsafe SSL_CTX_set_default_verify_paths(context)
            ERR_clear_error()
            return
        }
        let store = unsafe SSL_CTX_get_cert_store(context)
        for one in try PEM.certificates(authorities) {
            unsafe X509_STORE_add_cert(store, one)
            unsafe X509_free(one)
        }
        // What is named is trusted, whether or not it signed itself.
        unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }

    /// The client's end of a connection to a server that must prove to be `name`: a host name or a literal address.
    /// `protocols`: what is offered in the stead of the context's.
    public func session(
        on wire: TLSWire, to name: String, resuming resumption: TLSResumption, offering protocols: [ApplicationProtocol]? = nil
    ) throws(TLSError) -> TLSSession {
        guard let ssl = unsafe SSL_new(context) else { throw .taken("no TLS session to be had") }
        let session = try TLSSession(ssl, on: wire, role: .client(self, resumption))
        if let protocols {
            let offer = ApplicationProtocol.wireForm(protocols)
            unsafe SSL_set_alpn_protos(ssl, offer, UInt32(offer.count))
        }
        let parameters = unsafe SSL_get0_param(ssl)
        // RFC 6066 section 3: an address is no server name.
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, name) != 1 {
            ERR_clear_error()
            guard unsafe copenssl_set_server_name(ssl, name) == 1, unsafe SSL_set1_host(ssl, name) == 1 else {
                throw .taken("the server's name can not be used")
            }
            unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        }
        unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(resumption).toOpaque())
        if let ticket = resumption.session { unsafe SSL_set_session(ssl, ticket) }
        return session
    }
}

/// The latest session with one server, to be resumed by the next connection.
///
/// SAFETY: the session is owned.
public final class TLSResumption {
    fileprivate private(set) var session: OpaquePointer?

    public init() {}

    deinit { unsafe SSL_SESSION_free(session) }

    /// Takes the session over.
    fileprivate func keep(_ fresh: OpaquePointer) -> Bool {
        guard unsafe SSL_SESSION_is_resumable(fresh) == 1 else { return false }
        unsafe SSL_SESSION_free(session)
        session = fresh
        return true
    }

    public func forget() {
        unsafe SSL_SESSION_free(session)
        session = nil
    }
}
