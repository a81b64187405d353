internal import HTTP

/// The content codings that are spoken here (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
public enum ContentCoding: UInt8, Sendable, CaseIterable {
    case gzip, deflate, brotli, zstd

    /// The name in Content-Encoding and Accept-Encoding.
    public var token: StaticString {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .brotli: "br"
        case .zstd: "zstd"
        }
    }

    /// The coding of that name, in any case; `x-gzip` is `gzip` (RFC 9110 section 8.4.1.3). Nil for one that is not spoken,
    /// and for `identity`, which is none.
    public init?(token: Span<UInt8>) {
        switch token.count {
        case 4 where HTTP1.equalsIgnoringCase(token, "gzip"): self = .gzip
        case 6 where HTTP1.equalsIgnoringCase(token, "x-gzip"): self = .gzip
        case 7 where HTTP1.equalsIgnoringCase(token, "deflate"): self = .deflate
        case 2 where HTTP1.equalsIgnoringCase(token, "br"): self = .brotli
        case 4 where HTTP1.equalsIgnoringCase(token, "zstd"): self = .zstd
        default: return nil
        }
    }
}

/// Why content can not be decoded or encoded.
public enum CodingError: Error, Sendable, Equatable {
    /// The bytes are not of the coding that they are said to be of, or ask for more memory than the coding's RFC allows.
    case malformed
    /// The content ended in its middle.
    case truncated
    /// The system gives no memory for the coding's state.
    case outOfMemory
}
