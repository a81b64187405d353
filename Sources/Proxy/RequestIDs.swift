internal import HTTP
internal import Policy

/// Request ids: 128 random bits as 32 hexadecimal digits, as W3C Trace Context has its trace ids.
struct RequestIDs {
    private var source = RandomSource()

    mutating func fill(_ buffer: ByteBuffer) {
        buffer.clear()
        buffer.append(paddedHexadecimal: source.next())
        buffer.append(paddedHexadecimal: source.next())
    }
}
