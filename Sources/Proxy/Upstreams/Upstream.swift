internal import HTTP
internal import Policy
internal import Transport

/// One of `upstreams:` as a worker has it: its servers, their connections, and the loaders that wait for one.
final class Upstream {
    let definition: UpstreamDefinition
    let index: Int
    let isDemo: Bool
    /// Its servers may speak HTTP/2.
    private(set) var takesHTTP2: Bool
    let timeouts: UpstreamTimeouts
    let nameText = ByteBuffer(capacity: 16)
    private(set) var servers: [UpstreamServer] = []
    /// Connections that exist, idle ones included; at most `limit`.
    private(set) var connectionCount = 0
    private let limit: Int
    let mostIdle: Int
    private var turn = 0
    private var waiting: [UpstreamLoader] = []
    private let worker: Worker
    /// Nil where no server has an `https` URL.
    private(set) var tls: TLSClientContext?
    /// Set when a newer configuration has taken over: nothing is pooled any more.
    private(set) var isRetired = false

    init(_ definition: UpstreamDefinition, index: Int, worker: Worker, workers: Int, tls: TLSClientContext?) {
        self.definition = definition
        self.tls = tls
        self.index = index
        self.worker = worker
        nameText.append(text: definition.name)
        isDemo = definition.isDemo
        takesHTTP2 = definition.takesHTTP2
        timeouts = definition.timeouts
        mostIdle = definition.pool.maximumIdle
        limit = max(1, (definition.pool.maximumConnections + workers - 1) / workers)
        for server in definition.servers {
            servers.append(UpstreamServer(server, upstream: self, worker: worker))
        }
    }

    /// The certificates have changed: pooled connections were made with those before.
    func adopt(_ fresh: TLSClientContext?) {
        guard tls != nil else { return }
        tls = fresh
        for server in servers {
            server.resumption.forget()
            server.closeIdle()
            server.renewStreams()
            server.retireStreams()
        }
    }

    /// For upstreams of one server that is made apart: the origin of a redirect hop.
    func add(_ server: UpstreamServer) {
        servers.append(server)
        if server.definition.scheme == .https { takesHTTP2 = true }
    }

    var idleCount: Int { servers.reduce(0) { $0 + $1.idleCount + $1.unusedCount } }

    /// Its servers are on private addresses, so hops to such are no step inside.
    var isPrivate: Bool {
        servers.contains { server in
            if case .unix = server.definition.address { return true }
            return server.addresses.contains { address in
                address.ipBits.map { IPAddress(high: $0.high, low: $0.low).isPrivate } ?? false
            }
        }
    }

    var hasRoom: Bool { connectionCount < limit }

    /// The server whose turn it is, leaving out those in `tried` (a bit each); nil when all have been tried.
    func pickServer(tried: UInt64) -> UpstreamServer? {
        if servers.count == 1 { return tried & 1 == 0 ? servers[0] : nil }
        var candidate: Int?
        switch definition.balance {
        case .roundRobin:
            for offset in 0..<servers.count where candidate == nil {
                let index = (turn + offset) % servers.count
                if !isTried(index, tried) { candidate = index }
            }
            if let candidate { turn = candidate + 1 }
        case .random:
            let left = servers.indices.count { !isTried($0, tried) }
            if left == 0 { return nil }
            var skip = Int(worker.random.next() % UInt64(left))
            for index in servers.indices where candidate == nil && !isTried(index, tried) {
                if skip == 0 { candidate = index }
                skip -= 1
            }
        case .leastRequests:
            // The turn breaks ties, or an idle upstream would send everything to its first server.
            for offset in servers.indices {
                let index = (turn + offset) % servers.count
                if isTried(index, tried) { continue }
                if let best = candidate, servers[best].requestsUnderWay <= servers[index].requestsUnderWay { continue }
                candidate = index
            }
            if let candidate { turn = candidate + 1 }
        }
        return candidate.map { servers[$0] }
    }

    private func isTried(_ index: Int, _ tried: UInt64) -> Bool { index < 64 && tried >> UInt64(index) & 1 == 1 }

    func connectionOpened() { connectionCount += 1 }

    func connectionClosed() {
        connectionCount -= 1
        if !isEvicting { serveWaiting() }
    }

    private var isEvicting = false

    /// Room for one more at the cost of an idle connection to another server; false when none is idle.
    func makeRoom() -> Bool {
        guard let server = servers.first(where: { $0.idleCount > 0 }) else { return false }
        isEvicting = true
        server.closeOldestIdle()
        isEvicting = false
        return hasRoom
    }

    func wait(_ loader: UpstreamLoader) { waiting.append(loader) }

    func stopWaiting(_ loader: UpstreamLoader) { waiting.removeAll { $0 === loader } }

    /// A connection has become idle, or there is room for one more.
    func serveWaiting() {
        if isServing || waiting.isEmpty { return }
        isServing = true
        // One that fails at once passes its turn on; each is asked once.
        var turns = waiting.count
        while turns > 0, !waiting.isEmpty, hasRoom || servers.contains(where: { $0.idleCount > 0 || $0.hasStreamRoom }) {
            turns -= 1
            waiting.removeFirst().acquire()
        }
        isServing = false
    }

    private var isServing = false

    /// Closes what is idle; connections in use are closed when they have done their work.
    func retire() {
        isRetired = true
        for server in servers {
            server.closeIdle()
            server.retireStreams()
        }
    }
}

