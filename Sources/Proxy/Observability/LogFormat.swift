public import HTTP

/// How log lines look: JSON objects, text, or text with colours for a terminal.
public enum LogStyle: UInt8, Sendable { case json, text, colour }

/// The value of a field of a log line. There is no way to make one from a secret.
public enum LogValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case text(String)
    case number(Int)
    case flag(Bool)

    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .flag(value) }
}

/// A line of the log that is about no single request.
public struct LogLine: Sendable {
    public var level: LogDefinition.Level
    public var message: String
    public var fields: [(name: StaticString, value: LogValue)]

    public init(
        _ level: LogDefinition.Level, _ message: String, _ fields: [(name: StaticString, value: LogValue)] = []
    ) {
        self.level = level
        self.message = message
        self.fields = fields
    }
}

extension LogDefinition.Level {
    public var name: StaticString {
        switch self {
        case .error: "error"
        case .warn: "warn"
        case .info: "info"
        case .debug: "debug"
        }
    }

    fileprivate var colour: StaticString {
        switch self {
        case .error: "\u{1b}[31m"
        case .warn: "\u{1b}[33m"
        case .info: "\u{1b}[32m"
        case .debug: "\u{1b}[2m"
        }
    }
}

/// Writes log lines, each with its line end, into a buffer; allocates nothing for those of requests. One thread owns it.
public final class LogFormatter {
    private let date = ByteBuffer(capacity: 32)
    private var dateSecond: Int64 = .min

    public init() {}

    /// `time` is in milliseconds since 1970.
    public func write(_ line: LogLine, style: LogStyle, time: Int64, to out: ByteBuffer) {
        guard style == .json else { return writeText(line, coloured: style == .colour, time: time, to: out) }
        beginJSON(line.level, time: time, to: out)
        append(json: line.message, to: out)
        for field in line.fields {
            out.append(",\"")
            out.append(field.name)
            out.append("\":")
            switch field.value {
            case .text(let text): append(json: text, to: out)
            case .number(let number): out.append(decimal: number)
            case .flag(let flag): out.append(flag ? "true" : "false")
            }
        }
        out.append("}\n")
    }

    public func write(
        _ record: AccessRecord, _ texts: borrowing AccessTexts, style: LogStyle, time: Int64, to out: ByteBuffer
    ) {
        guard style == .json else { return writeText(record, texts, coloured: style == .colour, time: time, to: out) }
        beginJSON(.info, time: time, to: out)
        out.append("\"request\"")
        appendJSON(",\"request_id\":\"", texts.requestID, to: out)
        appendJSON(",\"client_ip\":\"", texts.clientAddress, to: out)
        appendJSON(",\"method\":\"", texts.method, to: out)
        appendJSON(",\"host\":\"", texts.host, to: out)
        appendJSON(",\"path\":\"", texts.path, to: out)
        appendQueryNames(texts.query, to: out)
        switch texts.version {
        case .http10: out.append(",\"proto\":\"HTTP/1.0\"")
        case .http11: out.append(",\"proto\":\"HTTP/1.1\"")
        case .http2: out.append(",\"proto\":\"HTTP/2\"")
        }
        appendJSON(",\"status\":", record.status, to: out)
        out.append(",\"bytes_in\":")
        LogEscaping.append(record.bytesIn, to: out)
        out.append(",\"bytes_out\":")
        LogEscaping.append(record.bytesOut, to: out)
        out.append(",\"dur_ms\":")
        LogEscaping.append(microseconds: record.durationMicroseconds, to: out)
        appendJSON(",\"upstream\":\"", texts.upstream, to: out)
        if record.attempts > 0 { appendUpstreamJSON(record, to: out) }
        appendJSON(",\"rule\":\"", texts.rule, to: out)
        if let reason = record.reason {
            out.append(",\"reason\":\"")
            out.append(reason)
            out.append(UInt8(ascii: "\""))
        }
        out.append("}\n")
    }

    private func appendUpstreamJSON(_ record: AccessRecord, to out: ByteBuffer) {
        if record.upstreamStatus > 0 { appendJSON(",\"upstream_status\":", record.upstreamStatus, to: out) }
        if let duration = record.upstreamMicroseconds {
            out.append(",\"upstream_dur_ms\":")
            LogEscaping.append(microseconds: duration, to: out)
        }
        appendJSON(",\"attempt\":", record.attempts, to: out)
        if record.hops > 0 { appendJSON(",\"hop\":", record.hops, to: out) }
        out.append(record.connectionWasReused ? ",\"conn_reused\":true" : ",\"conn_reused\":false")
    }

