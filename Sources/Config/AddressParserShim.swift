internal import Policy

/// Literal addresses and ranges of them; stands in until Policy's parser is there.
enum AddressParser {
    static func address(_ text: String) -> IPAddress? {
        text.utf8.contains(UInt8(ascii: ":")) ? v6(text) : v4(text[...]).map { IPAddress(v4: $0) }
    }

    static func range(_ text: String) -> AddressRange? {
        let pieces = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = pieces.first, let address = address(String(first)) else { return nil }
        if pieces.count == 1 { return AddressRange(address: address, prefixLength: 128) }
        guard pieces.count == 2, pieces[1].utf8.count <= 3, let bits = decimal(pieces[1]) else { return nil }
        let isV4 = !first.contains(":")
        guard bits <= (isV4 ? 32 : 128) else { return nil }
        return AddressRange(address: address, prefixLength: isV4 ? bits + 96 : bits)
    }

    static func v4(_ text: Substring) -> UInt32? {
        let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
        guard pieces.count == 4 else { return nil }
        var address: UInt32 = 0
        for piece in pieces {
            guard piece.utf8.count <= 3, let number = decimal(piece), number <= 255 else { return nil }
            if piece.utf8.count > 1 && piece.first == "0" { return nil }
            address = address << 8 | UInt32(number)
        }
        return address
    }

    private static func v6(_ text: String) -> IPAddress? {
        var front: [UInt16] = [], back: [UInt16] = []
        var sawGap = false
        var rest = text[...]
        if rest.hasPrefix("::") {
            sawGap = true
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != ":" }
            var groups: [UInt16]
            if piece.contains(".") {
                guard piece.endIndex == rest.endIndex, let v4 = v4(piece) else { return nil }
                groups = [UInt16(v4 >> 16), UInt16(v4 & 0xffff)]
            } else {
                guard (1...4).contains(piece.utf8.count), piece.allSatisfy(\.isHexDigit), let group = UInt16(piece, radix: 16) else {
                    return nil
                }
                groups = [group]
            }
            if sawGap { back += groups } else { front += groups }
            rest = rest[piece.endIndex...]
            guard !rest.isEmpty else { break }
            if rest.hasPrefix("::") {
                if sawGap { return nil }
                sawGap = true
                rest = rest.dropFirst(2)
            } else {
                rest = rest.dropFirst()
                if rest.isEmpty { return nil }
            }
        }
        let count = front.count + back.count
        guard sawGap ? count <= 7 : count == 8 else { return nil }
        let groups = front + [UInt16](repeating: 0, count: 8 - count) + back
        func half(_ part: ArraySlice<UInt16>) -> UInt64 { part.reduce(0) { $0 << 16 | UInt64($1) } }
        return IPAddress(high: half(groups[0..<4]), low: half(groups[4..<8]))
    }
}
