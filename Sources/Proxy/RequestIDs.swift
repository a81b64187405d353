internal import HTTP
internal import Policy

/// Request ids: 128 random bits as 32 hexadecimal digits, as W3C Trace Context has its trace ids.
struct RequestIDs {
    private var source = RandomSource()

    mutating func fill(_ buffer: ByteBuffer) {
        buffer.clear()
        for _ in 0..<2 {
            var word = source.next()
            for _ in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: word >> 60)
                buffer.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                word <<= 4
            }
        }
    }
}
