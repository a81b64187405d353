internal import HTTP

/// RFC 4648 section 4, with padding: what Basic credentials are written in (RFC 7617 section 2).
enum Base64 {
    static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    static func append(_ bytes: Span<UInt8>, to out: ByteBuffer) {
        var index = 0
        while index < bytes.count {
            let rest = bytes.count - index
            let first = bytes[index]
            let second = rest > 1 ? bytes[index + 1] : 0
            let third = rest > 2 ? bytes[index + 2] : 0
            out.append(digit(first >> 2))
            out.append(digit((first & 3) << 4 | second >> 4))
            out.append(rest > 1 ? digit((second & 15) << 2 | third >> 6) : UInt8(ascii: "="))
            out.append(rest > 2 ? digit(third & 63) : UInt8(ascii: "="))
            index += 3
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
