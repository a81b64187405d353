internal import CISAL
internal import HTTP

/// Bytes to gzip or deflate at a third of what zlib's first level costs, and no larger: for pages, which are encoded for each
/// request.
///
/// SAFETY: the state is made in `init` and freed in `deinit`; pointers into spans and buffers are handed over for one call, in
/// which these are borrowed.
final class FastDeflater {
    private let state: UnsafeMutableRawPointer
    private let wrapping: DeflateWrapping

    init(_ wrapping: DeflateWrapping) throws(CodingError) {
        guard let state = unsafe cisal_writer_make() else { throw .outOfMemory }
        unsafe self.state = state
        self.wrapping = wrapping
        reset()
    }

    deinit { unsafe cisal_writer_free(state) }

    func reset() { unsafe cisal_writer_begin(state, wrapping == .gzip ? 1 : 0) }

    func encode(_ input: Span<UInt8>, to out: ByteBuffer, _ operation: EncodingOperation) throws(CodingError) {
        // The library counts in 32 bits.
        var position = 0
        repeat {
            let part = input.extracting(position..<min(input.count, position + 1 << 30))
            position += part.count
            let isLast = position == input.count
            try encode(part: part, to: out, isLast ? operation : .process)
        } while position < input.count
    }

    private func encode(part: Span<UInt8>, to out: ByteBuffer, _ operation: EncodingOperation) throws(CodingError) {
        var result: Int32 = 0
        unsafe part.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            var available = UInt32(bytes.count)
            var isFull = true
            while isFull && result == 0 {
                unsafe out.appendUninitialized(minimum: encodingStep) { free in
                    let offered = UInt32(min(free.count, 1 << 30))
                    var room = offered
                    result = unsafe cisal_encode(
                        state, &next, &available, free.baseAddress?.assumingMemoryBound(to: UInt8.self), &room,
                        operation == .flush ? 1 : 0, operation == .finish ? 1 : 0)
                    isFull = room == 0
                    return Int(offered - room)
                }
            }
        }
        guard result == 0 else { throw .outOfMemory }
    }
}
