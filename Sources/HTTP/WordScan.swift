/// Finds the end of a run of octets, eight at a time in the lanes of a word.
///
/// A lane's high bit says that its octet ends the run. The tests of `text` and `target` may also set it in lanes *behind* the
/// first hit (a borrow runs upwards), so only the lowest is ever used. SIMD masks are not used: this toolchain does not vectorise
/// them, and a comparison then costs a hundred times what a word does.
///
/// SAFETY: the one unsafe operation is the unaligned load of eight octets as an integer, for which every bit pattern is valid;
/// `RawSpan` checks that all eight lie within it.
enum WordScan {
    @inline(always) private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inline(always) private static var highs: UInt64 { 0x8080_8080_8080_8080 }

    @inline(always) static func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The first octet from `start` that is a control character other than a tab; `bytes.count` when there is none.
    @inline(always) static func text(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        var position = start
        while end &- position >= 8 {
            let octets = word(bytes, position)
            let deletes = octets ^ (ones &* 0x7f)
            let hits = ((octets &- ones &* 0x20) & ~octets | (deletes &- ones) & ~deletes) & highs
            if hits == 0 {
                position &+= 8
                continue
            }
            position &+= hits.trailingZeroBitCount &>> 3
            if bytes[position] != Octet.tab { return position }
            position &+= 1
        }
        while position < end && !Octet.isForbiddenInText(bytes[position]) { position &+= 1 }
        return position
    }

    /// The first octet from `start` that is a space or a control character; `end` when there is none before it.
    @inline(always) static func target(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        var position = start
        while end &- position >= 8 {
            let octets = word(bytes, position)
            let deletes = octets ^ (ones &* 0x7f)
            let hits = ((octets &- ones &* 0x21) & ~octets | (deletes &- ones) & ~deletes) & highs
            if hits != 0 { return position &+ hits.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < end && bytes[position] > Octet.space && bytes[position] != Octet.delete { position &+= 1 }
        return position
    }

    /// The first octet from `start` that is not a tchar; `bytes.count` when there is none.
    @inline(always) static func token(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        var position = start
        while end &- position >= 8 {
            let others = othersThanNameOctets(word(bytes, position))
            if others == 0 {
                position &+= 8
                continue
            }
            position &+= others.trailingZeroBitCount &>> 3
            if !Octet.isToken(bytes[position]) { return position }
            position &+= 1
        }
        while position < end && Octet.isToken(bytes[position]) { position &+= 1 }
        return position
    }

    /// Sets the high bit of each lane that is none of `A-Z a-z 0-9 -`, which is what names are mostly made of; exact in every lane.
    @inline(always) private static func othersThanNameOctets(_ octets: UInt64) -> UInt64 {
        let low = octets & ~highs
        let folded = low | ones &* 0x20
        let letters = (folded &+ ones &* (0x80 - 0x61)) & ~(folded &+ ones &* (0x80 - 0x7b))
        let digits = (low &+ ones &* (0x80 - 0x30)) & ~(low &+ ones &* (0x80 - 0x3a))
        let hyphens = ~((low ^ ones &* 0x2d) &+ ones &* 0x7f)
        return ~((letters | digits | hyphens) & ~octets) & highs
    }

    /// The octets with `A-Z` made lower case, all others as they are.
    @inline(always) static func lowercased(_ octets: UInt64) -> UInt64 {
        let low = octets & ~highs
        let capitals = (low &+ ones &* (0x80 - 0x41)) & ~(low &+ ones &* (0x80 - 0x5b)) & ~octets & highs
        return octets | capitals &>> 2
    }

    @inline(always) static func lowercased(_ octet: UInt8) -> UInt8 {
        octet &- UInt8(ascii: "A") < 26 ? octet | 0x20 : octet
    }
}
