internal import HTTP

/// What a worker's file loaders use for the length of one call.
final class FileBuffers {
    static let readSize = 64 * 1024
    /// What is read of a file on its way through this process.
    let read = ByteBuffer(capacity: FileBuffers.readSize)
    /// The same, encoded.
    let encoded = ByteBuffer(capacity: FileBuffers.readSize)
    let head = ByteBuffer(capacity: 1024)
}
