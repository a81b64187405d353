import Glibc
import Testing

@testable import Transport

@Suite(.serialized)
struct SignalsTests {
    /// Children of other tests may end at any time.
    private func next(_ source: SignalSource, childrenToo: Bool = false) -> ProcessSignal? {
        while let signal = source.next() { if signal != .child || childrenToo { return signal } }
        return nil
    }

    /// Sent to this thread only: others of a test process have nothing blocked.
    @Test(arguments: ProcessSignal.allCases)
    func readsASignal(signal: ProcessSignal) throws {
        let source = try SignalSource()
        #expect(next(source) == nil)
        pthread_kill(pthread_self(), signal.number)
        #expect(FileSystemCalls.isReadable(source.descriptor, within: 1_000))
        #expect(next(source, childrenToo: signal == .child) == signal)
        #expect(next(source) == nil)
    }

    @Test func readsSeveral() throws {
        let source = try SignalSource()
        pthread_kill(pthread_self(), SIGHUP)
        pthread_kill(pthread_self(), SIGUSR1)
        pthread_kill(pthread_self(), SIGHUP)
        var signals: Set<ProcessSignal> = []
        while let signal = next(source) { signals.insert(signal) }
        #expect(signals == [.hangUp, .user1])
    }

    @Test func aBrokenPipeIsAnError() throws {
        _ = try SignalSource()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        close(ends[0])
        #expect(
            [UInt8](repeating: 0, count: 1).withUnsafeBytes { FileSystemCalls.write(ends[1], $0) } == .failed(EPIPE))
        close(ends[1])
    }
}
