internal import HTTP
internal import Policy

/// Answers from memory: `block`, `respond`, `redirect`. The head is written as text and read by our own parser, so that
/// nothing leaves that the parser would refuse, and edits apply to it as to any other.
final class FixedLoader {
    /// SAFETY: the exchange owns this loader for as long as itself.
    private unowned(unsafe) let exchange: Exchange
    private let text = ByteBuffer(capacity: 512)
    private let head = ResponseHead()

    init(exchange: Exchange) { self.exchange = exchange }

    /// `writeFields` appends complete field lines.
    func start(
        status: Int, content: Span<UInt8>, fields writeFields: (ByteBuffer) throws(Rejection) -> Void
    ) {
        text.clear()
        text.append("HTTP/1.1 ")
        text.append(decimal: status)
        text.append(" ")
        text.append(ReasonPhrase.of(status))
        text.append("\r\n")
        do {
            try writeFields(text)
        } catch {
            return exchange.loader(didFailWith: error)
        }
        if !(status == 204 || status == 304) {
            text.append("Content-Length: ")
            text.append(decimal: content.count)
            text.append("\r\n")
        }
        text.append("\r\n")
        let method = exchange.current.method
        guard
            let consumed = try? HTTP1.parseResponse(
                text.span, requestMethod: method, limits: exchange.worker.limits.head, into: head),
            consumed == text.count
        else { return exchange.loader(didFailWith: .internalError) }
        guard exchange.loader(didReceiveResponse: head) == .allow else { return exchange.loaderDidCancel() }
        if method != .head, content.count > 0, status != 204, status != 304 { exchange.loader(didReceiveData: content) }
        exchange.loaderDidFinish(trailers: nil)
    }
}
