internal import HTTP

/// In which form the demo origin shows a request: HTML to browsers, JSON to programs that ask for it, else lines of text.
enum DemoRepresentation: CaseIterable {
    case html, json, text

    /// RFC 9110 section 12.5.1. `*/*` alone is a tool on a terminal, which gets text; a request without Accept gets the page.
    static func preferred(for view: DemoRequestView) -> DemoRepresentation {
        var html = Quality(), json = Quality(), text = Quality()
        var isPresent = false
        for field in view.fields where HTTP1.equalsIgnoringCase(field.name.span, "accept") {
            isPresent = true
            var list = ListCursor()
            while let element = list.next(in: field.value.span) {
                let range = MediaRange(field.value.span.extracting(element))
                html.note(range, type: "text", full: "text/html")
                json.note(range, type: "application", full: "application/json")
                text.note(range, type: "text", full: "text/plain")
            }
        }
        guard isPresent else { return .html }
        let best = max(html.weight, json.weight, text.weight)
        if html.isNamed && html.weight == best { return .html }
        if json.isNamed && json.weight == best { return .json }
        if text.weight == best { return .text }
        return html.weight == best ? .html : .json
    }

    /// How much one of the types is wanted: the most specific range that covers it says.
    private struct Quality {
        private var specificity = 0
        private(set) var weight = 0

        var isNamed: Bool { specificity == 3 }

        mutating func note(_ range: MediaRange, type: StaticString, full: StaticString) {
            let specificity = range.specificity(type: type, full: full)
            guard specificity > self.specificity else { return }
            self.specificity = specificity
            weight = range.weight
        }
    }
}

/// One element of Accept.
private struct MediaRange: ~Escapable {
    private let name: Span<UInt8>
    /// Thousandths; what is no weight counts as 1.
    let weight: Int

    @_lifetime(copy element)
    init(_ element: Span<UInt8>) {
        var end = 0
        while end < element.count, element[end] != UInt8(ascii: ";") { end += 1 }
        name = element.extracting(HTTP1.trimmed(element, 0..<end))
        weight = Self.weight(element, from: end)
    }

    /// 3 for the type itself, 2 for `type/*`, 1 for `*/*`, 0 for another type.
    func specificity(type: StaticString, full: StaticString) -> Int {
        if HTTP1.equalsIgnoringCase(name, full) { return 3 }
        if HTTP1.equalsIgnoringCase(name, "*/*") { return 1 }
        let typeLength = type.utf8CodeUnitCount
        guard name.count == typeLength + 2, name[typeLength] == UInt8(ascii: "/"), name[typeLength + 1] == UInt8(ascii: "*")
        else { return 0 }
        return HTTP1.equalsIgnoringCase(name.extracting(0..<typeLength), type) ? 2 : 0
    }

    /// RFC 9110 section 12.4.2: `;q=0.8`, at most three digits.
    private static func weight(_ element: Span<UInt8>, from start: Int) -> Int {
        var position = start
        while position < element.count {
            var end = position + 1
            while end < element.count, element[end] != UInt8(ascii: ";") { end += 1 }
            let parameter = HTTP1.trimmed(element, position + 1..<end)
            position = end
            guard parameter.count > 2, element[parameter.lowerBound] | 0x20 == UInt8(ascii: "q"),
                element[parameter.lowerBound + 1] == UInt8(ascii: "=")
            else { continue }
            return thousandths(element.extracting(parameter.lowerBound + 2..<parameter.upperBound))
        }
        return 1000
    }

    private static func thousandths(_ text: Span<UInt8>) -> Int {
        guard text[0] == UInt8(ascii: "0") else { return 1000 }
        var value = 0, scale = 100
        for index in 2..<max(2, min(text.count, 5)) {
            let digit = Int(text[index]) - 0x30
            guard (0...9).contains(digit) else { return 1000 }
            value += digit * scale
            scale /= 10
        }
        return value
    }
}
