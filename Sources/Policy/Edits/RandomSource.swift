/// xoroshiro128+ (Blackman and Vigna): numbers that do not repeat, for `{uuid}`; nobody's secret may be made of them.
public struct RandomSource: Sendable {
    private var first: UInt64
    private var second: UInt64

    /// The seed is to come from the system's generator, a different one for each worker.
    public init(seed: (UInt64, UInt64)) {
        first = seed.0
        second = seed.0 | seed.1 == 0 ? 0x9e37_79b9_7f4a_7c15 : seed.1
    }

    public init() {
        var system = SystemRandomNumberGenerator()
        self.init(seed: (system.next(), system.next()))
    }

    public mutating func next() -> UInt64 {
        let result = first &+ second
        let mixed = second ^ first
        first = (first << 24 | first >> 40) ^ mixed ^ mixed << 16
        second = mixed << 37 | mixed >> 27
        return result
    }
}
