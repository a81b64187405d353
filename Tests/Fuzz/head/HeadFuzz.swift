import HTTP

/// Feeds the bytes behind the first to both head parsers. The first chooses limits and method.
///
/// What must hold: nothing is read or taken beyond the input, every range is within the head's bytes, names and values are
/// what RFC 9110 section 5 lets them be, and a part of the input gives what the whole gives or no answer yet.
@c(LLVMFuzzerTestOneInput)
public func fuzzHead(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 0 else { return 0 }
    let options = unsafe data[0]
    let input = Input(unsafe UnsafeBufferPointer(start: data + 1, count: size - 1))
    var limits = HeadLimits()
    if options & 1 != 0 {
        limits.headerBytes = 128
        limits.headerCount = 4
        limits.uriBytes = 16
    }
    let method: Method = options & 2 != 0 ? .head : .get

    let request = parseRequest(input, limits)
    let response = parseResponse(input, method, limits)
    for length in input.partLengths {
        let part = input.part(length)
        let partialRequest = parseRequest(part, limits)
        precondition(partialRequest == request || partialRequest == .incomplete, "a part of a request read otherwise")
        let partialResponse = parseResponse(part, method, limits)
        precondition(partialResponse == response || partialResponse == .incomplete, "a part of a response read otherwise")
    }
    return 0
}

private enum Answer: Equatable {
    case incomplete
    case refused(HTTPError)
    case head(consumed: Int, framing: BodyFraming, keepsAlive: Bool, fields: [ByteRange], start: [Int])
}

private let requestHead = Reused(RequestHead())
private let responseHead = Reused(ResponseHead())

/// The fuzzer calls from one thread; the heads are reused to find what one input leaves for the next.
private final class Reused<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}

private func parseRequest(_ input: borrowing Input, _ limits: HeadLimits) -> Answer {
    let head = requestHead.value
    do throws(HTTPError) {
        guard let consumed = try HTTP1.parseRequest(input.span, limits: limits, into: head) else { return .incomplete }
        check(consumed, of: input, head.bytes, head.lines, limits)
        precondition(HTTP1.isToken(head.bytes.span(head.methodName)))
        precondition(!head.target.isEmpty && Int(head.target.length) <= limits.uriBytes)
        precondition(!(head.framing == .chunked && head.version == .http10))
        precondition(head.framing != .untilClose)
        return .head(
            consumed: consumed, framing: head.framing, keepsAlive: head.keepsAlive,
            fields: head.lines.flatMap { [$0.name, $0.value] },
            start: [Int(head.method.rawValue), Int(head.methodName.length), Int(head.target.start), Int(head.target.length)])
    } catch {
        return .refused(error)
    }
}

private func parseResponse(_ input: borrowing Input, _ method: Method, _ limits: HeadLimits) -> Answer {
    let head = responseHead.value
    do throws(HTTPError) {
        let consumed = try HTTP1.parseResponse(input.span, requestMethod: method, limits: limits, into: head)
        guard let consumed else { return .incomplete }
        check(consumed, of: input, head.bytes, head.lines, limits)
        precondition((100...999).contains(head.status))
        precondition(HTTP1.isFieldValue(head.bytes.span(head.reason)))
        precondition(method != .head || head.framing == .none)
        precondition(!(head.framing == .untilClose && head.keepsAlive))
        return .head(
            consumed: consumed, framing: head.framing, keepsAlive: head.keepsAlive,
            fields: head.lines.flatMap { [$0.name, $0.value] },
            start: [head.status, Int(head.reason.start), Int(head.reason.length)])
    } catch {
        return .refused(error)
    }
}

private func check(_ consumed: Int, of input: borrowing Input, _ bytes: ByteBuffer, _ lines: [FieldLine], _ limits: HeadLimits) {
    precondition(consumed <= input.span.count && consumed > 0, "more taken than there was")
    precondition(bytes.count == consumed || bytes.count == consumed - 2, "the head is not what was taken")
    precondition(bytes.count <= limits.headerBytes && lines.count <= limits.headerCount, "beyond a limit")
    var end = 0
    for line in lines {
        precondition(Int(line.name.start) >= end && line.name.end < Int(line.value.start) + 1, "lines out of order")
        precondition(line.value.end + 2 <= bytes.count, "a value beyond its head")
        end = line.value.end + 2
        precondition(HTTP1.isToken(bytes.span(line.name)), "a name that is none")
        precondition(HTTP1.isFieldValue(bytes.span(line.value)), "a value that is none")
        precondition(HTTP1.fieldID(bytes.span(line.name)) == line.id, "a name known by another")
    }
}
