internal import COpenSSL

/// Why TLS could not be set up or was ended, as a sentence for the log.
public struct TLSError: Error, Sendable, Equatable {
    public var text: String
    /// Of a certificate with its key, the latter is at fault.
    public var isAboutKey: Bool
    public init(_ text: String, isAboutKey: Bool = false) {
        self.text = text
        self.isAboutKey = isAboutKey
    }

    /// The peer sent a request in plaintext.
    public var isPlainRequest: Bool { text == Self.plainRequest }
    private static let plainRequest = "http request"

    /// The oldest entry of the thread's error queue, which is emptied: OpenSSL looks at leftovers when it is asked what went wrong.
    static func taken(_ fallback: String) -> TLSError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return TLSError(fallback) }
        return unsafe TLSError(String(cString: copenssl_reason(code)))
    }
}

public enum TLSVersion: Sendable, Hashable { case v12, v13 }

extension TLSVersion {
    var number: Int32 { self == .v12 ? TLS1_2_VERSION : TLS1_3_VERSION }
}

/// The protocols that may be chosen by ALPN (RFC 7301).
public enum ApplicationProtocol: String, Sendable, Hashable {
    case http11 = "http/1.1"
    case http2 = "h2"

    /// What a listener or an upstream offers that names no protocols.
    public static let offered: [ApplicationProtocol] = [.http2, .http11]

    /// Each behind its length (RFC 7301 section 3.1).
    static func wireForm(_ protocols: [ApplicationProtocol]) -> [UInt8] {
        protocols.flatMap { [UInt8($0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
    }
}

/// Mozilla's intermediate level: AEAD with forward secrecy only. Finite-field Diffie-Hellman is left out, as browsers have.
enum TLSParameters {
    static let ciphers = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
        """
    /// The cheapest first: the server's order counts.
    static let suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
    static let groups = "X25519:P-256:P-384"
}