    // MARK: JSON

    private func beginJSON(_ level: LogDefinition.Level, time: Int64, to out: ByteBuffer) {
        out.append("{\"ts\":\"")
        appendDate(time, to: out)
        out.append("\",\"level\":\"")
        out.append(level.name)
        out.append("\",\"msg\":")
    }

    /// `name` brings the comma and the opening quote.
    private func appendJSON(_ name: StaticString, _ text: Span<UInt8>, to out: ByteBuffer) {
        if text.isEmpty { return }
        out.append(name)
        LogEscaping.json.append(text, to: out)
        out.append(UInt8(ascii: "\""))
    }

    private func appendJSON(_ name: StaticString, _ number: Int, to out: ByteBuffer) {
        out.append(name)
        LogEscaping.append(UInt64(max(0, number)), to: out)
    }

    private func append(json text: String, to out: ByteBuffer) {
        out.append(UInt8(ascii: "\""))
        LogEscaping.json.append(Array(text.utf8).span, to: out)
        out.append(UInt8(ascii: "\""))
    }

    private func appendQueryNames(_ query: Span<UInt8>, to out: ByteBuffer) {
        var names = QueryNames(query)
        var count = 0
        while let name = names.next() {
            out.append(count == 0 ? ",\"query_keys\":[\"" : "\",\"")
            LogEscaping.json.append(query.extracting(name), to: out)
            count += 1
        }
        if count > 0 { out.append("\"]") }
    }

    // MARK: Text

    private func writeText(_ line: LogLine, coloured: Bool, time: Int64, to out: ByteBuffer) {
        appendTime(time, coloured: coloured, to: out)
        if coloured { out.append(line.level.colour) }
        out.append(line.level.name)
        if coloured { out.append("\u{1b}[0m") }
        pad(line.level.name.utf8CodeUnitCount, to: 6, out)
        LogEscaping.text.append(Array(line.message.utf8).span, to: out)
        for field in line.fields {
            appendName(field.name, coloured: coloured, to: out)
            switch field.value {
            case .text(let text): appendValue(Array(text.utf8).span, to: out)
            case .number(let number): out.append(decimal: number)
            case .flag(let flag): out.append(flag ? "true" : "false")
            }
        }
        out.append(UInt8(ascii: "\n"))
    }

    private func writeText(
        _ record: AccessRecord, _ texts: borrowing AccessTexts, coloured: Bool, time: Int64, to out: ByteBuffer
    ) {
        appendTime(time, coloured: coloured, to: out)
        if coloured { out.append(Self.colour(ofStatus: record.status)) }
        LogEscaping.append(UInt64(max(0, record.status)), digits: 3, to: out)
        out.append(coloured ? "\u{1b}[0m " : " ")
        LogEscaping.text.append(texts.method, to: out)
        pad(texts.method.count, to: 8, out)

        let mark = out.count
        LogEscaping.append(microseconds: record.durationMicroseconds, to: out)
        let width = out.count - mark
        out.truncate(to: mark)
        pad(width, to: 10, out)
        LogEscaping.append(microseconds: record.durationMicroseconds, to: out)
        out.append("ms ")

        LogEscaping.text.append(texts.host, to: out)
        LogEscaping.text.append(texts.path, to: out)
        var names = QueryNames(texts.query)
        var separator: StaticString = "?"
        while let name = names.next() {
            out.append(separator)
            LogEscaping.text.append(texts.query.extracting(name), to: out)
            separator = "&"
        }
        appendDetails(record, texts, coloured: coloured, to: out)
        out.append(UInt8(ascii: "\n"))
    }

    private func appendDetails(
        _ record: AccessRecord, _ texts: borrowing AccessTexts, coloured: Bool, to out: ByteBuffer
    ) {
        appendField("rule", texts.rule, coloured: coloured, to: out)
        appendField("upstream", texts.upstream, coloured: coloured, to: out)
        if record.upstreamStatus > 0 {
            appendField("upstream_status", record.upstreamStatus, coloured: coloured, to: out)
        }
        if let duration = record.upstreamMicroseconds {
            appendName("upstream_dur_ms", coloured: coloured, to: out)
            LogEscaping.append(microseconds: duration, to: out)
        }
        if record.attempts > 1 { appendField("attempt", record.attempts, coloured: coloured, to: out) }
        if record.hops > 0 { appendField("hop", record.hops, coloured: coloured, to: out) }
        if let reason = record.reason {
            appendName("reason", coloured: coloured, to: out)
            out.append(reason)
        }
        appendField("client_ip", texts.clientAddress, coloured: coloured, to: out)
        appendField("request_id", texts.requestID, coloured: coloured, to: out)
    }

