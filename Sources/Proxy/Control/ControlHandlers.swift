internal import Transport

/// Something readable on the control loop.
final class Watcher: EventHandler {
    private let action: () -> Void

    init(action: @escaping () -> Void) {
        self.action = action
        super.init()
    }

    override func ready(_ readiness: Readiness) { action() }
}

/// Something done again and again on the control loop.
final class Ticker: EventHandler {
    private let loop: EventLoop
    private let interval: Int
    private let action: () -> Void

    init(loop: EventLoop, interval: Int, action: @escaping () -> Void) {
        self.loop = loop
        self.interval = interval
        self.action = action
        super.init()
    }

    func schedule() { loop.setDeadline(self, after: interval) }

    override func deadlinePassed() {
        action()
        schedule()
    }
}

/// Waits for the workers' answers to one question, but not for ever.
final class ReportCollector: EventHandler {
    let mailbox: Mailbox<WorkerReport>
    private let loop: EventLoop
    private let expected: Int
    private var reports: [WorkerReport] = []
    private var done: (([WorkerReport]) -> Void)?
    private var receiver: MailboxReceiver<WorkerReport>?

    private static let patience = 1_000

    init(loop: EventLoop, expected: Int, done: @escaping ([WorkerReport]) -> Void) throws(SystemError) {
        mailbox = try Mailbox()
        self.loop = loop
        self.expected = expected
        self.done = done
        super.init()
    }

    func start() {
        receiver = try? MailboxReceiver(mailbox, on: loop) { [self] report in
            reports.append(report)
            if reports.count == expected { finish() }
        }
        guard receiver != nil, (try? loop.add(self)) != nil else { return finish() }
        loop.setDeadline(self, after: Self.patience)
    }

    override func deadlinePassed() { finish() }

    private func finish() {
        guard let done else { return }
        self.done = nil
        if let receiver { receiver.leave(loop) }
        receiver = nil
        loop.remove(self)
        done(reports)
    }
}
