internal import HTTP
internal import Transport

/// Asks a running process by its admin socket; blocking, for the command line.
public enum AdminClient {
    private static let patience: Int32 = 10_000

    /// Status and body; nil when nobody answers.
    public static func ask(_ socket: String, method: String, path: String) -> (status: Int, body: String)? {
        guard let address = try? SocketAddress(unixPath: socket), let opened = try? Socket.connect(to: address) else { return nil }
        let descriptor = Descriptor(owning: opened.descriptor)
        let request = ByteBuffer()
        request.append(text: "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        guard FileSystemCalls.isWritable(descriptor.number, within: patience) else { return nil }
        let sent = unsafe request.withUnsafeBytes { unsafe SystemCalls.send(descriptor.number, $0) }
        guard sent == .bytes(request.count) else { return nil }
        let answer = ByteBuffer(capacity: 16 * 1024)
        let head = ResponseHead()
        while FileSystemCalls.isReadable(descriptor.number, within: patience) {
            var result = IOResult.wouldBlock
            unsafe answer.appendUninitialized(minimum: 16 * 1024) { room in
                result = unsafe SystemCalls.receive(descriptor.number, into: room)
                if case .bytes(let count) = result { return count }
                return 0
            }
            if result == .end { break }
            if case .failed = result { return nil }
        }
        guard let length = try? HTTP1.parseResponse(answer.span, requestMethod: .get, limits: HeadLimits(), into: head) else {
            return nil
        }
        let body = answer.span(ByteRange(length, answer.count - length))
        return (head.status, String(decoding: Array(copying: body), as: UTF8.self))
    }
}
