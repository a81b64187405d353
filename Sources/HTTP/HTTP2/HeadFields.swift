/// Walks a head that one of our own writers wrote, for a peer that is sent fields instead of text.
///
/// SAFETY of what is trusted: lines end in CRLF and have a colon and a space, since `RequestWriter` and `ResponseWriter` write no
/// other; one that had neither would end the walk.
public struct HeadFields {
    /// `HTTP/1.1 200 OK`, or `GET / HTTP/1.1`; empty for trailer lines.
    public let startLine: Range<Int>
    private var position: Int

    /// `hasStartLine` is false for the lines of trailers.
    public init(_ text: Span<UInt8>, hasStartLine: Bool = true) {
        guard hasStartLine else {
            startLine = 0..<0
            position = 0
            return
        }
        let end = WordScan.text(text, from: 0)
        startLine = 0..<end
        position = min(end &+ 2, text.count)
    }

    /// The ranges of the next field's name and value in `text`, which is the same at every call; nil at the end.
    public mutating func next(in text: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>)? {
        guard position < text.count else { return nil }
        let nameEnd = WordScan.token(text, from: position)
        guard nameEnd > position, nameEnd &+ 1 < text.count, text[nameEnd] == Octet.colon else { return nil }
        let start = text[nameEnd &+ 1] == Octet.space ? nameEnd &+ 2 : nameEnd &+ 1
        let end = WordScan.text(text, from: start)
        guard end < text.count else { return nil }
        let name = position..<nameEnd
        position = min(end &+ 2, text.count)
        return (name, HTTP1.trimmed(text, start..<end))
    }

    /// Of a request line, where the method and the target are; nil when it is none.
    public func requestLine(_ text: Span<UInt8>) -> (method: Range<Int>, target: Range<Int>)? {
        let methodEnd = WordScan.token(text, from: 0)
        guard methodEnd > 0, methodEnd &+ 1 < startLine.upperBound else { return nil }
        let targetEnd = WordScan.target(text, from: methodEnd &+ 1, to: startLine.upperBound)
        return (0..<methodEnd, (methodEnd &+ 1)..<targetEnd)
    }
}

extension FieldID {
    /// Says how a connection of HTTP/1.1 works; HTTP/2 has no such fields (RFC 9113 section 8.2.2).
    public var isConnectionSpecific: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .http2Settings: true
        default: false
        }
    }
}
