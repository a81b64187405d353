/// Counters under packed keys: a small open-addressing table, cheap to add to and to copy.
public struct CounterTable: Sendable {
    /// Series beyond these are counted together: an upstream may answer with any status, and that must not cost memory.
    static let mostEntries = 8_192

    /// Key + 1; 0 where there is none.
    private var keys: [UInt64]
    private var values: [UInt64]
    private(set) public var entryCount = 0
    private(set) public var overflow: UInt64 = 0

    public init() {
        keys = Array(repeating: 0, count: 64)
        values = Array(repeating: 0, count: 64)
    }

    /// `key` is below the largest value.
    public mutating func add(_ key: UInt64, _ amount: UInt64 = 1) {
        let stored = key &+ 1
        var slot = Self.slot(stored, keys.count)
        while keys[slot] != stored {
            if keys[slot] == 0 { return insert(stored, amount) }
            slot = (slot + 1) & (keys.count - 1)
        }
        values[slot] &+= amount
    }

    public subscript(key: UInt64) -> UInt64 {
        let stored = key &+ 1
        var slot = Self.slot(stored, keys.count)
        while keys[slot] != stored {
            if keys[slot] == 0 { return 0 }
            slot = (slot + 1) & (keys.count - 1)
        }
        return values[slot]
    }

    @inline(never)
    private mutating func insert(_ stored: UInt64, _ amount: UInt64) {
        if entryCount >= Self.mostEntries {
            overflow &+= amount
            return
        }
        if (entryCount + 1) * 4 > keys.count * 3 { grow() }
        var slot = Self.slot(stored, keys.count)
        while keys[slot] != 0 { slot = (slot + 1) & (keys.count - 1) }
        keys[slot] = stored
        values[slot] = amount
        entryCount += 1
    }

    private mutating func grow() {
        let oldKeys = keys
        let oldValues = values
        keys = Array(repeating: 0, count: oldKeys.count * 2)
        values = Array(repeating: 0, count: keys.count)
        for index in oldKeys.indices where oldKeys[index] != 0 {
            var slot = Self.slot(oldKeys[index], keys.count)
            while keys[slot] != 0 { slot = (slot + 1) & (keys.count - 1) }
            keys[slot] = oldKeys[index]
            values[slot] = oldValues[index]
        }
    }

    /// Fibonacci hashing: keys are packed fields, their low bits alike.
    private static func slot(_ stored: UInt64, _ count: Int) -> Int {
        Int(truncatingIfNeeded: (stored &* 0x9e37_79b9_7f4a_7c15) >> 32) & (count - 1)
    }

    /// In the order of keys.
    public var entries: [(key: UInt64, value: UInt64)] {
        keys.indices.filter { keys[$0] != 0 }.map { (keys[$0] - 1, values[$0]) }.sorted { $0.0 < $1.0 }
    }

    public static func + (left: CounterTable, right: CounterTable) -> CounterTable {
        var sum = left
        for (key, value) in right.entries { sum.add(key, value) }
        sum.overflow &+= right.overflow
        return sum
    }
}
