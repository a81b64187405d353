internal import HTTP
internal import Policy
internal import Transport

/// What reading the configuration gave.
public enum ConfigurationOutcome: Sendable {
    case loaded(Configuration, dependencies: [String])
    case faulty(String)
}

/// How a server is started, as the command line has it.
public struct ServerOptions {
    public var load: () -> ConfigurationOutcome
    public var watchesConfiguration = false
    public var command: [String] = []
    /// Said to a person on a terminal when the proxy is up: one line per listener.
    public var announce: (_ urls: [String]) -> Void = { _ in }
    public var isTerminal = false
    public init(load: @escaping () -> ConfigurationOutcome) { self.load = load }
}

/// The control plane: signals, reload, watched files, administration. It runs on the thread that calls `run`; requests are
/// the workers' work, who are told of changes by their mailboxes.
public final class Server {
    let loop: EventLoop
    let options: ServerOptions
    private(set) var configuration: Configuration
    private(set) var workers: [WorkerThread] = []
    private let signals: SignalSource
    private let sockets: ListeningSockets
    private let resolver: Resolver
    let logWriter: LogWriter
    let service: ServiceManager
    let watched: WatchedFiles
    private let tls: TLSControl
    private var lists: ListCompiler?
    private var admin: AdminListener?
    private var child: ChildProcess?
    private(set) var isDraining = false
    private var drainDeadline: Int64 = 0
    private var exitStatus: Int32?
    private(set) var lastReloadSucceeded = true
    private(set) var lastReloadAt: Int64
    let startedAt = SystemClock.wallMilliseconds()
    let instance: String
    private var handlers: [EventHandler] = []
    private(set) var labels = MetricLabels()
    private var indexes = MetricIndexes()

    public static let forcedStop: Int32 = 3

    public struct StartFailure: Error {
        public var text: String
        public var isConfiguration: Bool
    }

    /// Opens what is to be listened on and starts the workers. Before the first other thread of the process.
    public init(_ options: ServerOptions, configuration: Configuration, dependencies: [String]) throws(StartFailure) {
        self.options = options
        self.configuration = configuration
        lastReloadAt = startedAt
        instance = configuration.instance ?? Self.randomInstance()
        let count = configuration.workers ?? SystemCalls.coreCount
        sockets = ListeningSockets(workers: count)
        service = ServiceManager.fromEnvironment()
        let contexts: [Handover<TLSContexts>]
        do {
            signals = try SignalSource()
            loop = try EventLoop()
            resolver = try Resolver()
            logWriter = try LogWriter(configuration.log, allowsColour: options.isTerminal)
            tls = try TLSControl(configuration)
            // Watched before it is read, so that no change is missed, and read before a client can connect.
            watched = WatchedFiles(configuration, dependencies: options.watchesConfiguration ? dependencies : [])
            contexts = try tls.adopt(configuration, workers: count)
        } catch let failure as TLSFiles.Failure {
            throw StartFailure(text: "\(failure.path): \(failure.text)", isConfiguration: true)
        } catch {
            throw StartFailure(text: "can not start: \(error)", isConfiguration: false)
        }
        indexes = labels.adopt(configuration)
        do {
            // Before the listeners, so that whoever can connect can also reload and ask for the status; and these before the workers:
            // nobody is served by a process that does not stay.
            admin = try AdminListener(server: self)
            _ = try sockets.adopt(configuration.listeners)
            startWorkers(count, contexts)
            try addHandlers()
        } catch {
            admin?.close()
            sockets.removeFiles()
            let text = (error as? ListeningSockets.Failure)?.text ?? "can not start: \(error)"
            throw StartFailure(text: text, isConfiguration: false)
        }
    }

    private static func randomInstance() -> String {
        var random = RandomSource()
        return String(random.next() & 0xffff_ffff, radix: 16)
    }

    private func startWorkers(_ count: Int, _ contexts: [Handover<TLSContexts>]) {
        let limit = ConnectionLimit.clamped(configuration.limits.connections)
        if limit < configuration.limits.connections {
            configuration.limits.connections = limit
            logWriter.log(
                .warn,
                "limits.connections is \(limit): half of the limit on open files; raise it (ulimit -n, LimitNOFILE=) for more")
        }
        for index in 0..<count {
            guard let mailbox = try? Mailbox<WorkerMessage>() else { continue }
            let start = WorkerStart(
                index: index, workerCount: count, mailbox: mailbox, resolver: resolver, logWriter: logWriter, instance: instance)
            let snapshot = Snapshot(adoption, tls: contexts[index].take() ?? TLSContexts())
            mailbox.post(.adopt(Handover(snapshot), sockets.sockets(forWorker: index)))
            workers.append(WorkerThread(start))
        }
    }

