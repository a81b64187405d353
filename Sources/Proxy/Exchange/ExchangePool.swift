/// A worker's exchanges that serve no request, the latest used on top, so that a busy worker makes none and few stay warm.
///
/// As many are kept as were needed at once lately: what lay unused for a whole interval is given up, half of it at a time.
struct ExchangePool {
    private var spare: [Exchange] = []
    /// Since the interval began: so many were never needed.
    private var fewest = 0
    private var intervalEnds: Int64 = 0

    /// About 6 KiB each.
    private static let most = 4096
    private static let interval: Int64 = 10_000

    mutating func take() -> Exchange? {
        let exchange = spare.popLast()
        if spare.count < fewest { fewest = spare.count }
        return exchange
    }

    /// False when there are enough. `now` is the loop's clock, in milliseconds.
    mutating func giveBack(_ exchange: Exchange, now: Int64) -> Bool {
        guard spare.count < Self.most else { return false }
        if now >= intervalEnds { trim(now) }
        spare.append(exchange)
        return true
    }

    private mutating func trim(_ now: Int64) {
        // Those at the bottom are the ones that nobody took.
        spare.removeFirst((fewest + 1) / 2)
        fewest = spare.count
        intervalEnds = now + Self.interval
    }
}
