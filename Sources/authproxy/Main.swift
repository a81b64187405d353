internal import Config

/// authproxy: see `authproxy --help`.
@main enum Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let status: Int32
        do {
            status = try Command.run(arguments)
        } catch let error as UsageError {
            Terminal.error("authproxy: \(error.text)\n")
            status = ExitStatus.usage
        } catch {
            Terminal.error("authproxy: \(error)\n")
            status = ExitStatus.failure
        }
        Terminal.exit(status)
    }
}

/// What the shell sees.
enum ExitStatus {
    static let success: Int32 = 0
    static let failure: Int32 = 1
    /// Bad configuration or usage.
    static let usage: Int32 = 2
}

/// The command line itself is wrong.
struct UsageError: Error {
    var text: String
    init(_ text: String) { self.text = text }
}

/// The commands, by name.
enum Command: String, CaseIterable {
    case run, check, explain, schema, reload, status, version, help

    static func run(_ arguments: [String]) throws -> Int32 {
        guard let first = arguments.first else {
            Terminal.error(Help.general)
            return ExitStatus.usage
        }
        if first == "--help" || first == "-h" {
            Terminal.print(Help.general)
            return ExitStatus.success
        }
        if first == "--version" || first == "-V" { return VersionCommand.run() }
        if first == "hash" { throw UsageError("`hash` is not in this version (passwords of clients come later)") }
        guard let command = Command(rawValue: first) else {
            let nearest = Suggestion.nearest(first, among: allCases.map(\.rawValue))
            throw UsageError("unknown command `\(first)`\(nearest); `authproxy --help` lists them")
        }
        let rest = Array(arguments.dropFirst())
        let own = rest.firstIndex(of: "--").map { Array(rest[..<$0]) } ?? rest
        if command != .help, own.contains("--help") || own.contains("-h") {
            Terminal.print(Help.text(of: command))
            return ExitStatus.success
        }
        switch command {
        case .run: return try RunCommand.run(rest)
        case .check: return try CheckCommand.run(rest)
        case .explain: return try ExplainCommand.run(rest)
        case .schema: return try SchemaCommand.run(rest)
        case .reload: return try AdminCommand.reload(rest)
        case .status: return try AdminCommand.status(rest)
        case .version: return VersionCommand.run()
        case .help:
            Terminal.print(rest.first.flatMap(Command.init(rawValue:)).map(Help.text(of:)) ?? Help.general)
            return ExitStatus.success
        }
    }
}
