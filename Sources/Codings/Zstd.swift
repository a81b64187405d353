internal import CZstd
internal import HTTP

/// zstd to bytes (RFC 8878). Frames that follow each other are one content.
///
/// SAFETY: the context is made in `init` and freed in `deinit`; pointers into spans and buffers are handed over for one call, in
/// which these are borrowed.
final class ZstdReader {
    private let context: OpaquePointer
    private var isAtEnd = false
    /// RFC 9659 section 3: of content that is sent over HTTP, a window of at most 8 MiB.
    private static let largestWindow: Int32 = 23

    init() throws(CodingError) {
        guard let context = unsafe ZSTD_createDCtx() else { throw .outOfMemory }
        unsafe self.context = context
        _ = unsafe ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.largestWindow)
    }

    deinit { _ = unsafe ZSTD_freeDCtx(context) }

    func reset() {
        isAtEnd = false
        _ = unsafe ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
    }

    func decode(_ input: Span<UInt8>, into out: ByteBuffer, atMost limit: Int) throws(CodingError) -> DecodingStep {
        var step = DecodingStep(taken: 0, written: 0)
        if isAtEnd && input.isEmpty {
            step.isAtEnd = true
            return step
        }
        var result = 0
        unsafe out.appendUninitialized(minimum: limit) { free in
            unsafe input.withUnsafeBufferPointer { bytes in
                var source = unsafe ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
                var target = unsafe ZSTD_outBuffer(dst: free.baseAddress, size: limit, pos: 0)
                result = unsafe ZSTD_decompressStream(context, &target, &source)
                step.taken = unsafe source.pos
                step.written = unsafe target.pos
            }
            return step.written
        }
        guard ZSTD_isError(result) == 0 else { throw .malformed }
        isAtEnd = result == 0
        step.isAtEnd = isAtEnd
        return step
    }
}

/// Bytes to zstd.
///
/// SAFETY: as for ``ZstdReader``.
final class ZstdWriter {
    private let context: OpaquePointer

    init(level: Int32) throws(CodingError) {
        guard let context = unsafe ZSTD_createCCtx() else { throw .outOfMemory }
        unsafe self.context = context
        _ = unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
        // 1 MiB, within what RFC 9659 lets every client be asked for.
        _ = unsafe ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 20)
    }

    deinit { _ = unsafe ZSTD_freeCCtx(context) }

    func reset() { _ = unsafe ZSTD_CCtx_reset(context, ZSTD_reset_session_only) }

    func encode(_ input: Span<UInt8>, to out: ByteBuffer, _ operation: EncodingOperation) throws(CodingError) {
        let asked =
            switch operation {
            case .process: ZSTD_e_continue
            case .flush: ZSTD_e_flush
            case .finish: ZSTD_e_end
            }
        var result = 0
        unsafe input.withUnsafeBufferPointer { bytes in
            var source = unsafe ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
            repeat {
                unsafe out.appendUninitialized(minimum: encodingStep) { free in
                    var target = unsafe ZSTD_outBuffer(dst: free.baseAddress, size: free.count, pos: 0)
                    result = unsafe ZSTD_compressStream2(context, &target, &source, asked)
                    return unsafe target.pos
                }
                if ZSTD_isError(result) != 0 { return }
                // What is left of a flush or an end is counted; without one, all input taken is all there is to do.
            } while unsafe source.pos < source.size || (operation != .process && result > 0)
        }
        guard ZSTD_isError(result) == 0 else { throw .outOfMemory }
    }
}
