internal import Policy
internal import Transport

/// A configuration as one worker has compiled it. Running exchanges keep the one that they began with.
final class Snapshot {
    let configuration: Configuration
    let rules: RuleSet
    let secrets: SecretTable
    let urlLists: URLListTable
    let canonical: CompiledCanonicalSettings
    let upstreams: [Upstream]
    /// Of redirect hops to origins that are no upstream's: made when first needed.
    private(set) var hopUpstreams: [HopKey: Upstream] = [:]
    private let workers: Int
    private unowned let worker: Worker

    struct HopKey: Hashable {
        var scheme: Scheme
        var authority: String
        var permitsPrivate: Bool
    }

    /// So many other origins keep their pools; beyond, all are forgotten at once.
    private static let mostHopUpstreams = 256

    init(_ configuration: Configuration, worker: Worker, workers: Int) {
        self.configuration = configuration
        self.worker = worker
        self.workers = workers
        secrets = SecretTable(configuration.secrets)
        urlLists = URLListTable(configuration.rules)
        canonical = CompiledCanonicalSettings(configuration.canonical)
        rules = RuleSet(
            configuration.rules, credentials: configuration.credentials, secrets: secrets, urlLists: urlLists)
        upstreams = configuration.upstreams.enumerated().map { index, definition in
            Upstream(definition, index: index, worker: worker, workers: workers)
        }
    }

    var allUpstreams: [Upstream] { upstreams + Array(hopUpstreams.values) }

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
        let upstream = Upstream(definition, index: template.index, worker: worker, workers: workers)
        upstream.add(UpstreamServer(server, upstream: upstream, worker: worker, permits: permits))
        hopUpstreams[key] = upstream
        return upstream
    }
}
