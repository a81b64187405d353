public import HTTP

/// Applies one content coding to content as it comes; one stream, then ``reset()`` for the next.
///
/// What comes out of a call is about as much as went in at most (the codings' own bound on content that can not be compressed),
/// so a caller that feeds slices is bounded by them. Its memory goes with the object: gzip and deflate 270 KiB, br and zstd
/// 1 to 6 MiB at the default levels.
public final class ContentEncoder {
    public let coding: ContentCoding
    public let isFast: Bool
    private enum Stream {
        case zlib(Deflater)
        case fast(FastDeflater)
        case brotli(BrotliWriter)
        case zstd(ZstdWriter)
    }
    private let stream: Stream

    /// Cheap enough for content that is encoded while it is sent.
    public init(_ coding: ContentCoding) throws(CodingError) {
        self.coding = coding
        isFast = false
        switch coding {
        case .gzip: stream = .zlib(try Deflater(.gzip, level: 5))
        case .deflate: stream = .zlib(try Deflater(.deflate, level: 5))
        case .brotli: stream = .brotli(try BrotliWriter(quality: 4))
        case .zstd: stream = .zstd(try ZstdWriter(level: 3))
        }
    }

    /// As cheap as is worth while: for content that is encoded anew for each request.
    public init(fast coding: ContentCoding) throws(CodingError) {
        self.coding = coding
        isFast = true
        switch coding {
        case .gzip: stream = .fast(try FastDeflater(.gzip))
        case .deflate: stream = .fast(try FastDeflater(.deflate))
        case .brotli: stream = .brotli(try BrotliWriter(quality: 3))
        case .zstd: stream = .zstd(try ZstdWriter(level: 1))
        }
    }

    /// Encodes `input`. With `flush`, all that was given so far can be decoded from what has been appended.
    public func append(_ input: Span<UInt8>, to out: ByteBuffer, flush: Bool = false) throws(CodingError) {
        if input.isEmpty && !flush { return }
        switch stream {
        case .fast(let writer): try writer.encode(input, to: out, flush ? .flush : .process)
        case .zlib(let writer): try writer.encode(input, to: out, flush ? .flush : .process)
        case .brotli(let writer): try writer.encode(input, to: out, flush ? .flush : .process)
        case .zstd(let writer): try writer.encode(input, to: out, flush ? .flush : .process)
        }
    }

    /// Appends the end of the stream; nothing may be appended behind it before ``reset()``.
    public func finish(to out: ByteBuffer) throws(CodingError) {
        let nothing = Span<UInt8>()
        switch stream {
        case .fast(let writer): try writer.encode(nothing, to: out, .finish)
        case .zlib(let writer): try writer.encode(nothing, to: out, .finish)
        case .brotli(let writer): try writer.encode(nothing, to: out, .finish)
        case .zstd(let writer): try writer.encode(nothing, to: out, .finish)
        }
    }

    /// Forgets the stream, keeps the memory where the library can.
    public func reset() throws(CodingError) {
        switch stream {
        case .fast(let writer): writer.reset()
        case .zlib(let writer): try writer.reset()
        case .brotli(let writer): try writer.reset()
        case .zstd(let writer): writer.reset()
        }
    }
}

/// What a library is asked to do with its input.
enum EncodingOperation { case process, flush, finish }

/// Room for the output of one call of a library.
let encodingStep = 8 * 1024
