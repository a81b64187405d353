/// A text with its references taken apart: `Bearer ${env:TOKEN}`, `$${literal}`, `${file:key.txt}`.
struct Substitution {
    enum Segment {
        /// `offset` counts characters of the whole text.
        case literal(String, offset: Int)
        /// From `$${`: never read as anything else.
        case verbatim(String)
        case reference(Reference)
    }

    struct Reference {
        enum Source: Hashable {
            case environment(String, fallback: String?)
            case file(String)
        }
        var source: Source
        /// `${env:TOKEN}`
        var text: String
        var offset: Int
    }

    struct Problem: Error {
        var message: String
        var hint: String?
        var offset: Int
        var length: Int
    }

    private(set) var segments: [Segment] = []

    static func hasReference(_ text: String) -> Bool {
        var previous: Unicode.Scalar = " ", beforeThat: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            if scalar == "{", previous == "$", beforeThat != "$" { return true }
            beforeThat = previous
            previous = scalar
        }
        return false
    }

    init(_ text: String) throws(Problem) {
        let characters = Array(text.unicodeScalars)
        var index = 0, start = 0
        while index < characters.count {
            guard characters[index] == "$" else {
                index += 1
                continue
            }
            let isEscaped = Self.stands("$${", at: index, in: characters)
            guard isEscaped || Self.stands("${", at: index, in: characters) else {
                index += 1
                continue
            }
            addLiteral(characters[start..<index])
            if isEscaped {
                segments.append(.verbatim("${"))
                index += 3
            } else {
                let reference = try Self.reference(at: index, in: characters)
                segments.append(.reference(reference))
                index += reference.text.unicodeScalars.count
            }
            start = index
        }
        addLiteral(characters[start...])
    }

    private mutating func addLiteral(_ characters: ArraySlice<Unicode.Scalar>) {
        if !characters.isEmpty { segments.append(.literal(Self.string(characters), offset: characters.startIndex)) }
    }

    private static func stands(_ mark: String, at index: Int, in characters: [Unicode.Scalar]) -> Bool {
        characters[index...].starts(with: mark.unicodeScalars)
    }

    private static func reference(at start: Int, in characters: [Unicode.Scalar]) throws(Problem) -> Reference {
        guard let end = characters[start...].firstIndex(of: "}") else {
            throw Problem(
                message: "`${` is not closed", hint: "write `${env:NAME}`, or `$${` for the text `${`", offset: start, length: 2
            )
        }
        let inner = string(characters[(start + 2)..<end])
        let text = string(characters[start...end])
        let length = end - start + 1
        let source: Reference.Source
        if inner.hasPrefix("env:") {
            let rest = inner.dropFirst(4)
            var name = rest, fallback: String?
            if let mark = rest.firstIndex(of: ":"), rest[mark...].hasPrefix(":-") {
                name = rest[..<mark]
                fallback = String(rest[mark...].dropFirst(2))
            }
            guard isVariableName(name) else {
                throw Problem(
                    message: "`\(quoted(text))` names no environment variable",
                    hint: "write `${env:NAME}` or `${env:NAME:-default}`", offset: start, length: length)
            }
            source = .environment(String(name), fallback: fallback)
        } else if inner.hasPrefix("file:"), inner.utf8.count > 5, !inner.utf8.contains(0) {
            source = .file(String(inner.dropFirst(5)))
        } else {
            let hint = isVariableName(inner[...]) ? "write `${env:\(inner)}`" : "write `${env:NAME}` or `${file:PATH}`"
            throw Problem(
                message: "unknown reference `\(quoted(text))`", hint: hint + ", or `$${` for the text `${`", offset: start,
                length: length)
        }
        return Reference(source: source, text: text, offset: start)
    }

    private static func isVariableName(_ name: Substring) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
        return name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func string(_ characters: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: characters)
        return String(view)
    }
}
