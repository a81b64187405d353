public import HTTP

/// Undoes one content coding, a slice at a time; one stream, then ``reset()`` for the next.
///
/// What comes out is bounded by the caller, not by the input: a few bytes can stand for gigabytes.
/// ```
/// while true {
///     switch try decoder.decode(input, from: &position, into: out, atMost: 64 * 1024) {
///     case .hasMore: pass out on, wait until it has gone, call again
///     case .needsInput: read more, or try decoder.finish()
///     case .finished: the content is complete
///     }
/// }
/// ```
/// Its memory (32 KiB to 16 MiB, by coding and stream) goes with the object.
public final class ContentDecoder {
    public enum Progress: Sendable, Equatable {
        /// All of the input has been taken.
        case needsInput
        /// The limit was reached; there is more to be had, perhaps without any further input.
        case hasMore
        /// The content is complete; what stands behind it has been taken and belongs to nothing.
        case finished
    }

    public let coding: ContentCoding
    private enum Stream {
        case zlib(Inflater)
        case brotli(BrotliReader)
        case zstd(ZstdReader)
    }
    private let stream: Stream
    private var hasBegun = false
    private var isComplete = false

    public init(_ coding: ContentCoding) throws(CodingError) {
        self.coding = coding
        switch coding {
        case .gzip: stream = .zlib(try Inflater(.gzip))
        case .deflate: stream = .zlib(try Inflater(.deflate))
        case .brotli: stream = .brotli(try BrotliReader())
        case .zstd: stream = .zstd(try ZstdReader())
        }
    }

    /// Decodes `input` from `position` on, which moves behind what was taken; appends at most `limit` bytes (more than 0) to `out`.
    public func decode(
        _ input: Span<UInt8>, from position: inout Int, into out: ByteBuffer, atMost limit: Int
    ) throws(CodingError) -> Progress {
        precondition(position >= 0 && position <= input.count && limit > 0, "decoding reads within its input")
        if position < input.count { hasBegun = true }
        let rest = input.extracting(position..<input.count)
        let step: DecodingStep
        switch stream {
        case .zlib(let reader): step = try reader.decode(rest, into: out, atMost: limit)
        case .brotli(let reader): step = try reader.decode(rest, into: out, atMost: limit)
        case .zstd(let reader): step = try reader.decode(rest, into: out, atMost: limit)
        }
        position += step.taken
        isComplete = step.isAtEnd
        if step.endsStream {
            position = input.count
            return .finished
        }
        // Filled to the brim: the library may hold more.
        return step.written == limit || position < input.count ? .hasMore : .needsInput
    }

    /// There is no more input. Content of no bytes at all is complete, whatever its coding.
    public func finish() throws(CodingError) {
        if hasBegun && !isComplete { throw .truncated }
    }

    /// Forgets the stream, keeps the memory where the library can.
    public func reset() throws(CodingError) {
        hasBegun = false
        isComplete = false
        switch stream {
        case .zlib(let reader): try reader.reset()
        case .brotli(let reader): try reader.reset()
        case .zstd(let reader): reader.reset()
        }
    }
}

/// What one call of a library did.
struct DecodingStep {
    var taken: Int
    var written: Int
    /// A complete stream lies behind; another may follow where the coding lets streams be joined.
    var isAtEnd = false
    /// Nothing that follows belongs to the content.
    var endsStream = false
}
