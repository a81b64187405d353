internal import HTTP

/// One host or path alternative that an item can be found by, as a hash.
///
/// Two keys with one hash share a bucket, which costs a needless look at a candidate and nothing else: every candidate is
/// verified in full.
struct FilingKey: Hashable {
    enum Kind: UInt8 {
        case host = 1
        case subdomains, path, prefix, hostRun, pathRun
    }

    let kind: Kind
    let length: Int
    let hash: UInt64
    /// Of a run: the windows that would do as well.
    var candidates: [Window] = []

    struct Window: Hashable {
        var hash: UInt64
        var length: Int
    }

    var isRun: Bool { kind == .hostRun || kind == .pathRun }

    /// A host, lower-cased.
    static func host(_ name: Span<UInt8>) -> FilingKey {
        FilingKey(kind: .host, length: name.count, hash: KeyHash.finish(KeyHash.backward(name), Kind.host.rawValue))
    }

    /// All hosts below `name`.
    static func subdomains(of name: Span<UInt8>) -> FilingKey {
        FilingKey(
            kind: .subdomains, length: name.count,
            hash: KeyHash.finish(KeyHash.backward(name), Kind.subdomains.rawValue))
    }

    /// The key of a path glob: itself when it is exact, else its whole leading segments, else a run of its bytes; nil when it has none.
    static func path(_ glob: Glob) -> FilingKey? {
        let prefix = glob.prefix
        if glob.isExact { return exactPath(prefix.span) }
        var end = prefix.count
        if !glob.isSubtree {
            end = prefix.lastIndex(of: UInt8(ascii: "/")) ?? 0
        }
        if end == 0 { return run(of: glob, isHost: false) }
        return pathPrefix(prefix.span.extracting(0..<end))
    }

    static func exactPath(_ path: Span<UInt8>) -> FilingKey {
        FilingKey(kind: .path, length: path.count, hash: KeyHash.finish(KeyHash.forward(path), Kind.path.rawValue))
    }

    /// The path itself and all below it.
    static func pathPrefix(_ path: Span<UInt8>) -> FilingKey {
        FilingKey(kind: .prefix, length: path.count, hash: KeyHash.finish(KeyHash.forward(path), Kind.prefix.rawValue))
    }
}

/// Hashes that can be taken at every boundary while walking over a host (from its end) or a path (from its start).
enum KeyHash {
    static let start: UInt64 = 0xcbf2_9ce4_8422_2325

    @inline(__always)
    static func step(_ state: UInt64, _ byte: UInt8) -> UInt64 { (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }

    @inline(__always)
    static func finish(_ state: UInt64, _ salt: UInt8) -> UInt64 {
        var mixed = state ^ UInt64(salt) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ mixed >> 32) &* 0xd6e8_feb8_6659_fd93
        return mixed ^ mixed >> 29
    }

    @inline(__always)
    static func combined(_ host: UInt64, _ path: UInt64) -> UInt64 { finish(host &* 31 ^ path, 9) }

    static func forward(_ bytes: Span<UInt8>) -> UInt64 {
        var state = start
        for index in bytes.indices { state = step(state, bytes[index]) }
        return state
    }

    static func backward(_ bytes: Span<UInt8>) -> UInt64 {
        var state = start
        for index in bytes.indices.reversed() { state = step(state, bytes[index]) }
        return state
    }
}

/// What one item is filed under: every host and every path alternative, or nil where it takes any.
struct Filing {
    var hosts: [FilingKey]?
    var paths: [FilingKey]?

    var hasRuns: Bool { (hosts?.contains(where: \.isRun) ?? false) || (paths?.contains(where: \.isRun) ?? false) }

    func resolved(_ crowd: BucketTable) -> Filing {
        Filing(hosts: hosts?.map { $0.resolved(crowd) }, paths: paths?.map { $0.resolved(crowd) })
    }
}

