internal import HTTP

/// Field names as an application behind a gateway may see them: lower-cased, every byte outside `[a-z0-9]` a `-`.
///
/// `X_Env`, `x.env` and `X-Env` are one name to a CGI-like application (RFC 3875 section 4.1.18), so they are one name here.
enum NameFold {
    @inline(__always)
    static func fold(_ byte: UInt8) -> UInt8 {
        let lower = byte | 0x20
        if lower &- UInt8(ascii: "a") < 26 && byte >= UInt8(ascii: "A") { return lower }
        return byte &- UInt8(ascii: "0") < 10 ? byte : UInt8(ascii: "-")
    }

    static func folded(_ bytes: [UInt8]) -> [UInt8] { bytes.map(fold) }

    static func folded(_ text: String) -> [UInt8] { text.utf8.map(fold) }

    static func hash(_ name: Span<UInt8>) -> UInt64 {
        var state: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in name.indices { state = (state ^ UInt64(fold(name[index]))) &* 0x0000_0100_0000_01b3 }
        return state ^ state >> 29
    }

    static func equal(_ name: Span<UInt8>, folded other: [UInt8]) -> Bool {
        guard name.count == other.count else { return false }
        for index in name.indices where fold(name[index]) != other[index] { return false }
        return true
    }
}

/// Which lengths of names begin with which letter: says "certainly not" to most names without hashing them.
struct NameFilter {
    private var lengths: [UInt64] = Array(repeating: 0, count: 32)

    init() {}

    @inline(__always)
    func mayContain(_ name: Span<UInt8>) -> Bool {
        if name.isEmpty { return false }
        return lengths[Int(NameFold.fold(name[0]) & 31)] >> UInt64(min(name.count, 63)) & 1 == 1
    }

    mutating func insert(_ name: [UInt8]) {
        guard let first = name.first else { return }
        lengths[Int(NameFold.fold(first) & 31)] |= 1 << UInt64(min(name.count, 63))
    }

    /// For a pattern: any length; any first letter when it begins with a star.
    mutating func insert(prefixOf pattern: [UInt8]) {
        guard let first = pattern.first, first != UInt8(ascii: "*") else {
            lengths = Array(repeating: .max, count: 32)
            return
        }
        lengths[Int(NameFold.fold(first) & 31)] = .max
    }

    mutating func formUnion(_ other: NameFilter) {
        for index in lengths.indices { lengths[index] |= other.lengths[index] }
    }
}

/// Folded names, numbered in the order of insertion, found by open addressing.
struct FoldedNameTable {
    private(set) var names: [[UInt8]] = []
    private(set) var filter = NameFilter()
    private var slots: [Int32] = Array(repeating: -1, count: 8)

    init() {}

    /// The number of the name, new or not.
    @discardableResult
    mutating func insert(_ name: [UInt8]) -> Int {
        let folded = NameFold.folded(name)
        let present = find(folded.span)
        if present >= 0 { return present }
        names.append(folded)
        filter.insert(folded)
        if names.count * 2 > slots.count {
            slots = Array(repeating: -1, count: slots.count * 2)
            for index in names.indices { place(index) }
        } else {
            place(names.count - 1)
        }
        return names.count - 1
    }

    /// -1 when the name is not there.
    func find(_ name: Span<UInt8>) -> Int {
        guard filter.mayContain(name) else { return -1 }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: NameFold.hash(name)) & mask
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if NameFold.equal(name, folded: names[index]) { return index }
            slot = (slot + 1) & mask
        }
        return -1
    }

    private mutating func place(_ index: Int) {
        let mask = slots.count - 1
        let name = names[index]
        var slot = Int(truncatingIfNeeded: NameFold.hash(name.span)) & mask
        while slots[slot] >= 0 { slot = (slot + 1) & mask }
        slots[slot] = Int32(truncatingIfNeeded: index)
    }
}
