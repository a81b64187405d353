public import HTTP

extension IPAddress {
    /// Reads dotted decimal (four parts, no leading zeros) or RFC 4291 section 2.2 text without brackets or zone.
    public static func parse(_ text: Span<UInt8>) -> IPAddress? {
        if let address = parseIPv4(text) { return IPAddress(v4: address) }
        return parseIPv6(text)
    }

    /// Not for the data path.
    public static func parse(_ text: String) -> IPAddress? { parse(Array(text.utf8).span) }

    /// Strict: what `inet_aton` makes of `127.1` or `010.0.0.1` is no address here.
    static func parseIPv4(_ text: Span<UInt8>) -> UInt32? {
        guard text.count >= 7, text.count <= 15 else { return nil }
        var address: UInt32 = 0
        var part: UInt32 = 0
        var digits = 0
        var parts = 1
        for index in 0..<text.count {
            let byte = text[index]
            if byte == UInt8(ascii: ".") {
                guard digits > 0, parts < 4 else { return nil }
                address = address << 8 | part
                part = 0
                digits = 0
                parts += 1
            } else {
                guard CanonicalBytes.isDigit(byte), digits < 3, digits == 0 || part > 0 else { return nil }
                part = part * 10 + UInt32(byte &- 0x30)
                digits += 1
                if part > 255 { return nil }
            }
        }
        guard parts == 4, digits > 0 else { return nil }
        return address << 8 | part
    }

    static func parseIPv6(_ text: Span<UInt8>) -> IPAddress? {
        guard text.count >= 2, text.count <= 45 else { return nil }
        var groups = GroupCollector()
        var position = 0
        if text[0] == colon {
            guard text[1] == colon else { return nil }
            groups.markGap()
            position = 2
        }
        while position < text.count {
            var end = position
            while end < text.count && text[end] != colon { end += 1 }
            let part = text.extracting(position..<end)
            if end == text.count, let address = parseIPv4(part) {
                guard groups.append(UInt16(address >> 16)), groups.append(UInt16(truncatingIfNeeded: address)) else {
                    return nil
                }
                break
            }
            guard let value = hexGroup(part), groups.append(value) else { return nil }
            if end == text.count { break }
            position = end + 1
            if position == text.count { return nil }
            if text[position] == colon {
                guard groups.markGap() else { return nil }
                position += 1
            }
        }
        return groups.address
    }

    private static let colon = UInt8(ascii: ":")

    private static func hexGroup(_ text: Span<UInt8>) -> UInt16? {
        guard text.count >= 1, text.count <= 4 else { return nil }
        var value: UInt16 = 0
        for index in 0..<text.count {
            guard let digit = CanonicalBytes.hexValue(text[index]) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// The 16-bit groups as they are read, and where `::` stands among them.
    private struct GroupCollector {
        private var head = IPAddress(high: 0, low: 0)
        private var tail = IPAddress(high: 0, low: 0)
        private var headCount = 0
        private var tailCount = 0
        private var hasGap = false

        @discardableResult mutating func markGap() -> Bool {
            if hasGap { return false }
            hasGap = true
            return true
        }

        mutating func append(_ group: UInt16) -> Bool {
            guard headCount + tailCount < 8 else { return false }
            if hasGap {
                tail.shiftIn(group)
                tailCount += 1
            } else {
                head.shiftIn(group)
                headCount += 1
            }
            return true
        }

        /// nil unless there are eight groups, or fewer around a gap (which stands for at least one).
        var address: IPAddress? {
            guard hasGap else { return headCount == 8 ? head : nil }
            guard headCount + tailCount < 8 else { return nil }
            var moved = head
            for _ in headCount..<8 { moved.shiftIn(0) }
            return IPAddress(high: moved.high | tail.high, low: moved.low | tail.low)
        }
    }

    private mutating func shiftIn(_ group: UInt16) {
        high = high << 16 | low >> 48
        low = low << 16 | UInt64(group)
    }

    /// Appends dotted decimal, or RFC 5952 text without brackets.
    public func append(to out: ByteBuffer) {
        if isIPv4 { return IPAddress.appendIPv4(UInt32(truncatingIfNeeded: low), to: out) }
        appendIPv6(to: out)
    }

    /// Appends RFC 5952 text also of an IPv4-mapped address: `::ffff:192.0.2.1` (section 5), for a literal in brackets.
    func appendIPv6(to out: ByteBuffer) {
        if isIPv4 {
            out.append("::ffff:")
            return IPAddress.appendIPv4(UInt32(truncatingIfNeeded: low), to: out)
        }
        let gap = longestZeroRun()
        var index = 0
        while index < 8 {
            if index == gap.lowerBound && !gap.isEmpty {
                out.append("::")
                index = gap.upperBound
                continue
            }
            let followsGap = !gap.isEmpty && index == gap.upperBound
            if index > 0 && !followsGap { out.append(UInt8(ascii: ":")) }
            out.append(hexadecimal: UInt(group(index)))
            index += 1
        }
    }

    private func group(_ index: Int) -> UInt16 {
        let half = index < 4 ? high : low
        return UInt16(truncatingIfNeeded: half >> UInt64(48 - 16 * (index & 3)))
    }

    /// RFC 5952 section 4.2: the first of the longest runs, of two groups at least.
    private func longestZeroRun() -> Range<Int> {
        var longest = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8 && group(end) == 0 { end += 1 }
            if end - start >= 2 && end - start > longest.count { longest = start..<end }
            start = end + 1
        }
        return longest
    }

    private static func appendIPv4(_ address: UInt32, to out: ByteBuffer) {
        out.append(decimal: UInt(address >> 24))
        for part in 1..<4 {
            out.append(UInt8(ascii: "."))
            out.append(decimal: UInt(address >> UInt32(24 - 8 * part) & 255))
        }
    }
}
