internal import HTTP
internal import Policy
internal import Transport

/// One request from its first byte to its last; reads top to bottom in the order of work.
///
/// ```
/// 1 canonicalise  2 take  3 inject  4 load  5 deliver  6 record
///                 ▲ the filter tag is set                 │
///                 └── redirected: the tag is cleared ◄────┘ from the client's own canonical request
/// ```
/// Objects are reused; a worker keeps a few.
final class Exchange {
    let worker: Worker
    // The worker's, here since they are used for each request: a reference through another is counted, one of our own is not.
    let loop: EventLoop
    let metrics: WorkerMetrics
    let forwarded: ForwardedCache
    let responseWriter: ResponseWriter
    let instance: ByteBuffer
    let log: WorkerLog
    /// Where the next head to the client is written, by `withOutput`: of a connection of HTTP/1.1, of a stream.
    private let clientOutput: ByteBuffer
    private let streamHead: ByteBuffer
    let head: RequestHead
    /// The client's canonical request: what variables and every new send read.
    let request: CanonicalRequest
    /// Of a redirect hop; made when first needed, then kept.
    var hop: CanonicalRequest?
    /// What the chain looks at: `request`, or `hop`.
    var current: CanonicalRequest
    let decision = Decision()
    let context: SendContext
    var plan: ChainPlan?
    /// What it began with, for as long as it serves requests; then it is not used again (`Worker.giveBack`).
    let snapshot: Snapshot
    private let rules: RuleSet
    private let trustedProxies: [AddressRange]
    private let canonical: CompiledCanonicalSettings
    let indexes: MetricIndexes
    private let requestID: ByteBuffer
    private(set) var client: ClientEnd?
    /// Of the client: the number of its listener, and whether it speaks HTTP/2.
    private(set) var listener = 0
    private(set) var isHTTP2 = false
    var loader = Loader.none
    let upstreamLoader: UpstreamLoader
    private(set) lazy var demoLoader = DemoLoader(exchange: self)
    private(set) lazy var fixedLoader = FixedLoader(exchange: self)
    private(set) lazy var fileLoader = FileLoader(exchange: self)
    private(set) lazy var requestTrailers = TrailerSection()
    private(set) lazy var responseTrailers = TrailerSection()

    /// Of the client's Upgrade, the protocol that the rule lets through; set when the request is sent.
    var upgradeToken: ByteRange?
    /// Set when the chain has taken the request, cleared when it is issued anew: no exchange is taken twice by one chain.
    private(set) var isTagged = false
    var upstream: Upstream?

    // The request's content.
    private(set) var contentIsComplete = false
    private var contentReceived: UInt64 = 0
    private(set) var discardsContent = false
    /// What a redirect may have to send again; nil when nothing is recorded.
    private(set) var replayContent: ByteBuffer?
    private var replayIsLost = false

    // The response.
    private(set) var responseHasBegun = false
    private var isOver = false
    private var waitRejection = Rejection.upstreamTimeout
    private(set) var isWaiting = false
    /// Edits the page on its way to the client; nil for every response that is passed as it is.
    var page: PageDelivery?
    var redirects = RedirectState()
    var record = AccessRecord()

    init(worker: Worker) {
        self.worker = worker
        loop = worker.loop
        metrics = worker.metrics
        forwarded = worker.forwarded
        responseWriter = worker.responseWriter
        instance = worker.instance
        log = worker.workerLog
        clientOutput = worker.clientOutput
        streamHead = worker.streamHead
        snapshot = worker.snapshot
        rules = snapshot.rules
        trustedProxies = snapshot.trustedProxies
        canonical = snapshot.canonical
        indexes = snapshot.indexes
        request = CanonicalRequest()
        head = request.head
        current = request
        upstreamLoader = UpstreamLoader(worker: worker)
        context = SendContext(request: request, client: worker.noClient)
        requestID = context.requestID
        upstreamLoader.serve(self)
    }

    // MARK: 1 Canonicalise

    func begin(for client: ClientEnd, _ facts: ClientFacts, listener: Int) {
        if canonicalise(for: client, facts, listener) { take(request) }
    }

    /// A head that was read, of a request that does not come to its end: it is refused by name.
    func refuseRequest(_ rejection: Rejection, for client: ClientEnd, _ facts: ClientFacts, listener: Int) {
        if canonicalise(for: client, facts, listener) { fail(rejection) }
    }

