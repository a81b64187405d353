public import Policy
internal import Transport

/// The files whose new content takes effect by itself: secrets, URL lists and certificates always, the configuration if asked.
final class WatchedFiles {
    enum Change {
        case secret(SecretID, Secret, display: String)
        case unreadable(display: String, why: String)
        case urlList(Int, URLListSource)
        case certificates
        case configuration
    }

    /// Milliseconds between looks where no event came: within a second new content is in force.
    static let interval = 400

    private let watcher: FileWatcher
    private var secrets: [String: [SecretID]] = [:]
    private var lists: [String: [Int]] = [:]
    /// The lists of the configuration's rules with their present texts; their numbers are those of the workers' tables.
    private(set) var urlLists: [URLListSource] = []
    private var dependencies: Set<String> = []
    private var certificates: Set<String> = []

    init(_ configuration: Configuration, dependencies: [String]) {
        watcher = FileWatcher(paths: [])
        adopt(configuration, dependencies: dependencies)
    }

    var descriptor: Int32 { watcher.descriptor }

    func adopt(_ configuration: Configuration, dependencies: [String]) {
        secrets = [:]
        lists = [:]
        for (index, secret) in configuration.secrets.enumerated() {
            if case .file(let path) = secret.source { secrets[path, default: []].append(SecretID(index)) }
        }
        let definitions = URLListFiles.definitions(configuration.rules)
        // A changed list is taken by itself, without a reload.
        self.dependencies = Set(dependencies).subtracting(definitions.map(\.path))
        certificates = Set(configuration.listeners.flatMap { $0.tls?.files ?? [] } + configuration.upstreams.flatMap(\.tls.files))
        watcher.setPaths(Array(secrets.keys) + definitions.map(\.path) + dependencies + certificates)
        let known = urlLists
        urlLists = []
        // Read after the watch is set, so that no change in between is missed.
        for definition in definitions {
            lists[definition.path, default: []].append(urlLists.count)
            let last = known.first { $0.definition.path == definition.path && $0.definition.format == definition.format }
            urlLists.append(URLListFiles.read(definition, else: last?.text ?? []))
        }
    }

    func changes() -> [Change] {
        var found: [Change] = []
        var reloads = false
        var hasCertificates = false
        for path in watcher.changedPaths() {
            if let ids = secrets[path] { found += secretChanges(path, ids) }
            if let indexes = lists[path] { found += listChanges(path, indexes) }
            if dependencies.contains(path) { reloads = true }
            if certificates.contains(path) { hasCertificates = true }
        }
        if hasCertificates { found.append(.certificates) }
        if reloads { found.append(.configuration) }
        return found
    }

    private func secretChanges(_ path: String, _ ids: [SecretID]) -> [Change] {
        let display = "${file:\(path)}"
        do {
            let secret = try SecretFile.read(path)
            return ids.map { .secret($0, secret, display: display) }
        } catch {
            return [.unreadable(display: display, why: error.text)]
        }
    }

    private func listChanges(_ path: String, _ indexes: [Int]) -> [Change] {
        indexes.compactMap { index in
            guard let text = try? FileContent.read(path, limit: FileContent.listLimit) else {
                return .unreadable(display: path, why: "can not be read")
            }
            let fresh = URLListSource(definition: urlLists[index].definition, text: text)
            // As while it is written anew: what was blocked must not be let through for that.
            if fresh.listsNothing && !urlLists[index].listsNothing {
                return .unreadable(display: path, why: "lists nothing any more, which a reload would put in force")
            }
            urlLists[index] = fresh
            return .urlList(index, fresh)
        }
    }
}

/// Reads a secret's file: one trailing newline is not part of the secret.
public enum SecretFile {
    public static let limit = 1024 * 1024

    public struct Failure: Error {
        public var text: String
    }

    public static func read(_ path: String) throws(Failure) -> Secret {
        var bytes: [UInt8]
        do {
            bytes = try FileContent.read(path, limit: limit)
        } catch {
            throw Failure(text: error.description)
        }
        defer { for index in bytes.indices { bytes[index] = 0 } }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.isEmpty { throw Failure(text: "the file is empty") }
        let secret = Secret(bytes)
        guard secret.isFieldValue else { throw Failure(text: "the file holds bytes that no header may have (a line break?)") }
        return secret
    }
}

/// The URL lists that rules name, each once.
public enum URLListFiles {
    static func definitions(_ rules: [RuleDefinition]) -> [URLListDefinition] {
        var found: [URLListDefinition] = []
        func collect(_ match: MatchDefinition) {
            for list in match.urlLists where !found.contains(where: { $0.path == list.path && $0.format == list.format }) {
                found.append(list)
            }
            for inner in match.not { collect(inner) }
        }
        for rule in rules { if let match = rule.match { collect(match) } }
        return found
    }

    /// Config has seen to it that a list can be read; `last` is for one that can not any more.
    static func read(_ definition: URLListDefinition, else last: [UInt8] = []) -> URLListSource {
        URLListSource(
            definition: definition, text: (try? FileContent.read(definition.path, limit: FileContent.listLimit)) ?? last)
    }

    public static func read(_ rules: [RuleDefinition]) -> [URLListSource] { definitions(rules).map { read($0) } }
}
