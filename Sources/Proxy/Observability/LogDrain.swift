internal import HTTP
internal import Synchronization
internal import Transport

/// The thread of a ``LogWriter``: collects what rings and control plane have, and writes it in large pieces.
final class LogDrain {
    private let writer: LogWriter
    private var output: LogOutput
    private var definition: LogDefinition
    private let formatter = LogFormatter()

    private var rings: [LogRing] = []
    private let batch = ByteBuffer(capacity: LogDrain.batchSize)
    private var written = 0
    private var deadline: Int64?
    private var reportedLost = 0
    private var reportedAt: Int64 = 0

    static let batchSize = 256 * 1024
    /// After a write: more lines come, and are written together.
    private static let lingerMilliseconds: Int32 = 5
    /// How often a stuck destination is looked at, and orders with it.
    private static let stuckMilliseconds: Int32 = 100
    private static let lostReportMilliseconds: Int64 = 1_000

    init(_ writer: LogWriter, output: LogOutput, definition: LogDefinition) {
        self.writer = writer
        self.output = output
        self.definition = definition
    }

    /// Until the log is to end; true when all has been written then.
    func run() -> Bool {
        defer { output.close() }
        while true {
            takeOrders()
            if written == batch.count { collect() }
            if batch.isEmpty {
                if deadline != nil { return true }
                sleep()
            } else if !write() {
                return false
            }
        }
    }

    // MARK: Collecting

    private func takeOrders() {
        let orders = writer.orders.withLock { orders in
            let taken = (
                reopens: orders.reopens, definition: orders.definition, rings: orders.rings, deadline: orders.deadline
            )
            orders.reopens = false
            orders.definition = nil
            return taken
        }
        rings = orders.rings
        deadline = orders.deadline
        if let definition = orders.definition {
            change(to: definition)
        } else if orders.reopens, case .file = definition.destination {
            open(definition)
        }
    }

    private func change(to definition: LogDefinition) {
        if definition.destination == self.definition.destination || open(definition) { self.definition = definition }
        let style = output.style(definition.format, allowsColour: writer.allowsColour)
        writer.use(LogWriter.Settings(definition, style: style))
    }

    /// What was begun to be written to the old destination ends there, cut off at worst.
    @discardableResult
    private func open(_ definition: LogDefinition) -> Bool {
        do {
            let opened = try LogOutput(opening: definition.destination)
            output.close()
            output = opened
            return true
        } catch {
            writer.log(
                .error, "the log can not be opened anew; it goes on where it was",
                [("reason", .text(error.description))])
            return false
        }
    }

    private func collect() {
        batch.clear()
        written = 0
        let lines = writer.orders.withLock { orders in
            let lines = orders.lines
            orders.lines = []
            return lines
        }
        batch.append(lines)
        for ring in rings { ring.drain(into: batch, limit: Self.batchSize) }
        rotateRings()
        reportLost()
    }

    /// The ring that comes last may find the batch full: next time it is the first.
    private func rotateRings() {
        guard batch.count >= Self.batchSize, rings.count > 1 else { return }
        writer.orders.withLock { orders in orders.rings.append(orders.rings.removeFirst()) }
    }

    private func reportLost() {
        let lost = writer.lostLines
        let now = FileSystemCalls.monotonicMilliseconds
        guard lost > reportedLost, now - reportedAt >= Self.lostReportMilliseconds else { return }
        let line = LogLine(
            .warn, "log lines were dropped", [("lines", .number(lost - reportedLost)), ("lines_total", .number(lost))])
        reportedLost = lost
        reportedAt = now
        formatter.write(line, style: writer.settings.style, time: FileSystemCalls.realtimeMilliseconds, to: batch)
    }

    private func sleep() {
        writer.alarm.writerSleeps.store(true, ordering: .sequentiallyConsistent)
        if rings.allSatisfy(\.isEmpty) {
            let hasReport = writer.lostLines > reportedLost
            _ = writer.alarm.wake.wait(milliseconds: hasReport ? Int32(Self.lostReportMilliseconds) : -1)
        }
        writer.alarm.writerSleeps.store(false, ordering: .sequentiallyConsistent)
    }

    // MARK: Writing

    /// False when time is over.
    private func write() -> Bool {
        let outcome = batch.withUnsafeBytes { bytes in
            unsafe output.write(UnsafeRawBufferPointer(rebasing: bytes[written..<bytes.count]))
        }
        switch outcome {
        case .wrote(let count):
            written += count
            if written == batch.count {
                batch.clear()
                written = 0
                if deadline == nil { _ = writer.alarm.wake.wait(milliseconds: Self.lingerMilliseconds) }
            }
        case .wouldWait:
            if let deadline, FileSystemCalls.monotonicMilliseconds >= deadline { return giveUp() }
            _ = FileSystemCalls.isWritable(output.descriptor, within: Self.stuckMilliseconds)
        case .failed:
            _ = giveUp()
            // A full disk or a closed pipe stays so for a while.
            if deadline == nil { _ = writer.alarm.wake.wait(milliseconds: Self.stuckMilliseconds) }
        }
        return true
    }

    private func giveUp() -> Bool {
        var lines = 0
        for index in written..<batch.count where batch[index] == UInt8(ascii: "\n") { lines += 1 }
        writer.countLost(lines)
        batch.clear()
        written = 0
        return false
    }
}
