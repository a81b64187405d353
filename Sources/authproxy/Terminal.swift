internal import HTTP
internal import Transport

/// The standard streams.
enum Terminal {
    static func print(_ text: String) { StandardStreams.write(text, to: 1) }
    static func error(_ text: String) { StandardStreams.write(text, to: 2) }
    static var isTerminal: Bool { FileSystemCalls.kind(of: 2) == .terminal }
    static func exit(_ status: Int32) -> Never { StandardStreams.exit(status) }

    /// https://no-color.org
    static func wantsColour(_ arguments: Arguments) -> Bool {
        isTerminal && !arguments.flags.contains("--no-color") && (EnvironmentVariables.value("NO_COLOR") ?? "").isEmpty
    }
}
