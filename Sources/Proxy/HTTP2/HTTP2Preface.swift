/// What a client of HTTP/2 sends first (RFC 9113 section 3.4); the library reads it whole.
enum HTTP2Preface {
    /// Its request line, which no request of HTTP/1.1 has.
    static func begins(_ bytes: Span<UInt8>) -> Bool {
        let line: StaticString = "PRI * HTTP/2.0\r\n"
        guard bytes.count >= line.utf8CodeUnitCount else { return false }
        // SAFETY: a literal of more than one scalar points at its octets; as many are read as it has.
        for index in 0..<line.utf8CodeUnitCount where bytes[index] != (unsafe line.utf8Start[index]) { return false }
        return true
    }
}
