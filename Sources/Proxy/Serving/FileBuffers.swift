internal import Codings
internal import HTTP

/// What a worker's file loaders use for the length of one call, and the encoders that they lease for that of a response.
final class FileBuffers {
    static let readSize = 64 * 1024
    /// What is read of a file on its way through this process.
    let read = ByteBuffer(capacity: FileBuffers.readSize)
    /// The same, encoded.
    let encoded = ByteBuffer(capacity: FileBuffers.readSize)
    let head = ByteBuffer(capacity: 1024)
    private var spareEncoders: [ContentEncoder] = []
    private static let mostSpare = 4

    /// Nil when there is no memory for one.
    func leaseEncoder(_ coding: ContentCoding) -> ContentEncoder? {
        if let index = spareEncoders.lastIndex(where: { $0.coding == coding }) { return spareEncoders.remove(at: index) }
        return try? ContentEncoder(coding)
    }

    /// Takes back one that may be in the middle of a stream.
    func giveBack(_ encoder: ContentEncoder) {
        guard spareEncoders.count < Self.mostSpare, (try? encoder.reset()) != nil else { return }
        spareEncoders.append(encoder)
    }
}
