internal import HTTP
internal import Policy
internal import Transport

/// What the control plane tells a worker.
enum WorkerMessage: Sendable {
    case adopt(Handover<Snapshot>, [ListeningSocket])
    case secret(SecretID, Secret)
    case urlList(Int, Handover<URLList>)
    /// Certificates have changed.
    case tls(Handover<TLSContexts>)
    case ticketKeys(TicketKeys)
    case resolved(Int, Result<[SocketAddress], ResolutionError>)
    case report(@Sendable (WorkerReport) -> Void)
    /// Accept no more; end each connection when its exchange is over.
    case drain
    /// Leave the loop, whatever is still open.
    case stop
}

/// A configuration that comes into force, with what belongs to it.
struct Adoption: Sendable {
    var configuration: Configuration
    var urlLists: [URLListSource]
    var indexes: MetricIndexes
}

/// A listening socket that the control plane opened for this worker, or shares between them.
struct ListeningSocket: Sendable {
    var definition: ListenerDefinition
    var descriptor: Int32
    /// Shared by the workers and owned by the control plane (unix sockets, socket activation).
    var isShared: Bool
    var port: UInt16
}

/// A copy of a worker's numbers, for `status` and `metrics`.
struct WorkerReport: Sendable {
    var metrics: MetricsSnapshot
    var clients: Int
    var isDrained: Bool
}

/// One core's share of the proxy: a loop, its listeners, pools, buffers and compiled rules. Workers share nothing mutable.
///
/// Everything is confined to the thread that calls `run`, which is also the one that must create it.
/// SAFETY: the closures that it gives to its own loop refer to it unowned: the loop is its part and runs only within it.
final class Worker {
    let index: Int
    let loop: EventLoop
    let mailbox: Mailbox<WorkerMessage>
    let resolver: Resolver
    let workerLog: WorkerLog
    let metrics = WorkerMetrics()
    private(set) var snapshot: Snapshot
    /// The snapshot's, read for each event.
    private(set) var limits: Limits
    private(set) var timeouts: Timeouts
    private let workerCount: Int
    private var listeners: [ClientListener] = []
    private(set) var clientCount = 0
    private var eventTime: Int64 = 0
    private var resolutions: [Int: (Result<[SocketAddress], ResolutionError>) -> Void] = [:]
    private var nextResolution = 0
    private(set) var isDraining = false
    /// For so long, in milliseconds, a connection of which all has been sent is read on: an end with unread input would destroy what
    /// was sent. A process that is to stop has less patience with clients that say nothing.
    var lingerTime: Int { isDraining ? 1_000 : 5_000 }
    private var receiver: MailboxReceiver<WorkerMessage>?

    // Scratch, used within one call from the loop.
    static let receiveSize = 64 * 1024
    /// Up to this many bytes are copied behind a head rather than sent by a second part.
    static let largestCopy = 16 * 1024
    let receiveBuffer = ByteBuffer(capacity: Worker.receiveSize)
    let responseHead = ResponseHead()
    let responseWriter = ResponseWriter()
    let forwarded = ForwardedCache()
    let empty = ByteBuffer(capacity: 16)
    let scratch = ByteBuffer(capacity: 4 * 1024)
    let buffers = BufferPool(capacity: 16 * 1024, mostKept: 64)
    /// For what connections of HTTP/2 gather within a turn.
    let frameBuffers = BufferPool(capacity: 96 * 1024, mostKept: 8)
    private(set) lazy var pageBuffers = PageBuffers()
    private(set) lazy var codings = CodingPool()
    let pipes: PipePool
    private(set) lazy var fileBuffers = FileBuffers()
    /// Where streams have their next head written; empty between calls.
    let streamHead = ByteBuffer(capacity: 1024)
    /// Where the head of a request to an upstream of HTTP/2 is written.
    private(set) lazy var requestText = ByteBuffer(capacity: 4 * 1024)
    private(set) lazy var http2 = HTTP2Templates()
    private var unflushed: [HTTP2Connection] = []
    private var flushing: [HTTP2Connection] = []
    private var spareFieldBlocks: [FieldBlock] = []
    /// The loop keeps them.
    private var spareClientStreams: [Uncounted<HTTP2ClientStream>] = []
    private var spareUpstreamStreams: [Uncounted<HTTP2UpstreamStream>] = []
    /// Spare from the turn's end on: who sends again within the stack that ended a stream does not get that one.
    private var endedUpstreamStreams: [HTTP2UpstreamStream] = []
    private static let mostSpareStreams = 1024
    /// Content of a known length of which at least so much is to come goes from socket to socket.
    static let smallestSplice: UInt64 = 128 * 1024
    let clientOutput = ByteBuffer(capacity: 2 * Worker.receiveSize)
    let upstreamOutput = ByteBuffer(capacity: 2 * Worker.receiveSize)
    /// Whose output is in `clientOutput`, not yet sent.
    private var corkedClient: Uncounted<ClientConnection>?
    private var corkedUpstream: Uncounted<UpstreamConnection>?

