internal import CNGHTTP2
internal import Glibc

/// Where a worker's HTTP/2 sessions have their memory from: small blocks are kept and given out again.
///
/// The library makes and frees some thirty blocks a stream, in an order that the C library's own small caches do not fit.
///
/// SAFETY: one thread calls, the worker's. Each block begins with a word that says its class and one for its link or its size, so
/// that what the library gets is aligned to 16 octets, and is read only while the block is ours or by the call that takes it back.
/// Sessions hold this object for as long as they live.
final class HTTP2Memory {
    /// For the library; names this object as its user data.
    private(set) var calls = nghttp2_mem()
    private var free = InlineArray<10, UnsafeMutableRawPointer?>(repeating: nil)
    private var kept = 0

    /// Classes double from here to 16 KiB: the fields of a large head, in one block, are kept too.
    private static let smallest = 32
    private static let classes = 10
    private static let large = UInt64(classes)
    private static let prefix = 16
    /// So many octets of free blocks are kept.
    private static let mostKept = 1 << 20

    init() {
        calls.mem_user_data = unsafe Unmanaged.passUnretained(self).toOpaque()
        calls.malloc = { size, data in HTTP2Memory.with(data) { $0.allocate(size) } }
        calls.free = { block, data in HTTP2Memory.with(data) { $0.release(block) } }
        calls.calloc = { count, size, data in
            let (length, isTooLarge) = count.multipliedReportingOverflow(by: size)
            return isTooLarge ? nil : HTTP2Memory.with(data) { $0.allocateCleared(length) }
        }
        calls.realloc = { block, size, data in HTTP2Memory.with(data) { $0.reallocate(block, size) } }
    }

    deinit {
        for index in 0..<Self.classes {
            while let block = unsafe free[index] {
                unsafe free[index] = Self.link(block)
                unsafe Glibc.free(block)
            }
        }
    }

    private static func with<R>(_ data: UnsafeMutableRawPointer?, _ body: (HTTP2Memory) -> R) -> R {
        guard let data = unsafe data else { preconditionFailure("the library names whose memory it wants") }
        return unsafe Unmanaged<HTTP2Memory>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
    }

    private static func link(_ block: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        unsafe block.load(fromByteOffset: 8, as: UnsafeMutableRawPointer?.self)
    }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard size <= Self.smallest << (Self.classes - 1) else { return allocateLarge(size) }
        let index = size <= Self.smallest ? 0 : Int.bitWidth - (size - 1).leadingZeroBitCount - 5
        if let block = unsafe free[index] {
            unsafe free[index] = Self.link(block)
            kept -= Self.smallest << index
            return unsafe block + Self.prefix
        }
        guard let block = unsafe malloc(Self.smallest << index + Self.prefix) else { return nil }
        unsafe block.storeBytes(of: UInt64(index), as: UInt64.self)
        return unsafe block + Self.prefix
    }

    private func allocateLarge(_ size: Int) -> UnsafeMutableRawPointer? {
        let (length, isTooLarge) = size.addingReportingOverflow(Self.prefix)
        guard !isTooLarge, let block = unsafe malloc(length) else { return nil }
        unsafe block.storeBytes(of: Self.large, as: UInt64.self)
        unsafe block.storeBytes(of: UInt64(size), toByteOffset: 8, as: UInt64.self)
        return unsafe block + Self.prefix
    }

    private func allocateCleared(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let block = unsafe allocate(size) else { return nil }
        unsafe memset(block, 0, size)
        return unsafe block
    }

    private func release(_ given: UnsafeMutableRawPointer?) {
        guard let given = unsafe given else { return }
        let block = unsafe given - Self.prefix
        let index = unsafe block.load(as: UInt64.self)
        guard index < Self.large, kept < Self.mostKept else { return unsafe Glibc.free(block) }
        unsafe block.storeBytes(of: free[Int(index)], toByteOffset: 8, as: UnsafeMutableRawPointer?.self)
        unsafe free[Int(index)] = block
        kept += Self.smallest << Int(index)
    }

    private func reallocate(_ given: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        guard let given = unsafe given else { return unsafe allocate(size) }
        let block = unsafe given - Self.prefix
        let index = unsafe block.load(as: UInt64.self)
        let room = unsafe index < Self.large ? Self.smallest << Int(index) : Int(block.load(fromByteOffset: 8, as: UInt64.self))
        if size <= room { return unsafe given }
        guard let larger = unsafe allocate(size) else { return nil }
        unsafe memcpy(larger, given, room)
        unsafe release(given)
        return unsafe larger
    }
}
