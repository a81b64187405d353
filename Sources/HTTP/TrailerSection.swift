/// The fields behind the content of a message (RFC 9112 section 7.1.2), in a buffer of their own and reused for the next.
///
/// They are well-formed and no more: which of them may pass, and that none of them is ever taken for a header field, is
/// Policy's work (RFC 9110 section 6.5.1). Ranges point into ``bytes``.
public final class TrailerSection {
    public let bytes = ByteBuffer(capacity: 64)
    public internal(set) var lines: [FieldLine] = []

    public init() {}

    public func reset() {
        bytes.clear()
        lines.removeAll(keepingCapacity: true)
    }

    /// Takes field lines that came otherwise than behind chunks, such as those of ``FieldBlock``.
    public func read(_ text: ByteBuffer, limits: HeadLimits) throws(HTTPError) {
        reset()
        if text.isEmpty { return }
        bytes.append(text.span)
        try parse(limits)
    }

    /// Parses the lines that have been collected; the empty line that ends them is still to be put behind them.
    func parse(_ limits: HeadLimits) throws(HTTPError) {
        bytes.append("\r\n")
        var facts = FieldFacts()
        var end: Int?
        let capacity = HTTP1.lineCapacity(bytes.span, limit: limits.headerCount)
        try lines.append(addingCapacity: capacity) { lines throws(HTTPError) in
            end = try HTTP1.parseFields(
                bytes.span, from: 0, kind: .trailer, limit: limits.headerCount, into: &lines, facts: &facts)
        }
        guard end == bytes.count else { throw .malformed }
    }
}
