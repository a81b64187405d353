import HTTP

/// Feeds fields to the block that makes a message of HTTP/2 the text of one of HTTP/1.1, and the same bytes to the walk over frames.
///
/// The first byte chooses the kind of message, limits and what the message is given for free; behind it, 0xFF ends a field and the
/// first 0xFE within it ends its name. What must hold: a block without a fault has one line for each field and no other, our own
/// parser reads these lines from it or refuses it as a whole, and the walk that serves HTTP/2 peers finds the same. Heads of frames
/// are the same however the bytes are cut.
@c(LLVMFuzzerTestOneInput)
public func fuzzFields(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 0 else { return 0 }
    let options = Options(rawValue: unsafe data[0])
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: data + 1, count: size - 1))
    checkFields(options, bytes)
    checkFrames(options, bytes)
    return 0
}

private struct Options: OptionSet {
    let rawValue: UInt8
    static let response = Options(rawValue: 1)
    static let trailers = Options(rawValue: 2)
    static let endsMessage = Options(rawValue: 4)
    static let bodyless = Options(rawValue: 8)
    static let smallLimits = Options(rawValue: 16)
    /// Pseudo-header fields as they should be come first.
    static let isGivenStart = Options(rawValue: 32)
    static let hasPreface = Options(rawValue: 64)

    var kind: FieldBlock.Kind { contains(.trailers) ? .trailers : contains(.response) ? .response : .request }
}

private struct Field: Equatable {
    var name: [UInt8]
    var value: [UInt8]

    init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: StaticString, _ value: [UInt8]) { self.init(Array(name.description.utf8), value) }
    init(_ name: StaticString, _ value: StaticString) { self.init(name, Array(value.description.utf8)) }

    func isNamed(_ other: StaticString) -> Bool { name == Array(other.description.utf8) }
}

/// The fuzzer calls from one thread; objects are reused to find what one input leaves for the next.
private final class Reused: @unchecked Sendable {
    let block = FieldBlock()
    let request = RequestHead()
    let response = ResponseHead()
    let trailers = TrailerSection()
    let key = ByteBuffer()

    init() { key.append("KEY") }
}

private let reused = Reused()

// MARK: Fields

private func fields(_ options: Options, _ bytes: [UInt8]) -> [Field] {
    var fields: [Field] = []
    if options.contains(.isGivenStart), options.kind == .request {
        fields = [Field(":method", "POST"), Field(":scheme", "http"), Field(":path", "/p"), Field(":authority", "a.test")]
    } else if options.contains(.isGivenStart), options.kind == .response {
        fields = [Field(":status", "200")]
    }
    for piece in bytes.split(separator: 0xff) {
        let end = piece.firstIndex(of: 0xfe) ?? piece.endIndex
        fields.append(Field(Array(piece[..<end]), Array(piece[end...].dropFirst())))
    }
    return fields
}

private func checkFields(_ options: Options, _ bytes: [UInt8]) {
    var limits = HeadLimits()
    if options.contains(.smallLimits) {
        limits.headerBytes = 128
        limits.headerCount = 4
        limits.uriBytes = 16
    }
    let given = fields(options, bytes)
    let block = reused.block
    let ends = options.contains(.endsMessage)
    let isBodyless = options.contains(.bodyless)
    block.begin(options.kind, limits: limits)
    for field in given { block.add(field.name.span, field.value.span) }
    block.finish(endsMessage: ends, bodyless: isBodyless, key: reused.key)
    guard block.fault == nil else { return }
    let text = array(block.text.span)
    let expected = lines(of: given, options)
    checkLineEnds(text, count: expected.count + (options.kind == .trailers ? 0 : 2))
    precondition(walked(text, hasStartLine: options.kind != .trailers) == expected, "the walk finds other fields")
    if let read = parsed(block.text, options.kind, limits) { precondition(read == expected, "the parser reads other fields") }
}

