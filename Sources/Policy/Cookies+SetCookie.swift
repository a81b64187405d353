/// The parts of a Set-Cookie value that say where it goes (RFC 6265 section 5.2), as ranges of the value.
struct SetCookie {
    private(set) var name: Range<Int>
    private(set) var value: Range<Int>
    /// Without a leading dot; the last one counts.
    private(set) var domain: Range<Int>?
    private(set) var path: Range<Int>?
    private(set) var isSecure = false
    private var maxAge: Range<Int>?
    private var expires: Range<Int>?

    /// nil when there is no name, which a user agent ignores.
    init?(_ text: Span<UInt8>) {
        var attributes = SetCookieParts()
        guard let pair = attributes.next(in: text), let name = pair.name, !name.isEmpty else { return nil }
        self.name = name
        value = pair.value
        while let part = attributes.next(in: text) {
            let partName = text.extracting(part.name ?? part.value)
            if CanonicalBytes.equalsIgnoringCase(partName, "secure") {
                isSecure = true
            } else if CanonicalBytes.equalsIgnoringCase(partName, "path") {
                path = part.name == nil ? nil : part.value
            } else if CanonicalBytes.equalsIgnoringCase(partName, "domain") {
                take(domain: part, text)
            } else if CanonicalBytes.equalsIgnoringCase(partName, "max-age") {
                maxAge = part.value
            } else if CanonicalBytes.equalsIgnoringCase(partName, "expires") {
                expires = part.value
            }
        }
    }

    private mutating func take(domain part: SetCookieParts.Part, _ text: Span<UInt8>) {
        guard part.name != nil, !part.value.isEmpty else { return }
        let start = part.value.lowerBound + (text[part.value.lowerBound] == UInt8(ascii: ".") ? 1 : 0)
        domain = start < part.value.upperBound ? start..<part.value.upperBound : nil
    }

    /// Max-Age goes before Expires (section 5.3 step 3); what can't be read says nothing.
    func isExpired(in text: Span<UInt8>, now: Int) -> Bool {
        if let maxAge, let seconds = SetCookie.deltaSeconds(text.extracting(maxAge)) { return seconds <= 0 }
        if let expires, let time = CookieDate.parse(text.extracting(expires)) { return time <= now }
        return false
    }

    private static func deltaSeconds(_ text: Span<UInt8>) -> Int? {
        if text.isEmpty { return nil }
        let isNegative = text[0] == UInt8(ascii: "-")
        let digits = text.extracting((isNegative ? 1 : 0)..<text.count)
        if digits.isEmpty { return nil }
        for index in 0..<digits.count where !CanonicalBytes.isDigit(digits[index]) { return nil }
        // A number beyond any calendar is as good as the greatest.
        let seconds = CanonicalBytes.decimal(digits, limit: 1 << 40) ?? 1 << 40
        return isNegative ? -seconds : seconds
    }
}

/// Walks the semicolon-separated parts of a Set-Cookie value.
struct SetCookieParts {
    struct Part {
        /// All of the part, with the white space around it.
        var whole: Range<Int>
        /// nil: the part has no equals sign.
        var name: Range<Int>?
        var value: Range<Int>
    }

    private var position = 0

    mutating func next(in text: Span<UInt8>) -> Part? {
        guard position < text.count else { return nil }
        let start = position
        let end = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: text, from: start) ?? text.count
        position = end + 1
        if let equals = CanonicalBytes.firstIndex(of: UInt8(ascii: "="), in: text, from: start), equals < end {
            return Part(
                whole: start..<end, name: CanonicalBytes.trimmed(text, start..<equals),
                value: CanonicalBytes.trimmed(text, (equals + 1)..<end))
        }
        return Part(whole: start..<end, name: nil, value: CanonicalBytes.trimmed(text, start..<end))
    }
}

/// The lenient date of cookies (RFC 6265 section 5.1.1).
enum CookieDate {
    private struct Fields {
        var hour = -1, minute = 0, second = 0, day = -1, month = -1, year = -1
    }

    /// Seconds since 1970, or nil for no date.
    static func parse(_ text: Span<UInt8>) -> Int? {
        var fields = Fields()
        var position = 0
        while position < text.count {
            while position < text.count && isDelimiter(text[position]) { position += 1 }
            let start = position
            while position < text.count && !isDelimiter(text[position]) { position += 1 }
            if position > start { take(text.extracting(start..<position), into: &fields) }
        }
        if fields.year >= 70 && fields.year <= 99 { fields.year += 1900 }
        if fields.year >= 0 && fields.year <= 69 { fields.year += 2000 }
        guard fields.hour >= 0, fields.hour <= 23, fields.minute <= 59, fields.second <= 59, fields.day >= 1,
            fields.day <= 31,
            fields.month >= 1, fields.year >= 1601
        else { return nil }
        return days(fields.year, fields.month, fields.day) * 86400 + fields.hour * 3600 + fields.minute * 60
            + fields.second
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    private static func take(_ token: Span<UInt8>, into fields: inout Fields) {
        let lead = leadingDigits(token)
        if fields.hour < 0, takeTime(token, into: &fields) { return }
        if fields.day < 0, lead.count == 1 || lead.count == 2 {
            fields.day = lead.value
        } else if fields.month < 0, let month = month(token) {
            fields.month = month
        } else if fields.year < 0, lead.count >= 2, lead.count <= 4 {
            fields.year = lead.value
        }
    }

    private static func leadingDigits(_ token: Span<UInt8>, from start: Int = 0) -> (count: Int, value: Int) {
        var index = start
        var value = 0
        while index < token.count && CanonicalBytes.isDigit(token[index]) {
            if index - start < 5 { value = value * 10 + Int(token[index] &- 0x30) }
            index += 1
        }
        return (index - start, value)
    }

    private static func takeTime(_ token: Span<UInt8>, into fields: inout Fields) -> Bool {
        var parts = (hour: 0, minute: 0, second: 0)
        var position = 0
        for part in 0..<3 {
            let digits = leadingDigits(token, from: position)
            guard digits.count == 1 || digits.count == 2 else { return false }
            switch part {
            case 0: parts.hour = digits.value
            case 1: parts.minute = digits.value
            default: parts.second = digits.value
            }
            position += digits.count
            if part < 2 {
                guard position < token.count, token[position] == UInt8(ascii: ":") else { return false }
                position += 1
            }
        }
        fields.hour = parts.hour
        fields.minute = parts.minute
        fields.second = parts.second
        return true
    }

    private static func month(_ token: Span<UInt8>) -> Int? {
        guard token.count >= 3 else { return nil }
        let names: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"
        for month in 0..<12 {
            var matches = true
            for index in 0..<3 {
                // SAFETY: 36 letters, the index is at most 35.
                let letter = unsafe names.utf8Start[month * 3 + index]
                if CanonicalBytes.lowered(token[index]) != letter { matches = false }
            }
            if matches { return month + 1 }
        }
        return nil
    }

    /// Days since 1970-01-01 in the Gregorian calendar, the year beginning in March.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468
    }
}
