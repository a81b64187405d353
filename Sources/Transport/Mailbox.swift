internal import CLinux
internal import Glibc
internal import Synchronization

/// The one place where threads meet: any thread posts, one loop's thread takes.
public final class Mailbox<Message: Sendable>: Sendable {
    private let messages = Mutex<[Message]>([])
    private let signal: Int32

    public init() throws(SystemError) {
        signal = clinux_eventfd()
        if signal < 0 { throw SystemError("eventfd", errno) }
    }

    deinit { SystemCalls.close(signal) }

    public func post(_ message: Message) {
        let wasEmpty = messages.withLock { list in
            list.append(message)
            return list.count == 1
        }
        if wasEmpty {
            var one: UInt64 = 1
            _ = unsafe write(signal, &one, 8)
        }
    }

    fileprivate var descriptor: Int32 { signal }

    public func take() -> [Message] {
        var count: UInt64 = 0
        _ = unsafe read(signal, &count, 8)
        return messages.withLock { list in
            let taken = list
            list = []
            return taken
        }
    }
}

/// Hands the messages of a mailbox to a loop's owner.
public final class MailboxReceiver<Message: Sendable>: EventHandler {
    private let mailbox: Mailbox<Message>
    private let receive: (Message) -> Void

    public init(_ mailbox: Mailbox<Message>, on loop: EventLoop, receive: @escaping (Message) -> Void) throws(SystemError) {
        self.mailbox = mailbox
        self.receive = receive
        super.init()
        try loop.add(self, descriptor: mailbox.descriptor, levelTriggered: true)
    }

    public func leave(_ loop: EventLoop) { loop.remove(self, descriptor: mailbox.descriptor) }

    override public func ready(_ readiness: Readiness) {
        for message in mailbox.take() { receive(message) }
    }
}

/// Carries what only one thread may use from the thread that made it to the one that is to have it.
///
/// SAFETY: `@unchecked Sendable` since the maker gives its only reference away (`sending`), the lock of the mailbox that it goes
/// through orders the threads, and it is taken once.
public final class Handover<Value>: @unchecked Sendable {
    private var value: Value?

    public init(_ value: sending Value) { self.value = value }

    public func take() -> Value? {
        let taken = value
        value = nil
        return taken
    }
}
