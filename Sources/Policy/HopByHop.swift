public import HTTP

/// Which field lines end here (RFC 9110 section 7.6.1), as one bit a line.
///
/// Decided on the message as it was received, before any rule runs: nobody strips by Connection what is injected later.
public enum HopByHop {
    /// More names than this in Connection is an attack on whoever compares them.
    static let maximumNominations = 64

    /// Makes room for `lines` bits, all clear; keeps the storage.
    static func clear(_ dropped: inout [UInt64], lines: Int) {
        let words = dropped.count
        var bits = dropped.mutableSpan
        for word in 0..<words { bits[word] = 0 }
        while dropped.count * 64 < lines { dropped.append(0) }
    }

    @inline(__always) static func mark(_ line: Int, in dropped: inout [UInt64]) {
        dropped[line >> 6] |= 1 << UInt64(line & 63)
    }

    /// Marks the lines of a response that are not for the client: hop-by-hop fields, framing (written anew), and what
    /// its Connection nominates. `dropped` is reused from response to response; a bit stands at `line >> 6`, `line &
    /// 63`.
    ///
    /// False when Connection nominates absurdly many names: the response is not to be passed on.
    public static func markResponse(_ head: ResponseHead, in dropped: inout [UInt64]) -> Bool {
        clear(&dropped, lines: head.lines.count)
        var hasConnection = false
        for line in 0..<head.lines.count {
            switch head.lines[line].id {
            case .connection:
                // What nearly all say names nothing.
                if !isConnectionOption(head.bytes.span(head.lines[line].value)) { hasConnection = true }
                mark(line, in: &dropped)
            case .contentLength, .transferEncoding, .te, .trailer, .upgrade, .keepAlive, .proxyConnection,
                .proxyAuthenticate,
                .proxyAuthorization, .http2Settings:
                mark(line, in: &dropped)
            default: break
            }
        }
        return !hasConnection || markNominated(head.bytes, head.lines, in: &dropped)
    }

    /// Marks every line that a Connection line names, in any case; false when there are too many names.
    static func markNominated(_ bytes: ByteBuffer, _ lines: [FieldLine], in dropped: inout [UInt64]) -> Bool {
        var nominations = 0
        for connection in lines where connection.id == .connection {
            let value = bytes.span(connection.value)
            // What nearly all say.
            if isConnectionOption(value) { continue }
            var names = ListElements()
            while let range = names.next(in: value) {
                let name = value.extracting(range)
                if isConnectionOption(name) { continue }
                nominations += 1
                if nominations > maximumNominations { return false }
                for line in 0..<lines.count where Int(lines[line].name.length) == name.count {
                    if CanonicalBytes.equalsIgnoringCase(bytes.span(lines[line].name), name) {
                        mark(line, in: &dropped)
                    }
                }
            }
        }
        return true
    }

    /// Options that name no field, or one that is dropped anyway.
    private static func isConnectionOption(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 2: CanonicalBytes.equalsIgnoringCase(name, "te")
        case 5: CanonicalBytes.equalsIgnoringCase(name, "close")
        case 7: CanonicalBytes.equalsIgnoringCase(name, "upgrade")
        case 10: CanonicalBytes.equalsIgnoringCase(name, "keep-alive")
        default: false
        }
    }
}
