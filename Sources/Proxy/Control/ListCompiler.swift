internal import Policy
internal import Transport

/// A changed URL list, compiled once for each worker.
struct CompiledLists: Sendable {
    var index: Int
    var path: String
    var lists: [Handover<URLList>]
    var warning: String?
    /// There is a newer text already, which is compiled next.
    var isOutdated = false
}

/// Compiles changed URL lists on a thread of its own: the control plane has other work than fifty thousand lines.
///
/// One text at a time, in the order of the changes. Of a list that waits only the newest text is compiled; one that is being
/// compiled is put in force even if it has changed again meanwhile, or a list that grows all the time would never be.
/// Owned by the control loop, where `finished` is called.
final class ListCompiler {
    private struct Job: Sendable {
        var number: Int
        var index: Int
        var source: URLListSource
        var workers: Int
    }

    private struct Outcome: Sendable {
        var number: Int
        var compiled: CompiledLists
    }

    private let mailbox: Mailbox<Outcome>
    private let workers: Int
    private let finished: (CompiledLists) -> Void
    private var receiver: MailboxReceiver<Outcome>?
    private var waiting: [Job] = []
    private var isRunning = false
    private var nextNumber = 0
    /// Jobs below it are of a configuration that is in force no more.
    private var firstNumber = 0

    init(on loop: EventLoop, workers: Int, finished: @escaping (CompiledLists) -> Void) throws(SystemError) {
        mailbox = try Mailbox()
        self.workers = workers
        self.finished = finished
        receiver = try MailboxReceiver(mailbox, on: loop) { [unowned self] outcome in receive(outcome) }
    }

    func compile(_ index: Int, _ source: URLListSource) {
        let job = Job(number: nextNumber, index: index, source: source, workers: workers)
        nextNumber += 1
        if let place = waiting.firstIndex(where: { $0.index == index }) {
            waiting[place] = job
        } else {
            waiting.append(job)
        }
        startNext()
    }

    /// A reload has read all lists anew, and numbered them anew: what was under way is of no use.
    func forget() {
        waiting = []
        firstNumber = nextNumber
    }

    private func startNext() {
        if isRunning || waiting.isEmpty { return }
        let job = waiting.removeFirst()
        let mailbox = mailbox
        isRunning = true
        if !BackgroundThread.start(name: "url-lists", { mailbox.post(Self.run(job)) }) { receive(Self.run(job)) }
    }

    private static func run(_ job: Job) -> Outcome {
        let source = job.source
        var compiled = CompiledLists(index: job.index, path: source.definition.path, lists: [], warning: source.warning)
        for _ in 0..<job.workers {
            compiled.lists.append(Handover(URLList(source.text, format: source.definition.format)))
        }
        return Outcome(number: job.number, compiled: compiled)
    }

    private func receive(_ outcome: Outcome) {
        isRunning = false
        var compiled = outcome.compiled
        compiled.isOutdated = waiting.contains { $0.index == compiled.index }
        if outcome.number >= firstNumber { finished(compiled) }
        startNext()
    }
}
