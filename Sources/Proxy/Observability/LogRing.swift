internal import HTTP
internal import Synchronization
internal import Transport

/// What wakes the log's writer: shared by it and the rings it empties.
final class LogAlarm: Sendable {
    let wake: WakeSignal
    /// Set by the writer before it sleeps; whoever clears it wakes it, so that a burst of lines costs one system call.
    let writerSleeps = Atomic(false)

    init() throws(FileSystemError) { wake = try WakeSignal() }

    func ring() {
        if writerSleeps.exchange(false, ordering: .sequentiallyConsistent) { wake.signal() }
    }
}

/// The way of log lines from one worker to the writer: bytes in a circle, one thread writing and one reading, neither waiting.
///
/// A record that finds no room is dropped and counted, so a writer that is stuck costs lines, never a worker's time.
///
/// SAFETY: `@unchecked Sendable` since `storage` is shared by two threads. The bytes from `taken` to `filled` (positions that
/// only grow; modulo the capacity they index the storage) belong to the reader, all others to the producer. The producer
/// publishes bytes by storing `filled` after writing them, the reader returns them by storing `taken` after copying them, and
/// each loads the other's position with acquire semantics before touching what it was given. `knownTaken` is the producer's.
public final class LogRing: @unchecked Sendable {
    static let defaultCapacity = 256 * 1024
    private static let prefixLength = MemoryLayout<UInt32>.size

    private let storage: UnsafeMutableRawPointer
    private let capacity: Int
    private let alarm: LogAlarm
    private let filled = Atomic(0)
    private let taken = Atomic(0)
    private let dropped = Atomic(0)
    private var knownTaken = 0

    /// `capacity` is a power of two.
    init(capacity: Int = LogRing.defaultCapacity, alarm: LogAlarm) {
        precondition(capacity > 64 && capacity & (capacity - 1) == 0, "a ring's capacity is a power of two")
        self.capacity = capacity
        self.alarm = alarm
        storage = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit { storage.deallocate() }

    /// Records dropped so far; any thread may ask.
    public var droppedCount: Int { dropped.load(ordering: .relaxed) }

    // MARK: The worker's end

    /// Hands a record to the writer; false when there was no room and it is lost.
    @discardableResult
    public func append(_ record: Span<UInt8>) -> Bool {
        let needed = record.count + Self.prefixLength
        let start = filled.load(ordering: .relaxed)
        // The writer's position as last seen is good enough until it says that half is used.
        if start - knownTaken + needed > capacity / 2 {
            knownTaken = taken.load(ordering: .acquiring)
            if start - knownTaken + needed > capacity {
                dropped.store(dropped.load(ordering: .relaxed) + 1, ordering: .relaxed)
                return false
            }
        }
        let length = UInt32(truncatingIfNeeded: record.count)
        withUnsafeBytes(of: length) { unsafe put($0, at: start) }
        unsafe record.withUnsafeBytes { unsafe put($0, at: start + Self.prefixLength) }
        // Sequentially consistent with the writer's "I sleep, is there anything?": one of both sees the other's store.
        filled.store(start + needed, ordering: .sequentiallyConsistent)
        let half = capacity / 2
        if alarm.writerSleeps.load(ordering: .sequentiallyConsistent) {
            alarm.ring()
        } else if start + needed - knownTaken > half && start - knownTaken <= half {
            // It lingers to write more at once, but must not linger now.
            alarm.wake.signal()
        }
        return true
    }

    private func put(_ bytes: UnsafeRawBufferPointer, at position: Int) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        let start = position & (capacity - 1)
        let first = min(bytes.count, capacity - start)
        unsafe (storage + start).copyMemory(from: source, byteCount: first)
        if first < bytes.count { unsafe storage.copyMemory(from: source + first, byteCount: bytes.count - first) }
    }

    // MARK: The writer's end

    var isEmpty: Bool { filled.load(ordering: .sequentiallyConsistent) == taken.load(ordering: .relaxed) }

    /// Moves whole records to the end of `batch` until that holds at least `limit` bytes or nothing is left.
    func drain(into batch: ByteBuffer, limit: Int) {
        let end = filled.load(ordering: .acquiring)
        var position = taken.load(ordering: .relaxed)
        while position < end && batch.count < limit {
            var length: UInt32 = 0
            withUnsafeMutableBytes(of: &length) { unsafe get($0, at: position) }
            let count = Int(length)
            precondition(count <= end - position - Self.prefixLength, "a log ring holds whole records")
            batch.appendUninitialized(minimum: count) { room in
                unsafe get(UnsafeMutableRawBufferPointer(rebasing: room[0..<count]), at: position + Self.prefixLength)
                return count
            }
            position += Self.prefixLength + count
        }
        taken.store(position, ordering: .releasing)
    }

    private func get(_ bytes: UnsafeMutableRawBufferPointer, at position: Int) {
        guard let target = bytes.baseAddress, bytes.count > 0 else { return }
        let start = position & (capacity - 1)
        let first = min(bytes.count, capacity - start)
        unsafe target.copyMemory(from: storage + start, byteCount: first)
        if first < bytes.count { unsafe (target + first).copyMemory(from: storage, byteCount: bytes.count - first) }
    }
}
