internal import Glibc

/// A growable run of bytes that one thread owns and reuses; the currency of heads, pending output and arenas.
///
/// Reading goes through ``span`` (bounds-checked), writing through `append`. Storage only grows; `clear()` keeps it, so that
/// after warm-up nothing is allocated.
///
/// SAFETY: `base` points at `capacity` bytes allocated in `init` or `reserve` and freed in `deinit`; `count <= capacity`
/// always; every raw access below is preceded by a check or a reservation. A span cannot be stored, so it does not outlive the
/// call it is used in; its user holds the buffer (an exchange, a connection) and does not append to it meanwhile. The compiler
/// could not check the latter for a class, which is why the spans claim no lifetime of their own.
public final class ByteBuffer {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline var storedCount: Int
    @usableFromInline var storedCapacity: Int

    public init(capacity: Int = 256) {
        base = .allocate(capacity: max(capacity, 16))
        storedCount = 0
        storedCapacity = max(capacity, 16)
    }

    deinit { base.deallocate() }

    @inlinable public var count: Int { storedCount }
    @inlinable public var capacity: Int { storedCapacity }
    @inlinable public var isEmpty: Bool { storedCount == 0 }

    /// The bytes, to be read in place until the buffer is next written to.
    @inlinable public var span: Span<UInt8> {
        @_lifetime(immortal) get {
            let whole = unsafe Span<UInt8>(_unsafeStart: base, count: storedCount)
            return unsafe _overrideLifetime(whole, borrowing: ())
        }
    }

    /// The bytes of one range, to be read in place until the buffer is next written to.
    /// Precondition: the range lies within `count`.
    @inlinable
    @_lifetime(immortal)
    public func span(_ range: ByteRange) -> Span<UInt8> {
        let start = Int(range.start), length = Int(range.length)
        precondition(start + length <= storedCount, "byte range outside its buffer")
        let part = unsafe Span<UInt8>(_unsafeStart: base + start, count: length)
        return unsafe _overrideLifetime(part, borrowing: ())
    }

