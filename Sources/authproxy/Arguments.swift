internal import Config
internal import Transport

/// The options of one command line, each with the environment variable that may stand for it.
struct Arguments {
    private(set) var values: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    private(set) var positional: [String] = []
    /// What stands behind `--`.
    private(set) var command: [String] = []

    /// `options` take a value, `switches` do not; both by their long names, `short` maps `-c` to `--config`.
    init(
        _ arguments: [String], command name: String, options: [String], switches: [String] = [],
        short: [String: String] = ["-c": "--config"]
    ) throws {
        var index = 0
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            if argument == "--" {
                command = Array(arguments[index...])
                break
            }
            guard argument.hasPrefix("-"), argument != "-" else {
                positional.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let option = short[parts[0]] ?? parts[0]
            if switches.contains(option) {
                guard parts.count == 1 else { throw UsageError("\(option) takes no value") }
                flags.insert(option)
            } else if options.contains(option) {
                if parts.count == 2 {
                    values[option, default: []].append(parts[1])
                } else {
                    guard index < arguments.count else { throw UsageError("\(option) needs a value") }
                    values[option, default: []].append(arguments[index])
                    index += 1
                }
            } else {
                let nearest = Suggestion.nearest(option, among: options + switches)
                throw UsageError("unknown option `\(parts[0])`\(nearest); see `authproxy \(name) --help`")
            }
        }
    }

    func value(_ option: String) -> String? { values[option]?.last }

    /// The option's value, else that of `AUTHPROXY_<NAME>`, with where it is from.
    func setting(_ option: String) -> ConfigurationOverrides.Setting? {
        if let value = value(option) { return ConfigurationOverrides.Setting(value, from: option) }
        let variable = "AUTHPROXY_" + option.dropFirst(2).uppercased().replacing("-", with: "_")
        return EnvironmentVariables.value(variable).map { ConfigurationOverrides.Setting($0, from: variable) }
    }

    /// Which file to read: `-c`, `AUTHPROXY_CONFIG`, or `./config.yaml` when there is one.
    var configurationPath: String? {
        if let path = setting("--config") { return path.text }
        return FileStatus.exists("config.yaml") ? "config.yaml" : nil
    }

    var overrides: ConfigurationOverrides {
        var overrides = ConfigurationOverrides()
        overrides.listen = setting("--listen")
        overrides.upstream = setting("--upstream")
        overrides.headers = (values["--header"] ?? []).map { ConfigurationOverrides.Setting($0, from: "--header") }
        overrides.workers = setting("--workers")
        overrides.logLevel = setting("--log-level")
        overrides.logFormat = setting("--log-format")
        return overrides
    }

    /// What `run`, `check` and `explain` have in common.
    static let configurationOptions = [
        "--config", "--listen", "--upstream", "--header", "--workers", "--log-level", "--log-format",
    ]
}

enum Suggestion {
    /// ` (did you mean ...?)`, or nothing.
    static func nearest(_ word: String, among known: [String]) -> String {
        Suggestions.nearest(to: word, in: known).map { " (did you mean `\($0)`?)" } ?? ""
    }
}
