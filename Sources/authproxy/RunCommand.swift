internal import Config
internal import Proxy
internal import Transport

/// `authproxy run`: the foreground process.
enum RunCommand {
    static func run(_ words: [String]) throws -> Int32 {
        let arguments = try Arguments(
            words, command: "run", options: Arguments.configurationOptions, switches: ["--watch", "--no-color", "--tls"])
        guard arguments.positional.isEmpty else {
            let word = arguments.positional[0]
            let name = word.lowercased()
            let isConfiguration = name.hasSuffix(".yaml") || name.hasSuffix(".yml")
            throw UsageError(
                isConfiguration
                    ? "`run` takes no argument `\(word)`; a configuration is named with `-c \(word)`"
                    : "`run` takes no argument `\(word)`; a command to start stands behind `--`")
        }
        let colour = Terminal.wantsColour(arguments)
        let certificate = arguments.flags.contains("--tls") ? try LocalCertificate.ensure() : nil
        let load: () -> ConfigurationOutcome = { read(arguments, certificate, colour: colour) }
        switch load() {
        case .faulty(let text):
            Terminal.error(text)
            return ExitStatus.usage
        case .loaded(let configuration, let dependencies):
            var options = ServerOptions(load: load)
            options.watchesConfiguration = arguments.flags.contains("--watch")
            options.command = arguments.command
            options.isTerminal = Terminal.isTerminal && colour
            if Terminal.isTerminal { options.announce = { announce($0, configuration) } }
            do {
                let server = try Server(options, configuration: configuration, dependencies: dependencies)
                return server.run()
            } catch {
                Terminal.error("authproxy: \(error.text)\n")
                return ExitStatus.failure
            }
        }
    }

    private static func read(_ arguments: Arguments, _ certificate: CertificateFiles?, colour: Bool) -> ConfigurationOutcome {
        do {
            var overrides = arguments.overrides
            overrides.certificate = certificate
            let loaded = try ConfigurationLoader.load(
                path: arguments.configurationPath, environment: EnvironmentVariables.value, overrides: overrides)
            return .loaded(loaded.configuration, dependencies: loaded.files)
        } catch {
            return .faulty(error.render(color: colour))
        }
    }

    /// For a person who has just started it: what to open, and what it does.
    private static func announce(_ urls: [String], _ configuration: Configuration) {
        let isDemo = configuration.upstreams.contains(where: \.isDemo)
        var text = "\n  authproxy \(ProductVersion.text)\n\n"
        for url in urls { text += "  open     \(url)\n" }
        for upstream in configuration.upstreams {
            let to = upstream.isDemo ? "the built-in demo origin" : upstream.servers.map(\.authority).joined(separator: ", ")
            text += "  upstream \(to)\n"
        }
        text += "  config   \(configuration.file ?? "none: built-in defaults")\n"
        if isDemo { text += "\n  The page shows the request as an upstream gets it, with what was injected.\n" }
        text += "\n  Ctrl-C to stop\n\n"
        Terminal.error(text)
    }
}