/// Finds the few of many items that a host and a path may fit, in the items' order, at a cost that their number does not set.
///
/// Each item is filed under its most selective key: its hosts, its paths, or both together when each alone is crowded. A
/// request looks up its host, the host's parents, its path, the path's prefixes and runs of bytes of either, as far as such keys
/// exist at all.
final class HostPathIndex {
    private struct Cursor {
        var next: Int32
        var end: Int32
    }

    /// Buckets larger than this are split by the other dimension when there is one.
    private static let crowded: Int32 = 8
    /// An item with more pairs of host and path than this is filed by one of them alone.
    private static let maximumPairs = 64

    private var table = BucketTable()
    private var postings: [Int32] = []
    private var unfiled = Cursor(next: 0, end: 0)

    private var hasPairs = false
    private var maximumHost = 0
    private var subdomainLengths: UInt64 = 0
    private var maximumSubdomains = 0
    private var maximumPath = 0
    private var prefixLengths: UInt64 = 0
    private var maximumPrefix = 0

    private var hostRuns = RunFilter(isHost: true)
    private var pathRuns = RunFilter(isHost: false)

    private var cursors: [Cursor] = []
    /// By where a bucket begins in `postings`: the walk that has opened it last. A host or path may have a run several times.
    private var opened: [UInt32] = []
    private var walk: UInt32 = 0
    /// All candidates of a walk with many cursors.
    private var merged: [Int32] = []
    private var mergedNext = -1
    /// With more cursors than this, candidates are sorted once and not searched among them each time.
    private static let manyCursors = 32
    private var hostHashes: [UInt64] = []
    private var pathHashes: [UInt64] = []

    init(_ filings: [Filing]) {
        var pairs: [(hash: UInt64, item: Int32)] = []
        pairs.reserveCapacity(filings.count)
        let crowd = HostPathIndex.crowd(filings)
        var runs: [FilingKey] = []
        for (item, filing) in filings.enumerated() {
            var filing = filing
            if filing.hasRuns {
                filing = filing.resolved(crowd)
                runs += ((filing.hosts ?? []) + (filing.paths ?? [])).filter(\.isRun)
            }
            let item = Int32(truncatingIfNeeded: item)
            let start = pairs.count
            file(filing, crowd) { pairs.append((hash: $0, item: item)) }
            if pairs.count == start { postings.append(item) }
        }
        hostRuns = RunFilter(runs.filter { $0.kind == .hostRun }, isHost: true)
        pathRuns = RunFilter(runs.filter { $0.kind == .pathRun }, isHost: false)
        unfiled = Cursor(next: 0, end: Int32(truncatingIfNeeded: postings.count))
        pairs.sort { $0.hash == $1.hash ? $0.item < $1.item : $0.hash < $1.hash }
        postings.reserveCapacity(postings.count + pairs.count)
        table = BucketTable(capacity: pairs.count)
        var first = 0
        while first < pairs.count {
            let hash = pairs[first].hash
            let start = postings.count
            while first < pairs.count && pairs[first].hash == hash {
                // An item may have two keys of one hash.
                if postings.count == start || postings[postings.count - 1] != pairs[first].item {
                    postings.append(pairs[first].item)
                }
                first += 1
            }
            table.insert(
                hash, start: Int32(truncatingIfNeeded: start), end: Int32(truncatingIfNeeded: postings.count))
        }
        opened = Array(repeating: 0, count: postings.count)
        cursors.reserveCapacity(32)
        hostHashes.reserveCapacity(16)
        pathHashes.reserveCapacity(32)
    }

    /// How many items have each key.
    private static func crowd(_ filings: [Filing]) -> BucketTable {
        func total(_ keys: [FilingKey]?) -> Int { keys?.reduce(0) { $0 + max($1.candidates.count, 1) } ?? 0 }
        var crowd = BucketTable(capacity: filings.reduce(0) { $0 + total($1.hosts) + total($1.paths) })
        for filing in filings {
            for keys in [filing.hosts, filing.paths] {
                for key in keys ?? [] {
                    if key.candidates.isEmpty { crowd.count(key.hash) }
                    for candidate in key.candidates { crowd.count(candidate.hash) }
                }
            }
        }
        return crowd
    }

