import HTTP

/// Decodes the bytes behind the first as a whole, and in reads of as many bytes as the first says.
///
/// What must hold: data ranges are within the input and not empty, the decoder takes all of the input or says that the
/// message has ended, trailers are what RFC 9110 section 5 lets fields be, and both ways give the same content, end or error.
@c(LLVMFuzzerTestOneInput)
public func fuzzChunked(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 0 else { return 0 }
    let options = unsafe data[0]
    let input = Input(unsafe UnsafeBufferPointer(start: data + 1, count: size - 1))
    var limits = HeadLimits()
    if options & 1 != 0 {
        limits.headerBytes = 32
        limits.headerCount = 2
    }
    let whole = decode(input, step: max(input.span.count, 1), limits)
    let pieces = decode(input, step: Int(options >> 1 & 15) + 1, limits)
    precondition(whole == pieces, "reads of another size gave another message")
    return 0
}

private struct Message: Equatable {
    var content: [UInt8] = []
    var consumed = 0
    var isComplete = false
    var error: HTTPError?
    var trailers: [ByteRange] = []
}

private func decode(_ input: borrowing Input, step: Int, _ limits: HeadLimits) -> Message {
    var decoder = ChunkedDecoder(limits: limits)
    var message = Message()
    let count = input.span.count
    do throws(HTTPError) {
        while message.consumed < count && !message.isComplete {
            let end = min(count, message.consumed + step)
            try decode(input.part(message.consumed..<end), &decoder, &message)
        }
    } catch {
        message.error = error
        message.consumed = 0  // how much was taken before the fault depends on the reads
        var position = 0
        precondition((try? decoder.next(input.span, from: &position)) == nil, "an error that was not final")
    }
    if message.isComplete { message.trailers = check(decoder.trailers, limits) }
    return message
}

private func decode(
    _ piece: borrowing Input, _ decoder: inout ChunkedDecoder, _ message: inout Message
) throws(HTTPError) {
    let span = piece.span
    var position = 0
    while true {
        let before = position
        switch try decoder.next(span, from: &position) {
        case .data(let start, let count):
            precondition(count > 0 && start >= before && start + count == position && position <= span.count)
            for index in start..<start + count { message.content.append(span[index]) }
        case .needMore:
            precondition(position == span.count, "more wanted, though not all was taken")
            message.consumed += position
            return
        case .end:
            precondition(position <= span.count && decoder.isAtEnd)
            message.consumed += position
            message.isComplete = true
            return
        }
    }
}

private func check(_ trailers: TrailerSection, _ limits: HeadLimits) -> [ByteRange] {
    precondition(
        trailers.lines.count <= limits.headerCount && trailers.bytes.count <= limits.headerBytes + 2 * limits.headerCount + 4)
    for line in trailers.lines {
        precondition(HTTP1.isToken(trailers.bytes.span(line.name)), "a name that is none")
        precondition(HTTP1.isFieldValue(trailers.bytes.span(line.value)), "a value that is none")
    }
    return trailers.lines.flatMap { [$0.name, $0.value] }
}
