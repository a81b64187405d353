/// Reads UTF-8 octet by octet, refusing what RFC 3629 section 4 does: overlong forms, surrogates, beyond U+10FFFF.
struct UTF8Decoder {
    enum Step: Equatable {
        case more
        case scalar(UInt32)
        /// The octet can not stand here; the decoder is to be used no further, or afresh.
        case invalid
    }

    private var value: UInt32 = 0
    private var left = 0
    /// What the next octet may be: narrower after some lead octets.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xbf

    /// Nothing is missing of the last scalar.
    var isComplete: Bool { left == 0 }

    mutating func take(_ octet: UInt8) -> Step {
        if left == 0 { return begin(octet) }
        guard octet >= lowest, octet <= highest else { return .invalid }
        (lowest, highest) = (0x80, 0xbf)
        value = value << 6 | UInt32(octet & 0x3f)
        left -= 1
        return left == 0 ? .scalar(value) : .more
    }

    private mutating func begin(_ octet: UInt8) -> Step {
        switch octet {
        case 0x00...0x7f: return .scalar(UInt32(octet))
        case 0xc2...0xdf: expect(1, octet & 0x1f)
        case 0xe0: expect(2, octet & 0x0f, lowest: 0xa0)
        case 0xed: expect(2, octet & 0x0f, highest: 0x9f)
        case 0xe1...0xef: expect(2, octet & 0x0f)
        case 0xf0: expect(3, octet & 0x07, lowest: 0x90)
        case 0xf1...0xf3: expect(3, octet & 0x07)
        case 0xf4: expect(3, octet & 0x07, highest: 0x8f)
        default: return .invalid
        }
        return .more
    }

    private mutating func expect(_ count: Int, _ bits: UInt8, lowest: UInt8 = 0x80, highest: UInt8 = 0xbf) {
        left = count
        value = UInt32(bits)
        self.lowest = lowest
        self.highest = highest
    }
}
