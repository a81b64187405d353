import Glibc
import Testing

@testable import Transport

struct FileWatcherTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func watcher(_ names: String...) -> FileWatcher { FileWatcher(paths: names.map { "\(folder.path)/\($0)" }) }

    /// What the control thread does: waits for the descriptor, at most half a second, until something changed or time is over.
    private func changes(_ watcher: FileWatcher, within milliseconds: Int64 = 1_000) -> [String] {
        let end = FileSystemCalls.monotonicMilliseconds + milliseconds
        while FileSystemCalls.monotonicMilliseconds < end {
            let left = Int32(truncatingIfNeeded: min(500, max(0, end - FileSystemCalls.monotonicMilliseconds)))
            _ = FileSystemCalls.isReadable(watcher.descriptor, within: left)
            let changed = watcher.changedPaths()
            if !changed.isEmpty { return changed.map { String($0.dropFirst(folder.path.count + 1)) } }
        }
        return []
    }

    @Test func seesAWrite() {
        folder.write("a", "one")
        folder.write("b", "one")
        let watcher = watcher("a", "b")
        #expect(watcher.changedPaths() == [])
        folder.write("a", "two")
        #expect(changes(watcher) == ["a"])
        #expect(changes(watcher, within: 300) == [])
    }

    @Test func seesASameSizedWriteInTheSameTick() {
        folder.write("a", "1")
        let watcher = watcher("a")
        for text in ["2", "3", "4", "5"] {
            folder.write("a", text)
            #expect(changes(watcher) == ["a"])
        }
    }

    @Test func seesARenameOverTheFile() {
        folder.write("a", "one")
        let watcher = watcher("a")
        folder.write("a.new", "two")
        folder.move("a.new", to: "a")
        #expect(changes(watcher) == ["a"])
    }

    @Test func saysNothingOfAMereTouch() {
        folder.write("a", "same")
        let watcher = watcher("a")
        folder.write("a", "same")
        #expect(changes(watcher, within: 300) == [])
        folder.write("b", "same")
        folder.move("b", to: "a")
        #expect(changes(watcher, within: 700) == [])
    }

    @Test func seesDeleteAndRecreate() {
        folder.write("a", "one")
        let watcher = watcher("a")
        folder.remove("a")
        #expect(changes(watcher) == ["a"])
        folder.write("a", "one")
        #expect(changes(watcher) == ["a"])
    }

    @Test func aShortAbsenceIsNone() {
        folder.write("a", "one")
        let watcher = watcher("a")
        folder.remove("a")
        #expect(watcher.changedPaths() == [])
        folder.write("a", "one")
        #expect(changes(watcher, within: 700) == [])
    }

    @Test func seesTheSwapOfAKubernetesVolume() {
        folder.make("..2024_1")
        folder.write("..2024_1/token", "one")
        folder.link("..data", to: "..2024_1")
        folder.link("token", to: "..data/token")
        let watcher = watcher("token")
        for (index, text) in ["two", "three"].enumerated() {
            folder.make("..2024_\(index + 2)")
            folder.write("..2024_\(index + 2)/token", text)
            folder.link("..data_tmp", to: "..2024_\(index + 2)")
            folder.move("..data_tmp", to: "..data")
            #expect(changes(watcher) == ["token"])
        }
    }

    @Test func seesALinkIntoAnotherFolder() throws {
        let other = try TemporaryFolder()
        other.write("secret", "one")
        folder.link("a", to: "\(other.path)/secret")
        let watcher = watcher("a")
        other.write("secret", "two")
        #expect(changes(watcher) == ["a"])
    }

    @Test func seesAFolderThatAppearsLater() {
        let watcher = watcher("x/y/a")
        #expect(watcher.changedPaths() == [])
        folder.make("x")
        _ = watcher.changedPaths()
        folder.make("x/y")
        folder.write("x/y/a", "one")
        #expect(changes(watcher) == ["x/y/a"])
        folder.write("x/y/a", "two")
        #expect(changes(watcher) == ["x/y/a"])
    }

    @Test func seesAReplacedFolder() {
        folder.make("x")
        folder.write("x/a", "one")
        folder.make("z")
        folder.write("z/a", "two")
        let watcher = watcher("x/a")
        folder.move("x", to: "old")
        folder.move("z", to: "x")
        #expect(changes(watcher) == ["x/a"])
        folder.write("x/a", "three")
        #expect(changes(watcher) == ["x/a"])
    }

    @Test func survivesLinkLoopsAndOddFiles() {
        folder.link("l1", to: "l2")
        folder.link("l2", to: "l1")
        mkfifo("\(folder.path)/fifo", 0o600)
        let watcher = watcher("l1", "fifo", ".", "nothing/here")
        #expect(changes(watcher, within: 300) == [])
        folder.remove("l1")
        folder.write("l1", "now a file")
        #expect(changes(watcher).contains("l1"))
    }

    @Test func anotherSetKeepsWhatIsPending() {
        folder.write("a", "one")
        folder.write("b", "one")
        let watcher = watcher("a")
        folder.write("a", "two")
        folder.write("b", "two")
        watcher.setPaths(["\(folder.path)/b", "\(folder.path)/a", "\(folder.path)/a"])
        #expect(watcher.paths.count == 2)
        #expect(changes(watcher) == ["a"])
        watcher.setPaths(["\(folder.path)/b"])
        folder.write("a", "three")
        #expect(changes(watcher, within: 300) == [])
    }

    @Test func aFileLeftEmptyIsReported() {
        folder.write("a", "one")
        let watcher = watcher("a")
        folder.write("a", "")
        #expect(watcher.changedPaths() == [])
        #expect(changes(watcher) == ["a"])
    }

    @Test func seesAWriteThroughAnOpenFile() {
        folder.write("a", "one")
        let file = open("\(folder.path)/a", O_WRONLY)
        defer { close(file) }
        let watcher = watcher("a")
        // No event is asked for writes that are not closed: the periodic look finds it.
        _ = "two".withCString { Glibc.write(file, $0, 3) }
        #expect(changes(watcher, within: 1_200) == ["a"])
    }
}
