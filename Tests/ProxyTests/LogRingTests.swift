import HTTP
import Synchronization
import Testing
import Transport

@testable import Proxy

struct LogRingTests {
    private func text(_ buffer: ByteBuffer) -> String { buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

    private func append(_ record: [UInt8], to ring: LogRing) -> Bool { ring.append(record.span) }

    @Test func passesRecordsOnInOrder() throws {
        let ring = LogRing(capacity: 128, alarm: try LogAlarm())
        let batch = ByteBuffer()
        for round in 0..<100 {
            #expect(append(Array("round \(round)\n".utf8), to: ring))
            #expect(append(Array("more\n".utf8), to: ring))
            batch.clear()
            ring.drain(into: batch, limit: 1_000)
            #expect(text(batch) == "round \(round)\nmore\n")
            #expect(ring.isEmpty)
        }
    }

    @Test func dropsWhatFindsNoRoom() throws {
        let ring = LogRing(capacity: 128, alarm: try LogAlarm())
        let record = [UInt8](repeating: 0x61, count: 28)
        for _ in 0..<4 { #expect(append(record, to: ring)) }
        #expect(!append(record, to: ring))
        #expect(!append([], to: ring))
        #expect(ring.droppedCount == 2)
        let batch = ByteBuffer()
        ring.drain(into: batch, limit: 29)
        #expect(batch.count == 56)
        #expect(append(record, to: ring))
        ring.drain(into: batch, limit: 1_000)
        #expect(batch.count == 140)
    }

    @Test func aRecordLargerThanTheRingIsDropped() throws {
        let ring = LogRing(capacity: 128, alarm: try LogAlarm())
        #expect(!append([UInt8](repeating: 0, count: 125), to: ring))
        #expect(append([UInt8](repeating: 0, count: 124), to: ring))
    }

    @Test func wakesASleepingWriterOnce() throws {
        let alarm = try LogAlarm()
        let ring = LogRing(capacity: 1024, alarm: alarm)
        ring.append([1].span)
        #expect(!alarm.wake.wait(milliseconds: 0))
        alarm.writerSleeps.store(true, ordering: .sequentiallyConsistent)
        ring.append([1].span)
        #expect(alarm.wake.wait(milliseconds: 0))
        ring.append([1].span)
        #expect(!alarm.wake.wait(milliseconds: 0))
        for _ in 0..<10 { ring.append([UInt8](repeating: 0, count: 60).span) }
        #expect(alarm.wake.wait(milliseconds: 0))
    }

    /// One thread fills, another drains: nothing is torn, nothing comes twice.
    @Test func standsTwoThreads() throws {
        let ring = LogRing(capacity: 4096, alarm: try LogAlarm())
        let count = 20_000
        let done = try WakeSignal()
        let started = BackgroundThread.start(name: "producer") {
            for number in 0..<count {
                let length = number % 97
                let record = [UInt8](repeating: UInt8(truncatingIfNeeded: number % 251), count: length) + [0xff]
                while !ring.append(record.span) {}
            }
            done.signal()
        }
        try #require(started)
        let batch = ByteBuffer(capacity: 8192)
        var number = 0
        while number < count {
            batch.clear()
            ring.drain(into: batch, limit: 4096)
            var index = 0
            while index < batch.count {
                for _ in 0..<(number % 97) {
                    if batch[index] != UInt8(truncatingIfNeeded: number % 251) {
                        Issue.record("torn at \(number)")
                        return
                    }
                    index += 1
                }
                if batch[index] != 0xff {
                    Issue.record("torn end at \(number)")
                    return
                }
                index += 1
                number += 1
            }
        }
        #expect(done.wait(milliseconds: 5_000))
        #expect(ring.isEmpty)
    }
}
