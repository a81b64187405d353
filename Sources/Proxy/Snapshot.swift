internal import HTTP
internal import Policy
internal import Transport

/// A configuration compiled for one worker. Running exchanges keep the one that they began with.
///
/// The control plane compiles it, so that large ones stop no requests, and hands it over; from then on it is the worker's alone.
final class Snapshot {
    let configuration: Configuration
    let rules: RuleSet
    let secrets: SecretTable
    let urlLists: URLListTable
    let canonical: CompiledCanonicalSettings
    let indexes: MetricIndexes
    let trustedProxies: [AddressRange]
    let files: FileFinder
    private(set) var tls: TLSContexts
    private(set) var upstreams: [Upstream] = []
    /// Of rules whose proxy action changes the path, or whose upstream has one, by rule and server.
    private var pathMappings: [PathKey: PathMapping] = [:]
    private let changesPath: [Bool]
    private let ruleNames: [ByteBuffer]
    /// Of redirect hops to origins that are no upstream's: made when first needed.
    private(set) var hopUpstreams: [HopKey: Upstream] = [:]
    private var workers = 1
    /// SAFETY: a worker holds its snapshot, and so do exchanges, which it outlives. Not weak: that would slow down every use of
    /// the worker by a side table.
    private unowned(unsafe) var worker: Worker?

    struct HopKey: Hashable {
        var scheme: Scheme
        var authority: String
        var permitsPrivate: Bool
    }

    private struct PathKey: Hashable {
        var rule: Int
        var server: ObjectIdentifier
    }

    /// So many other origins keep their pools; beyond, all are forgotten at once.
    private static let mostHopUpstreams = 256

    init(_ adoption: Adoption, tls: TLSContexts = TLSContexts()) {
        self.tls = tls
        let configuration = adoption.configuration
        self.configuration = configuration
        // What requests read is the worker's own: a reference count that cores share is a cache line that they fight for.
        indexes = adoption.indexes.copy()
        trustedProxies = configuration.trustedProxies.map { $0 }
        secrets = SecretTable(configuration.secrets)
        urlLists = URLListTable(adoption.urlLists)
        canonical = CompiledCanonicalSettings(configuration.canonical)
        rules = RuleSet(
            configuration.rules, credentials: configuration.credentials, secrets: secrets, urlLists: urlLists)
        files = FileFinder(configuration.rules, systemMediaTypes: configuration.mediaTypes)
        changesPath = configuration.rules.map { rule in
            guard case .proxy(let proxy) = rule.action else { return false }
            return proxy.stripPrefix != nil || proxy.addPrefix != nil
        }
        ruleNames = configuration.rules.map { rule in
            let name = ByteBuffer(capacity: rule.name.utf8.count)
            name.append(text: rule.name)
            return name
        }
    }

    /// New connections are made by these; what is open goes on as it began.
    func adopt(_ contexts: TLSContexts) {
        tls = contexts
        for upstream in upstreams { upstream.adopt(contexts.upstream(upstream.index)) }
    }

    func openUpstreams(for worker: Worker, workers: Int) {
        self.worker = worker
        self.workers = workers
        upstreams = configuration.upstreams.enumerated().map { index, definition in
            Upstream(definition, index: index, worker: worker, workers: workers, tls: tls.upstream(index))
        }
    }

    var allUpstreams: [Upstream] { upstreams + Array(hopUpstreams.values) }

    /// A newer configuration has taken over: nothing is pooled any more, also by what running exchanges still need.
    func retire() {
        isRetired = true
        for upstream in allUpstreams { upstream.retire() }
    }

    private var isRetired = false

    /// Pools for an origin that a redirect names and that is no upstream of ours.
    func hopUpstream(_ key: HopKey, like template: Upstream, server: ServerDefinition, permits: @escaping (SocketAddress) -> Bool)
        -> Upstream
    {
        if let known = hopUpstreams[key] { return known }
        if hopUpstreams.count >= Self.mostHopUpstreams {
            for upstream in hopUpstreams.values { upstream.retire() }
            hopUpstreams = [:]
        }
        var definition = UpstreamDefinition(name: template.definition.name, servers: [])
        definition.timeouts = template.definition.timeouts
        definition.pool = template.definition.pool
        guard let worker else { return template }
        let upstream = Upstream(
            definition, index: template.index, worker: worker, workers: workers,
            tls: server.scheme == .https ? tls.system : nil)
        upstream.add(UpstreamServer(server, upstream: upstream, worker: worker, permits: permits))
        hopUpstreams[key] = upstream
        if isRetired { upstream.retire() }
        return upstream
    }

    /// How the path changes on the way to a server of the rule's upstream; nil for not at all.
    func paths(rule: Int, server: UpstreamServer) -> PathMapping? {
        let changes = rule >= 0 && rule < changesPath.count && changesPath[rule]
        if !changes && server.definition.basePath.isEmpty { return nil }
        let key = PathKey(rule: rule, server: ObjectIdentifier(server))
        if let known = pathMappings[key] { return known }
        var strip: String?
        var add: String?
        if changes, case .proxy(let proxy) = configuration.rules[rule].action {
            strip = proxy.stripPrefix
            add = proxy.addPrefix
        }
        let mapping = PathMapping(stripPrefix: strip, addPrefix: add, basePath: server.definition.basePath)
        pathMappings[key] = mapping
        return mapping
    }

    @_lifetime(immortal)
    func ruleName(_ rule: Int) -> Span<UInt8> {
        return ruleNames[rule].span
    }
}

extension MetricIndexes {
    /// With storage of its own.
    func copy() -> MetricIndexes {
        var copy = MetricIndexes()
        copy.listeners = listeners.map { $0 }
        copy.rules = rules.map { $0 }
        copy.upstreams = upstreams.map { $0 }
        copy.credentials = credentials.map { $0 }
        return copy
    }

    func listener(_ index: Int) -> UInt16 { index < listeners.count ? listeners[index] : Self.none }
    func rule(_ index: Int) -> UInt16 { index >= 0 && index < rules.count ? rules[index] : Self.none }
    func upstream(_ index: Int) -> UInt16 { index < upstreams.count ? upstreams[index] : Self.none }
}
