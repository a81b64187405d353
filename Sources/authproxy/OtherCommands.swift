internal import Config
internal import Policy
internal import Proxy
internal import Transport

/// `authproxy check`: says all that is wrong with a configuration, and what is odd.
enum CheckCommand {
    static func run(_ words: [String]) throws -> Int32 {
        let arguments = try Arguments(
            words, command: "check", options: Arguments.configurationOptions, switches: ["--no-color"])
        let path = arguments.positional.first ?? arguments.configurationPath
        let colour = Terminal.wantsColour(arguments)
        do {
            let loaded = try ConfigurationLoader.load(
                path: path, environment: EnvironmentVariables.value, overrides: arguments.overrides)
            Terminal.error(loaded.warnings.render(color: colour))
            for list in URLListFiles.read(loaded.configuration.rules) {
                if let text = list.warning { Terminal.error("\(list.definition.path): warning: \(text)\n") }
            }
            let rules = loaded.configuration.rules.count
            guard let path else {
                Terminal.error("authproxy: there is no config.yaml here and no -c; without one `run` serves the built-in demo\n")
                return ExitStatus.success
            }
            Terminal.print("\(path): ok (\(rules) rule\(rules == 1 ? "" : "s"))\n")
            return ExitStatus.success
        } catch {
            Terminal.error(error.render(color: colour))
            return ExitStatus.usage
        }
    }
}

/// `authproxy schema`: the JSON Schema of the configuration, for editors.
enum SchemaCommand {
    static func run(_ words: [String]) throws -> Int32 {
        _ = try Arguments(words, command: "schema", options: [])
        Terminal.print(ConfigurationSchema.jsonSchema())
        return ExitStatus.success
    }
}

enum VersionCommand {
    static func run() -> Int32 {
        Terminal.print("authproxy \(ProductVersion.text)\n")
        return ExitStatus.success
    }
}

/// `authproxy reload` and `authproxy status`: ask a running process by its admin socket.
enum AdminCommand {
    static func reload(_ words: [String]) throws -> Int32 {
        let answer = try ask("POST", "/reload", words, "reload")
        if answer.status == 200 {
            Terminal.print(answer.body)
            return ExitStatus.success
        }
        Terminal.error(answer.body)
        return answer.status == 422 ? ExitStatus.usage : ExitStatus.failure
    }

    static func status(_ words: [String]) throws -> Int32 {
        let answer = try ask("GET", "/status", words, "status")
        guard answer.status == 200 else {
            Terminal.error(answer.body)
            return ExitStatus.failure
        }
        Terminal.print(answer.body)
        return ExitStatus.success
    }

    private static func ask(_ method: String, _ path: String, _ words: [String], _ command: String) throws
        -> (status: Int, body: String)
    {
        let arguments = try Arguments(words, command: command, options: ["--config", "--socket"])
        let socket = try find(arguments)
        guard let answer = AdminClient.ask(socket, method: method, path: path) else {
            throw AdminFailure(text: "the process behind \(socket) does not answer")
        }
        return answer
    }

    /// The socket that was named, or of the configuration, or of the only process that answers.
    private static func find(_ arguments: Arguments) throws -> String {
        if let socket = arguments.setting("--socket") { return socket.text }
        let isNamed = arguments.setting("--config") != nil
        if let path = arguments.configurationPath,
            let loaded = try? ConfigurationLoader.load(path: path, environment: EnvironmentVariables.value),
            let socket = loaded.configuration.admin.socket,
            isNamed || AdminClient.ask(socket, method: "GET", path: "/healthz") != nil
        {
            return socket
        }
        let living = AdminSocket.present().filter { AdminClient.ask($0, method: "GET", path: "/healthz") != nil }
        switch living.count {
        case 1: return living[0]
        case 0:
            let folder = AdminSocket.folder() ?? "$XDG_RUNTIME_DIR"
            throw AdminFailure(
                text: "no authproxy of this user is running (no socket in \(folder) answers); "
                    + "name its configuration with -c, or its socket with --socket")
        default:
            throw AdminFailure(text: "several are running; choose one with --socket:\n  " + living.joined(separator: "\n  "))
        }
    }
}

struct AdminFailure: Error, CustomStringConvertible {
    var text: String
    var description: String { text }
}
