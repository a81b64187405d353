internal import CBrotli
internal import HTTP

/// br to bytes (RFC 7932; the format bounds the window at 16 MiB).
///
/// SAFETY: the state is made in `init` or `reset` and destroyed in `deinit` or `reset`; pointers into spans and buffers are
/// handed over for one call, in which these are borrowed.
final class BrotliReader {
    private var state: OpaquePointer

    init() throws(CodingError) {
        guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else { throw .outOfMemory }
        unsafe self.state = state
    }

    deinit { unsafe BrotliDecoderDestroyInstance(state) }

    /// The library can not begin anew in the same memory.
    func reset() throws(CodingError) {
        guard let fresh = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else { throw .outOfMemory }
        unsafe BrotliDecoderDestroyInstance(state)
        unsafe state = fresh
    }

    func decode(_ input: Span<UInt8>, into out: ByteBuffer, atMost limit: Int) throws(CodingError) -> DecodingStep {
        if unsafe BrotliDecoderIsFinished(state) != 0 {
            return DecodingStep(taken: input.count, written: 0, isAtEnd: true, endsStream: true)
        }
        var step = DecodingStep(taken: 0, written: 0)
        var result = BROTLI_DECODER_RESULT_ERROR
        unsafe out.appendUninitialized(minimum: limit) { free in
            unsafe input.withUnsafeBufferPointer { bytes in
                var available = bytes.count
                var next = bytes.baseAddress
                var room = limit
                var target = unsafe free.baseAddress?.assumingMemoryBound(to: UInt8.self)
                result = unsafe BrotliDecoderDecompressStream(state, &available, &next, &room, &target, nil)
                step.taken = bytes.count - available
                step.written = limit - room
            }
            return step.written
        }
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS:
            step.isAtEnd = true
            step.endsStream = true
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
        default: throw isOutOfMemory ? .outOfMemory : .malformed
        }
        return step
    }

    private var isOutOfMemory: Bool {
        let code = unsafe BrotliDecoderGetErrorCode(state).rawValue
        return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES.rawValue
            && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES.rawValue
    }
}

/// Bytes to br.
///
/// SAFETY: as for ``BrotliReader``.
final class BrotliWriter {
    private var state: OpaquePointer
    private let quality: UInt32
    /// A window of 256 KiB: what pages and scripts gain from more does not pay for its memory.
    private static let windowBits: UInt32 = 18

    init(quality: UInt32) throws(CodingError) {
        self.quality = quality
        unsafe state = try Self.make(quality)
    }

    deinit { unsafe BrotliEncoderDestroyInstance(state) }

    private static func make(_ quality: UInt32) throws(CodingError) -> OpaquePointer {
        guard let state = unsafe BrotliEncoderCreateInstance(nil, nil, nil) else { throw .outOfMemory }
        _ = unsafe BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, quality)
        _ = unsafe BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, windowBits)
        return unsafe state
    }

    /// The library can not begin anew in the same memory.
    func reset() throws(CodingError) {
        let fresh = unsafe try Self.make(quality)
        unsafe BrotliEncoderDestroyInstance(state)
        unsafe state = fresh
    }

    func encode(_ input: Span<UInt8>, to out: ByteBuffer, _ operation: EncodingOperation) throws(CodingError) {
        let asked =
            switch operation {
            case .process: BROTLI_OPERATION_PROCESS
            case .flush: BROTLI_OPERATION_FLUSH
            case .finish: BROTLI_OPERATION_FINISH
            }
        var isGood = true
        unsafe input.withUnsafeBufferPointer { bytes in
            var available = bytes.count
            var next = bytes.baseAddress
            repeat {
                unsafe out.appendUninitialized(minimum: encodingStep) { free in
                    var room = free.count
                    var target = unsafe free.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    isGood = unsafe BrotliEncoderCompressStream(state, asked, &available, &next, &room, &target, nil) != 0
                    return free.count - room
                }
            } while unsafe isGood && (available > 0 || BrotliEncoderHasMoreOutput(state) != 0)
        }
        guard isGood else { throw .outOfMemory }
    }
}