    /// False when the request was refused.
    @inline(always) private func canonicalise(for client: ClientEnd, _ facts: ClientFacts, _ listener: Int) -> Bool {
        prepare(for: client, facts, listener)
        do {
            try request.canonicalise(client: facts, trusted: trustedProxies, settings: canonical, instance: instance.span)
        } catch {
            request.reset()
            fail(error)
            return false
        }
        if case .https = facts.scheme, !client.promises(request.host) {
            fail(.misdirected)
            return false
        }
        if let limit = worker.limits.body, case .length(let length) = head.framing, length > limit {
            fail(.bodyTooLarge)
            return false
        }
        return true
    }

    /// A head that could not be read.
    func refuse(_ rejection: Rejection, for client: ClientEnd, _ facts: ClientFacts, listener: Int) {
        head.reset()
        request.reset()
        prepare(for: client, facts, listener)
        fail(rejection)
    }

    private func prepare(for client: ClientEnd, _ facts: ClientFacts, _ listener: Int) {
        self.client = client
        self.listener = listener
        isHTTP2 = client.isHTTP2
        if context.client !== facts { context.client = facts }
        context.unixTime = worker.unixTime
        context.withheld = 0
        context.staysDropped = false
        context.droppedCredentials = 0
        worker.fillRequestID(requestID)
        if current !== request { current = request }
        contentIsComplete = head.framing.isEmpty
        contentReceived = 0
        discardsContent = false
        replayIsLost = false
        responseHasBegun = false
        isOver = false
        isTagged = false
        isWaiting = false
        plan = nil
        upstream = nil
        upgradeToken = nil
        redirects.reset()
        record.reset(startedAt: worker.microseconds())
        metrics.exchangeBegan()
    }

    // MARK: 2 Take

    private func take(_ current: CanonicalRequest) {
        precondition(!isTagged, "a tagged exchange is not taken twice")
        decision.reset()
        rules.take(current, into: decision)
        isTagged = true
        guard decision.action != nil else {
            // A hop that no rule takes is sent as it is; a client's request is not.
            return redirects.hops > 0 ? sendUntakenHop() : fail(.noRule)
        }
        load()
    }

    /// The rule that took the request has no file for it: the chain goes on behind it.
    func fallThrough() {
        loader = .none
        rules.takeOn(current, into: decision)
        guard decision.action != nil else { return redirects.hops > 0 ? sendUntakenHop() : fail(.notFound) }
        load()
    }

    // MARK: 4 Load (3, inject, happens whenever a loader asks for the head to be sent)

    private func load() {
        plan = rules.plan(for: decision)
        uncounted(plan.unsafelyUnwrapped) { load($0) }
    }

    @inline(always) private func load(_ plan: ChainPlan) {
        if let proxy = plan.proxy {
            uncounted(snapshot.upstreams[proxy.upstream]) { upstream in
                if upstream.isDemo { return startDemo() }
                guard redirects.hops > 0 else { return startUpstream(upstream, proxy) }
                startUpstream(upstreamForHop(upstream), proxy)
            }
        } else if let block = plan.block {
            startBlock(block)
        } else if let serve = plan.serve {
            startServe(serve, rule: plan.actionRule)
        } else if let respond = plan.respond {
            startRespond(respond)
        } else if let redirect = plan.redirect {
            startRedirect(redirect)
        } else {
            fail(.internalError)
        }
    }

    func startUpstream(_ upstream: Upstream, _ proxy: ProxyPlan) {
        self.upstream = upstream
        if proxy.redirectMode == .follow, replayContent == nil, !contentIsComplete || contentReceived > 0, !replayIsLost {
            replayContent = worker.buffers.lease()
        }
        loader = .upstream(Uncounted(upstreamLoader))
        upstreamLoader.start(upstream, proxy, for: self)
    }

    /// How the content is framed towards the upstream: as the client framed it, unless a redirect took it away.
    var sentFraming: BodyFraming { discardsContent ? .none : head.framing }

    // MARK: The request's content

    /// The client is read only while this holds.
    var takesContent: Bool { discardsContent || isOver || loader.takesContent }

    func clientSent(_ content: Span<UInt8>) {
        contentReceived &+= UInt64(content.count)
        record.bytesIn &+= UInt64(content.count)
        if isOver || discardsContent { return }
        if let limit = worker.limits.body, contentReceived > limit, !isTunnel { return fail(.bodyTooLarge) }
        if replayContent != nil { keepForReplay(content) }
        loader.send(content)
    }

    /// Where large content of the request may go without being looked at; nil when it has to be kept or counted.
    var spliceConnection: UpstreamConnection? {
        guard !isOver, !discardsContent, replayContent == nil, case .upstream(let loader) = loader else { return nil }
        return loader.with { $0.spliceConnection }
    }