    /// Says the hashes of the buckets of one item; none for an item that any request may fit.
    private func file(_ filing: Filing, _ crowd: BucketTable, into body: (UInt64) -> Void) {
        switch (filing.hosts, filing.paths) {
        case (nil, nil): return
        case (let hosts?, nil): note(hosts, body)
        case (nil, let paths?): note(paths, body)
        case (let hosts?, let paths?):
            let byHost = hosts.reduce(0) { max($0, crowd.find($1.hash).end) }
            let byPath = paths.reduce(0) { max($0, crowd.find($1.hash).end) }
            let canPair = !hosts.contains { $0.isRun } && !paths.contains { $0.isRun }
            if canPair && min(byHost, byPath) > HostPathIndex.crowded
                && hosts.count * paths.count <= HostPathIndex.maximumPairs
            {
                hasPairs = true
                note(hosts) { host in note(paths) { body(KeyHash.combined(host, $0)) } }
            } else {
                note(byHost <= byPath ? hosts : paths, body)
            }
        }
    }

    /// Remembers which kinds and lengths of keys are looked for at all.
    private func note(_ keys: [FilingKey], _ body: (UInt64) -> Void) {
        for key in keys {
            switch key.kind {
            case .host: maximumHost = max(maximumHost, key.length)
            case .subdomains:
                maximumSubdomains = max(maximumSubdomains, key.length)
                subdomainLengths |= 1 << UInt64(min(key.length, 63))
            case .path: maximumPath = max(maximumPath, key.length)
            case .prefix:
                maximumPrefix = max(maximumPrefix, key.length)
                prefixLengths |= 1 << UInt64(min(key.length, 63))
            case .hostRun, .pathRun: break
            }
            body(key.hash)
        }
    }

    /// Begins a walk over the candidates from item `start` on; a walk that is under way is forgotten.
    func begin(host: Span<UInt8>, path: Span<UInt8>, from start: Int) {
        // Emptying what is empty is a call into the library all the same.
        if !cursors.isEmpty { cursors.removeAll(keepingCapacity: true) }
        if !hostHashes.isEmpty { hostHashes.removeAll(keepingCapacity: true) }
        if !pathHashes.isEmpty { pathHashes.removeAll(keepingCapacity: true) }
        mergedNext = -1
        beginWalk()
        if unfiled.end > 0 { cursors.append(unfiled) }
        if maximumHost | maximumSubdomains != 0 { hash(host: host) }
        if maximumPath | maximumPrefix != 0 { hash(path: path) }
        for hash in hostHashes { open(hash) }
        for hash in pathHashes { open(hash) }
        if hasPairs {
            for host in hostHashes {
                for path in pathHashes { open(KeyHash.combined(host, path)) }
            }
        }
        if !hostRuns.isEmpty { hostRuns.forEachKey(in: host) { open($0) } }
        if !pathRuns.isEmpty { pathRuns.forEachKey(in: path) { open($0) } }
        if start > 0 { skip(to: Int32(truncatingIfNeeded: start)) }
        if cursors.count > HostPathIndex.manyCursors { merge() }
    }

    private func beginWalk() {
        walk &+= 1
        if walk > 0 { return }
        for index in opened.indices { opened[index] = 0 }
        walk = 1
    }

    @inline(never)
    private func merge() {
        merged.removeAll(keepingCapacity: true)
        for cursor in cursors where cursor.next < cursor.end { merged += postings[Int(cursor.next)..<Int(cursor.end)] }
        merged.sort()
        mergedNext = 0
    }

    /// The next candidate, or -1.
    func next() -> Int {
        if mergedNext >= 0 { return nextMerged() }
        var least = Int32.max
        for cursor in cursors where cursor.next < cursor.end { least = min(least, postings[Int(cursor.next)]) }
        if least == Int32.max { return -1 }
        for index in cursors.indices {
            let cursor = cursors[index]
            if cursor.next < cursor.end && postings[Int(cursor.next)] == least { cursors[index].next += 1 }
        }
        return Int(least)
    }

