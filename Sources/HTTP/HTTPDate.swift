/// Writes a time as an IMF-fixdate (RFC 9110 section 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    /// Always 29 octets. The format has four digits for a year: times outside the years 1970 to 9999 are moved to its ends.
    public static func append(unixSeconds: Int, to buffer: ByteBuffer) {
        let seconds = min(max(unixSeconds, 0), 253_402_300_799)
        let days = seconds / 86400
        let (year, month, day) = civilDate(days)
        append(name: (days + 4) % 7, of: "SunMonTueWedThuFriSat", to: buffer)  // the first day was a Thursday
        buffer.append(", ")
        append(twoDigits: day, to: buffer)
        buffer.append(" ")
        append(name: month - 1, of: "JanFebMarAprMayJunJulAugSepOctNovDec", to: buffer)
        buffer.append(" ")
        append(twoDigits: year / 100, to: buffer)
        append(twoDigits: year % 100, to: buffer)
        buffer.append(" ")
        append(twoDigits: seconds / 3600 % 24, to: buffer)
        buffer.append(":")
        append(twoDigits: seconds / 60 % 60, to: buffer)
        buffer.append(":")
        append(twoDigits: seconds % 60, to: buffer)
        buffer.append(" GMT")
    }

    /// The Gregorian date of a day since 1970-01-01.
    ///
    /// Years are counted from a first of March, so that the leap day comes last, in eras of 400 years, which are all alike.
    private static func civilDate(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468  // since 0000-03-01
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }

    private static func append(twoDigits value: Int, to buffer: ByteBuffer) {
        buffer.append(UInt8(ascii: "0") + UInt8(value / 10))
        buffer.append(UInt8(ascii: "0") + UInt8(value % 10))
    }

    private static func append(name index: Int, of names: StaticString, to buffer: ByteBuffer) {
        // SAFETY: the names are literals of three octets for each index that the callers compute.
        let all = unsafe Span(_unsafeStart: names.utf8Start, count: names.utf8CodeUnitCount)
        buffer.append(all.extracting(index * 3..<index * 3 + 3))
    }
}

/// The `Date` of this second, written once and then copied; one for each thread that sends responses.
public struct DateCache {
    private let text = ByteBuffer(capacity: 32)
    private var second = Int.min

    public init() {}

    public mutating func append(unixSeconds: Int, to buffer: ByteBuffer) {
        if unixSeconds != second {
            second = unixSeconds
            text.clear()
            HTTPDate.append(unixSeconds: unixSeconds, to: text)
        }
        buffer.append(text.span)
    }
}
