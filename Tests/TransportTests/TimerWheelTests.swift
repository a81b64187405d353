import Testing

@testable import Transport

@Suite struct TimerWheelTests {
    private func expired(_ wheel: inout TimerWheel, at now: Int64) -> [Int32] {
        var slots: [Int32] = []
        wheel.advance(to: now, into: &slots)
        return slots.sorted()
    }

    @Test func nothingFiresEarlyAndAllFireInTime() {
        var wheel = TimerWheel(now: 1_000)
        wheel.grow(to: 400)
        for slot in 0..<400 { wheel.set(slot, to: 1_000 + Int64(slot) * 7) }
        var fired: [Int32: Int64] = [:]
        var now: Int64 = 1_000
        while now < 5_000 {
            now += 13
            for slot in expired(&wheel, at: now) { fired[slot] = now }
        }
        for slot in 0..<400 {
            let late = (fired[Int32(slot)] ?? .max) - (1_000 + Int64(slot) * 7)
            #expect(late >= 0 && late <= TimerWheel.tick * 2, "slot \(slot) fired \(late) ms late")
        }
    }

    @Test func aDeadlineThatMovedLaterFiresOnceAndLater() {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 1)
        wheel.set(0, to: 500)
        wheel.set(0, to: 5_000)
        #expect(expired(&wheel, at: 4_900).isEmpty)
        #expect(expired(&wheel, at: 5_200) == [0])
        #expect(expired(&wheel, at: 20_000).isEmpty)
    }

    @Test func aDeadlineThatMovedEarlierFiresEarlier() {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 2)
        wheel.set(0, to: 60_000)
        wheel.set(1, to: 60_000)
        wheel.set(0, to: 1_000)
        #expect(expired(&wheel, at: 1_200) == [0])
        #expect(expired(&wheel, at: 61_000) == [1])
    }

    @Test func deadlinesBeyondTheHorizonWait() {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 1)
        let hours: Int64 = 3 * 3_600_000
        wheel.set(0, to: hours)
        var now: Int64 = 0
        while now < hours - 1_000 {
            now += 10_000
            if now < hours { #expect(expired(&wheel, at: now).isEmpty) }
        }
        #expect(expired(&wheel, at: hours + 200) == [0])
    }

    @Test func aLongSleepMissesNothing() {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 3)
        for slot in 0..<3 { wheel.set(slot, to: Int64(slot + 1) * 1_000) }
        #expect(expired(&wheel, at: 10_000_000) == [0, 1, 2])
    }

    @Test func removedAndClearedSlotsAreNotTold() {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 2)
        wheel.set(0, to: 100)
        wheel.set(1, to: 100)
        wheel.remove(0)
        wheel.set(1, to: TimerWheel.never)
        #expect(expired(&wheel, at: 1_000).isEmpty)
        #expect(wheel.timeToNext(now: 1_000) == nil)
    }

    @Test func theTimeToTheNextIsNeverPastIt() throws {
        var wheel = TimerWheel(now: 0)
        wheel.grow(to: 1)
        for wait in [1, 63, 64, 65, 1_000, 30_000, 65_000] as [Int64] {
            wheel.set(0, to: wait)
            let time = try #require(wheel.timeToNext(now: 0))
            #expect(time <= wait + TimerWheel.tick)
            wheel.remove(0)
        }
    }
}

/// What a loop hands out is for those that are still there.
@Suite struct EventLoopTests {
    private final class Probe: EventHandler {
        var deadlines = 0
        var turns = 0
        var onDeadline: (() -> Void)?
        override func deadlinePassed() {
            deadlines += 1
            onDeadline?()
        }
        override func turn() { turns += 1 }
    }

    private func runUntil(_ loop: EventLoop, _ condition: () -> Bool) {
        let end = SystemClock.microseconds() + 5_000_000
        while !condition() && SystemClock.microseconds() < end { loop.runOnce(maximumWait: 50) }
    }

    @Test func deadlinesFireOnceAndNotForThoseThatLeft() throws {
        let loop = try EventLoop()
        let one = Probe(), other = Probe()
        try loop.add(one)
        try loop.add(other)
        loop.setDeadline(one, after: 20)
        loop.setDeadline(other, after: 20)
        one.onDeadline = { loop.remove(other) }
        other.onDeadline = { loop.remove(one) }
        runUntil(loop) { one.deadlines + other.deadlines > 0 }
        loop.runOnce(maximumWait: 100)
        #expect(one.deadlines + other.deadlines == 1)
    }

    @Test func aTurnThatWasAskedForComesEvenWithoutEvents() throws {
        let loop = try EventLoop()
        let probe = Probe()
        try loop.add(probe)
        loop.runSoon(probe)
        loop.runOnce(maximumWait: 10_000)
        #expect(probe.turns == 1)
        loop.runSoon(probe)
        loop.remove(probe)
        loop.runOnce(maximumWait: 0)
        #expect(probe.turns == 1)
    }

    @Test func messagesArriveInTheirOrderFromAnyThread() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>()
        var received: [Int] = []
        let receiver = try MailboxReceiver(mailbox, on: loop) { received.append($0) }
        #expect(BackgroundThread.start(name: "poster") { for number in 0..<1_000 { mailbox.post(number) } })
        runUntil(loop) { received.count == 1_000 }
        #expect(received == Array(0..<1_000))
        receiver.leave(loop)
    }
}