    private func addHandlers() throws(SystemError) {
        lists = try ListCompiler(on: loop, workers: workers.count) { [unowned self] compiled in adopt(compiled) }
        let signalHandler = Watcher { [unowned self] in
            while let signal = signals.next() { receive(signal) }
        }
        try loop.add(signalHandler, descriptor: signals.descriptor, levelTriggered: true)
        handlers.append(signalHandler)
        if watched.descriptor >= 0 {
            let fileHandler = Watcher { [unowned self] in checkFiles() }
            try loop.add(fileHandler, descriptor: watched.descriptor, levelTriggered: true)
            handlers.append(fileHandler)
        }
        try addTicker(every: WatchedFiles.interval) { [unowned self] in checkFiles() }
        try addTicker(every: TicketKeys.rotationInterval) { [unowned self] in rotateTicketKeys() }
        if let watchdog = service.watchdogMilliseconds {
            try addTicker(every: max(watchdog / 3, 100)) { [unowned self] in checkWorkersLive() }
        }
    }

    private func addTicker(every milliseconds: Int, _ action: @escaping () -> Void) throws(SystemError) {
        let ticker = Ticker(loop: loop, interval: milliseconds, action: action)
        try loop.add(ticker)
        ticker.schedule()
        handlers.append(ticker)
    }

    // MARK: Running

    /// Serves until it is told to stop; the process's exit status.
    public func run() -> Int32 {
        let urls = sockets.bound.map { Self.url(of: $0.definition, port: $0.port) }
        logWriter.log(.info, "listening on \(urls.joined(separator: ", "))")
        for warning in configuration.warnings { logWriter.log(.warn, warning) }
        warnOfListFaults()
        options.announce(urls)
        _ = service.ready(status: "serving on \(urls.joined(separator: ", "))")
        if !options.command.isEmpty { startChild(urls) }
        while exitStatus == nil { loop.runOnce(maximumWait: 60_000) }
        for worker in workers { worker.mailbox.post(.stop) }
        admin?.close()
        sockets.removeFiles()
        _ = logWriter.stop(withinMilliseconds: 2_000)
        return exitStatus ?? 0
    }

    private static func url(of definition: ListenerDefinition, port: UInt16) -> String {
        switch definition.address {
        case .tcp(let host, _):
            let name = host.isEmpty ? "localhost" : host.contains(":") ? "[\(host)]" : host
            return "\(definition.tls == nil ? "http" : "https")://\(name):\(port)"
        case .unix(let path, _): return "unix:\(path)"
        case .inherited:
            return port == 0 ? definition.display : "\(definition.tls == nil ? "http" : "https")://localhost:\(port)"
        }
    }

    var listening: [String] { sockets.bound.map { Self.url(of: $0.definition, port: $0.port) } }

    /// What was read as a secret is none of the command's business.
    private var secretVariables: [String] {
        configuration.secrets.compactMap { if case .environment(let name) = $0.source { name } else { nil } }
    }

    private func startChild(_ urls: [String]) {
        do {
            child = try ChildProcess(options.command, environment: ["AUTHPROXY_URL": urls.first ?? ""], without: secretVariables)
        } catch {
            logWriter.log(.error, "can not start \(options.command[0]): \(error.text)")
            exitStatus = error.number == ChildProcess.notFound ? 127 : 126
        }
    }

    // MARK: Signals

    private func receive(_ signal: ProcessSignal) {
        switch signal {
        case .terminate: stop(signal)
        case .interrupt: isDraining ? finish(Self.forcedStop) : stop(signal)
        case .quit: finish(Self.forcedStop)
        case .hangUp:
            child?.isRunning == true ? child?.send(signal) : ()
            _ = reload()
        case .user1: logWriter.reopen()
        case .child: childChanged()
        }
    }

    private func childChanged() {
        guard let status = child?.reap() else { return }
        // The command was what this was run for: its status is ours, once running requests have ended.
        childStatus = status
        if isDraining { checkDrained() } else { drain() }
    }

    private var childStatus: Int32?

