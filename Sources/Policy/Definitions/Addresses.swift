/// An IP address in network byte order; IPv4 is kept as its IPv4-mapped IPv6 form (RFC 4291 section 2.5.5.2).
package struct IPAddress: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(v4 address: UInt32) { self.init(high: 0, low: 0x0000_ffff_0000_0000 | UInt64(address)) }

    package var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }
}

/// A CIDR range; the prefix counts bits of the 128-bit form (an IPv4 /8 is /104).
package struct AddressRange: Sendable, Hashable {
    package var address: IPAddress
    package var prefixLength: Int

    package init(address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = prefixLength
    }

    package func contains(_ other: IPAddress) -> Bool {
        if prefixLength <= 64 {
            return prefixLength == 0 || (address.high ^ other.high) >> UInt64(64 - prefixLength) == 0
        }
        return address.high == other.high
            && (prefixLength == 64 || (address.low ^ other.low) >> UInt64(128 - prefixLength) == 0)
    }
}

/// `canonical:`
package struct CanonicalSettings: Sendable {
    package enum EncodedSlash: Sendable { case keep, reject }
    package enum DotSegments: Sendable { case resolve, reject }
    package enum HeaderNames: Sendable { case strict, any }
    package var encodedSlash = EncodedSlash.keep
    package var mergeSlashes = true
    package var dotSegments = DotSegments.resolve
    package var headerNames = HeaderNames.strict
    package var keep: [String] = []
    package init() {}
}
