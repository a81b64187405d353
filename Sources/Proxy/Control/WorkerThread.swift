internal import Transport

/// All that a worker needs to begin; every part may cross threads.
struct WorkerStart: Sendable {
    var index: Int
    var workerCount: Int
    var mailbox: Mailbox<WorkerMessage>
    var resolver: Resolver
    var logWriter: LogWriter
    var instance: String
}

/// A worker's thread as the control plane sees it. The worker itself is made on its own thread and never leaves it.
struct WorkerThread {
    let mailbox: Mailbox<WorkerMessage>

    init(_ start: WorkerStart) {
        mailbox = start.mailbox
        _ = BackgroundThread.start(name: "worker-\(start.index)") {
            do {
                try Worker(start).run()
            } catch {
                start.logWriter.log(.error, "worker \(start.index) can not start: \(error)")
            }
        }
    }
}
