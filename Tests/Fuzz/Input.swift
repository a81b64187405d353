/// Bytes in an allocation of exactly their size, so that the address sanitizer sees a read beyond them.
struct Input: ~Copyable {
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ source: UnsafeBufferPointer<UInt8>) {
        bytes = .allocate(capacity: source.count)
        _ = unsafe bytes.initialize(from: source)
    }

    init(copying source: Span<UInt8>) {
        bytes = .allocate(capacity: source.count)
        for index in source.indices { unsafe bytes.initializeElement(at: index, to: source[index]) }
    }

    deinit { bytes.deallocate() }

    var span: Span<UInt8> {
        @_lifetime(borrow self) get {
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(bytes))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    func part(_ range: Range<Int>) -> Input { unsafe Input(UnsafeBufferPointer(rebasing: bytes[range])) }

    func part(_ length: Int) -> Input { part(0..<length) }

    /// Every length that is shorter, or some of them when there are many.
    var partLengths: StrideTo<Int> { stride(from: 0, to: bytes.count, by: max(1, bytes.count / 64)) }
}