    /// Whether the bytes are the same.
    public func equals(_ other: Span<UInt8>) -> Bool {
        let length = storedCount
        guard other.count == length else { return false }
        return unsafe other.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return true }
            return unsafe memcmp(base, start, length) == 0
        }
    }

    @inlinable public subscript(index: Int) -> UInt8 {
        get {
            precondition(index >= 0 && index < storedCount, "byte index outside its buffer")
            return unsafe base[index]
        }
        set {
            precondition(index >= 0 && index < storedCount, "byte index outside its buffer")
            unsafe base[index] = newValue
        }
    }

    @inlinable @inline(always) public func append(_ bytes: Span<UInt8>) {
        let length = bytes.count
        if length == 0 { return }
        if storedCapacity - storedCount < length { reserve(length) }
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe UnsafeMutableRawPointer(base + storedCount).copyMemory(from: source.baseAddress!, byteCount: length)
        }
        storedCount += length
    }

    @inlinable @inline(always) public func append(_ bytes: UnsafeRawBufferPointer) {
        let length = bytes.count
        if length == 0 { return }
        if storedCapacity - storedCount < length { reserve(length) }
        unsafe UnsafeMutableRawPointer(base + storedCount).copyMemory(from: bytes.baseAddress!, byteCount: length)
        storedCount += length
    }

    @inlinable @inline(always) public func append(_ text: StaticString) {
        let length = text.utf8CodeUnitCount
        if storedCapacity - storedCount < length { reserve(length) }
        unsafe UnsafeMutableRawPointer(base + storedCount).copyMemory(from: text.utf8Start, byteCount: length)
        storedCount += length
    }

    @inlinable @inline(always) public func append(_ byte: UInt8) {
        if storedCapacity == storedCount { reserve(1) }
        unsafe base[storedCount] = byte
        storedCount += 1
    }

    /// A field line: name, colon, space, value, CRLF.
    @inlinable @inline(always) public func append(line name: Span<UInt8>, _ value: Span<UInt8>) {
        let length = name.count + value.count + 4
        if storedCapacity - storedCount < length { reserve(length) }
        var end = unsafe UnsafeMutableRawPointer(base + storedCount)
        unsafe name.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { unsafe end.copyMemory(from: start, byteCount: bytes.count) }
        }
        unsafe end += name.count
        unsafe end.storeBytes(of: UInt16(littleEndian: 0x203a), as: UInt16.self)
        unsafe end += 2
        unsafe value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { unsafe end.copyMemory(from: start, byteCount: bytes.count) }
        }
        unsafe end += value.count
        unsafe end.storeBytes(of: UInt16(littleEndian: 0x0a0d), as: UInt16.self)
        storedCount += length
    }

    @inlinable public func append(_ bytes: [UInt8]) { append(bytes.span) }

    /// Not for the data path: walks a Swift string.
    public func append(text: String) {
        for byte in text.utf8 { append(byte) }
    }

    public func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: value.magnitude)
    }

    public func append(decimal value: UInt) {
        if value < 10 { return append(UInt8(truncatingIfNeeded: value) &+ UInt8(ascii: "0")) }
        let length = 20
        if storedCapacity - storedCount < length { reserve(length) }
        var count = 0
        var rest = value
        while rest > 0 {
            count += 1
            rest /= 10
        }
        rest = value
        var position = storedCount + count
        while rest > 0 {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            position -= 1
            unsafe base[position] = UInt8(truncatingIfNeeded: digit) &+ UInt8(ascii: "0")
            rest = quotient
        }
        storedCount += count
    }

    public func append(hexadecimal value: UInt) {
        var shift = max(0, (UInt.bitWidth - value.leadingZeroBitCount + 3) / 4 * 4 - 4)
        while true {
            let digit = UInt8(truncatingIfNeeded: value >> UInt(shift)) & 15
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            if shift == 0 { return }
            shift -= 4
        }
    }

    /// All 16 digits.
    public func append(paddedHexadecimal value: UInt64) {
        append(octets: Self.digits(of: UInt32(truncatingIfNeeded: value >> 32)))
        append(octets: Self.digits(of: UInt32(truncatingIfNeeded: value)))
    }

    /// The eight digits of a word, the first in the highest octet: nibbles are spread, then made characters all at once.
    private static func digits(of value: UInt32) -> UInt64 {
        var spread = UInt64(value)
        spread = (spread << 16 | spread) & 0x0000_ffff_0000_ffff
        spread = (spread << 8 | spread) & 0x00ff_00ff_00ff_00ff
        spread = (spread << 4 | spread) & 0x0f0f_0f0f_0f0f_0f0f
        let isLetter = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return spread &+ 0x3030_3030_3030_3030 &+ isLetter &* 0x27
    }

    /// The octets of a word, the highest first.
    private func append(octets word: UInt64) {
        if storedCapacity - storedCount < 8 { reserve(8) }
        unsafe UnsafeMutableRawPointer(base + storedCount).storeBytes(of: word.bigEndian, as: UInt64.self)
        storedCount += 8
    }

    /// Makes room for `extra` bytes behind the present ones.
    @inline(never) public func reserve(_ extra: Int) {
        if storedCapacity - storedCount >= extra { return }
        let capacity = max(storedCapacity * 2, storedCount + extra)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe larger.update(from: base, count: storedCount)
        // What moves out may be a secret.
        unsafe explicit_bzero(base, storedCount)
        base.deallocate()
        base = larger
        storedCapacity = capacity
    }

    @inlinable public func clear() { storedCount = 0 }

    public func truncate(to count: Int) {
        precondition(count >= 0 && count <= storedCount, "truncation grows nothing")
        storedCount = count
    }

    /// Drops the first `length` bytes and moves the rest to the front.
    public func removeFirst(_ length: Int) {
        precondition(length >= 0 && length <= storedCount, "more removed than there is")
        storedCount -= length
        unsafe memmove(base, base + length, storedCount)
    }

    /// Overwrites everything, then clears: for what held a secret.
    public func wipe() {
        unsafe explicit_bzero(base, storedCapacity)
        storedCount = 0
    }

    /// Lets `body` write into the free space (at least `minimum` bytes) and takes what it says it wrote.
    @inlinable public func appendUninitialized<E>(
        minimum: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) {
        if storedCapacity - storedCount < minimum { reserve(minimum) }
        let room = storedCapacity - storedCount
        let written = unsafe try body(UnsafeMutableRawBufferPointer(start: base + storedCount, count: room))
        precondition(written >= 0 && written <= room, "more written than there was room for")
        storedCount += written
    }

    @inlinable public func withUnsafeBytes<R, E>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        unsafe try body(UnsafeRawBufferPointer(start: base, count: storedCount))
    }
}

extension Array where Element == UInt8 {
    public init(copying span: Span<UInt8>) {
        self.init()
        reserveCapacity(span.count)
        for index in 0..<span.count { append(span[index]) }
    }
}

/// Where some bytes lie in the buffer that they belong to.
public struct ByteRange: Sendable, Equatable {
    public var start: UInt32
    public var length: UInt32

    @inlinable public init(start: UInt32, length: UInt32) {
        self.start = start
        self.length = length
    }

    @inlinable public init(_ start: Int, _ length: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.length = UInt32(truncatingIfNeeded: length)
    }

    public static let empty = ByteRange(start: 0, length: 0)
    @inlinable public var end: Int { Int(start) + Int(length) }
    @inlinable public var isEmpty: Bool { length == 0 }
}
