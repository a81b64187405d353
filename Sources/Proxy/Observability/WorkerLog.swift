internal import HTTP
internal import Transport

/// A worker's way to the log: formats where nothing is allocated, and hands over through a ring. One thread owns it.
public final class WorkerLog {
    private let writer: LogWriter
    private let ring: LogRing
    private let formatter = LogFormatter()
    private let line = ByteBuffer(capacity: 4_096)

    /// Made on any thread, then used by one.
    public init(_ writer: LogWriter) {
        self.writer = writer
        ring = writer.makeRing()
    }

    /// Whether access lines are wanted: spares collecting their texts.
    public var wantsAccess: Bool {
        let settings = writer.settings
        return settings.access && settings.level.rawValue >= LogDefinition.Level.info.rawValue
    }

    public func access(_ record: AccessRecord, _ texts: borrowing AccessTexts) {
        guard wantsAccess else { return }
        line.clear()
        formatter.write(
            record, texts, style: writer.settings.style, time: FileSystemCalls.realtimeMilliseconds, to: line)
        ring.append(line.span)
    }

    /// Not for each request: makes strings.
    public func log(
        _ level: LogDefinition.Level, _ message: String, _ fields: [(name: StaticString, value: LogValue)] = []
    ) {
        guard writer.wants(level) else { return }
        line.clear()
        let entry = LogLine(level, message, fields)
        formatter.write(entry, style: writer.settings.style, time: FileSystemCalls.realtimeMilliseconds, to: line)
        ring.append(line.span)
    }
}
