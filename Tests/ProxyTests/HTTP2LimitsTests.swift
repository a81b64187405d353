import Testing

@testable import Proxy

struct HTTP2LimitsTests {
    @Test func anAllowanceIsABurstAndARate() {
        var allowance = Allowance(burst: 3, perSecond: 2)
        #expect((0..<4).map { _ in allowance.take(now: 1_000) } == [true, true, true, false])
        #expect((0..<2).map { _ in allowance.take(now: 1_500) } == [true, false])
        #expect((0..<4).map { _ in allowance.take(now: 100_000) } == [true, true, true, false])
        allowance.earn(1)
        #expect((0..<2).map { _ in allowance.take(now: 100_000) } == [true, false])
    }

    @Test func departedStreamsAreRememberedForAWhile() {
        var departed = DepartedStreams()
        #expect(departed.wasReset(1) == nil)
        departed.add(1, wasReset: false)
        departed.add(3, wasReset: true)
        #expect(departed.wasReset(1) == false && departed.wasReset(3) == true && departed.wasReset(5) == nil)
        for id in 5..<200 { departed.add(Int32(id), wasReset: false) }
        #expect(departed.wasReset(1) == nil && departed.wasReset(199) == false)
    }
}
