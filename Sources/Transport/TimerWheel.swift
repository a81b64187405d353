/// Deadlines of slots: a hashed wheel whose entries are filed lazily.
///
/// Moving a deadline later, the usual thing that happens to one, writes one number; the entry is filed anew when its bucket
/// comes up. Links are slot numbers, not references, so nothing here counts or allocates once the arrays have grown.
struct TimerWheel {
    /// Milliseconds a bucket; deadlines fire at most this late.
    static let tick: Int64 = 64
    static let buckets = 1024
    static let never = Int64.max

    private var deadlines: [Int64] = []
    private var filedAt: [Int64] = []  // tick number, or `unfiled`
    private var next: [Int32] = []
    private var previous: [Int32] = []
    private var heads = [Int32](repeating: -1, count: TimerWheel.buckets)
    private var occupied = [UInt64](repeating: 0, count: TimerWheel.buckets / 64)
    private var current: Int64
    private static let unfiled: Int64 = -1

    init(now: Int64) { current = now / Self.tick }

    mutating func grow(to slots: Int) {
        while deadlines.count < slots {
            deadlines.append(Self.never)
            filedAt.append(Self.unfiled)
            next.append(-1)
            previous.append(-1)
        }
    }

    /// Sets when the slot's handler is to be told, in milliseconds of the loop's clock; `never` for not at all.
    mutating func set(_ slot: Int, to deadline: Int64) {
        deadlines[slot] = deadline
        if deadline == Self.never { return }
        let filed = filedAt[slot]
        let wanted = tickNumber(of: deadline)
        if filed == Self.unfiled {
            file(slot, at: wanted)
        } else if wanted < filed {
            unfile(slot)
            file(slot, at: wanted)
        }
    }

    func deadline(of slot: Int) -> Int64 { deadlines[slot] }

    /// Forgets the slot altogether; called when it is freed.
    mutating func remove(_ slot: Int) {
        deadlines[slot] = Self.never
        if filedAt[slot] != Self.unfiled { unfile(slot) }
    }

    /// Appends the slots whose deadline has passed; their deadline is then `never`.
    mutating func advance(to now: Int64, into expired: inout [Int32]) {
        let target = now / Self.tick
        if target <= current { return }
        // After a long sleep each bucket is visited once.
        var tick = max(current + 1, target - Int64(Self.buckets) + 1)
        current = target
        while tick <= target {
            let bucket = Int(tick & Int64(Self.buckets - 1))
            if heads[bucket] >= 0 { empty(bucket, now: now, into: &expired) }
            tick += 1
        }
    }

    /// Milliseconds from `now` until the next bucket that holds something; nil when the wheel is empty.
    func timeToNext(now: Int64) -> Int64? {
        var offset: Int64 = 1
        while offset <= Int64(Self.buckets) {
            let bucket = Int((current + offset) & Int64(Self.buckets - 1))
            let word = occupied[bucket >> 6] >> UInt64(bucket & 63)
            if word != 0 {
                let tick = current + offset + Int64(word.trailingZeroBitCount)
                return max(0, tick * Self.tick - now)
            }
            offset += Int64(64 - (bucket & 63))
        }
        return nil
    }

    private func tickNumber(of deadline: Int64) -> Int64 {
        // Rounded up, so that nothing fires early; beyond the horizon it is looked at again when its bucket comes up.
        let tick = (deadline + Self.tick - 1) / Self.tick
        return min(max(tick, current + 1), current + Int64(Self.buckets))
    }

    private mutating func empty(_ bucket: Int, now: Int64, into expired: inout [Int32]) {
        var slot = heads[bucket]
        heads[bucket] = -1
        occupied[bucket >> 6] &= ~(1 << UInt64(bucket & 63))
        while slot >= 0 {
            let index = Int(slot)
            slot = next[index]
            filedAt[index] = Self.unfiled
            let deadline = deadlines[index]
            if deadline <= now {
                deadlines[index] = Self.never
                expired.append(Int32(index))
            } else if deadline != Self.never {
                file(index, at: tickNumber(of: deadline))
            }
        }
    }

    private mutating func file(_ slot: Int, at tick: Int64) {
        let bucket = Int(tick & Int64(Self.buckets - 1))
        let head = heads[bucket]
        next[slot] = head
        previous[slot] = -1
        if head >= 0 { previous[Int(head)] = Int32(slot) }
        heads[bucket] = Int32(slot)
        filedAt[slot] = tick
        occupied[bucket >> 6] |= 1 << UInt64(bucket & 63)
    }

    private mutating func unfile(_ slot: Int) {
        let bucket = Int(filedAt[slot] & Int64(Self.buckets - 1))
        let before = previous[slot], after = next[slot]
        if before >= 0 { next[Int(before)] = after } else { heads[bucket] = after }
        if after >= 0 { previous[Int(after)] = before }
        if heads[bucket] < 0 { occupied[bucket >> 6] &= ~(1 << UInt64(bucket & 63)) }
        filedAt[slot] = Self.unfiled
    }
}
