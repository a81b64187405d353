internal import HTTP

/// Finds the few of many filters that may fit a URL: by the host's labels, or by a run of eight or three bytes that any URL which
/// fits must have. A look-up costs a few steps a byte of the URL, however many filters there are.
struct AdblockIndex {
    /// Filters that are found by one kind of key: a filter of bits says at once that most keys have none.
    private struct Bucket {
        var table = BucketTable()
        var bits: [UInt64] = []
        var shift: UInt64 = 63
        var isEmpty = true

        init() {}

        init(_ pairs: [(key: UInt64, filter: Int32)], into postings: inout [Int32]) {
            if pairs.isEmpty { return }
            isEmpty = false
            let sorted = pairs.sorted { $0.key == $1.key ? $0.filter < $1.filter : $0.key < $1.key }
            table = BucketTable(capacity: sorted.count)
            var words = 8
            while words * 64 < sorted.count * 16 { words *= 2 }
            bits = Array(repeating: 0, count: words)
            shift = UInt64(64 - (words * 64).trailingZeroBitCount)
            var index = 0
            while index < sorted.count {
                let key = sorted[index].key
                let start = postings.count
                while index < sorted.count && sorted[index].key == key {
                    postings.append(sorted[index].filter)
                    index += 1
                }
                table.insert(
                    key, start: Int32(truncatingIfNeeded: start), end: Int32(truncatingIfNeeded: postings.count))
                let bit = Int(truncatingIfNeeded: key >> shift)
                bits[bit >> 6] |= 1 << UInt64(bit & 63)
            }
        }

        @inline(__always)
        func mayContain(_ key: UInt64) -> Bool {
            let bit = Int(truncatingIfNeeded: key >> shift)
            return bits[bit >> 6] >> UInt64(bit & 63) & 1 == 1
        }
    }

    /// A host with more filters than this is looked up by runs of bytes instead.
    private static let crowded: UInt16 = 8

    private var hosts = Bucket()
    private var long = Bucket()
    private var short = Bucket()
    /// Filters without a run of three bytes; each is tried on every URL.
    private(set) var unfiled: [Int32] = []
    private(set) var postings: [Int32] = []
    /// By where a key's filters begin in `postings`: the look-up that has tried them last. A URL may repeat a key, and a filter is
    /// tried on the whole of it.
    private var tried: [UInt32] = []
    private var lookUp: UInt32 = 0

    init(_ filters: [AdblockFilter], _ text: ByteBuffer) {
        if filters.isEmpty { return }
        let crowd = Self.crowd(filters, text)
        var byHost: [(key: UInt64, filter: Int32)] = []
        var byLong: [(key: UInt64, filter: Int32)] = []
        var byShort: [(key: UInt64, filter: Int32)] = []
        for (number, filter) in filters.enumerated() {
            let number = Int32(truncatingIfNeeded: number)
            let pattern = text.span(filter.pattern)
            let host = filter.marks.contains(.host) ? Self.hostKey(pattern) : nil
            if let host, crowd.count(of: host) <= Self.crowded {
                byHost.append((host, number))
            } else if let key = Self.rarest(pattern, 8, crowd) {
                byLong.append((key, number))
            } else if let key = Self.rarest(pattern, 3, crowd) {
                byShort.append((key, number))
            } else if let host {
                byHost.append((host, number))
            } else {
                unfiled.append(number)
            }
        }
        postings.reserveCapacity(filters.count)
        hosts = Bucket(byHost, into: &postings)
        long = Bucket(byLong, into: &postings)
        short = Bucket(byShort, into: &postings)
        tried = Array(repeating: 0, count: postings.count)
    }

    /// Calls `body` with the filters that may fit, each of them once, until it returns true.
    mutating func contains(url: Span<UInt8>, host: Range<Int>, where body: (Int) -> Bool) -> Bool {
        lookUp &+= 1
        if lookUp == 0 {
            for index in tried.indices { tried[index] = 0 }
            lookUp = 1
        }
        if !hosts.isEmpty {
            var state = KeyHash.start
            var index = host.upperBound
            while index > host.lowerBound {
                index -= 1
                state = KeyHash.step(state, url[index])
                if index == host.lowerBound || url[index - 1] == UInt8(ascii: ".") {
                    if find(Self.finished(state), in: hosts, body) { return true }
                }
            }
        }
        if scan(url, 8, long, body) || scan(url, 3, short, body) { return true }
        for filter in unfiled where body(Int(filter)) { return true }
        return false
    }

