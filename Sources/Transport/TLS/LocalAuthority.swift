internal import COpenSSL

/// A certificate authority of a user's own, for development: it can vouch for this machine's local names and for nothing else,
/// so that whoever gets hold of its key gains no more than that (name constraints, RFC 5280 section 4.2.1.10).
public struct LocalAuthority {
    /// PEM.
    public let certificate: [UInt8]
    public let key: [UInt8]

    private static let years = 365 * 86_400
    /// Browsers refuse longer ones.
    private static let leafLifetime = 397 * 86_400
    private static let renewal = 30 * 86_400
    private static let names = "DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1"
    private static let constraints = """
        critical,permitted;DNS:localhost,permitted;IP:127.0.0.0/255.0.0.0,\
        permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
        """

    /// One that was made before.
    public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
        _ = try TLSCertificate(certificate: certificate, key: key)
        self.certificate = certificate
        self.key = key
    }

    /// A new one; `owner` is what people see it called by.
    public init(owner: String) throws(TLSError) {
        let key = try Self.makeKey()
        defer { unsafe EVP_PKEY_free(key) }
        let authority = try Self.make(named: "authproxy local authority of \(owner)", lifetime: 10 * Self.years, key: key)
        defer { unsafe X509_free(authority) }
        unsafe X509_set_issuer_name(authority, X509_get_subject_name(authority))
        try Self.extend(
            authority, by: authority,
            [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"), (NID_name_constraints, Self.constraints),
            ])
        guard unsafe X509_sign(authority, key, EVP_sha256()) > 0 else { throw .taken("the authority can not be made") }
        certificate = try Self.pem { unsafe PEM_write_bio_X509($0, authority) }
        self.key = try Self.pem { unsafe copenssl_write_key($0, key) }
    }

    /// A certificate for this machine's local names, with its key.
    public func issue() throws(TLSError) -> (certificate: [UInt8], key: [UInt8]) {
        let issuer = try TLSCertificate(certificate: certificate, key: key)
        let key = try Self.makeKey()
        defer { unsafe EVP_PKEY_free(key) }
        let leaf = try Self.make(named: "localhost", lifetime: Self.leafLifetime, key: key)
        defer { unsafe X509_free(leaf) }
        unsafe X509_set_issuer_name(leaf, X509_get_subject_name(issuer.chain[0]))
        try Self.extend(
            leaf, by: issuer.chain[0],
            [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid"), (NID_subject_alt_name, Self.names),
            ])
        guard unsafe X509_sign(leaf, issuer.key, EVP_sha256()) > 0 else { throw .taken("the certificate can not be made") }
        return (try Self.pem { unsafe PEM_write_bio_X509($0, leaf) }, try Self.pem { unsafe copenssl_write_key($0, key) })
    }

    /// Whether a certificate that was issued before is this authority's and good for a while.
    public func stillVouches(for certificate: [UInt8], key: [UInt8]) -> Bool {
        guard let leaf = try? TLSCertificate(certificate: certificate, key: key),
            let issuer = try? TLSCertificate(certificate: self.certificate, key: self.key)
        else { return false }
        defer { ERR_clear_error() }
        return unsafe X509_verify(leaf.chain[0], X509_get0_pubkey(issuer.chain[0])) == 1
            && copenssl_expires_within(leaf.chain[0], Self.renewal) == 0
    }

    private static func makeKey() throws(TLSError) -> OpaquePointer {
        guard let key = unsafe copenssl_generate_key() else { throw .taken("no key can be made") }
        return key
    }

    private static func make(named name: String, lifetime: Int, key: OpaquePointer) throws(TLSError) -> OpaquePointer {
        guard let certificate = unsafe X509_new() else { throw .taken("out of memory") }
        let isMade =
            unsafe X509_set_version(certificate, 2) == 1 && copenssl_set_serial(certificate) == 1
            && copenssl_set_validity(certificate, lifetime) == 1 && X509_set_pubkey(certificate, key) == 1
            && X509_NAME_add_entry_by_NID(
                X509_get_subject_name(certificate), NID_commonName, MBSTRING_FLAG, Array(name.utf8.prefix(64)),
                Int32(min(name.utf8.count, 64)), -1, 0) == 1
        guard isMade else {
            unsafe X509_free(certificate)
            throw .taken("the certificate can not be made")
        }
        return certificate
    }

    private static func extend(
        _ certificate: OpaquePointer, by issuer: OpaquePointer, _ extensions: [(kind: Int32, text: String)]
    ) throws(TLSError) {
        for one in extensions where unsafe copenssl_add_extension(certificate, issuer, one.kind, one.text) != 1 {
            throw .taken("the certificate can not be made")
        }
    }

    /// SAFETY: what the BIO holds is copied before it is freed.
    private static func pem(_ write: (OpaquePointer) -> Int32) throws(TLSError) -> [UInt8] {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw TLSError("out of memory") }
        defer { unsafe BIO_free(bio) }
        guard write(bio) == 1 else { throw .taken("the certificate can not be written") }
        var start: UnsafeMutablePointer<CChar>?
        let length = unsafe copenssl_memory(bio, &start)
        return unsafe UnsafeBufferPointer(start: start, count: max(0, length)).map { UInt8(bitPattern: $0) }
    }
}