    private var sharedWire: TLSWire?

    private var exchanges = ExchangePool()
    private var next: Exchange?
    /// Exchanges that are not used again, until the turn's end: who gave one back may still be on the stack.
    private var departed: [Exchange] = []
    let noClient: ClientFacts
    let instance: ByteBuffer
    var random = RandomSource()
    private var requestIDs = RequestIDs()
    var dates = DateCache()

    init(_ start: WorkerStart) throws(SystemError) {
        index = start.index
        mailbox = start.mailbox
        resolver = start.resolver
        workerLog = WorkerLog(start.logWriter)
        workerCount = start.workerCount
        pipes = PipePool(workers: start.workerCount)
        loop = try EventLoop()
        instance = ByteBuffer(capacity: 64)
        instance.append(text: start.instance)
        noClient = ClientFacts(
            peerAddress: nil, peerPort: 0, scheme: .http, listenerPort: 0, peerIsTrusted: false, addressText: ByteBuffer())
        snapshot = Snapshot(Adoption(configuration: Configuration(), urlLists: [], indexes: MetricIndexes()))
        limits = Limits()
        timeouts = Timeouts()
        loop.turnEnded = { [unowned(unsafe) self] in
            // Whatever an event led to is sent by now, or here.
            flushHTTP2()
            flushUpstreamOutput()
            flushClientOutput()
            if !departed.isEmpty { departed.removeAll(keepingCapacity: true) }
            if !endedUpstreamStreams.isEmpty { takeBackUpstreamStreams() }
        }
        receiver = try MailboxReceiver(mailbox, on: loop) { [unowned(unsafe) self] message in receive(message) }
    }

    func run() { loop.run() }

    // MARK: Messages

    private func receive(_ message: WorkerMessage) {
        eventBegins()
        switch message {
        case .adopt(let snapshot, let sockets): if let snapshot = snapshot.take() { adopt(snapshot, sockets) }
        case .secret(let id, let secret): snapshot.rules.update(id, secret)
        case .urlList(let index, let list): if let list = list.take() { snapshot.urlLists.replace(index, list: list) }
        case .tls(let contexts): if let contexts = contexts.take() { snapshot.adopt(contexts) }
        case .ticketKeys(let keys): snapshot.tls.tickets?.update(keys)
        case .resolved(let id, let result): resolutions.removeValue(forKey: id)?(result)
        case .report(let answer): answer(report())
        case .drain: drain()
        case .stop: loop.stop()
        }
    }

    private func adopt(_ fresh: Snapshot, _ sockets: [ListeningSocket]) {
        let old = snapshot
        // First: what waits at a listener that goes is taken as the old configuration describes it.
        let kept = Set(sockets.map(\.descriptor))
        for listener in listeners where !kept.contains(listener.socket.descriptor) { listener.leave() }
        listeners.removeAll { !$0.isOpen }
        snapshot = fresh
        limits = fresh.configuration.limits
        timeouts = fresh.configuration.timeouts
        // Those that serve nobody would keep the old configuration, and its secrets.
        exchanges = ExchangePool()
        if let unused = next.take() { departed.append(unused) }
        snapshot.openUpstreams(for: self, workers: workerCount)
        old.retire()
        // Clients of HTTP/2 are sent elsewhere, and find the new configuration there; others do with their next connection.
        for case let client as HTTP2ClientConnection in loop.present { client.drain() }
        for socket in sockets where !listeners.contains(where: { $0.socket.descriptor == socket.descriptor }) {
            if let listener = try? ClientListener(worker: self, socket: socket) { listeners.append(listener) }
        }
        // What the configuration says of a socket, and where, may have changed.
        for listener in listeners {
            // They come in the order of the configuration's listeners.
            guard let index = sockets.firstIndex(where: { $0.descriptor == listener.socket.descriptor }) else { continue }
            listener.become(sockets[index], index: index)
        }
    }

    private func report() -> WorkerReport {
        let idle = snapshot.allUpstreams.reduce(0) { $0 + $1.idleCount }
        let open = snapshot.allUpstreams.reduce(0) { $0 + $1.connectionCount }
        metrics.setUpstreamConnections(idle: idle, active: open - idle)
        return WorkerReport(
            metrics: metrics.snapshot, clients: clientCount, isDrained: isDraining && clientCount == 0)
    }

