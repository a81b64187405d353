internal import COpenSSL
internal import Glibc

/// A certificate with its chain and its private key, as read from PEM.
///
/// SAFETY: the pointers are owned: got once from OpenSSL, freed once in `deinit`.
public final class TLSCertificate {
    let chain: [OpaquePointer]
    let key: OpaquePointer
    /// What it is for: lower-cased DNS names, `*.` first where it is a wildcard, and addresses.
    public let names: CertificateNames
    /// EVP_PKEY_RSA, EVP_PKEY_EC and so on: a client chooses among the kinds.
    let keyType: Int32
    public let hasExpired: Bool

    /// `certificate` is the leaf with its intermediates behind it, `key` the leaf's key; both PEM, and may be one text.
    public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
        let chain = try PEM.certificates(certificate)
        let secret: OpaquePointer
        do throws(TLSError) {
            secret = try PEM.key(key)
        } catch {
            for one in chain { unsafe X509_free(one) }
            throw error
        }
        self.chain = chain
        self.key = secret
        names = CertificateNames(chain[0])
        keyType = unsafe copenssl_key_type(chain[0])
        hasExpired = unsafe copenssl_has_expired(chain[0]) != 0
        if unsafe X509_check_private_key(chain[0], secret) != 1 {
            ERR_clear_error()
            throw TLSError("the key is not the certificate's", isAboutKey: true)
        }
    }

    deinit {
        for one in chain { unsafe X509_free(one) }
        unsafe EVP_PKEY_free(key)
    }

    /// Has a context present this certificate.
    func install(in context: OpaquePointer) throws(TLSError) {
        guard unsafe SSL_CTX_use_certificate(context, chain[0]) == 1, unsafe SSL_CTX_use_PrivateKey(context, key) == 1 else {
            throw .taken("the certificate can not be used")
        }
        // Belongs to the certificate that was set last, so each kind of key has a chain of its own.
        for one in chain.dropFirst() where unsafe copenssl_add_chain(context, one) != 1 {
            throw .taken("the chain can not be used")
        }
    }
}

/// Reads PEM texts. Each throws when there is nothing of the kind, or what there is can not be read.
enum PEM {
    private static func withBIO<Result>(
        _ text: [UInt8], _ body: (OpaquePointer) throws(TLSError) -> Result
    ) throws(TLSError) -> Result {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw TLSError("out of memory") }
        defer { unsafe BIO_free(bio) }
        _ = unsafe text.withUnsafeBytes { unsafe BIO_write(bio, $0.baseAddress, Int32(clamping: $0.count)) }
        return try body(bio)
    }

    static func certificates(_ text: [UInt8]) throws(TLSError) -> [OpaquePointer] {
        try withBIO(text) { (bio) throws(TLSError) -> [OpaquePointer] in
            var found: [OpaquePointer] = []
            while let one = unsafe copenssl_read_certificate(bio) { found.append(one) }
            do throws(TLSError) {
                try checkEnd(isEmpty: found.isEmpty, "no certificate in it (PEM)")
            } catch {
                for one in found { unsafe X509_free(one) }
                throw error
            }
            return found
        }
    }

    static func revocations(_ text: [UInt8]) throws(TLSError) -> [OpaquePointer] {
        try withBIO(text) { (bio) throws(TLSError) -> [OpaquePointer] in
            var found: [OpaquePointer] = []
            while let one = unsafe copenssl_read_revocations(bio) { found.append(one) }
            do throws(TLSError) {
                try checkEnd(isEmpty: found.isEmpty, "no revocation list in it (PEM)")
            } catch {
                for one in found { unsafe X509_CRL_free(one) }
                throw error
            }
            return found
        }
    }

    /// Reading ends with "no further PEM block", or with a block that is faulty.
    private static func checkEnd(isEmpty: Bool, _ absence: String) throws(TLSError) {
        let error = ERR_peek_last_error()
        let isEnd = copenssl_is_end_of_pem(error) != 0
        let fault = TLSError.taken("it can not be read")
        if !isEnd { throw fault }
        if isEmpty { throw TLSError(absence) }
    }

    static func key(_ text: [UInt8]) throws(TLSError) -> OpaquePointer {
        try withBIO(text) { (bio) throws(TLSError) -> OpaquePointer in
            var isEncrypted: Int32 = 0
            if let key = unsafe copenssl_read_key(bio, &isEncrypted) { return key }
            ERR_clear_error()
            throw TLSError(
                isEncrypted != 0
                    ? "the key is encrypted; it is to be given without a password" : "no private key in it that can be read (PEM)",
                isAboutKey: true)
        }
    }
}

/// PEM texts as the configuration names them, looked at before they are used.
public enum TLSFileCheck {
    public static func authorities(_ text: [UInt8]) throws(TLSError) {
        for one in try PEM.certificates(text) { unsafe X509_free(one) }
    }

    public static func revocations(_ text: [UInt8]) throws(TLSError) {
        for one in try PEM.revocations(text) { unsafe X509_CRL_free(one) }
    }
}
