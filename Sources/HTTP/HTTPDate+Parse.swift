extension HTTPDate {
    /// Seconds since the epoch of a date in any of the three forms of RFC 9110 section 5.6.7; nil for anything else.
    ///
    /// A two-digit year is taken for the one that lies at most 50 years after `now`, seconds since the epoch too.
    public static func parse(_ text: Span<UInt8>, now: Int) -> Int? {
        // "Sun, 06 Nov 1994 08:49:37 GMT"
        if text.count == 29, text[3] == UInt8(ascii: ",") { return fixdate(text) }
        if text.count == 24, text[3] == Octet.space { return asctime(text) }
        return rfc850(text, now: now)
    }

    private static func fixdate(_ text: Span<UInt8>) -> Int? {
        guard dayName(text, 0), matches(text, 3, ", "), let day = number(text, 5, 2), text[7] == Octet.space,
            let month = month(text, 8), text[11] == Octet.space, let year = number(text, 12, 4), text[16] == Octet.space,
            let time = time(text, 17), matches(text, 25, " GMT")
        else { return nil }
        return seconds(year, month, day, time)
    }

    /// `Sun Nov  6 08:49:37 1994`.
    private static func asctime(_ text: Span<UInt8>) -> Int? {
        guard dayName(text, 0), let month = month(text, 4), text[7] == Octet.space,
            let day = text[8] == Octet.space ? number(text, 9, 1) : number(text, 8, 2), text[10] == Octet.space,
            let time = time(text, 11), text[19] == Octet.space, let year = number(text, 20, 4)
        else { return nil }
        return seconds(year, month, day, time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ text: Span<UInt8>, now: Int) -> Int? {
        var comma = 0
        while comma < text.count && text[comma] != UInt8(ascii: ",") { comma += 1 }
        let start = comma + 2
        guard comma >= 6, comma <= 9, text.count == start + 22, dayName(text, 0), text[comma + 1] == Octet.space,
            let day = number(text, start, 2), text[start + 2] == UInt8(ascii: "-"), let month = month(text, start + 3),
            text[start + 6] == UInt8(ascii: "-"), let short = number(text, start + 7, 2), text[start + 9] == Octet.space,
            let time = time(text, start + 10), matches(text, start + 18, " GMT")
        else { return nil }
        let thisYear = 1970 + now / 31_556_952
        var year = thisYear - thisYear % 100 + short
        if year > thisYear + 50 { year -= 100 }
        return seconds(year, month, day, time)
    }

    private static func dayName(_ text: Span<UInt8>, _ start: Int) -> Bool { name(text, start, of: "SunMonTueWedThuFriSat") != nil }

    private static func month(_ text: Span<UInt8>, _ start: Int) -> Int? {
        name(text, start, of: "JanFebMarAprMayJunJulAugSepOctNovDec").map { $0 + 1 }
    }

    /// Which of the three-letter names stands there; case counts (RFC 9110 section 5.6.7).
    private static func name(_ text: Span<UInt8>, _ start: Int, of names: StaticString) -> Int? {
        // SAFETY: a literal of more than one scalar points at its octets, and they live for ever.
        let all = unsafe Span(_unsafeStart: names.utf8Start, count: names.utf8CodeUnitCount)
        for index in 0..<all.count / 3
        where text[start] == all[index * 3] && text[start + 1] == all[index * 3 + 1] && text[start + 2] == all[index * 3 + 2] {
            return index
        }
        return nil
    }

    private static func matches(_ text: Span<UInt8>, _ start: Int, _ wanted: StaticString) -> Bool {
        // SAFETY: as above.
        let wanted = unsafe Span(_unsafeStart: wanted.utf8Start, count: wanted.utf8CodeUnitCount)
        for index in 0..<wanted.count where text[start + index] != wanted[index] { return false }
        return true
    }

    private static func number(_ text: Span<UInt8>, _ start: Int, _ digits: Int) -> Int? {
        var value = 0
        for index in start..<start + digits {
            guard Octet.isDigit(text[index]) else { return nil }
            value = value * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return value
    }

    /// Seconds of the day; a leap second is the one before it.
    private static func time(_ text: Span<UInt8>, _ start: Int) -> Int? {
        guard let hour = number(text, start, 2), text[start + 2] == UInt8(ascii: ":"), let minute = number(text, start + 3, 2),
            text[start + 5] == UInt8(ascii: ":"), let second = number(text, start + 6, 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }

    private static func seconds(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Int? {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: InlineArray<12, Int> = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year >= 1970, day >= 1, day <= lengths[month - 1] else { return nil }
        // Days since 1970-01-01, with years that begin in March.
        let shifted = month > 2 ? year : year - 1
        let fromMarch = (month + 9) % 12
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (153 * fromMarch + 2) / 5 + day - 1 - 719_468
        return days * 86_400 + time
    }
}
