internal import HTML
internal import HTTP

/// Edits a page as a whole and in slices. The first byte says how large the slices are, what the charset is and what becomes of
/// policies; the second where something is inserted.
///
/// What must hold: both ways give the same page, the page stands in the result byte for byte, and what is kept from slice to slice is bounded.
@c(LLVMFuzzerTestOneInput)
public func fuzzPage(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data, size > 1 else { return 0 }
    let options = unsafe data[0]
    let points = unsafe data[1]
    let input = Input(unsafe UnsafeBufferPointer(start: data + 2, count: size - 2))
    let whole = edit(input, step: max(input.span.count, 1), options, points)
    let pieces = edit(input, step: Int(options & 7) + 1, options, points)
    precondition(whole == pieces, "slices of another size gave another page")
    // Policies of the page's own meta elements are edited, where there is a nonce.
    if options & 0x40 == 0 { precondition(holds(whole, bytes(input.span)), "something else was changed") }
    return 0
}

private let types: [StaticString] = ["text/html", "text/html; charset=utf-8", "text/html; charset=latin1", "text/html; charset=x"]
private let marker: [UInt8] = Array("\u{1}\u{2}\u{3}".utf8)

private func edit(_ input: borrowing Input, step: Int, _ options: UInt8, _ points: UInt8) -> [UInt8] {
    let definitions = InsertionPoint.allCases.filter { points >> UInt8($0.rawValue) & 1 == 1 }.map {
        InsertionDefinition(point: $0, content: .html(marker), display: "")
    }
    let type = Array(types[Int(options >> 3 & 3)].description.utf8)
    let hasNonce = options & 0x40 != 0
    let editor = PageEditor(
        PageInsertions(definitions, mode: hasNonce ? .nonce : .leave), contentType: type.span,
        nonce: hasNonce ? Array("N".utf8) : [], hasPolicy: false, policies: [])
    let out = ByteBuffer()
    let span = input.span
    var position = 0
    while position < span.count {
        let end = min(position + step, span.count)
        editor.append(span.extracting(position..<end), to: out)
        precondition(out.count + 17 * 1024 >= end, "too much is kept")
        position = end
    }
    editor.finish(to: out)
    return bytes(out.span)
}

/// Whether all of `page` stands in `edited`, in its order, with nothing beside it but whole markers.
private func holds(_ edited: [UInt8], _ page: [UInt8]) -> Bool {
    var index = 0
    for byte in edited where index < page.count && page[index] == byte { index += 1 }
    return index == page.count && (edited.count - page.count) % marker.count == 0
        && edited.count - page.count <= 8 * marker.count
}

private func bytes(_ span: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    for index in span.indices { bytes.append(span[index]) }
    return bytes
}
