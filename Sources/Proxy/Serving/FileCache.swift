internal import HTTP
internal import Transport

/// A small file as it was read.
final class CachedFile {
    let rule: Int
    let path = ByteBuffer(capacity: 32)
    let identity: FileIdentity
    let content: ByteBuffer

    init(rule: Int, path: Span<UInt8>, identity: FileIdentity, content: ByteBuffer) {
        self.rule = rule
        self.identity = identity
        self.content = content
        self.path.append(path)
    }
}

/// The small files that a worker has given out last. Each use asks the system whether the path still leads to the same file in
/// the same state, which saves opening, reading and closing it.
struct FileCache {
    /// Larger ones gain nothing: what counts there is the content's way to the socket.
    static let largestFile = 16 * 1024
    /// With ``largestFile`` this bounds what is kept.
    private static let slotCount = 128
    /// The system's time of change moves in steps: a file that has just been written may be written again unnoticed.
    private static let leastAge: Int64 = 2_000_000_000

    private var slots: [CachedFile?] = []

    func find(rule: Int, _ path: Span<UInt8>) -> CachedFile? {
        if slots.isEmpty { return nil }
        guard let file = slots[Self.slot(rule, path)], file.rule == rule, file.path.equals(path) else { return nil }
        return file
    }

    /// Keeps a file that has been left alone for a while, in the place of another.
    mutating func insert(_ file: CachedFile) {
        let now = FileSystemCalls.realtimeMilliseconds * 1_000_000
        guard now - file.identity.lastTouchedNanoseconds >= Self.leastAge else { return }
        if slots.isEmpty { slots = Array(repeating: nil, count: Self.slotCount) }
        slots[Self.slot(file.rule, file.path.span)] = file
    }

    private static func slot(_ rule: Int, _ path: Span<UInt8>) -> Int {
        var state: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(truncatingIfNeeded: rule)
        for index in 0..<path.count { state = (state ^ UInt64(path[index])) &* 0x0000_0100_0000_01b3 }
        return Int(truncatingIfNeeded: (state ^ state >> 29) % UInt64(slotCount))
    }
}
