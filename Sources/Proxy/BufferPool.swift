internal import HTTP
internal import Transport

/// A worker's free buffers; connections lease one only while they hold bytes.
final class BufferPool {
    private var free: [ByteBuffer] = []
    /// Larger ones are freed: one slow reader must not make the pool dear for ever.
    private static let largestKept = 256 * 1024
    private let initialCapacity: Int
    private let mostKept: Int

    /// `capacity`: in octets, of a buffer when it is made.
    init(capacity: Int, mostKept: Int) {
        initialCapacity = capacity
        self.mostKept = mostKept
        free.reserveCapacity(mostKept)
    }

    func lease() -> ByteBuffer { free.popLast() ?? ByteBuffer(capacity: initialCapacity) }

    func giveBack(_ buffer: ByteBuffer) {
        guard buffer.capacity <= Self.largestKept, free.count < mostKept else { return }
        buffer.clear()
        free.append(buffer)
    }
}

/// A worker's free pipes for large transfers; each is two descriptors, so few are kept.
final class PipePool {
    private var free: [SplicePipe] = []
    private var leased = 0
    private static let mostKept = 16
    /// Descriptors are for connections first; beyond this, content is copied.
    private let mostLeased: Int

    init(workers: Int) { mostLeased = min(64, SystemCalls.openFileLimit / 16 / workers) }

    func lease() -> SplicePipe? {
        guard leased < mostLeased, let pipe = free.popLast() ?? SplicePipe() else { return nil }
        leased += 1
        return pipe
    }

    /// Takes a pipe back, also one with bytes that nobody wants any more, which is closed.
    func giveBack(_ pipe: SplicePipe) {
        leased -= 1
        if pipe.count == 0, free.count < Self.mostKept { free.append(pipe) }
    }
}
