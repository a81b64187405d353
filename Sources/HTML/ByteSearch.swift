internal import Glibc

/// The classes of octets that the tokenizer asks for (WHATWG HTML section 13.2.5), and the search for one octet.
enum Octet {
    static var lessThan: UInt8 { UInt8(ascii: "<") }
    static var greaterThan: UInt8 { UInt8(ascii: ">") }
    static var slash: UInt8 { UInt8(ascii: "/") }
    static var dash: UInt8 { UInt8(ascii: "-") }
    static var equals: UInt8 { UInt8(ascii: "=") }
    static var quote: UInt8 { UInt8(ascii: "\"") }
    static var apostrophe: UInt8 { UInt8(ascii: "'") }

    /// Tab, LF, FF, CR, space.
    @inline(__always) static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && (1 as UInt64) << UInt64(byte) & 0x1_0000_3600 != 0
    }

    @inline(__always) static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
    @inline(__always) static func lowered(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

    /// The index of the next `byte` at `start` or behind it, or the count.
    ///
    /// SAFETY: memchr looks at `count - start` bytes from `start` on, which are the span's.
    static func index(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
        if start >= bytes.count { return bytes.count }
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, let found = unsafe memchr(base + start, Int32(byte), buffer.count - start) else {
                return buffer.count
            }
            return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }
}
