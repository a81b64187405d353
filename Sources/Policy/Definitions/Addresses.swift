/// An IP address in network byte order; IPv4 is kept as its IPv4-mapped IPv6 form (RFC 4291 section 2.5.5.2).
public struct IPAddress: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    public init(v4 address: UInt32) { self.init(high: 0, low: 0x0000_ffff_0000_0000 | UInt64(address)) }

    public var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }
}

/// A CIDR range; the prefix counts bits of the 128-bit form (an IPv4 /8 is /104).
public struct AddressRange: Sendable, Hashable {
    public var address: IPAddress
    public var prefixLength: Int

    public init(address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = prefixLength
    }

    public func contains(_ other: IPAddress) -> Bool {
        if prefixLength <= 64 {
            return prefixLength == 0 || (address.high ^ other.high) >> UInt64(64 - prefixLength) == 0
        }
        return address.high == other.high
            && (prefixLength == 64 || (address.low ^ other.low) >> UInt64(128 - prefixLength) == 0)
    }
}

/// `canonical:`
public struct CanonicalSettings: Sendable {
    public enum EncodedSlash: Sendable { case keep, reject }
    public enum DotSegments: Sendable { case resolve, reject }
    public enum HeaderNames: Sendable { case strict, any }
    public var encodedSlash = EncodedSlash.keep
    public var mergeSlashes = true
    public var dotSegments = DotSegments.resolve
    public var headerNames = HeaderNames.strict
    public var keep: [String] = []
    public init() {}
}