    private static func colour(ofStatus status: Int) -> StaticString {
        switch status {
        case 200..<300, 101: "\u{1b}[32m"
        case 300..<400: "\u{1b}[36m"
        case 400..<500: "\u{1b}[33m"
        default: "\u{1b}[31m"
        }
    }

    private func appendName(_ name: StaticString, coloured: Bool, to out: ByteBuffer) {
        out.append(coloured ? " \u{1b}[2m" : " ")
        out.append(name)
        out.append(coloured ? "=\u{1b}[0m" : "=")
    }

    private func appendField(_ name: StaticString, _ number: Int, coloured: Bool, to out: ByteBuffer) {
        appendName(name, coloured: coloured, to: out)
        LogEscaping.append(UInt64(max(0, number)), to: out)
    }

    private func appendField(_ name: StaticString, _ text: Span<UInt8>, coloured: Bool, to out: ByteBuffer) {
        if text.isEmpty { return }
        appendName(name, coloured: coloured, to: out)
        appendValue(text, to: out)
    }

    /// In quotes when it could be taken for more than one.
    private func appendValue(_ text: Span<UInt8>, to out: ByteBuffer) {
        var needsQuotes = text.isEmpty
        for index in 0..<text.count where text[index] == UInt8(ascii: " ") || text[index] == UInt8(ascii: "=") {
            needsQuotes = true
        }
        if needsQuotes { out.append(UInt8(ascii: "\"")) }
        LogEscaping.text.append(text, to: out)
        if needsQuotes { out.append(UInt8(ascii: "\"")) }
    }

    private func pad(_ width: Int, to column: Int, _ out: ByteBuffer) {
        var width = width
        while width < column {
            out.append(UInt8(ascii: " "))
            width += 1
        }
    }

    // MARK: Time

    /// `2026-07-01T12:00:00.123Z` (RFC 3339); all up to the second is kept until it changes.
    private func appendDate(_ time: Int64, to out: ByteBuffer) {
        let milliseconds = prepareDate(time)
        out.append(date.span)
        out.append(UInt8(ascii: "."))
        LogEscaping.append(milliseconds, digits: 3, to: out)
        out.append(UInt8(ascii: "Z"))
    }

    /// The time of day, in UTC as in JSON.
    private func appendTime(_ time: Int64, coloured: Bool, to out: ByteBuffer) {
        let milliseconds = prepareDate(time)
        if coloured { out.append("\u{1b}[2m") }
        out.append(date.span(ByteRange(date.count - 8, 8)))
        out.append(UInt8(ascii: "."))
        LogEscaping.append(milliseconds, digits: 3, to: out)
        out.append(coloured ? "Z\u{1b}[0m " : "Z ")
    }

    private func prepareDate(_ time: Int64) -> UInt64 {
        let time = max(0, time)
        let second = time / 1_000
        if second != dateSecond {
            dateSecond = second
            writeDate(second)
        }
        return UInt64(time % 1_000)
    }

    private func writeDate(_ second: Int64) {
        // Days to year, month, day with years that begin in March, so that the leap day is the last.
        let days = second / 86_400 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let secondOfDay = second % 86_400

        date.clear()
        LogEscaping.append(UInt64(year), digits: 4, to: date)
        for (separator, value) in [
            ("-", month), ("-", day), ("T", secondOfDay / 3_600), (":", secondOfDay / 60 % 60), (":", secondOfDay % 60),
        ] as [(StaticString, Int64)] {
            date.append(separator)
            LogEscaping.append(UInt64(value), digits: 2, to: date)
        }
    }
}

/// The names of a query's parameters, at most 32 of at most 64 bytes.
///
/// A parameter without `=` may be all value (a token on its own), so it is passed over.
private struct QueryNames: ~Escapable {
    private let query: Span<UInt8>
    private var position = 0
    private var left = 32

    @_lifetime(copy query)
    init(_ query: Span<UInt8>) { self.query = query }

    mutating func next() -> Range<Int>? {
        while position < query.count && left > 0 {
            let start = position
            var end: Int?
            while position < query.count, query[position] != UInt8(ascii: "&") {
                if end == nil && query[position] == UInt8(ascii: "=") { end = position }
                position += 1
            }
            position += 1
            guard let end, end > start, end - start <= 64 else { continue }
            left -= 1
            return start..<end
        }
        return nil
    }
}
