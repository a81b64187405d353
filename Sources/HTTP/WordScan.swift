/// Finds the end of a run of octets, eight at a time in the lanes of a word.
///
/// A lane's high bit says that its octet may end the run. A borrow or carry from the lane below can set it where nothing
/// ends, but never clears it, so the octet of the lowest bit is looked at, and the scan goes on behind it when it was
/// nothing. SIMD masks are not used: this toolchain does not vectorise them, and a comparison then costs a hundred times what
/// a word does.
///
/// SAFETY: octets are loaded as integers, for which every bit pattern is valid. `word` leaves the check that all eight lie
/// within the span to `RawSpan`. The scans check `start` once; from there `position` only grows, and each load stands under a
/// comparison of it with an end that is no more than the span's count.
enum WordScan {
    @inline(always) private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inline(always) private static var highs: UInt64 { 0x8080_8080_8080_8080 }

    @inline(always) static func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(always) private static func uncheckedWord(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// The first octet from `start` that is a control character other than a tab; `bytes.count` when there is none.
    @inline(always) static func text(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        precondition(start >= 0, "scan before the start")
        var position = start
        while end &- position >= 8 {
            // Below a space the subtraction borrows, at DEL the addition reaches the high bit; obs-text has it set before.
            let octets = uncheckedWord(bytes, position)
            let suspects = ((octets &- ones &* 0x20) | (octets &+ ones)) & ~octets & highs
            if suspects == 0 {
                position &+= 8
                continue
            }
            position &+= suspects.trailingZeroBitCount &>> 3
            let octet = unsafe bytes[unchecked: position]
            if octet == Octet.carriageReturn || Octet.isForbiddenInText(octet) { return position }
            position &+= 1
        }
        while position < end && !Octet.isForbiddenInText(unsafe bytes[unchecked: position]) { position &+= 1 }
        return position
    }

    /// The first octet from `start` that is a space or a control character; `end` when there is none before it.
    @inline(always) static func target(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        precondition(start >= 0 && end <= bytes.count, "scan outside the span")
        var position = start
        while end &- position >= 8 {
            let octets = uncheckedWord(bytes, position)
            let suspects = ((octets &- ones &* 0x21) | (octets &+ ones)) & ~octets & highs
            if suspects == 0 {
                position &+= 8
                continue
            }
            position &+= suspects.trailingZeroBitCount &>> 3
            if !isTargetOctet(unsafe bytes[unchecked: position]) { return position }
            position &+= 1
        }
        while position < end && isTargetOctet(unsafe bytes[unchecked: position]) { position &+= 1 }
        return position
    }

    /// The first octet from `start` that is not a tchar; `bytes.count` when there is none.
    @inline(always) static func token(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        precondition(start >= 0, "scan before the start")
        var position = start
        while end &- position >= 8 {
            let others = othersThanNameOctets(uncheckedWord(bytes, position))
            if others == 0 {
                position &+= 8
                continue
            }
            position &+= others.trailingZeroBitCount &>> 3
            if !Octet.isToken(unsafe bytes[unchecked: position]) { return position }
            position &+= 1
        }
        while position < end && Octet.isToken(unsafe bytes[unchecked: position]) { position &+= 1 }
        return position
    }

    @inline(always) private static func isTargetOctet(_ octet: UInt8) -> Bool {
        octet > Octet.space && octet != Octet.delete
    }

    /// Sets the high bit of lanes that are neither a letter nor a hyphen, which is what names are mostly made of.
    ///
    /// A sum carries into the next lane only from an octet beyond ASCII, which is a hit itself: the lowest hit is exact.
    @inline(always) private static func othersThanNameOctets(_ octets: UInt64) -> UInt64 {
        let folded = octets | ones &* 0x20
        let belowLetters = ~(folded &+ ones &* (0x80 - 0x61))
        let aboveLetters = folded &+ ones &* (0x80 - 0x7b)
        let otherThanHyphen = (octets ^ ones &* 0x2d) &+ ones &* 0x7f
        return ((belowLetters | aboveLetters) & otherThanHyphen | octets) & highs
    }

    /// The octets with `A-Z` made lower case, all others as they are.
    @inline(always) static func lowercased(_ octets: UInt64) -> UInt64 {
        let low = octets & ~highs
        let capitals = (low &+ ones &* (0x80 - 0x41)) & ~(low &+ ones &* (0x80 - 0x5b)) & ~octets & highs
        return octets | capitals &>> 2
    }

    /// Some octet is one of `A-Z`.
    @inline(always) static func hasCapital(_ bytes: Span<UInt8>) -> Bool {
        let end = bytes.count
        var position = 0
        while end &- position >= 8 {
            let octets = uncheckedWord(bytes, position)
            if lowercased(octets) != octets { return true }
            position &+= 8
        }
        while position < end {
            let octet = unsafe bytes[unchecked: position]
            if lowercased(octet) != octet { return true }
            position &+= 1
        }
        return false
    }

    @inline(always) static func lowercased(_ octet: UInt8) -> UInt8 {
        octet &- UInt8(ascii: "A") < 26 ? octet | 0x20 : octet
    }
}
