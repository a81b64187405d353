import Transport

/// Reads the bytes as a header of the PROXY protocol, whole and cut short.
///
/// What must hold: a header lies within the input and within its bound, nothing behind it has a say, every shorter input is
/// incomplete or as malformed as the whole, and what is written for the source that was read is read as the same source.
@c(LLVMFuzzerTestOneInput)
public func fuzzProxyHeader(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 0 else { return 0 }
    let input = Input(unsafe UnsafeBufferPointer(start: data, count: size))
    let whole = try? ProxyHeader.parse(input.span)
    if case .header(let length, let source) = whole {
        precondition(length > 0 && length <= size && length <= ProxyHeader.longest, "a header of an impossible length")
        precondition((try? ProxyHeader.parse(input.part(length).span)) == whole, "what follows a header changed it")
        precondition((try? ProxyHeader.parse(input.part(length - 1).span)) == .incomplete, "a header was complete too early")
        if let source { checkWriting(source) }
    }
    for length in input.partLengths {
        guard let part = try? ProxyHeader.parse(input.part(length).span) else {
            precondition(whole == nil, "a part is malformed, the whole is not")
            continue
        }
        if case .header = part { precondition(part == whole, "a part is another header than the whole") }
    }
    return 0
}

private func checkWriting(_ source: SocketAddress) {
    for version in [ProxyHeader.Version.v1, .v2] {
        let bytes = ProxyHeader.make(version, from: source, to: source)
        guard case .header(let length, let again) = try? ProxyHeader.parse(bytes.span) else {
            preconditionFailure("what was written can not be read")
        }
        precondition(length == bytes.count && again?.octets == source.octets && again?.port == source.port, "another source")
    }
}
