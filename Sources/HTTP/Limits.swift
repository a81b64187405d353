/// Bounds of the codec that are not configurable; those that are stand in ``HeadLimits``.
enum Limits {
    /// A method token longer than this names nothing that anybody implements (RFC 9110 section 9.1).
    static var methodBytes: Int { 64 }
    /// Digits of a chunk size, leading zeros included; sixteen of them fill 64 bits (RFC 9112 section 7.1).
    static var chunkSizeDigits: Int { 32 }
    /// The extensions of one chunk, and those of all chunks of a message (RFC 9112 section 7.1.1).
    static var chunkExtensionBytes: Int { 1024 }
    static var chunkExtensionBytesPerMessage: Int { 16 * 1024 }
    /// Fields of HTTP/2 beyond so many times the limit of a head are no mistake but an attack on whoever reads them.
    static var floodFactor: Int { 8 }
}

/// The octets that the grammar of RFC 9112 names.
enum Octet {
    static var tab: UInt8 { 0x09 }
    static var lineFeed: UInt8 { 0x0a }
    static var carriageReturn: UInt8 { 0x0d }
    static var space: UInt8 { 0x20 }
    static var quote: UInt8 { 0x22 }
    static var comma: UInt8 { 0x2c }
    static var slash: UInt8 { 0x2f }
    static var dot: UInt8 { 0x2e }
    static var colon: UInt8 { 0x3a }
    static var semicolon: UInt8 { 0x3b }
    static var equals: UInt8 { 0x3d }
    static var backslash: UInt8 { 0x5c }
    static var delete: UInt8 { 0x7f }

    /// tchar (RFC 9110 section 5.6.2), as one bit for each of the 128 ASCII octets.
    @inline(always) static func isToken(_ byte: UInt8) -> Bool {
        if byte < 64 { return 0x03ff_6cfa_0000_0000 as UInt64 &>> UInt64(byte) & 1 == 1 }
        if byte < 128 { return 0x57ff_ffff_c7ff_fffe as UInt64 &>> UInt64(byte & 63) & 1 == 1 }
        return false
    }

    /// What may not stand in a field value, a reason phrase or a quoted string (RFC 9110 section 5.5).
    @inline(always) static func isForbiddenInText(_ byte: UInt8) -> Bool {
        byte < space && byte != tab || byte == delete
    }

    @inline(always) static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    @inline(always) static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// The value of a HEXDIG in either case; nil for any other octet.
    @inline(always) static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- UInt8(ascii: "0") }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }
}
