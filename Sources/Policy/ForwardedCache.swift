public import HTTP

/// The last lines of a request's way that were written, kept for the next request that is to have the same ones.
///
/// Requests of a client, and of clients behind one address, differ in nothing that these lines tell unless a proxy stands in
/// front. One a worker.
public final class ForwardedCache {
    private let key = ByteBuffer(capacity: 128)
    private let wanted = ByteBuffer(capacity: 128)
    private let lines = ByteBuffer(capacity: 512)

    public init() {}

    public func append(_ request: CanonicalRequest, client: ClientFacts, instance: Span<UInt8>, to out: ByteBuffer) {
        // What others said before us is continued, and seldom the same twice.
        if !request.fields.isDisjoint(with: .chains) || client.peerAddress == nil {
            return ForwardedWriter.append(request, client: client, instance: instance, to: out)
        }
        wanted.clear()
        wanted.append(UInt8(ascii: "0") + request.head.version.rawValue)
        wanted.append(request.scheme == .https ? UInt8(ascii: "s") : UInt8(ascii: "p"))
        wanted.append(UInt8(truncatingIfNeeded: request.externalPort >> 8))
        wanted.append(UInt8(truncatingIfNeeded: request.externalPort))
        wanted.append(client.addressText.span)
        wanted.append(UInt8(ascii: " "))
        wanted.append(request.externalAuthority.span)
        if !key.equals(wanted.span) {
            key.clear()
            key.append(wanted.span)
            lines.clear()
            ForwardedWriter.append(request, client: client, instance: instance, to: lines)
        }
        out.append(lines.span)
    }
}
