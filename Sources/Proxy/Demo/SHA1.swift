/// FIPS 180-4 section 6.1, for the one thing that still asks for it: the WebSocket handshake, where nothing depends on its
/// strength.
enum SHA1 {
    static func digest(of message: Span<UInt8>) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        for block in blocks(of: message) { add(block, to: &state) }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    /// The message, a one bit, zeros, and its length in bits, cut into blocks of sixteen words.
    private static func blocks(of message: Span<UInt8>) -> [[UInt32]] {
        let count = (message.count + 8) / 64 + 1
        var blocks = [[UInt32]](repeating: [UInt32](repeating: 0, count: 16), count: count)
        for index in 0...message.count {
            let octet = index < message.count ? message[index] : 0x80
            blocks[index / 64][index % 64 / 4] |= UInt32(octet) << UInt32(24 - index % 4 * 8)
        }
        let bits = UInt64(message.count) &* 8
        blocks[count - 1][14] = UInt32(truncatingIfNeeded: bits >> 32)
        blocks[count - 1][15] = UInt32(truncatingIfNeeded: bits)
        return blocks
    }

    private static func add(_ block: [UInt32], to state: inout [UInt32]) {
        var words = block
        for index in 16..<80 {
            words.append(rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (round, word) in words.enumerated() {
            let (mixed, constant): (UInt32, UInt32) =
                switch round / 20 {
                case 0: (b & c | ~b & d, 0x5a82_7999)
                case 1: (b ^ c ^ d, 0x6ed9_eba1)
                case 2: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let sum = rotate(a, by: 5) &+ mixed &+ e &+ constant &+ word
            (a, b, c, d, e) = (sum, a, rotate(b, by: 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func rotate(_ word: UInt32, by bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }
}
