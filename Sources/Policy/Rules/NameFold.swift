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
    private struct Slot {
        var hash: UInt64
        /// -1: the slot is free.
        var number: Int32
    }

    private(set) var filter = NameFilter()
    private var slots = Array(repeating: Slot(hash: 0, number: -1), count: 8)
    /// All names, one after the other; name `n` ends at `ends[n]`.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    init() {}

    var count: Int { ends.count }

    /// A copy of one name, not for the request path.
    func name(_ number: Int) -> [UInt8] { Array(bytes[start(number)..<ends[number]]) }

    /// The number of the name, new or not.
    @discardableResult
    mutating func insert(_ name: [UInt8]) -> Int {
        let folded = NameFold.folded(name)
        let hash = NameFold.hash(folded.span)
        let present = find(folded.span, hash: hash)
        if present >= 0 { return present }
        bytes += folded
        ends.append(bytes.count)
        filter.insert(folded)
        if ends.count * 2 > slots.count { grow() }
        place(Slot(hash: hash, number: Int32(truncatingIfNeeded: ends.count - 1)))
        return ends.count - 1
    }

    /// -1 when the name is not there.
    func find(_ name: Span<UInt8>) -> Int {
        filter.mayContain(name) ? find(name, hash: NameFold.hash(name)) : -1
    }

    /// The same for a name whose hash is known.
    func find(_ name: Span<UInt8>, hash: UInt64) -> Int {
        let slots = slots.span
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index].number >= 0 {
            if slots[index].hash == hash && equals(name, Int(slots[index].number)) { return Int(slots[index].number) }
            index = (index + 1) & mask
        }
        return -1
    }

    private func start(_ number: Int) -> Int { number == 0 ? 0 : ends[number - 1] }

    private func equals(_ name: Span<UInt8>, _ number: Int) -> Bool {
        let start = start(number)
        let stored = bytes.span.extracting(start..<ends[number])
        guard name.count == stored.count else { return false }
        for index in name.indices where NameFold.fold(name[index]) != stored[index] { return false }
        return true
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(hash: 0, number: -1), count: old.count * 2)
        for slot in old where slot.number >= 0 { place(slot) }
    }

    private mutating func place(_ slot: Slot) {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: slot.hash) & mask
        while slots[index].number >= 0 { index = (index + 1) & mask }
        slots[index] = slot
    }
}
