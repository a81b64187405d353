internal import Policy
public import Proxy

/// A configuration, and what became known while it was read.
public struct LoadedConfiguration: Sendable {
    public var configuration: Configuration
    /// Worth a line in the log and in `check`.
    public var warnings: ConfigurationErrors
    /// The files that it was read from, absolute: itself, URL lists, bodies, `${file:}` outside of secrets. The files of
    /// secrets are in the configuration's secrets, and are watched on their own.
    public var files: [String]
}

/// Reads a configuration file into typed values, or says everything that is wrong with it.
public enum ConfigurationLoader {
    /// What a program without a file does: shows the request that an upstream would get.
    public static let defaultListen = "127.0.0.1:8080"

    /// Reads `path`; nil is the configuration of a program that was given no file: the demo upstream on 127.0.0.1:8080.
    public static func load(
        path: String?, environment: @escaping (String) -> String?, overrides: ConfigurationOverrides = ConfigurationOverrides()
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        guard let path else {
            let text = overrides.upstream == nil ? "upstream: demo\n" : ""
            var loaded = try load(text: text, file: "config.yaml", environment: environment, overrides: overrides)
            loaded.files = []
            loaded.configuration.file = nil
            return loaded
        }
        do {
            let bytes = try FileReader.read(path)
            return try load(bytes: bytes, file: path, environment: environment, overrides: overrides)
        } catch let failure as FileReader.Failure {
            let place = SourceLocation(file: path, line: 0, column: 0)
            let error = ConfigurationError(.error, at: place, path: "", "the configuration can not be read: \(failure.reason)")
            throw ConfigurationErrors([error], source: SourceText([]))
        } catch let errors as ConfigurationErrors {
            throw errors
        } catch {
            preconditionFailure("only the errors above are thrown")
        }
    }

    /// Reads a text as if it were the content of `file`, where relative paths begin.
    public static func load(
        text: String, file: String, environment: @escaping (String) -> String?,
        overrides: ConfigurationOverrides = ConfigurationOverrides()
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        try load(bytes: Array(text.utf8), file: file, environment: environment, overrides: overrides)
    }

    private static func load(
        bytes: [UInt8], file: String, environment: @escaping (String) -> String?, overrides: ConfigurationOverrides
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var source = SourceText(bytes)
        var reader = YAMLReader(bytes, file: file)
        let tree: Node
        do {
            tree = try reader.document()
        } catch {
            throw ConfigurationErrors(reader.problems + [error], source: source)
        }
        source = source.hiding(SecretLines.lines(of: tree))
        let folder = FileReader.folder(of: file)
        let decoder = ConfigurationDecoder(file: file, folder: folder, environment: environment, source: source)
        let (root, problems) = overrides.applied(to: tree)
        decoder.note(reader.problems + problems)
        var configuration = decoder.configuration(root)
        let found = ConfigurationErrors(decoder.problems, source: source)
        guard found.problems.allSatisfy({ $0.severity == .warning }) else { throw found }
        configuration.file = file
        configuration.warnings = found.problems.map(\.line)
        let files = [FileReader.absolute(file, in: FileReader.folder(of: "."))] + decoder.files
        return LoadedConfiguration(configuration: configuration, warnings: found, files: files)
    }
}

extension ConfigurationDecoder {
    /// The system's table of media types; where there is none, ours has to do.
    private static let systemMediaTypes = "/etc/mime.types"

    /// The whole file; of use only if no error was noted.
    fileprivate func configuration(_ root: Node) -> Configuration {
        var configuration = Configuration()
        let whole = Value(node: root, path: "", shape: .object(.configuration))
        guard root.entries != nil, let fields = fields(whole) else {
            if root.entries == nil { fail(root, "", "a configuration is a mapping, this is \(root.kind)") }
            return configuration
        }
        configuration.canonical = canonical(fields.fields("canonical"))
        mergesSlashes = configuration.canonical.mergeSlashes
        configuration.listeners = listeners(fields)
        configuration.trustedProxies = fields.list("trusted_proxies").compactMap { range($0) }
        checkProxyProtocol(fields, configuration)
        let upstreams = upstreams(fields)
        var credentials = credentials(fields)
        let rules = rules(fields, upstreams, credentials)
        placeCredentials(rules, upstreams, &credentials)
        requireUpstream(fields, rules, upstreams)
        configuration.upstreams = upstreams.definitions
        configuration.credentials = credentials.entries.compactMap(\.definition)
        configuration.rules = rules.map(\.definition)
        if rules.contains(where: { if case .serve = $0.definition.action { true } else { false } }) {
            configuration.mediaTypes = (try? FileReader.read(Self.systemMediaTypes)) ?? []
        }
        configuration.limits = limits(fields.fields("limits"))
        configuration.timeouts = timeouts(fields.fields("timeouts"))
        configuration.workers = workers(fields["workers"])
        configuration.instance = instance(fields["instance"])
        configuration.admin = admin(fields.fields("admin"), beside: configuration.listeners)
        configuration.log = log(fields.fields("log"))
        secrets.check(self)
        // What is unused may well be meant where an error is.
        if !hasErrors { warnAboutRules(fields, rules, upstreams, credentials) }
        configuration.secrets = secrets.definitions
        return configuration
    }
}

/// The lines of a file that may hold a secret; messages do not show them.
enum SecretLines {
    static func lines(of root: Node) -> Set<Int> {
        var lines: Set<Int> = []
        for entry in root.entries ?? [] {
            let isSecret = entry.name == "credentials" || entry.name == "authenticators"
            collect(entry.value, isSecret, into: &lines)
        }
        return lines
    }

    private static func collect(_ node: Node, _ isSecret: Bool, into lines: inout Set<Int>) {
        switch node.content {
        case .scalar(let text, _):
            let isSensitive = isSecret || SensitiveNames.isMentioned(in: text) || text.contains("://") && text.contains("@")
            guard isSensitive, node.location.line > 0, node.endLine >= node.location.line else {
                return
            }
            lines.formUnion(node.location.line...node.endLine)
        case .sequence(let items): for item in items { collect(item, isSecret, into: &lines) }
        case .mapping(let entries):
            for entry in entries {
                // A rule's `credential` is a name; what else is called so may hold one.
                let mentions = entry.name != "credential" && SensitiveNames.isMentioned(in: entry.name)
                collect(entry.value, isSecret || mentions, into: &lines)
            }
        }
    }
}