    private func drain() {
        isDraining = true
        for listener in listeners { listener.close() }
        listeners = []
        for handler in loop.present {
            if let client = handler as? ClientConnection { client.drain() }
            if let client = handler as? HTTP2ClientConnection { client.drain() }
        }
        snapshot.retire()
    }

    // MARK: Clients

    /// This worker's share of `limits.connections`.
    private var connectionLimit: Int { max(1, snapshot.configuration.limits.connections / workerCount) }

    func accepted(_ descriptor: Int32, from peer: SocketAddress, at listener: ClientListener) {
        eventBegins()
        if clientCount >= connectionLimit {
            metrics.clientShed()
            return Shedding.refuse(descriptor, isPlain: !listener.isSecure)
        }
        let facts = listener.facts(for: peer, trusted: snapshot.trustedProxies)
        let takesProxyProtocol = listener.socket.definition.takesProxyProtocol
        var session: TLSSession?
        if listener.isSecure {
            session = try? snapshot.tls.listener(listener.index)?.session(on: wire())
            guard session != nil else { return SystemCalls.close(descriptor) }
        }
        // Who is not trusted has nothing to say about whose connection this is.
        if takesProxyProtocol, !facts.peerIsTrusted, facts.peerAddress != nil { return refuseStranger(descriptor, facts) }
        let client = ClientConnection(
            worker: self, descriptor: descriptor, facts: facts, listener: listener.index,
            takesHTTP2: listener.socket.definition.takesHTTP2, tls: session, awaitsProxyHeader: takesProxyProtocol)
        guard (try? loop.add(client, descriptor: descriptor)) != nil else { return }
        clientCount += 1
        metrics.clientAccepted()
        client.begin()
        // What a client sends at once is often there already.
        client.isReadable = true
        client.pump()
    }

    private func refuseStranger(_ descriptor: Int32, _ facts: ClientFacts) {
        log(.warn, "refused \(facts.addressString): it is none of `trusted_proxies`, which the PROXY protocol is taken from")
        SystemCalls.close(descriptor)
    }

    /// What TLS sessions of this worker read from and write to; made when there is the first.
    func wire() throws(TLSError) -> TLSWire {
        if let sharedWire { return sharedWire }
        let wire = try TLSWire()
        sharedWire = wire
        return wire
    }

    /// A listener that could not accept tries again later.
    func scheduleAccepting(_ listener: ClientListener, after milliseconds: Int) {
        let retry = Retry { [unowned self] retry in
            loop.remove(retry)
            listener.resume()
        }
        guard (try? loop.add(retry)) != nil else { return }
        loop.setDeadline(retry, after: milliseconds)
    }

    func clientClosed(_ client: Connection) {
        if let corked = corkedClient, corked.with({ $0 === client }) {
            clientOutput.clear()
            corkedClient = nil
        }
        clientCount -= 1
        metrics.clientClosed()
    }

    /// Whether an address is one that this proxy itself listens on: sending there would come back.
    func isOwnListener(_ address: SocketAddress) -> Bool {
        if listeners.contains(where: { $0.isReached(by: address) }) { return true }
        guard case .tcp(let host, let port)? = snapshot.configuration.admin.listen?.address else { return false }
        let admin = host.isEmpty ? SocketAddress.any(port: port) : SocketAddress(literal: host, port: port)
        return admin.map { ClientListener.reaches($0, by: address) } ?? false
    }

    // MARK: Corked output

    // One that is closed is corked no more; until the turn's end, when all has been sent, the loop keeps it.

    func isCorked(_ connection: UpstreamConnection) -> Bool { corkedUpstream.map { $0.with { $0 === connection } } ?? false }

    /// From here on what is written to `upstreamOutput` is for this connection.
    func cork(_ connection: UpstreamConnection) {
        if isCorked(connection) { return }
        flushUpstreamOutput()
        corkedUpstream = Uncounted(connection)
    }

    /// From here on what is written to `clientOutput` is for this client.
    func cork(_ client: ClientConnection) {
        if let corked = corkedClient, corked.with({ $0 === client }) { return }
        flushClientOutput()
        corkedClient = Uncounted(client)
    }

    func flushUpstreamOutput() {
        guard let connection = corkedUpstream else { return }
        corkedUpstream = nil
        connection.with { $0.send(upstreamOutput) }
        upstreamOutput.clear()
    }

    func dropUpstreamOutput() {
        corkedUpstream = nil
        upstreamOutput.clear()
    }

