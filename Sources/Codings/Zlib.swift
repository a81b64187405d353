internal import CZlib
internal import HTTP

/// What stands around deflated data: RFC 1952 for gzip, RFC 1950 for deflate (RFC 9110 section 8.4.1.2).
enum DeflateWrapping {
    case gzip, deflate

    /// As zlib's `windowBits` says it.
    var windowBits: Int32 { self == .gzip ? 15 + 16 : 15 }
    static let raw: Int32 = -15
}

/// gzip and deflate to bytes.
///
/// Members of gzip that follow each other are one content (RFC 1952 section 2.2). `deflate` without the zlib wrapper, which
/// some servers send, is told by its first two bytes.
///
/// SAFETY: the stream is initialised in `init`, ended in `deinit`, and lives at one address between; its pointers are set for
/// the call only in which the spans and buffers that they point into are borrowed.
final class Inflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private let wrapping: DeflateWrapping
    private var isAtEnd = false
    /// Of `deflate`: the first byte, until the second tells what it is. Then nil, as it always is for gzip.
    private var first: UInt8?
    private var isDetected: Bool

    init(_ wrapping: DeflateWrapping) throws(CodingError) {
        self.wrapping = wrapping
        isDetected = wrapping == .gzip
        stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe czlib_inflate_init(stream, wrapping.windowBits) == Z_OK else {
            unsafe stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        _ = unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    func reset() throws(CodingError) {
        isAtEnd = false
        first = nil
        isDetected = wrapping == .gzip
        guard unsafe inflateReset2(stream, wrapping.windowBits) == Z_OK else { throw .outOfMemory }
    }

    func decode(_ input: Span<UInt8>, into out: ByteBuffer, atMost limit: Int) throws(CodingError) -> DecodingStep {
        guard isDetected else { return try detect(input, into: out, atMost: limit) }
        if isAtEnd, !input.isEmpty {
            // Behind a member stands another, or what browsers take for nothing.
            guard wrapping == .gzip, input[0] == 0x1f else {
                return DecodingStep(taken: input.count, written: 0, isAtEnd: true, endsStream: true)
            }
            guard unsafe inflateReset(stream) == Z_OK else { throw .outOfMemory }
            isAtEnd = false
        }
        return try inflate(input, into: out, atMost: limit)
    }

    /// RFC 1950 section 2.2: the first two bytes of the wrapper are a multiple of 31 and name the method 8.
    private func detect(_ input: Span<UInt8>, into out: ByteBuffer, atMost limit: Int) throws(CodingError) -> DecodingStep {
        if input.isEmpty { return DecodingStep(taken: 0, written: 0) }
        guard let low = first else {
            if input.count == 1 {
                first = input[0]
                return DecodingStep(taken: 1, written: 0)
            }
            try chooseWrapping(input[0], input[1])
            return try inflate(input, into: out, atMost: limit)
        }
        try chooseWrapping(low, input[0])
        first = nil
        let held: InlineArray<1, UInt8> = [low]
        let before = out.count
        _ = try inflate(held.span, into: out, atMost: limit)
        let written = out.count - before
        // One byte of a stream never fills anything: there is room left.
        var step = try inflate(input, into: out, atMost: limit - written)
        step.written += written
        return step
    }

    private func chooseWrapping(_ first: UInt8, _ second: UInt8) throws(CodingError) {
        isDetected = true
        let isWrapped = first & 15 == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
        if isWrapped { return }
        guard unsafe inflateReset2(stream, DeflateWrapping.raw) == Z_OK else { throw .outOfMemory }
    }

    private func inflate(_ input: Span<UInt8>, into out: ByteBuffer, atMost limit: Int) throws(CodingError) -> DecodingStep {
        var result = Z_OK
        var step = DecodingStep(taken: 0, written: 0)
        // zlib counts in 32 bits.
        let part = input.extracting(first: min(input.count, 1 << 30))
        let room = min(limit, 1 << 30)
        unsafe out.appendUninitialized(minimum: room) { free in
            unsafe part.withUnsafeBufferPointer { bytes in
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(bytes.count)
                unsafe stream.pointee.next_out = free.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.avail_out = UInt32(room)
                result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
                step.taken = unsafe bytes.count - Int(stream.pointee.avail_in)
                step.written = unsafe room - Int(stream.pointee.avail_out)
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.next_out = nil
            }
            return step.written
        }
        switch result {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isAtEnd = true
        case Z_MEM_ERROR: throw .outOfMemory
        default: throw .malformed
        }
        step.isAtEnd = isAtEnd
        // Without a member behind it the input's end is the content's.
        step.endsStream = isAtEnd && wrapping == .deflate
        return step
    }
}

/// Bytes to gzip or deflate.
///
/// SAFETY: as for ``Inflater``.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    init(_ wrapping: DeflateWrapping, level: Int32) throws(CodingError) {
        stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe czlib_deflate_init(stream, level, wrapping.windowBits) == Z_OK else {
            unsafe stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        _ = unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    func reset() throws(CodingError) {
        guard unsafe deflateReset(stream) == Z_OK else { throw .outOfMemory }
    }

    func encode(_ input: Span<UInt8>, to out: ByteBuffer, _ operation: EncodingOperation) throws(CodingError) {
        let flush =
            switch operation {
            case .process: Z_NO_FLUSH
            case .flush: Z_SYNC_FLUSH
            case .finish: Z_FINISH
            }
        var position = 0
        var isFull = true
        while isFull || position < input.count {
            let part = input.extracting(position..<min(input.count, position + 1 << 30))
            var result = Z_OK
            unsafe out.appendUninitialized(minimum: encodingStep) { free in
                unsafe part.withUnsafeBufferPointer { bytes in
                    let room = min(free.count, 1 << 30)
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(bytes.count)
                    unsafe stream.pointee.next_out = free.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    unsafe stream.pointee.avail_out = UInt32(room)
                    result = unsafe deflate(stream, flush)
                    position += unsafe bytes.count - Int(stream.pointee.avail_in)
                    isFull = unsafe stream.pointee.avail_out == 0
                    unsafe stream.pointee.next_in = nil
                    let written = unsafe room - Int(stream.pointee.avail_out)
                    unsafe stream.pointee.next_out = nil
                    return written
                }
            }
            guard result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END else { throw .outOfMemory }
        }
    }
}
