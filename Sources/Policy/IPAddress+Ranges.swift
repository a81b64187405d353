extension IPAddress {
    /// The IPv4 address inside an IPv6 one that a host or a network would unwrap: NAT64 (RFC 6052), 6to4 (RFC 3056) and
    /// IPv4-compatible (RFC 4291 section 2.5.5.1) addresses; any other address as it is.
    public var normalised: IPAddress {
        if high == 0x0064_ff9b_0000_0000 && low >> 32 == 0 { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        if high >> 48 == 0x2002 { return IPAddress(v4: UInt32(truncatingIfNeeded: high >> 16)) }
        if high == 0 && low >> 32 == 0 && low > 1 { return IPAddress(v4: UInt32(truncatingIfNeeded: low)) }
        return self
    }

    private var v4: UInt32? {
        let address = normalised
        return address.isIPv4 ? UInt32(truncatingIfNeeded: address.low) : nil
    }

    /// 127.0.0.0/8 and ::1; also 0.0.0.0/8 and ::, which connect to this very host.
    /// 0.0.0.0 or ::, which as a destination is this machine.
    public var isUnspecified: Bool { v4 == 0 || high == 0 && low == 0 }

    public var isLoopback: Bool {
        if let v4 { return v4 >> 24 == 127 || v4 >> 24 == 0 }
        return high == 0 && low <= 1
    }

    /// 169.254.0.0/16 (RFC 3927), where clouds keep their metadata services, and fe80::/10.
    public var isLinkLocal: Bool {
        if let v4 { return v4 >> 16 == 0xa9fe }
        return high >> 54 == 0xfe80 >> 6
    }

    /// Not reachable from the Internet: RFC 1918, RFC 6598 (CGNAT), RFC 6890 and RFC 2544 networks, RFC 4193 (ULA),
    /// site-local, RFC 8215 (local NAT64), loopback and link-local addresses.
    public var isPrivate: Bool {
        if isLoopback || isLinkLocal { return true }
        if let v4 {
            return v4 >> 24 == 10 || v4 >> 20 == 0xac1 || v4 >> 16 == 0xc0a8 || v4 >> 22 == 0x6440 >> 6
                || v4 >> 8 == 0xc00000 || v4 >> 17 == 0xc612 >> 1
        }
        return high >> 57 == 0xfc >> 1 || high >> 54 == 0xfec0 >> 6 || high >> 16 == 0x0064_ff9b_0001
    }
}

/// Why a text is no address range; Config says where it stands.
public enum AddressRangeError: Error, Sendable, Equatable {
    case malformedAddress
    case malformedPrefix
    /// `10.1.2.3/8`: whoever wrote it meant either more or less than it says.
    case hostBitsSet
}

extension AddressRange {
    /// Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. Not for the data path.
    public static func parse(_ text: String) throws(AddressRangeError) -> AddressRange {
        let bytes = Array(text.utf8)
        return try parse(bytes.span)
    }

    public static func parse(_ text: Span<UInt8>) throws(AddressRangeError) -> AddressRange {
        let slash = CanonicalBytes.firstIndex(of: UInt8(ascii: "/"), in: text)
        let addressText = text.extracting(0..<(slash ?? text.count))
        guard let address = IPAddress.parse(addressText) else { throw .malformedAddress }
        guard let slash else { return AddressRange(address: address, prefixLength: 128) }
        let isDotted = CanonicalBytes.firstIndex(of: UInt8(ascii: ":"), in: addressText) == nil
        let digits = text.extracting((slash + 1)..<text.count)
        guard let length = CanonicalBytes.decimal(digits, limit: isDotted ? 32 : 128),
            digits.count == 1 || digits[0] != 0x30
        else { throw .malformedPrefix }
        let prefixLength = isDotted ? length + 96 : length
        guard address.hasZeros(from: prefixLength) else { throw .hostBitsSet }
        return AddressRange(address: address, prefixLength: prefixLength)
    }
}

extension IPAddress {
    fileprivate func hasZeros(from bit: Int) -> Bool {
        // A shift by the width or more yields zero.
        if bit <= 64 { return low == 0 && high << UInt64(bit) == 0 }
        return low << UInt64(bit - 64) == 0
    }
}