    func contentWasSpliced(_ count: Int) {
        contentReceived &+= UInt64(count)
        record.bytesIn &+= UInt64(count)
        if case .upstream(let loader) = loader { loader.with { $0.contentWasSpliced() } }
    }

    func clientFinished(_ trailers: TrailerSection?) {
        contentIsComplete = true
        if isOver || discardsContent { return }
        loader.finishContent(trailers)
    }

    private func keepForReplay(_ content: Span<UInt8>) {
        guard let replay = replayContent, let proxy = plan?.proxy ?? redirects.lastProxy else { return }
        if replay.count + content.count > proxy.bodyBuffer {
            replayContent = nil
            replayIsLost = true
            worker.buffers.giveBack(replay)
        } else {
            replay.append(content)
        }
    }

    /// Whether the content can be sent again: there was none yet, or all of it was kept.
    var contentCanBeReplayed: Bool { !replayIsLost && (contentReceived == 0 || replayContent != nil) }

    func discardContent() {
        discardsContent = true
        if let replay = replayContent {
            replayContent = nil
            worker.buffers.giveBack(replay)
        }
        clientMayContinue()
    }

    /// What the client sends can be taken again.
    func clientMayContinue() {
        if let client, client.isReadingContent || client.isTunnel { client.runSoon() }
    }

    // MARK: Waiting

    /// Waits for something that is not the client: at most so long, then the exchange fails.
    func wait(for milliseconds: Int, then rejection: Rejection) {
        waitRejection = rejection
        // Waiting for another thing does not begin the time anew.
        if isWaiting { return }
        isWaiting = true
        client?.setDeadline(after: milliseconds)
    }

    func stopWaiting() {
        guard isWaiting, let client else { return }
        isWaiting = false
        if client.isReadingContent {
            client.setDeadline(after: worker.timeouts.bodyIdle)
        } else {
            client.clearDeadline()
        }
    }

    func waitExpired() {
        if isWaiting { fail(waitRejection) }
    }

    // MARK: Issue anew

    /// The load ended in a redirect that is followed: the tag is cleared, and the chain sees the request again, made from the
    /// client's canonical request with nothing that was injected.
    func issueAnew() {
        guard let hop = redirects.hop else { return fail(.internalError) }
        isTagged = false
        plan = nil
        loader = .none
        becomeHop(hop)
        take(current)
    }

    // MARK: Ends

    /// The exchange ends with an answer of our own, or, when the response is under way, with a broken one.
    func fail(_ rejection: Rejection) {
        guard !isOver else { return }
        record.reason = rejection.reason
        metrics.rejected(rejection)
        loader.stop()
        loader = .none
        guard let client else { return }
        if responseHasBegun {
            end()
            return client.abortResponse()
        }
        responseHasBegun = true
        // What follows a request that can not be read, or that wanted a tunnel, may not be meant as a request.
        if rejection == .badRequest || rejection == .methodNotAllowed && !isTagged { client.distrust() }
        writeError(rejection, to: client)
        end()
        client.finishResponse(trailers: nil)
    }

    /// The client went away: what was begun for it ends.
    func clientGone() {
        guard !isOver else { return }
        if record.status == 0 { record.status = 499 }
        loader.stop()
        loader = .none
        end()
    }

    /// All of the response has been handed to the connection.
    @inline(always) func complete(trailers: ByteBuffer?) {
        guard let client else { return }
        loader = .none
        end()
        client.finishResponse(trailers: trailers)
    }

    // MARK: 6 Record

    /// The only way out: the record is written, and the object goes back to the worker.
    @inline(always) private func end() {
        isOver = true
        finishRecord()
        if let replay = replayContent {
            replayContent = nil
            worker.buffers.giveBack(replay)
        }
        if let page {
            self.page = nil
            page.end()
        }
        client = nil
        plan = nil
        if record.status == 101 { metrics.tunnelClosed() }
        metrics.exchangeEnded()
        worker.giveBack(self)
    }

    func responseBegins() { responseHasBegun = true }

    /// Where the client's next head is written.
    func withOutput<R, E>(of client: ClientEnd, _ body: (ByteBuffer) throws(E) -> R) throws(E) -> R {
        switch client {
        case .http1(let client):
            client.with { worker.cork($0) }
            return try body(clientOutput)
        case .http2: return try body(streamHead)
        }
    }

    var isTunnel: Bool { client?.isTunnel ?? false }
    var asksForUpgrade: Bool { upgradeToken != nil }
}
