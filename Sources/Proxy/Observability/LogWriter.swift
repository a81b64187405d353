internal import HTTP
internal import Synchronization
public import Transport

/// The log of the process: one thread that writes what workers put into their rings and what the control plane says.
///
/// No thread that logs ever waits for the destination; lines that it does not take in time are dropped, counted, and the
/// log says how many when it can.
public final class LogWriter: Sendable {
    /// What the writing thread is to do next.
    struct Orders {
        var lines: [UInt8] = []
        var rings: [LogRing] = []
        var reopens = false
        var definition: LogDefinition?
        /// Monotonic milliseconds; set once the log is to end.
        var deadline: Int64?
    }

    /// Which lines are wanted and how they look; read by all threads at any time.
    struct Settings: Equatable {
        var level: LogDefinition.Level
        var style: LogStyle
        var access: Bool

        init(_ definition: LogDefinition, style: LogStyle) {
            level = definition.level
            self.style = style
            access = definition.access
        }

        init(packed: Int) {
            level = LogDefinition.Level(rawValue: packed & 3) ?? .info
            style = LogStyle(rawValue: UInt8(packed >> 2 & 3)) ?? .json
            access = packed >> 4 & 1 == 1
        }

        var packed: Int { level.rawValue | Int(style.rawValue) << 2 | (access ? 1 : 0) << 4 }
    }

    /// Bytes of control plane lines that may wait.
    static let longestBacklog = 1 << 20

    let orders = Mutex(Orders())
    let alarm: LogAlarm
    let allowsColour: Bool
    private let settingsWord: Atomic<Int>
    /// Lines lost outside the rings: the backlog was full, or the destination failed.
    private let lost = Atomic(0)
    private let ended: WakeSignal
    private let endedComplete = Atomic(false)

    /// Opens the destination and starts the thread.
    public init(_ definition: LogDefinition, allowsColour: Bool) throws(FileSystemError) {
        let output = try LogOutput(opening: definition.destination)
        let style = output.style(definition.format, allowsColour: allowsColour)
        self.allowsColour = allowsColour
        settingsWord = Atomic(Settings(definition, style: style).packed)
        alarm = try LogAlarm()
        ended = try WakeSignal()
        let started = BackgroundThread.start(name: "log") { [self] in
            let isComplete = LogDrain(self, output: output, definition: definition).run()
            endedComplete.store(isComplete, ordering: .releasing)
            ended.signal()
        }
        if !started { throw FileSystemError(operation: "start of the log's thread", code: 11) }
    }

    /// A ring for a thread of its own to log through; it lives as long as the log.
    public func makeRing() -> LogRing {
        let ring = LogRing(alarm: alarm)
        orders.withLock { $0.rings.append(ring) }
        return ring
    }

    /// For any thread but a worker's data path. Lines of a level that is not wanted cost nothing.
    public func log(
        _ level: LogDefinition.Level, _ message: String, _ fields: [(name: StaticString, value: LogValue)] = []
    ) {
        guard wants(level) else { return }
        let buffer = ByteBuffer()
        let time = FileSystemCalls.realtimeMilliseconds
        LogFormatter().write(LogLine(level, message, fields), style: settings.style, time: time, to: buffer)
        let line = buffer.withUnsafeBytes { unsafe Array($0) }
        let fits = orders.withLock { orders in
            if orders.lines.count + line.count > Self.longestBacklog { return false }
            orders.lines.append(contentsOf: line)
            return true
        }
        if !fits { countLost(1) }
        alarm.wake.signal()
    }

    public func wants(_ level: LogDefinition.Level) -> Bool { level.rawValue <= settings.level.rawValue }

    var settings: Settings { Settings(packed: settingsWord.load(ordering: .relaxed)) }

    func use(_ settings: Settings) { settingsWord.store(settings.packed, ordering: .relaxed) }

    /// Opens the file anew, for who has moved it away; lines written from now on are in the new one.
    public func reopen() { order { $0.reopens = true } }

    /// Of a new configuration; a destination that can not be opened leaves the old one in use.
    public func apply(_ definition: LogDefinition) { order { $0.definition = definition } }

    /// Writes what there is and ends the thread; false when the destination did not take it in time.
    public func stop(withinMilliseconds limit: Int) -> Bool {
        let deadline = FileSystemCalls.monotonicMilliseconds + Int64(limit)
        order { $0.deadline = deadline }
        // A write that was let in may still hang in the kernel: the thread is left behind then.
        return ended.wait(milliseconds: Int32(clamping: limit + 200)) && endedComplete.load(ordering: .acquiring)
    }

    private func order(_ change: (inout Orders) -> Void) {
        orders.withLock { change(&$0) }
        alarm.wake.signal()
    }

    func countLost(_ lines: Int) { lost.add(lines, ordering: .relaxed) }

    /// Lines dropped so far, for whatever reason.
    public var lostLines: Int {
        let rings = orders.withLock { $0.rings }
        return rings.reduce(lost.load(ordering: .relaxed)) { $0 + $1.droppedCount }
    }
}