/// One server of an upstream: its addresses, and its idle connections with the latest used on top.
final class UpstreamServer {
    let definition: ServerDefinition
    /// An upstream owns its servers; connections hold both.
    private let owner: Uncounted<Upstream>
    /// Counted.
    var upstream: Upstream { owner.object }
    let worker: Worker
    private let loop: EventLoop
    /// The latest TLS session with this server.
    let resumption = TLSResumption()
    var logsHandshakesAgainAt: Int64 = 0
    /// Of a unix socket the host is `localhost`.
    let destination: Destination
    /// `preserve_host: auto` keeps the client's Host but for https to a name, where the certificate and Host are to agree.
    let prefersClientHost: Bool
    private var idle: [UpstreamConnection] = []
    /// Connections of HTTP/2, and what is known of the server's speaking it; see `UpstreamServer+HTTP2.swift`.
    var multiplexed: [HTTP2UpstreamConnection] = []
    var speaksHTTP2: Bool?
    var connecting: UpstreamConnection?
    var requestsUnderWay = 0
    private(set) var addresses: [SocketAddress] = []
    /// When the name is to be asked for again.
    private var resolveAt: Int64 = 0
    private var isResolving = false
    private var waitingForAddress: [UpstreamLoader] = []
    /// Of hops: addresses that must not be connected to are left out when a name is resolved.
    private let permits: ((SocketAddress) -> Bool)?

    /// getaddrinfo does not tell how long its answer holds.
    private static let addressLifetime: Int64 = 30_000

    init(_ definition: ServerDefinition, upstream: Upstream, worker: Worker, permits: ((SocketAddress) -> Bool)? = nil) {
        self.definition = definition
        owner = Uncounted(upstream)
        self.worker = worker
        loop = worker.loop
        self.permits = permits
        let host: String
        let port: UInt16
        switch definition.address {
        case .unix:
            (host, port) = ("localhost", definition.scheme.defaultPort)
            prefersClientHost = true
        case .tcp(let name, let number):
            let isLiteral = IPAddress.parse(name) != nil
            (host, port) = (isLiteral && name.contains(":") ? "[\(name)]" : name.lowercased(), number)
            prefersClientHost = definition.scheme != .https || isLiteral
        }
        destination = Destination(authority: definition.authority, host: host, port: port, scheme: definition.scheme)
        if case .unix(let path) = definition.address, let address = try? SocketAddress(unixPath: path) {
            addresses = [address]
        }
    }

    // MARK: Addresses

    /// True when there are addresses to connect to; false when the loader will be told of them, or of their absence.
    func hasAddresses(for loader: UpstreamLoader) -> Bool {
        guard case .tcp(let name, let port) = definition.address else { return true }
        if worker.loop.now >= resolveAt && !isResolving {
            isResolving = true
            // The answer may come when a newer configuration has taken over: the upstream is held till then.
            worker.resolve(name: name, port: port) { [self, upstream] result in
                withExtendedLifetime(upstream) { resolved(result) }
            }
        }
        // Asked for again behind the scenes: what was last good serves meanwhile.
        if !addresses.isEmpty { return true }
        // A literal was answered at once; a name that has just failed is not asked for by every request.
        if !isResolving { return true }
        waitingForAddress.append(loader)
        return false
    }

    private func resolved(_ result: Result<[SocketAddress], ResolutionError>) {
        isResolving = false
        switch result {
        case .success(let found):
            let permitted = permits.map { found.filter($0) } ?? found
            addresses = permitted
            resolveAt = worker.loop.now + Self.addressLifetime
        case .failure(let error):
            worker.log(.warn, "upstream \(upstream.definition.name): \(definition.authority): \(error.text)")
            // The last good addresses are tried for a while longer, then the name is asked for again.
            resolveAt = worker.loop.now + (addresses.isEmpty ? 1_000 : 5_000)
        }
        let loaders = waitingForAddress
        waitingForAddress = []
        for loader in loaders { loader.addressesArrived(self) }
    }

    func stopWaitingForAddress(_ loader: UpstreamLoader) { waitingForAddress.removeAll { $0 === loader } }

    // MARK: Idle connections

    func takeIdle() -> UpstreamConnection? {
        while let connection = idle.popLast() {
            if connection.isOpen && connection.isQuiet { return connection }
            connection.close()
        }
        return nil
    }

    func takeIdle(where isFit: (UpstreamConnection) -> Bool) -> UpstreamConnection? {
        while let index = idle.lastIndex(where: isFit) {
            let connection = idle.remove(at: index)
            if connection.isOpen && connection.isQuiet { return connection }
            connection.close()
        }
        return nil
    }

    private static let surplusTime = 1_000

    /// Puts a connection whose exchange is over back, or closes it when there are enough.
    func giveBack(_ connection: UpstreamConnection) {
        precondition(connection.input == nil, "a pooled connection holds nothing of the exchange before")
        owner.with { upstream in
            if upstream.isRetired || worker.isDraining || !connection.isQuiet { return connection.close() }
            idle.append(connection)
            // More than `max_idle` are kept for a moment: under load the next request is a moment away.
            let time = upstream.timeouts.idle
            loop.setDeadline(connection, after: idle.count > upstream.mostIdle ? min(Self.surplusTime, time) : time)
            upstream.serveWaiting()
        }
    }

    func remove(_ connection: UpstreamConnection) {
        if let index = idle.lastIndex(where: { $0 === connection }) { idle.remove(at: index) }
    }

    var idleCount: Int { idle.count }

    func closeOldestIdle() { if !idle.isEmpty { idle.removeFirst().close() } }

    func closeIdle() {
        let connections = idle
        idle = []
        for connection in connections { connection.close() }
    }
}