    func flushClientOutput() {
        guard let client = corkedClient else { return }
        corkedClient = nil
        client.with { $0.send(clientOutput) }
        clientOutput.clear()
    }

    // MARK: HTTP/2

    /// The connection is told at the end of the turn.
    func flushLater(_ connection: HTTP2Connection) { unflushed.append(connection) }

    private func flushHTTP2() {
        if unflushed.isEmpty { return }
        swap(&unflushed, &flushing)
        for connection in flushing { connection.flushIsDue() }
        flushing.removeAll(keepingCapacity: true)
        // What this has led to is for the next turn, which comes at once.
        if let next = unflushed.first { loop.runSoon(next) }
    }

    /// Sixteen octets in Base64 (RFC 6455 section 4.1).
    func fillWebSocketKey(_ key: ByteBuffer) {
        var octets: [UInt8] = []
        for _ in 0..<2 {
            let word = random.next()
            for shift in 0..<8 { octets.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
        }
        key.clear()
        WebSocketHandshake.appendBase64(octets, to: key)
    }

    func takeFieldBlock() -> FieldBlock { spareFieldBlocks.popLast() ?? FieldBlock() }

    func giveBack(_ block: consuming FieldBlock) { if spareFieldBlocks.count < 16 { spareFieldBlocks.append(block) } }

    /// With a place in the loop, which it keeps.
    func takeClientStream() -> Uncounted<HTTP2ClientStream> {
        if let stream = spareClientStreams.popLast() { return stream }
        let stream = HTTP2ClientStream(worker: self)
        try? loop.add(stream)
        return Uncounted(stream)
    }

    func takeUpstreamStream() -> HTTP2UpstreamStream {
        if let stream = spareUpstreamStreams.popLast() { return stream.object }
        let stream = HTTP2UpstreamStream(worker: self)
        try? loop.add(stream)
        return stream
    }

    func giveBack(_ stream: HTTP2UpstreamStream) { endedUpstreamStreams.append(stream) }

    private func takeBackUpstreamStreams() {
        for stream in endedUpstreamStreams {
            if spareUpstreamStreams.count < Self.mostSpareStreams {
                spareUpstreamStreams.append(Uncounted(stream))
            } else {
                loop.remove(stream)
            }
        }
        endedUpstreamStreams.removeAll(keepingCapacity: true)
    }

    /// Spare at once: only a head that is received takes one, and none is within a stack that ends a stream.
    func giveBack(_ stream: HTTP2ClientStream) {
        if spareClientStreams.count < Self.mostSpareStreams {
            spareClientStreams.append(Uncounted(stream))
        } else {
            loop.remove(stream)
        }
    }

    // MARK: Exchanges

    /// Uses the exchange that the next head is parsed into; it stays the next one until `takeExchange`.
    func withNextExchange<R, E>(_ body: (Exchange) throws(E) -> R) throws(E) -> R {
        if next == nil { next = exchanges.take() ?? Exchange(worker: self) }
        return try uncounted(next.unsafelyUnwrapped, body)
    }

    func takeExchange() -> Exchange { next.take() ?? exchanges.take() ?? Exchange(worker: self) }

    /// One that began with a former configuration would keep it, and its secrets.
    func giveBack(_ exchange: Exchange) {
        guard exchange.snapshot === snapshot, exchanges.giveBack(exchange, now: loop.now) else { return departed.append(exchange) }
    }

    func fillRequestID(_ buffer: ByteBuffer) { requestIDs.fill(buffer) }

    // MARK: Names, time, log

    func resolve(name: String, port: UInt16, then answer: @escaping (Result<[SocketAddress], ResolutionError>) -> Void) {
        if let literal = SocketAddress(literal: name, port: port) { return answer(.success([literal])) }
        let id = nextResolution
        nextResolution += 1
        resolutions[id] = answer
        let mailbox = mailbox
        resolver.resolve(name: name, port: port) { result in mailbox.post(.resolved(id, result)) }
    }

    /// Microseconds of the monotonic clock, read once for each event that the loop delivers.
    func microseconds() -> Int64 {
        if eventTime == 0 { eventTime = SystemClock.microseconds() }
        return eventTime
    }

    func eventBegins() { eventTime = 0 }

    var unixTime: Int { Int(SystemClock.wallMilliseconds() / 1000) }

    func log(_ level: LogDefinition.Level, _ message: String) {
        workerLog.log(level, message)
    }
}

/// A deadline with nothing else to it.
private final class Retry: EventHandler {
    private let action: (Retry) -> Void

    init(action: @escaping (Retry) -> Void) {
        self.action = action
        super.init()
    }

    override func deadlinePassed() { action(self) }
}
