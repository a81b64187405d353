public import Policy

/// One thing that is wrong with a configuration, or worth a warning: where, what, and what would be right.
public struct ConfigurationError: Error, Sendable, Hashable {
    public enum Severity: Sendable { case error, warning }

    public var severity: Severity
    /// The file and the place in it; for a flag its name, and line 0; line 0 too when the file can not be read.
    public var location: SourceLocation
    /// Columns that the fault takes.
    public var length: Int
    /// `rules[2].proxy.timeouts.response`; empty for the whole file.
    public var path: String
    public var message: String
    public var hint: String?
    /// The source line is not to be shown unless it is known to hold no secret: the file could not be parsed.
    var mayHoldSecret: Bool

    init(
        _ severity: Severity, at location: SourceLocation, length: Int = 1, path: String, _ message: String,
        hint: String? = nil, mayHoldSecret: Bool = false
    ) {
        self.severity = severity
        self.location = location
        self.length = length
        self.path = path
        self.message = message
        self.hint = hint
        self.mayHoldSecret = mayHoldSecret
    }

    /// `config.yaml:4:3: error: unknown key `requests` (did you mean `request`?)`
    public var line: String {
        var text = place + ": " + (severity == .error ? "error" : "warning") + ": " + sentence
        if let hint { text += " (\(hint))" }
        return text
    }

    var place: String {
        location.line == 0 ? location.file : "\(location.file):\(location.line):\(location.column)"
    }

    /// The path is left out where the message already says as much.
    var sentence: String {
        let isSaid = path.isEmpty || message.contains("`\(path)`")
        return isSaid ? message : "\(path): \(message)"
    }
}

/// All that is wrong with a configuration, in the order of the file, with the text to show it in.
public struct ConfigurationErrors: Error, Sendable, CustomStringConvertible, CustomReflectable {
    public private(set) var problems: [ConfigurationError]
    private let source: SourceText

    init(_ problems: [ConfigurationError], source: SourceText) {
        var seen: Set<ConfigurationError> = []
        // An aliased value is read at each place where it stands, and says the same each time.
        self.problems = problems.filter { seen.insert($0).inserted }.enumerated().sorted { a, b in
            let first = a.element.location, second = b.element.location
            return (first.line, first.column, a.offset) < (second.line, second.column, b.offset)
        }.map(\.element)
        self.source = source
    }

    /// The source may hold secrets, so that nothing but messages is shown by default.
    public var description: String { render(color: false) }
    public var customMirror: Mirror { Mirror(self, children: ["problems": problems]) }

    /// One line a problem; with `showsSource` (a terminal) the line of the file below it, and a caret under the fault.
    public func render(color: Bool, showsSource: Bool) -> String {
        problems.map { render($0, Palette(isOn: color), showsSource: showsSource) }.joined()
    }

    /// As ``render(color:showsSource:)``, with the source shown whenever there are colours.
    public func render(color: Bool) -> String { render(color: color, showsSource: color) }

    private func render(_ problem: ConfigurationError, _ palette: Palette, showsSource: Bool) -> String {
        let isError = problem.severity == .error
        var text = palette.bold(problem.place + ": ")
        text += isError ? palette.red("error: ") : palette.magenta("warning: ")
        text += palette.bold(problem.sentence)
        if let hint = problem.hint { text += " (\(hint))" }
        text += "\n"
        guard showsSource, let line = source.shown(for: problem) else { return text }
        let number = String(problem.location.line)
        let margin = String(repeating: " ", count: number.count)
        let before = String(repeating: " ", count: problem.location.column - 1)
        let rest = max(line.unicodeScalars.count - problem.location.column, 0)
        let caret = "^" + String(repeating: "~", count: min(max(problem.length - 1, 0), rest))
        text += " \(palette.blue(number + " |")) \(line)\n"
        text += " \(palette.blue(margin + " |")) \(before)\(palette.green(caret))\n"
        return text
    }
}

/// The lines of a configuration file, for messages; the ones that may hold a secret are never shown.
struct SourceText: Sendable {
    private let lines: [String]
    private let hidden: Set<Int>

    init(_ bytes: [UInt8], hidden: Set<Int> = []) {
        lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        self.hidden = hidden
    }

    func hiding(_ hidden: Set<Int>) -> SourceText { SourceText(lines: lines, hidden: hidden) }

    private init(lines: [String], hidden: Set<Int>) {
        self.lines = lines
        self.hidden = hidden
    }

    /// The line of a problem, control characters replaced by spaces; nil when it is not to be shown.
    func shown(for problem: ConfigurationError) -> String? {
        let number = problem.location.line, column = problem.location.column
        guard number >= 1, number <= lines.count, column >= 1, !hidden.contains(number) else { return nil }
        let line = lines[number - 1]
        if problem.mayHoldSecret && SensitiveNames.isMentioned(in: line) { return nil }
        guard line.unicodeScalars.count <= 200, column <= line.unicodeScalars.count + 1 else { return nil }
        var result = String.UnicodeScalarView()
        for scalar in line.unicodeScalars where scalar.value != 0xfeff && scalar != "\r" {
            let isControl = scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value)
            result.append(isControl ? " " : scalar)
        }
        return String(result)
    }

    /// The characters from a place on, to find out whether a scalar stands in the file as its text has it.
    func characters(at location: SourceLocation) -> String.UnicodeScalarView.SubSequence? {
        guard location.line >= 1, location.line <= lines.count, location.column >= 1 else { return nil }
        return lines[location.line - 1].unicodeScalars.dropFirst(location.column - 1)
    }
}

/// The words next to which a secret is likely to stand.
enum SensitiveNames {
    private static let words: [[UInt8]] = [
        "authorization", "cookie", "password", "passwd", "secret", "token", "bearer", "basic", "api-key", "apikey", "api_key",
        "credential", "private_key",
    ].map { Array($0.utf8) }
    /// Whether a word begins with this letter: large files are searched whole.
    private static let begins: [Bool] = (0..<256).map { byte in words.contains { Int($0[0]) == byte } }

    static func isMentioned(in text: String) -> Bool {
        let lowered = text.utf8.map { $0 >= 0x41 && $0 <= 0x5a ? $0 | 0x20 : $0 }
        for start in lowered.indices where begins[Int(lowered[start])] {
            if words.contains(where: { lowered[start...].starts(with: $0) }) { return true }
        }
        return false
    }
}

/// Terminal colours, or none.
private struct Palette {
    let isOn: Bool
    func bold(_ text: String) -> String { paint(text, "1") }
    func red(_ text: String) -> String { paint(text, "1;31") }
    func magenta(_ text: String) -> String { paint(text, "1;35") }
    func green(_ text: String) -> String { paint(text, "1;32") }
    func blue(_ text: String) -> String { paint(text, "34") }
    private func paint(_ text: String, _ code: String) -> String { isOn ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
}
