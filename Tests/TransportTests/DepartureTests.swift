import Testing

@testable import Transport

struct DepartureTests {
    /// Leaves the loop, which alone refers to it, in the middle of its own turn.
    private final class Leaver: EventHandler {
        let leave: (Leaver) -> Void
        let ended: () -> Void
        private(set) var isDone = false

        init(leave: @escaping (Leaver) -> Void, ended: @escaping () -> Void) {
            self.leave = leave
            self.ended = ended
            super.init()
        }

        override func ready(_ readiness: Readiness) { finish() }
        override func turn() { finish() }
        override func deadlinePassed() { finish() }

        private func finish() {
            leave(self)
            isDone = true
        }

        deinit { ended() }
    }

    enum Leaving: CaseIterable { case removed, replaced }
    enum Moment: CaseIterable { case event, turn, deadline }

    @Test(arguments: Leaving.allCases, Moment.allCases)
    func aHandlerThatLeavesIsKeptToTheEndOfTheTurn(leaving: Leaving, moment: Moment) throws {
        let loop = try EventLoop()
        var ends = 0
        var endsWithinTurn = -1
        func makeLeaver() -> Leaver {
            Leaver(
                leave: { leaver in
                    switch leaving {
                    case .removed: loop.remove(leaver)
                    case .replaced: loop.replace(leaver, with: EventHandler())
                    }
                }, ended: { ends += 1 })
        }
        loop.turnEnded = { endsWithinTurn = ends }
        let path = "/tmp/authproxy-loop-\(SystemCalls.processID)-\(leaving)-\(moment)"
        let listener = try UnixSocketFile.listen(path: path, mode: nil)
        defer { UnixSocketFile.remove(path) }
        switch moment {
        case .event:
            // Someone who connects is an event.
            let client = try Socket.connect(to: SocketAddress(unixPath: path)).descriptor
            defer { SystemCalls.close(client) }
            try loop.add(makeLeaver(), descriptor: listener)
            loop.runOnce(maximumWait: 1_000)
        case .turn:
            let leaver = makeLeaver()
            try loop.add(leaver)
            loop.runSoon(leaver)
            loop.runOnce(maximumWait: 1_000)
        case .deadline:
            try loop.add(makeLeaver())
            for case let leaver as Leaver in loop.present { loop.setDeadline(leaver, after: 1) }
            let end = SystemClock.coarseMilliseconds() + 10_000
            while endsWithinTurn < 0 || ends == 0, SystemClock.coarseMilliseconds() < end { loop.runOnce(maximumWait: 100) }
        }
        SystemCalls.close(listener)
        #expect(endsWithinTurn == 0)
        #expect(ends == 1)
    }
}
