internal import HTTP
internal import Transport

/// A worker's free buffers; connections lease one only while they hold bytes.
final class BufferPool {
    private var free: [ByteBuffer] = []
    private static let initialCapacity = 16 * 1024
    /// Larger ones are freed: one slow reader must not make the pool dear for ever.
    private static let largestKept = 256 * 1024
    private static let mostKept = 64

    init() { free.reserveCapacity(Self.mostKept) }

    func lease() -> ByteBuffer { free.popLast() ?? ByteBuffer(capacity: Self.initialCapacity) }

    func giveBack(_ buffer: ByteBuffer) {
        guard buffer.capacity <= Self.largestKept, free.count < Self.mostKept else { return }
        buffer.clear()
        free.append(buffer)
    }
}

/// A worker's free pipes for large transfers; each is two descriptors, so few are kept.
final class PipePool {
    private var free: [SplicePipe] = []
    private static let mostKept = 16

    func lease() -> SplicePipe? { free.popLast() ?? SplicePipe() }

    func giveBack(_ pipe: SplicePipe) { if pipe.count == 0, free.count < Self.mostKept { free.append(pipe) } }
}
