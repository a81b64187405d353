internal import CLinux
internal import Glibc

/// What an event says about a descriptor; edge-triggered, so each is said once.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let readable = Readiness(rawValue: 0x001)
    public static let writable = Readiness(rawValue: 0x004)
    public static let failed = Readiness(rawValue: 0x008)
    /// Both directions are closed.
    public static let hungUp = Readiness(rawValue: 0x010)
    /// The peer has finished sending.
    public static let peerFinished = Readiness(rawValue: 0x2000)
}

/// Something with a place in an event loop: it is told of readiness, of its deadline, and of a turn it asked for.
///
/// Everything here is called on the loop's thread. Subclasses live in other targets, hence `open`.
open class EventHandler {
    public fileprivate(set) final var slot = -1

    public init() {}

    open func ready(_ readiness: Readiness) {}
    open func deadlinePassed() {}
    /// A turn asked for by `EventLoop.runSoon`.
    open func turn() {}
}

/// One thread's loop: descriptors, deadlines and deferred turns. Confined to the thread that calls `run`.
///
/// A descriptor is registered once, for both directions, edge-triggered. Its event carries slot and generation: one that comes
/// late, for a slot that has been given to another, is dropped.
public final class EventLoop {
    private let epoll: Descriptor
    private var handlers: [EventHandler?] = []
    private var generations: [UInt32] = []
    private var freeSlots: [Int32] = []
    private var timers: TimerWheel
    private var expired: [Int32] = []
    private var overdue: [(slot: Int32, generation: UInt32)] = []
    private var runQueue: [EventHandler] = []
    private var running: [EventHandler] = []
    /// Handlers that left in this turn: kept until its end, since who called may still be on the stack, and have counted no
    /// reference. What refers to a handler within a turn may rely on that.
    private var departed: [EventHandler] = []
    private let events: UnsafeMutableBufferPointer<epoll_event>
    private var stopped = false

    /// Milliseconds of the coarse monotonic clock, read once a turn.
    public private(set) var now: Int64
    /// Called at the end of every turn: for what is better done once for many events.
    public var turnEnded: (() -> Void)?

    private static let eventsPerTurn = 256

    public init() throws(SystemError) {
        let descriptor = clinux_epoll_create()
        if descriptor < 0 { throw SystemError("epoll_create1", errno) }
        epoll = Descriptor(owning: descriptor)
        now = SystemClock.coarseMilliseconds()
        timers = TimerWheel(now: now)
        events = .allocate(capacity: Self.eventsPerTurn)
    }

    deinit { events.deallocate() }

    // MARK: Places

    /// Gives the handler a place, with a descriptor that it keeps owning, or without one for timers alone.
    public func add(_ handler: EventHandler, descriptor: Int32? = nil, levelTriggered: Bool = false) throws(SystemError) {
        let slot = takeSlot()
        if let descriptor {
            let token = UInt64(generations[slot]) << 32 | UInt64(slot)
            let result =
                levelTriggered
                ? clinux_epoll_add_level(epoll.number, descriptor, token)
                : clinux_epoll_add(epoll.number, descriptor, token)
            if result < 0 {
                let number = errno
                freeSlots.append(Int32(slot))
                throw SystemError("epoll_ctl", number)
            }
        }
        handlers[slot] = handler
        handler.slot = slot
    }

    /// Takes the handler's place away; events and deadlines still under way for it are dropped. The descriptor is the
    /// caller's to close: closing it ends its registration, unless it is shared, when `descriptor` is to be given.
    public func remove(_ handler: EventHandler, descriptor: Int32? = nil) {
        let slot = handler.slot
        guard slot >= 0 else { return }
        if let descriptor { _ = clinux_epoll_remove(epoll.number, descriptor) }
        // First: there may be no other reference to it.
        departed.append(handler)
        handlers[slot] = nil
        generations[slot] &+= 1
        timers.remove(slot)
        freeSlots.append(Int32(slot))
        handler.slot = -1
    }

    /// Gives the place, and with it the descriptor and the deadline, to another handler.
    public func replace(_ handler: EventHandler, with other: EventHandler) {
        let slot = handler.slot
        guard slot >= 0 else { return }
        departed.append(handler)
        handlers[slot] = other
        other.slot = slot
        handler.slot = -1
    }

    /// All that have a place now; for what is done to each once, such as draining.
    public var present: [EventHandler] { handlers.compactMap { $0 } }

    private func takeSlot() -> Int {
        if let slot = freeSlots.popLast() { return Int(slot) }
        handlers.append(nil)
        generations.append(0)
        timers.grow(to: handlers.count)
        return handlers.count - 1
    }

    // MARK: Time and turns

    /// Sets the handler's one deadline, in milliseconds from now; a later call replaces it.
    public func setDeadline(_ handler: EventHandler, after milliseconds: Int) {
        if handler.slot >= 0 { timers.set(handler.slot, to: now + Int64(milliseconds)) }
    }

    public func clearDeadline(_ handler: EventHandler) {
        if handler.slot >= 0 { timers.set(handler.slot, to: TimerWheel.never) }
    }

    /// Calls the handler's `turn` after the events of this turn: how work beyond a fairness budget goes on.
    public func runSoon(_ handler: EventHandler) { runQueue.append(handler) }

    public func stop() { stopped = true }

    public func run() {
        while !stopped { runOnce() }
    }

    /// One turn: waits for events, then serves deadlines, events and deferred turns.
    public func runOnce(maximumWait: Int64 = 60_000) {
        let count = unsafe SystemCalls.waitForEvents(epoll.number, events, milliseconds: waitTime(maximumWait))
        now = SystemClock.coarseMilliseconds()
        for index in 0..<count { unsafe deliver(events[index]) }
        serveDeadlines()
        serveTurns()
        turnEnded?()
        departed.removeAll(keepingCapacity: true)
    }

    private func waitTime(_ maximum: Int64) -> Int32 {
        if !runQueue.isEmpty { return 0 }
        guard let next = timers.timeToNext(now: now) else { return Int32(truncatingIfNeeded: maximum) }
        return Int32(truncatingIfNeeded: min(next + 1, maximum))
    }

    private func deliver(_ event: epoll_event) {
        let token = event.data.u64
        let slot = Int(token & 0xffff_ffff)
        guard slot < handlers.count, generations[slot] == UInt32(token >> 32), handlers[slot] != nil else { return }
        // SAFETY: a handler that leaves meanwhile is among the departed until the turn's end. No reference is counted so.
        unsafe Unmanaged.passUnretained(handlers[slot].unsafelyUnwrapped)._withUnsafeGuaranteedRef {
            $0.ready(Readiness(rawValue: event.events))
        }
    }

    private func serveDeadlines() {
        timers.advance(to: now, into: &expired)
        if expired.isEmpty { return }
        for slot in expired { overdue.append((slot, generations[Int(slot)])) }
        expired.removeAll(keepingCapacity: true)
        for (slot, generation) in overdue {
            // A handler that left, or set a new deadline, since its bucket was emptied is not told.
            guard generations[Int(slot)] == generation, timers.deadline(of: Int(slot)) == TimerWheel.never else { continue }
            handlers[Int(slot)]?.deadlinePassed()
        }
        overdue.removeAll(keepingCapacity: true)
    }

    private func serveTurns() {
        if runQueue.isEmpty { return }
        swap(&runQueue, &running)
        for handler in running where handler.slot >= 0 { handler.turn() }
        running.removeAll(keepingCapacity: true)
    }
}