    private func nextMerged() -> Int {
        guard mergedNext < merged.count else { return -1 }
        let item = merged[mergedNext]
        while mergedNext < merged.count && merged[mergedNext] == item { mergedNext += 1 }
        return Int(item)
    }

    private func hash(host: Span<UInt8>) {
        var state = KeyHash.start
        let longest = max(maximumHost, maximumSubdomains + 1)
        var index = host.count
        while index > 0 && host.count - index < longest {
            index -= 1
            let length = host.count - index - 1
            if host[index] == UInt8(ascii: ".") && index > 0 && length <= maximumSubdomains
                && subdomainLengths >> UInt64(min(length, 63)) & 1 == 1
            {
                hostHashes.append(KeyHash.finish(state, FilingKey.Kind.subdomains.rawValue))
            }
            state = KeyHash.step(state, host[index])
        }
        if index == 0 && host.count <= maximumHost {
            hostHashes.append(KeyHash.finish(state, FilingKey.Kind.host.rawValue))
        }
    }

    private func hash(path: Span<UInt8>) {
        var state = KeyHash.start
        let limit = min(path.count, max(maximumPath, maximumPrefix))
        var index = 0
        while index < limit {
            if path[index] == UInt8(ascii: "/") { open(prefixOf: index, state) }
            state = KeyHash.step(state, path[index])
            index += 1
        }
        if index == path.count {
            open(prefixOf: index, state)
            if index <= maximumPath { pathHashes.append(KeyHash.finish(state, FilingKey.Kind.path.rawValue)) }
        } else if path[index] == UInt8(ascii: "/") {
            open(prefixOf: index, state)
        }
    }

    private func open(prefixOf length: Int, _ state: UInt64) {
        guard length > 0 && length <= maximumPrefix && prefixLengths >> UInt64(min(length, 63)) & 1 == 1 else { return }
        pathHashes.append(KeyHash.finish(state, FilingKey.Kind.prefix.rawValue))
    }

    private func open(_ hash: UInt64) {
        let bucket = table.find(hash)
        guard bucket.start < bucket.end, opened[Int(bucket.start)] != walk else { return }
        opened[Int(bucket.start)] = walk
        cursors.append(Cursor(next: bucket.start, end: bucket.end))
    }

    private func skip(to item: Int32) {
        for index in cursors.indices {
            var low = cursors[index].next
            var high = cursors[index].end
            while low < high {
                let middle = low + (high - low) / 2
                if postings[Int(middle)] < item { low = middle + 1 } else { high = middle }
            }
            cursors[index].next = low
        }
    }
}

/// Hash to a range of postings, by open addressing; sized once.
struct BucketTable {
    struct Bucket {
        var hash: UInt64
        var start: Int32
        var end: Int32
    }

    private var slots: [Bucket]

    init(capacity: Int = 0) {
        var size = 8
        while size < capacity * 2 { size *= 2 }
        slots = Array(repeating: Bucket(hash: 0, start: 0, end: 0), count: size)
    }

    /// Precondition: no more insertions than the capacity, each hash once, no bucket empty.
    mutating func insert(_ hash: UInt64, start: Int32, end: Int32) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].end > 0 { slot = (slot + 1) & mask }
        slots[slot] = Bucket(hash: hash, start: start, end: end)
    }

    /// Counts one more of this hash in `end`; for tables of counts only.
    mutating func count(_ hash: UInt64) {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].end > 0 && slots[slot].hash != hash { slot = (slot + 1) & mask }
        slots[slot].hash = hash
        slots[slot].end += 1
    }

    /// An empty bucket when the hash is not there.
    func find(_ hash: UInt64) -> Bucket {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].end > 0 {
            if slots[slot].hash == hash { return slots[slot] }
            slot = (slot + 1) & mask
        }
        return Bucket(hash: hash, start: 0, end: 0)
    }
}
