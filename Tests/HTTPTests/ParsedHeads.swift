import HTTP

/// A head taken out of its buffers, so that results can be compared and printed.
struct ParsedRequest: Equatable {
    var consumed: Int
    var bytes: [UInt8]
    var method: Method
    var methodName: String
    var target: String
    var version: HTTPVersion
    var framing: BodyFraming
    var keepsAlive: Bool
    var expectsContinue: Bool
    var takesTrailers: Bool
    var asksForUpgrade: Bool
    var fields: [String]

    init(consumed: Int, _ head: RequestHead) {
        self.consumed = consumed
        bytes = array(head.bytes.span)
        method = head.method
        methodName = text(head.bytes, head.methodName)
        target = text(head.bytes, head.target)
        version = head.version
        framing = head.framing
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        takesTrailers = head.takesTrailers
        asksForUpgrade = head.asksForUpgrade
        fields = describe(head.lines, in: head.bytes)
    }
}

struct ParsedResponse: Equatable {
    var consumed: Int
    var bytes: [UInt8]
    var status: Int
    var reason: String
    var version: HTTPVersion
    var framing: BodyFraming
    var keepsAlive: Bool
    var fields: [String]

    init(consumed: Int, _ head: ResponseHead) {
        self.consumed = consumed
        bytes = array(head.bytes.span)
        status = head.status
        reason = text(head.bytes, head.reason)
        version = head.version
        framing = head.framing
        keepsAlive = head.keepsAlive
        fields = describe(head.lines, in: head.bytes)
    }
}

/// What a parser says of some bytes.
enum Outcome<Head: Equatable>: Equatable {
    case head(Head)
    case incomplete
    case refused(HTTPError)

    var head: Head? {
        if case .head(let head) = self { head } else { nil }
    }
}

func request(_ bytes: [UInt8], limits: HeadLimits = HeadLimits()) -> Outcome<ParsedRequest> {
    let head = RequestHead()
    do throws(HTTPError) {
        guard let consumed = try HTTP1.parseRequest(bytes.span, limits: limits, into: head) else { return .incomplete }
        return .head(ParsedRequest(consumed: consumed, head))
    } catch {
        return .refused(error)
    }
}

func request(_ text: String, limits: HeadLimits = HeadLimits()) -> Outcome<ParsedRequest> {
    request(Array(text.utf8), limits: limits)
}

func response(
    _ bytes: [UInt8], to method: Method = .get, limits: HeadLimits = HeadLimits()
) -> Outcome<ParsedResponse> {
    let head = ResponseHead()
    do throws(HTTPError) {
        let consumed = try HTTP1.parseResponse(bytes.span, requestMethod: method, limits: limits, into: head)
        guard let consumed else { return .incomplete }
        return .head(ParsedResponse(consumed: consumed, head))
    } catch {
        return .refused(error)
    }
}

func response(_ text: String, to method: Method = .get, limits: HeadLimits = HeadLimits()) -> Outcome<ParsedResponse> {
    response(Array(text.utf8), to: method, limits: limits)
}

func limits(headerBytes: Int = 16 * 1024, headerCount: Int = 100, uriBytes: Int = 8 * 1024) -> HeadLimits {
    var limits = HeadLimits()
    limits.headerBytes = headerBytes
    limits.headerCount = headerCount
    limits.uriBytes = uriBytes
    return limits
}

func array(_ span: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    for index in 0..<span.count { bytes.append(span[index]) }
    return bytes
}

func text(_ span: Span<UInt8>) -> String { String(decoding: array(span), as: UTF8.self) }

func text(_ buffer: ByteBuffer, _ range: ByteRange) -> String { text(buffer.span(range)) }

func text(_ buffer: ByteBuffer) -> String { text(buffer.span) }

func describe(_ lines: [FieldLine], in bytes: ByteBuffer) -> [String] {
    lines.map { "\(text(bytes, $0.name))=\(text(bytes, $0.value)) [\($0.id)]" }
}

// The syntax functions over arrays: a span can not stand in an expectation.

func isToken(_ bytes: [UInt8]) -> Bool { HTTP1.isToken(bytes.span) }

func isFieldValue(_ bytes: [UInt8]) -> Bool { HTTP1.isFieldValue(bytes.span) }

func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool { HTTP1.equalsIgnoringCase(first.span, second.span) }

func isEqual(_ text: String, _ literal: StaticString) -> Bool {
    HTTP1.equalsIgnoringCase(Array(text.utf8).span, literal)
}

func fieldID(_ name: String) -> FieldID { HTTP1.fieldID(Array(name.utf8).span) }

func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> { HTTP1.trimmed(bytes.span, range) }

func listContains(_ value: String, _ word: StaticString) -> Bool { HTTP1.listContains(Array(value.utf8).span, word) }

func elements(_ value: String) -> [String] {
    let bytes = Array(value.utf8)
    var list = ListCursor()
    var elements: [String] = []
    while let element = list.next(in: bytes.span) { elements.append(String(decoding: bytes[element], as: UTF8.self)) }
    return elements
}
