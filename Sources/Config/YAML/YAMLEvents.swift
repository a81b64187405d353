internal import CYAML

/// One step of a YAML document, with its place counted from 1.
struct YAMLEvent {
    enum Kind {
        case streamStart, streamEnd, documentStart, documentEnd
        case alias(String)
        case scalar(text: String, isPlain: Bool)
        case sequenceStart, sequenceEnd, mappingStart, mappingEnd
    }

    var kind: Kind
    var anchor: String?
    var tag: String?
    var line: Int
    var column: Int
    var endLine: Int
    var endColumn: Int
}

/// What libyaml says is wrong with a document.
struct YAMLProblem: Error {
    var problem: String
    var context: String?
    var line: Int
    var column: Int
    /// Where the construct began that `context` speaks of.
    var contextLine: Int
    var contextColumn: Int
}

/// The events of a YAML text, by libyaml.
///
/// SAFETY: `parser` is allocated and initialised in `init` and freed in `deinit`; `input` lives as long, since libyaml reads
/// from it in place. An event's pointers are copied to Swift values before the event is deleted.
final class YAMLEvents {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        // A byte order mark would be counted as a column.
        let hasMark = bytes.starts(with: [0xef, 0xbb, 0xbf])
        let text = hasMark ? bytes.dropFirst(3) : bytes[...]
        input = .allocate(capacity: max(text.count, 1))
        _ = unsafe input.initialize(from: text)
        parser = .allocate(capacity: 1)
        unsafe yaml_parser_initialize(parser)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    func next() throws(YAMLProblem) -> YAMLEvent {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw problem() }
        defer { unsafe yaml_event_delete(&event) }
        let start = unsafe event.start_mark, end = unsafe event.end_mark
        var result = YAMLEvent(
            kind: .streamEnd, anchor: nil, tag: nil, line: start.line + 1, column: start.column + 1, endLine: end.line + 1,
            endColumn: end.column + 1)
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: result.kind = .streamStart
        case YAML_DOCUMENT_START_EVENT: result.kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: result.kind = .documentEnd
        case YAML_ALIAS_EVENT: result.kind = unsafe .alias(text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
            result.kind = unsafe .scalar(text: String(decoding: bytes, as: UTF8.self), isPlain: isPlain)
            result.anchor = unsafe text(scalar.anchor)
            result.tag = unsafe text(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            result.kind = .sequenceStart
            result.anchor = unsafe text(event.data.sequence_start.anchor)
            result.tag = unsafe text(event.data.sequence_start.tag)
        case YAML_SEQUENCE_END_EVENT: result.kind = .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            result.kind = .mappingStart
            result.anchor = unsafe text(event.data.mapping_start.anchor)
            result.tag = unsafe text(event.data.mapping_start.tag)
        case YAML_MAPPING_END_EVENT: result.kind = .mappingEnd
        default: result.kind = .streamEnd
        }
        return result
    }

    private func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe String(cString: pointer)
    }

    private func problem() -> YAMLProblem {
        let state = unsafe parser.pointee
        let problem = unsafe state.problem.map { unsafe String(cString: $0) } ?? "out of memory"
        let context = unsafe state.context.map { unsafe String(cString: $0) }
        if unsafe state.error == YAML_READER_ERROR {
            let place = place(ofByte: unsafe state.problem_offset)
            return YAMLProblem(
                problem: problem, context: nil, line: place.line, column: place.column, contextLine: 0, contextColumn: 0)
        }
        let mark = unsafe state.problem_mark
        let start = unsafe state.context_mark
        return YAMLProblem(
            problem: problem, context: context, line: mark.line + 1, column: mark.column + 1,
            contextLine: context == nil ? 0 : start.line + 1, contextColumn: context == nil ? 0 : start.column + 1)
    }

    /// The reader knows bytes only: counts lines, and in the last one what begins a character.
    private func place(ofByte offset: Int) -> (line: Int, column: Int) {
        var line = 1, column = 1
        for index in 0..<min(offset, input.count) {
            let byte = unsafe input[index]
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
        }
        return (line, column)
    }
}