/// The fields that a message of HTTP/1.1 has for these (RFC 9113 sections 8.2 and 8.3, RFC 8441).
private func lines(of given: [Field], _ options: Options) -> [Field] {
    if options.kind == .trailers { return given }
    func pseudo(_ name: StaticString) -> [UInt8]? { given.first { $0.isNamed(name) }?.value }
    let authority = pseudo(":authority")
    let isRequest = options.kind == .request
    var lines: [Field] = []
    if let authority { lines.append(Field("host", authority)) }
    var cookie: [UInt8] = []
    for field in given where field.name.first != UInt8(ascii: ":") {
        if isRequest, field.isNamed("cookie") {
            cookie += (cookie.isEmpty ? [] : Array("; ".utf8)) + field.value
        } else if !(isRequest && authority != nil && field.isNamed("host")) {
            lines.append(field)
        }
    }
    // An empty crumb at the end leaves a space there, which no reader takes for part of the value.
    if cookie.last == UInt8(ascii: " ") { cookie.removeLast() }
    if !cookie.isEmpty { lines.append(Field("cookie", cookie)) }
    func isGiven(_ name: StaticString) -> Bool { given.contains { $0.isNamed(name) } }
    if let tunnelled = pseudo(":protocol") {
        if !isGiven("sec-websocket-key"), HTTP1.equalsIgnoringCase(tunnelled.span, "websocket") {
            lines.append(Field("sec-websocket-key", "KEY"))
        }
        return lines + [Field("upgrade", tunnelled), Field("connection", "upgrade")]
    }
    let isInterim = pseudo(":status").map { $0[0] == UInt8(ascii: "1") } ?? false
    if isGiven("content-length") || isInterim || options.contains(.bodyless) { return lines }
    if !options.contains(.endsMessage) {
        if pseudo(":method") != Array("CONNECT".utf8) { lines.append(Field("transfer-encoding", "chunked")) }
    } else if !isRequest {
        lines.append(Field("content-length", "0"))
    }
    return lines
}

/// CR and LF stand only at the ends of lines, and there are as many lines as there should be.
private func checkLineEnds(_ text: [UInt8], count: Int) {
    var found = 0
    for index in text.indices {
        if text[index] == 13 { precondition(index + 1 < text.count && text[index + 1] == 10, "a CR within a line") }
        if text[index] == 10 {
            precondition(index > 0 && text[index - 1] == 13, "a LF within a line")
            found += 1
        }
    }
    precondition(found == count, "another number of lines than of fields")
}

private func walked(_ text: [UInt8], hasStartLine: Bool) -> [Field] {
    var walk = HeadFields(text.span, hasStartLine: hasStartLine)
    var found: [Field] = []
    while let field = walk.next(in: text.span) { found.append(Field(Array(text[field.name]), Array(text[field.value]))) }
    return found
}

/// Nil when the parser refuses the text.
private func parsed(_ text: ByteBuffer, _ kind: FieldBlock.Kind, _ limits: HeadLimits) -> [Field]? {
    let input = Input(copying: text.span)
    do throws(HTTPError) {
        switch kind {
        case .request:
            let taken = try HTTP1.parseRequest(input.span, limits: limits, into: reused.request)
            precondition(taken == text.count, "a head that is not the whole text")
            return reused.request.lines.map { field($0, in: reused.request.bytes) }
        case .response:
            let taken = try HTTP1.parseResponse(input.span, requestMethod: .get, limits: limits, into: reused.response)
            precondition(taken == text.count, "a head that is not the whole text")
            return reused.response.lines.map { field($0, in: reused.response.bytes) }
        case .trailers:
            try reused.trailers.read(text, limits: limits)
            return reused.trailers.lines.map { field($0, in: reused.trailers.bytes) }
        }
    } catch {
        return nil
    }
}

private func field(_ line: FieldLine, in bytes: ByteBuffer) -> Field {
    Field(array(bytes.span(line.name)), array(bytes.span(line.value)))
}

// MARK: Frames

private func checkFrames(_ options: Options, _ bytes: [UInt8]) {
    let hasPreface = options.contains(.hasPreface)
    let expected = heads(in: bytes, from: hasPreface ? 24 : 0)
    for size in [bytes.count, 1, 2, 3, 7, 8, 9, 10, 13] where size > 0 {
        var walk = FrameWalk(hasPreface: hasPreface)
        var found: [FrameHead] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            var position = 0
            while let head = walk.next(in: piece.span, from: &position) { found.append(head) }
            precondition(position == piece.count, "bytes were left")
        }
        precondition(found == expected, "other heads than the bytes have")
    }
}

/// As RFC 9113 sections 4.1 and 6.3 say, from bytes that are all there.
private func heads(in bytes: [UInt8], from first: Int) -> [FrameHead] {
    func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
    var heads: [FrameHead] = []
    var start = first
    while start + 9 <= bytes.count {
        let length = number(start..<start + 3)
        let isPriority = bytes[start + 3] == 2 && length == 5
        if isPriority, start + 13 > bytes.count { break }
        heads.append(
            FrameHead(
                length: length, type: bytes[start + 3], flags: bytes[start + 4],
                stream: Int32(number(start + 5..<start + 9) & 0x7fff_ffff),
                dependency: isPriority ? Int32(number(start + 9..<start + 13) & 0x7fff_ffff) : 0))
        start += 9 + length
    }
    return heads
}

private func array(_ span: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    for index in span.indices { bytes.append(span[index]) }
    return bytes
}
