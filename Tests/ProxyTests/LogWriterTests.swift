import Glibc
import HTTP
import Testing
import Transport

@testable import Proxy

struct LogWriterTests {
    /// Made for one test, removed with it.
    private final class Folder {
        let path: String

        init() throws {
            var template = Array("/tmp/log-tests-XXXXXX".utf8CString)
            path = try #require(
                template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
        }

        deinit {
            for name in ["log", "log.1", "log.2"] { unlink("\(path)/\(name)") }
            rmdir(path)
        }
    }

    private let folder: Folder
    private var path: String { folder.path + "/log" }

    init() throws { folder = try Folder() }

    private func definition(_ path: String, level: LogDefinition.Level = .info) -> LogDefinition {
        var definition = LogDefinition()
        definition.destination = .file(path)
        definition.level = level
        return definition
    }

    private func contents(_ path: String) -> String {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8 << 20)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes[0..<max(0, count)], as: UTF8.self)
    }

    private func messages(_ path: String) -> [Substring] {
        contents(path).split(separator: "\n").map { line in
            let rest = line.split(separator: "\"msg\":\"", maxSplits: 1).last ?? ""
            return rest.prefix { $0 != "\"" }
        }
    }

    private func waitFor(_ condition: () -> Bool) -> Bool {
        for _ in 0..<500 {
            if condition() { return true }
            usleep(10_000)
        }
        return condition()
    }

    @Test func writesWhatControlAndWorkersSay() throws {
        let writer = try LogWriter(definition(path), allowsColour: true)
        let worker = WorkerLog(writer)
        writer.log(.info, "one")
        #expect(waitFor { messages(path) == ["one"] })
        worker.log(.warn, "two")
        worker.log(.debug, "not wanted")
        #expect(waitFor { messages(path) == ["one", "two"] })
        var record = AccessRecord()
        record.reset(startedAt: 1)
        worker.access(record, AccessTexts())
        writer.log(.error, "three")
        #expect(writer.stop(withinMilliseconds: 5_000))
        #expect(Set(messages(path)) == ["one", "two", "request", "three"])
        #expect(writer.lostLines == 0)
    }

    @Test func writesAllOfManyBeforeItEnds() throws {
        let writer = try LogWriter(definition(path), allowsColour: true)
        let workers = [WorkerLog(writer), WorkerLog(writer), WorkerLog(writer)]
        for number in 0..<1_000 { for worker in workers { worker.log(.info, "line \(number)") } }
        #expect(writer.stop(withinMilliseconds: 5_000))
        #expect(messages(path).count + writer.lostLines == 3_000)
        #expect(writer.lostLines == 0)
    }

    @Test func reopensItsFile() throws {
        let writer = try LogWriter(definition(path), allowsColour: false)
        writer.log(.info, "old")
        #expect(waitFor { messages(path) == ["old"] })
        rename(path, path + ".1")
        writer.reopen()
        #expect(waitFor { access(path, F_OK) == 0 })
        writer.log(.info, "new")
        #expect(writer.stop(withinMilliseconds: 5_000))
        #expect(messages(path + ".1") == ["old"])
        #expect(messages(path) == ["new"])
    }

    @Test func followsANewConfiguration() throws {
        let writer = try LogWriter(definition(path), allowsColour: false)
        writer.log(.debug, "hidden")
        var changed = definition(path + ".2", level: .debug)
        changed.format = .text
        changed.access = false
        writer.apply(changed)
        #expect(waitFor { writer.wants(.debug) })
        writer.log(.debug, "shown")
        writer.apply(definition("/nowhere/at/all"))
        #expect(waitFor { !writer.wants(.debug) })
        writer.log(.info, "still here")
        #expect(writer.stop(withinMilliseconds: 5_000))
        #expect(contents(path) == "")
        let rest = contents(path + ".2")
        #expect(rest.contains("debug shown\n"))
        #expect(rest.contains("the log can not be opened anew"))
        #expect(rest.contains("still here"))
    }

    @Test func saysThatAFileCanNotBeOpened() {
        #expect(throws: FileSystemError(operation: "open /nowhere/log", code: ENOENT)) {
            try LogWriter(definition("/nowhere/log"), allowsColour: false)
        }
    }

    /// A reader that reads nothing: workers go on at their speed, lines are lost, the end comes in time.
    @Test func aStuckPipeHoldsNobodyUp() throws {
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let writer = try LogWriter(definition(path), allowsColour: false)
        let worker = WorkerLog(writer)
        let text = String(repeating: "x", count: 1_000)
        let before = FileSystemCalls.monotonicMilliseconds
        for _ in 0..<3_000 { worker.log(.info, text) }
        #expect(FileSystemCalls.monotonicMilliseconds - before < 5_000)
        #expect(writer.lostLines > 1_000)
        let end = FileSystemCalls.monotonicMilliseconds
        #expect(!writer.stop(withinMilliseconds: 300))
        #expect(FileSystemCalls.monotonicMilliseconds - end < 2_000)
    }

    @Test func saysHowManyLinesWereLost() throws {
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let writer = try LogWriter(definition(path), allowsColour: false)
        let worker = WorkerLog(writer)
        let text = String(repeating: "x", count: 1_000)
        for _ in 0..<2_000 { worker.log(.info, text) }
        let lost = writer.lostLines
        #expect(lost > 0)
        // The reader comes to: all that was kept arrives whole, and so does the number of those that were not.
        var received = ""
        var bytes = [UInt8](repeating: 0, count: 65_536)
        #expect(
            waitFor {
                while case let count = read(reader, &bytes, bytes.count), count > 0 {
                    received += String(decoding: bytes[0..<count], as: UTF8.self)
                }
                return received.contains("\"log lines were dropped\",\"lines\":")
            })
        let lines = received.split(separator: "\n")
        #expect(lines.allSatisfy { $0.hasPrefix("{\"ts\":") && $0.hasSuffix("}") })
        #expect(lines.filter { $0.contains("xxx") }.count <= 2_000 - lost)
        _ = writer.stop(withinMilliseconds: 500)
    }

    @Test func aClosedPipeLosesLinesOnly() throws {
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        _ = signal(SIGPIPE, SIG_IGN)
        let writer = try LogWriter(definition(path), allowsColour: false)
        close(reader)
        writer.log(.info, "into nothing")
        #expect(waitFor { writer.lostLines > 0 })
        #expect(writer.stop(withinMilliseconds: 2_000))
    }
}