    private mutating func scan(_ url: Span<UInt8>, _ length: Int, _ bucket: Bucket, _ body: (Int) -> Bool) -> Bool {
        if bucket.isEmpty || url.count < length { return false }
        let mask: UInt64 = length == 8 ? .max : 1 << UInt64(length * 8) - 1
        var window: UInt64 = 0
        for index in 0..<url.count {
            // The last `length` bytes, the newest lowest.
            window = window << 8 | UInt64(url[index])
            if index + 1 >= length {
                let key = Self.mixed(window & mask)
                if bucket.mayContain(key) && find(key, in: bucket, body) { return true }
            }
        }
        return false
    }

    private mutating func find(_ key: UInt64, in bucket: Bucket, _ body: (Int) -> Bool) -> Bool {
        guard bucket.mayContain(key) else { return false }
        let found = bucket.table.find(key)
        guard found.start < found.end, tried[Int(found.start)] != lookUp else { return false }
        tried[Int(found.start)] = lookUp
        for index in found.start..<found.end where body(Int(postings[Int(index)])) { return true }
        return false
    }

    // MARK: Keys

    @inline(__always)
    private static func mixed(_ word: UInt64) -> UInt64 {
        let spread = word &* 0x9e37_79b9_7f4a_7c15
        return (spread ^ spread >> 29) &* 0xbf58_476d_1ce4_e5b9
    }

    private static func finished(_ state: UInt64) -> UInt64 { mixed(KeyHash.finish(state, 1)) }

    /// How long the host is that a pattern behind `||` begins with, if it is whole: followed by `^`, `/`, `:` or `?`; else 0.
    static func hostLength(_ pattern: Span<UInt8>) -> Int {
        for index in pattern.indices {
            let byte = pattern[index]
            if CanonicalBytes.isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "_")
            {
                continue
            }
            let ends =
                byte == AdblockFilter.caret || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "?")
            return ends ? index : 0
        }
        return 0
    }

    private static func hostKey(_ pattern: Span<UInt8>) -> UInt64? {
        let length = hostLength(pattern)
        if length == 0 { return nil }
        var state = KeyHash.start
        for index in (0..<length).reversed() { state = KeyHash.step(state, CanonicalBytes.lowered(pattern[index])) }
        return finished(state)
    }

    /// Calls `body` with every run of so many bytes that has neither star nor caret.
    private static func forEachRun(_ pattern: Span<UInt8>, _ length: Int, _ body: (UInt64) -> Void) {
        let mask: UInt64 = length == 8 ? .max : 1 << UInt64(length * 8) - 1
        var window: UInt64 = 0
        var run = 0
        for index in pattern.indices {
            let byte = pattern[index]
            if byte == AdblockFilter.star || byte == AdblockFilter.caret {
                run = 0
                continue
            }
            window = window << 8 | UInt64(CanonicalBytes.lowered(byte))
            run += 1
            if run >= length { body(mixed(window & mask)) }
        }
    }

    /// How many filters there are to each key, about: keys may share a count.
    private struct Crowd {
        private var counts: [UInt16]
        private let shift: UInt64

        init(keys: Int) {
            var size = 1024
            while size < keys / 2 { size *= 2 }
            counts = Array(repeating: 0, count: size)
            shift = UInt64(64 - size.trailingZeroBitCount)
        }

        mutating func add(_ key: UInt64) {
            let slot = Int(truncatingIfNeeded: key >> shift)
            if counts[slot] < .max { counts[slot] += 1 }
        }

        func count(of key: UInt64) -> UInt16 { counts[Int(truncatingIfNeeded: key >> shift)] }
    }

    private static func crowd(_ filters: [AdblockFilter], _ text: ByteBuffer) -> Crowd {
        var total = 0
        for filter in filters { total += 2 * Int(filter.pattern.length) + 1 }
        var crowd = Crowd(keys: total)
        for filter in filters {
            let pattern = text.span(filter.pattern)
            if filter.marks.contains(.host), let host = hostKey(pattern) { crowd.add(host) }
            forEachRun(pattern, 8) { crowd.add($0) }
            forEachRun(pattern, 3) { crowd.add($0) }
        }
        return crowd
    }

    private static func rarest(_ pattern: Span<UInt8>, _ length: Int, _ crowd: Crowd) -> UInt64? {
        var best: UInt64?
        var least = UInt16.max
        forEachRun(pattern, length) { key in
            let count = crowd.count(of: key)
            if best == nil || count < least { (best, least) = (key, count) }
        }
        return best
    }
}
