import HTTP
import Policy

/// Feeds the bytes behind the first to the canonical path and to the host parser. The first chooses the options.
///
/// What must hold: the canonical form is a fixed point, it has neither a dot segment nor a byte that may not stand in a path, a
/// stricter option accepts nothing that a laxer one refuses, and a refused host leaves nothing behind.
@c(LLVMFuzzerTestOneInput)
public func fuzzTarget(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 0 else { return 0 }
    let choice = unsafe data[0]
    let input = Input(unsafe UnsafeBufferPointer(start: data + 1, count: size - 1))
    var options = CanonicalTarget.Options()
    options.mergesSlashes = choice & 1 == 0
    let once = buffers.first
    if canonical(input.span, options, into: once) {
        checkForm(once, options)
        let twice = buffers.second
        precondition(canonical(once.span, options, into: twice), "a canonical path was refused")
        precondition(areEqual(once, twice), "canonicalising twice differs from once")
    }
    options.rejectsDotSegments = choice & 2 != 0
    options.rejectsEncodedSlash = choice & 4 != 0
    let strict = buffers.second
    if canonical(input.span, options, into: strict) {
        precondition(areEqual(once, strict), "a strict reading differs from the lax one")
    }
    checkHost(input.span)
    return 0
}

private let buffers = Buffers()

/// The fuzzer calls from one thread.
private final class Buffers: @unchecked Sendable {
    let first = ByteBuffer()
    let second = ByteBuffer()
}

private func canonical(_ path: Span<UInt8>, _ options: CanonicalTarget.Options, into out: ByteBuffer) -> Bool {
    out.clear()
    do {
        try CanonicalTarget.appendPath(path, options, to: out)
        return true
    } catch {
        out.clear()
        return false
    }
}

private func areEqual(_ one: ByteBuffer, _ other: ByteBuffer) -> Bool {
    if one.count != other.count { return false }
    for index in 0..<one.count where one[index] != other[index] { return false }
    return true
}

private func checkForm(_ path: ByteBuffer, _ options: CanonicalTarget.Options) {
    let slash = UInt8(ascii: "/")
    precondition(path[0] == slash)
    var segmentLength = 0
    var dots = 0
    for index in 1...path.count {
        let byte = index < path.count ? path[index] : slash
        precondition(byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "#"))
        guard byte == slash else {
            segmentLength += 1
            if byte == UInt8(ascii: ".") { dots += 1 }
            continue
        }
        precondition(segmentLength == 0 || segmentLength > 2 || dots < segmentLength, "a dot segment is left")
        precondition(segmentLength > 0 || index == path.count || !options.mergesSlashes, "slashes are left unmerged")
        segmentLength = 0
        dots = 0
    }
}

private func checkHost(_ text: Span<UInt8>) {
    let once = buffers.first
    once.clear()
    guard let authority = Authority.append(text, to: once) else {
        precondition(once.isEmpty, "a refused host left bytes behind")
        return
    }
    let twice = buffers.second
    twice.clear()
    precondition(Authority.append(once.span, to: twice) == authority, "a canonical host was refused")
    precondition(areEqual(once, twice), "a canonical host is read otherwise")
}
