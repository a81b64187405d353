internal import HTTP

/// Reads the attributes of one whole tag, `<` and `>` included (WHATWG HTML sections 13.2.5.32 to 13.2.5.39).
enum TagAttributes {
    struct Value {
        var range: Range<Int>
        /// `"`, `'`, or nil.
        var quote: UInt8?
    }

    /// The value of the first attribute of that name, which is in lower case; nil when there is none.
    static func value(of name: StaticString, in tag: Span<UInt8>) -> Value? {
        var index = 1
        while index < tag.count && !ends(tag[index]) { index += 1 }
        while index < tag.count {
            while index < tag.count && (Octet.isSpace(tag[index]) || tag[index] == Octet.slash) { index += 1 }
            if index == tag.count || tag[index] == Octet.greaterThan { return nil }
            let start = index
            index += 1
            while index < tag.count && !ends(tag[index]) && tag[index] != Octet.equals { index += 1 }
            let isWanted = HTTP1.equalsIgnoringCase(tag.extracting(start..<index), name)
            let value = takeValue(tag, &index)
            if isWanted { return value ?? Value(range: index..<index, quote: nil) }
        }
        return nil
    }

    private static func ends(_ byte: UInt8) -> Bool {
        Octet.isSpace(byte) || byte == Octet.slash || byte == Octet.greaterThan
    }

    private static func takeValue(_ tag: Span<UInt8>, _ index: inout Int) -> Value? {
        var next = index
        while next < tag.count && Octet.isSpace(tag[next]) { next += 1 }
        guard next < tag.count, tag[next] == Octet.equals else { return nil }
        next += 1
        while next < tag.count && Octet.isSpace(tag[next]) { next += 1 }
        guard next < tag.count, tag[next] != Octet.greaterThan else {
            index = next
            return nil
        }
        if tag[next] == Octet.quote || tag[next] == Octet.apostrophe {
            let quote = tag[next]
            let start = next + 1
            next = Octet.index(of: quote, in: tag, from: start)
            index = min(next + 1, tag.count)
            return Value(range: start..<next, quote: quote)
        }
        let start = next
        while next < tag.count && !Octet.isSpace(tag[next]) && tag[next] != Octet.greaterThan { next += 1 }
        index = next
        return Value(range: start..<next, quote: nil)
    }

    /// The text that a value stands for, and where in the tag each of its bytes ends. Of character references those are read
    /// that ASCII has: by number, and the named ones that policies are written with.
    static func decoded(_ tag: [UInt8], _ value: Value) -> (bytes: [UInt8], ends: [Int]) {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        var index = value.range.lowerBound
        while index < value.range.upperBound {
            if tag[index] == UInt8(ascii: "&"), let reference = reference(tag[index..<value.range.upperBound]) {
                bytes.append(reference.byte)
                index = reference.end
            } else {
                bytes.append(tag[index])
                index += 1
            }
            ends.append(index)
        }
        return (bytes, ends)
    }

    private static let named: [(name: [UInt8], byte: UInt8)] = [
        (Array("&apos;".utf8), Octet.apostrophe), (Array("&quot;".utf8), Octet.quote), (Array("&amp;".utf8), UInt8(ascii: "&")),
        (Array("&semi;".utf8), UInt8(ascii: ";")), (Array("&colon;".utf8), UInt8(ascii: ":")), (Array("&sol;".utf8), Octet.slash),
        (Array("&ast;".utf8), UInt8(ascii: "*")), (Array("&period;".utf8), UInt8(ascii: ".")),
        (Array("&comma;".utf8), UInt8(ascii: ",")), (Array("&Tab;".utf8), 0x09), (Array("&NewLine;".utf8), 0x0a),
    ]

    private static func reference(_ text: ArraySlice<UInt8>) -> (byte: UInt8, end: Int)? {
        if let found = named.first(where: { text.starts(with: $0.name) }) {
            return (found.byte, text.startIndex + found.name.count)
        }
        var rest = text.dropFirst()
        guard rest.first == UInt8(ascii: "#") else { return nil }
        rest = rest.dropFirst()
        var radix = 10
        if let first = rest.first, first | 0x20 == UInt8(ascii: "x") {
            radix = 16
            rest = rest.dropFirst()
        }
        let digits = rest.prefix { Character(UnicodeScalar($0)).isHexDigit && (radix == 16 || $0 &- 0x30 < 10) }
        guard let number = Int(String(decoding: digits, as: UTF8.self), radix: radix) else { return nil }
        let end =
            digits.endIndex < text.endIndex && text[digits.endIndex] == UInt8(ascii: ";") ? digits.endIndex + 1 : digits.endIndex
        // Outside of ASCII, nothing that a policy is taken apart by.
        return (number < 0x80 && number > 0 ? UInt8(truncatingIfNeeded: number) : 0x80, end)
    }
}
