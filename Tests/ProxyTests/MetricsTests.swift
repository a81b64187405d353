import HTTP
import Policy
import Testing

@testable import Proxy

struct MetricsTests {
    @Test func countersKeepTheirKeys() {
        var table = CounterTable()
        for key in 0..<1_000 as Range<UInt64> { table.add(key << 32 | key, key) }
        for key in 0..<1_000 as Range<UInt64> { table.add(key << 32 | key) }
        #expect(table.entryCount == 1_000)
        #expect((0..<1_000 as Range<UInt64>).allSatisfy { table[$0 << 32 | $0] == $0 + 1 })
        #expect(table[5] == 0)
        #expect(table.entries.map(\.key) == (0..<1_000).map { $0 << 32 | $0 })
        #expect((table + table)[7 << 32 | 7] == 16)
    }

    @Test func seriesAreBounded() {
        var table = CounterTable()
        for key in 0..<10_000 as Range<UInt64> { table.add(key) }
        #expect(table.entryCount == CounterTable.mostEntries)
        #expect(table.overflow == UInt64(10_000 - CounterTable.mostEntries))
        #expect((table + table).overflow == table.overflow * 2)
    }

    @Test func namesKeepTheirNumbersOverReloads() {
        var configuration = Configuration()
        let location = SourceLocation(file: "f", line: 1, column: 1)
        configuration.rules = ["a", "b"].map { RuleDefinition(name: $0, location: location) }
        var labels = MetricLabels()
        #expect(labels.adopt(configuration).rules == [0, 1])
        configuration.rules = ["c", "b"].map { RuleDefinition(name: $0, location: location) }
        #expect(labels.adopt(configuration).rules == [2, 1])
        #expect(labels.rules[2] == "c")
        #expect(labels.rules[MetricIndexes.none] == "")
    }

    @Test func workersAddUp() {
        let one = WorkerMetrics()
        let two = WorkerMetrics()
        for worker in [one, two] {
            worker.clientAccepted()
            worker.exchangeBegan()
            worker.requestAnswered(
                listener: 0, rule: 0, status: 200, method: .get, durationMicroseconds: 500, bytesIn: 1, bytesOut: 2)
            worker.exchangeEnded()
        }
        two.rejected(.noRule)
        two.setUpstreamConnections(idle: 3, active: 1)
        two.tunnelOpened()
        let sum = one.snapshot + two.snapshot
        #expect(sum.requests[MetricsSnapshot.requestKey(listener: 0, rule: 0, status: 200, method: .get)] == 2)
        #expect(sum.durations[0] == 2)
        #expect(sum.durationMicroseconds == 1_000)
        #expect(sum.requestsInFlight == 0)
        #expect(sum.clientConnectionsOpen == 2)
        #expect(sum.rejected.reduce(0, +) == 1)
        #expect(sum.upstreamConnectionsIdle == 3)
        #expect(sum.tunnelsOpen == 1)
        #expect(sum.bytesSent == 4)
    }

    @Test func oddStatusesShareASeries() {
        let worker = WorkerMetrics()
        for status in [0, 99, 600, 999, -1, 70_000] { worker.upstreamAnswered(0, status: status) }
        #expect(worker.snapshot.upstreamRequests.entryCount == 1)
    }
}
