extension ConfigurationDecoder {
    /// The text of a structural place, references replaced.
    func text(_ value: Value) -> String? {
        guard let text = value.node.text, !(value.node.isPlain && text.isEmpty) else {
            expected(value)
            return nil
        }
        return resolvedText(value, in: .structure)
    }

    func boolean(_ value: Value) -> Bool? {
        guard let text = typedText(value) else { return nil }
        if text == "true" || text == "false", isTyped(value) { return text == "true" }
        let meant: String? =
            switch text.lowercased() {
            case "yes", "on", "1", "y", "true", "enabled": "true"
            case "no", "off", "0", "n", "false", "disabled": "false"
            default: nil
            }
        let isQuoted = text == meant
        expected(
            value, found: isQuoted ? "the text `\(text)`" : nil,
            hint: meant.map { "write `\($0)`" + (isQuoted ? " without quotes" : "") })
        return nil
    }

    func integer(_ value: Value) -> Int? {
        guard let range = value.shape.integers, let text = typedText(value) else { return nil }
        guard let number = decimal(text[...]), isTyped(value) else {
            let isQuoted = decimal(text[...]) != nil
            expected(
                value, found: isQuoted ? "the text `\(quoted(text))`" : nil, hint: isQuoted ? "write it without quotes" : nil)
            return nil
        }
        guard range.contains(number) else {
            expected(value)
            return nil
        }
        return number
    }

    /// Milliseconds.
    func duration(_ value: Value) -> Int? {
        guard let range = value.shape.durations, let text = typedText(value) else { return nil }
        if decimal(text[...]) != nil {
            let shown = value.node.text ?? text
            let hint = text == "0" ? "there is no `none`; the shortest is `1ms`" : "write `\(text)s` if you mean seconds"
            expected(value, found: "the bare number `\(quoted(shown))`", hint: isReference(value) ? nil : hint)
            return nil
        }
        guard let milliseconds = Quantity.milliseconds(text) else {
            let hint = Quantity.durationMeant(by: text).flatMap { $0 == text ? nil : $0 }
            expected(value, hint: isReference(value) ? nil : hint.map { "did you mean `\($0)`?" })
            return nil
        }
        guard range.contains(milliseconds) else {
            fail(value, "a duration from `1ms` to `168h` is expected, found \(value.node.kind)")
            return nil
        }
        return milliseconds
    }

    /// Bytes.
    func size(_ value: Value) -> Int? {
        guard let range = value.shape.sizes, let text = typedText(value) else { return nil }
        if decimal(text[...]) != nil {
            let shown = value.node.text ?? text
            expected(
                value, found: "the bare number `\(quoted(shown))`",
                hint: isReference(value) ? nil : "write `\(text)B` for bytes, or `KiB`, `MiB` or `GiB`")
            return nil
        }
        guard let bytes = Quantity.bytes(text) else {
            let hint = Quantity.sizeMeant(by: text).flatMap { $0 == text ? nil : $0 }
            expected(value, hint: isReference(value) ? nil : hint.map { "write `\($0)`" })
            return nil
        }
        guard range.contains(bytes) else {
            let bounds = "a size from `\(Quantity.shown(range.lowerBound))` to `\(Quantity.shown(range.upperBound))`"
            fail(value, "\(bounds) is expected, found \(value.node.kind)")
            return nil
        }
        return bytes
    }

    /// One of the words of the shape.
    func word(_ value: Value) -> String? {
        guard let text = typedText(value) else { return nil }
        let words = value.shape.words
        if let word = words.first(where: { $0.name == text }) {
            guard let later = word.later else { return text }
            fail(value, "`\(text)` is not in this version", hint: "\(later) comes later")
            return nil
        }
        let names = words.filter { $0.later == nil }.map(\.name)
        let near = Suggestions.nearest(to: text, in: names) ?? Suggestions.synonym(of: text, in: names)
        expected(value, hint: isReference(value) ? nil : near.map { "did you mean `\($0)`?" })
        return nil
    }

    /// Whether the value is this word, for the alternative to a number or a mapping.
    func isWord(_ value: Value, _ word: String) -> Bool { value.node.text == word }

    /// Text that is to be read as something else.
    private func typedText(_ value: Value) -> String? {
        guard let text = value.node.text, !(value.node.isPlain && text.isEmpty) else {
            expected(value)
            return nil
        }
        return resolvedText(value, in: .structure)
    }

    /// A reference needs quotes in a list or mapping in brackets, so its value may be a number all the same.
    private func isTyped(_ value: Value) -> Bool { value.node.isPlain || isReference(value) }

    func isReference(_ value: Value) -> Bool { value.node.text.map(Substitution.hasReference) ?? false }
}

/// Digits only, no sign, and not so many that the number overflows.
func decimal(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return Int(text)
}

/// Durations and sizes.
enum Quantity {
    private static let durationUnits: [(name: String, milliseconds: Int)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
    ]
    private static let sizeUnits: [(name: String, bytes: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]

    /// `250ms`, `10s`, `1m30s`.
    static func milliseconds(_ text: String) -> Int? {
        var rest = text[...]
        var total = 0
        if rest.isEmpty { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isWholeNumber }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let number = decimal(digits), let scale = durationUnits.first(where: { $0.name == unit })?.milliseconds else {
                return nil
            }
            let (part, tooLarge) = number.multipliedReportingOverflow(by: scale)
            let (sum, overflow) = total.addingReportingOverflow(part)
            if tooLarge || overflow { return nil }
            total = sum
        }
        return total
    }

    static func bytes(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isWholeNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = decimal(digits), let scale = sizeUnits.first(where: { $0.name == unit })?.bytes else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: scale)
        return overflow ? nil : bytes
    }

    static func shown(_ bytes: Int) -> String {
        let unit = sizeUnits.last { bytes >= $0.bytes && bytes % $0.bytes == 0 } ?? sizeUnits[0]
        return "\(bytes / unit.bytes)\(unit.name)"
    }

    /// `10 sec`, `1.5s`, `2d` and the like.
    static func durationMeant(by text: String) -> String? {
        let (number, unit) = split(text)
        guard let number else { return nil }
        switch unit {
        case "ms", "msec", "msecs", "millis", "milliseconds": return "\(number)ms"
        case "s", "sec", "secs", "second", "seconds": return "\(number)s"
        case "m", "min", "mins", "minute", "minutes": return "\(number)m"
        case "h", "hr", "hrs", "hour", "hours": return "\(number)h"
        case "d", "day", "days": return number < 1000 ? "\(number * 24)h" : nil
        default: return nil
        }
    }

    /// `64k`, `64KB`, `1 M`.
    static func sizeMeant(by text: String) -> String? {
        let (number, unit) = split(text)
        guard let number else { return nil }
        switch unit {
        case "b", "byte", "bytes": return "\(number)B"
        case "k", "kb", "ki", "kib": return "\(number)KiB"
        case "m", "mb", "mi", "mib": return "\(number)MiB"
        case "g", "gb", "gi", "gib": return "\(number)GiB"
        default: return nil
        }
    }

    private static func split(_ text: String) -> (number: Int?, unit: String) {
        let digits = text.prefix { $0.isASCII && $0.isWholeNumber }
        return (decimal(digits), String(text.dropFirst(digits.count).drop { $0 == " " || $0 == "_" }).lowercased())
    }
}