    private func stop(_ signal: ProcessSignal) {
        if let child, child.isRunning { return child.send(signal) }
        drain()
    }

    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        logWriter.log(.info, "stopping: running requests are finished first")
        _ = service.stopping(status: "finishing running requests")
        drainDeadline = loop.now + Int64(configuration.timeouts.shutdown)
        for worker in workers { worker.mailbox.post(.drain) }
        try? addTicker(every: 64) { [unowned self] in checkDrained() }
        checkDrained()
    }

    private func checkDrained() {
        if loop.now >= drainDeadline {
            logWriter.log(.warn, "stopping with requests still running: timeouts.shutdown has passed")
            return finish(childStatus ?? Self.forcedStop)
        }
        collectReports { [unowned self] reports in
            if reports.count == workers.count && reports.allSatisfy(\.isDrained) { finish(childStatus ?? 0) }
        }
    }

    private func finish(_ status: Int32) { if exitStatus == nil { exitStatus = status } }

    // MARK: Reload

    /// Reads the configuration again. A faulty one changes nothing; the answer says why, nil means that it is in force.
    func reload() -> String? {
        _ = service.reloading()
        defer { _ = service.ready(status: "serving on \(listening.joined(separator: ", "))") }
        lastReloadAt = SystemClock.wallMilliseconds()
        switch options.load() {
        case .faulty(let text):
            lastReloadSucceeded = false
            logWriter.log(.error, "the configuration was not changed:\n\(text)")
            return text
        case .loaded(var fresh, let dependencies):
            var contexts: [Handover<TLSContexts>] = []
            let generation: ListeningSockets.Generation
            do {
                contexts = try tls.adopt(fresh, workers: workers.count)
                try admin?.adopt(fresh.admin)
                generation = try sockets.adopt(fresh.listeners)
            } catch {
                // The new admin listener may be open already: the one of the configuration that stays takes its place again.
                try? admin?.adopt(configuration.admin)
                let text =
                    switch error {
                    case let failure as ListeningSockets.Failure: failure.text
                    case let failure as TLSFiles.Failure: "\(failure.path): \(failure.text)"
                    default: "\(error)"
                    }
                lastReloadSucceeded = false
                logWriter.log(.error, "the configuration was not changed: \(text)")
                return text
            }
            fresh.limits.connections = ConnectionLimit.clamped(fresh.limits.connections)
            fresh.workers = configuration.workers
            configuration = fresh
            indexes = labels.adopt(fresh)
            watched.adopt(fresh, dependencies: options.watchesConfiguration ? dependencies : [])
            lists?.forget()
            warnOfListFaults()
            for (index, worker) in workers.enumerated() {
                let snapshot = Snapshot(adoption, tls: contexts[index].take() ?? TLSContexts())
                worker.mailbox.post(.adopt(Handover(snapshot), sockets.sockets(forWorker: index)))
            }
            logWriter.apply(fresh.log)
            lastReloadSucceeded = true
            for warning in fresh.warnings { logWriter.log(.warn, warning) }
            logWriter.log(.info, "configuration reloaded")
            // The workers answer in the order of their messages: once they report, they have let go of old listeners.
            // One that has not answered may use them yet: the next reload closes them.
            collectReports { [unowned self] reports in
                if reports.count == workers.count { sockets.closeForgotten(generation) }
            }
            return nil
        }
    }

    private func checkFiles() {
        let changes = watched.changes()
        for change in changes {
            switch change {
            case .secret(let id, let secret, let display):
                configuration.secrets[id.index].value = secret
                for worker in workers { worker.mailbox.post(.secret(id, secret)) }
                logWriter.log(.info, "new content of \(display) is in force")
            case .unreadable(let display, let why):
                logWriter.log(.warn, "\(display): \(why); the last good value is kept")
            case .urlList(let index, let source):
                logWriter.log(.info, "new content of \(source.definition.path) is being compiled")
                lists?.compile(index, source)
            case .certificates: reloadCertificates()
            case .configuration:
                _ = reload()
            }
        }
    }

    /// The files of listeners or upstreams have changed: new connections are made by what is in them now, if that is sound.
    private func reloadCertificates() {
        do {
            let contexts = try tls.adopt(configuration, workers: workers.count)
            for (worker, contexts) in zip(workers, contexts) { worker.mailbox.post(.tls(contexts)) }
            logWriter.log(.info, "new certificates are in force")
        } catch {
            logWriter.log(.error, "\(error.path): \(error.text); the last good certificates are kept")
        }
    }

    private func rotateTicketKeys() {
        guard let keys = tls.rotatedKeys() else { return }
        for worker in workers { worker.mailbox.post(.ticketKeys(keys)) }
    }

    private var adoption: Adoption {
        Adoption(configuration: configuration, urlLists: watched.urlLists, indexes: indexes)
    }

    /// Lines of URL lists that are not understood are skipped; the log tells which.
    private func warnOfListFaults() {
        for source in watched.urlLists {
            if let text = source.warning { logWriter.log(.warn, "\(source.definition.path): \(text)") }
        }
    }

    private func adopt(_ compiled: CompiledLists) {
        for (worker, list) in zip(workers, compiled.lists) { worker.mailbox.post(.urlList(compiled.index, list)) }
        if compiled.isOutdated { return logWriter.log(.info, "\(compiled.path) is in force, and has changed again meanwhile") }
        logWriter.log(.info, "new content of \(compiled.path) is in force")
        if let text = compiled.warning { logWriter.log(.warn, "\(compiled.path): \(text)") }
    }

    /// The value of `admin.token` as it is now.
    var adminToken: Secret? {
        configuration.admin.token.flatMap { id in
            id.index < configuration.secrets.count ? configuration.secrets[id.index].value : nil
        }
    }

    // MARK: Reports

    /// Asks every worker for its numbers; `done` runs on this loop, at the latest after a second with those that answered.
    func collectReports(_ done: @escaping ([WorkerReport]) -> Void) {
        guard let collector = try? ReportCollector(loop: loop, expected: workers.count, done: done) else { return done([]) }
        let answers = collector.mailbox
        for worker in workers { worker.mailbox.post(.report { report in answers.post(report) }) }
        collector.start()
    }

    /// The watchdog is answered only while every worker's loop turns.
    private func checkWorkersLive() {
        collectReports { [unowned self] reports in
            if reports.count == workers.count { _ = service.watchdog() }
        }
    }
}
