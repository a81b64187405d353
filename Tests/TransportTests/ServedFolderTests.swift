import Glibc
import Testing

@testable import Transport

/// With openat2, and as it goes without.
@Suite struct ServedFolderTests {
    private func content(_ opening: FileOpening) -> String? {
        guard case .opened(let descriptor, let identity) = opening else { return nil }
        defer { SystemCalls.close(descriptor) }
        if identity.isFolder { return "folder" }
        var bytes = [UInt8](repeating: 0, count: 100)
        let result = bytes.withUnsafeMutableBytes { SystemCalls.read(descriptor, at: 0, into: $0) }
        guard case .bytes(let count) = result else { return "" }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func tree() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        folder.write("secret", "CANARY")
        folder.make("root")
        folder.make("root/sub")
        folder.write("root/a", "alpha")
        folder.write("root/sub/b", "beta")
        folder.link("root/inside", to: "a")
        folder.link("root/folder", to: "sub")
        folder.link("root/outside", to: "../secret")
        folder.link("root/absolute", to: folder.path + "/secret")
        folder.link("root/up", to: "..")
        mkfifo(folder.path + "/root/fifo", 0o600)
        return folder
    }

    private func open(_ folder: ServedFolder, _ path: String, now: Int64 = 0) -> String? {
        content(folder.open(Array(path.utf8).span, now: now))
    }

    @Test(arguments: [false, true])
    func filesBelowAreOpenedAndNothingElseIs(walks: Bool) throws {
        let folder = try tree()
        let served = ServedFolder(folder.path + "/root", walksComponents: walks)
        #expect(open(served, "a") == "alpha")
        #expect(open(served, "sub/b") == "beta")
        #expect(open(served, "sub") == "folder")
        #expect(open(served, "") == "folder")
        for path in [
            "outside", "absolute", "up/secret", "../secret", "sub/../../secret", "fifo", "missing", "a/b", "/etc/passwd",
            String(repeating: "x", count: 5000), "sub/../../root/a", "..",
        ] {
            #expect(open(served, path) == nil, "\(path)")
        }
    }

    @Test func linksWithinAreFollowedByTheKernelAlone() throws {
        let folder = try tree()
        let walking = ServedFolder(folder.path + "/root", walksComponents: true)
        #expect(open(walking, "inside") == nil)
        #expect(open(walking, "folder/b") == nil)
        guard ServedFolder.hasOpenBeneath else { return }
        let served = ServedFolder(folder.path + "/root")
        #expect(open(served, "inside") == "alpha")
        #expect(open(served, "folder/b") == "beta")
    }

    @Test func aFolderThatIsReplacedIsFoundASecondLater() throws {
        let folder = try tree()
        let served = ServedFolder(folder.path + "/root")
        #expect(open(served, "a", now: 10_000) == "alpha")
        folder.move("root", to: "old")
        folder.make("root")
        folder.write("root/a", "new")
        #expect(open(served, "a", now: 10_500) == "alpha")
        #expect(open(served, "a", now: 11_000) == "new")
        folder.move("root", to: "older")
        #expect(open(served, "a", now: 12_000) == nil)
        folder.move("older", to: "root")
        #expect(open(served, "a", now: 13_000) == "new")
    }

    @Test func noDescriptorIsLeftOpen() throws {
        let folder = try tree()
        func count() -> Int {
            var number = 0
            for descriptor in Int32(3)..<300 where fcntl(descriptor, F_GETFD) >= 0 { number += 1 }
            return number
        }
        for walks in [false, true] {
            let served = ServedFolder(folder.path + "/root", walksComponents: walks)
            _ = open(served, "a")
            let before = count()
            for _ in 0..<50 {
                for path in ["a", "sub/b", "sub", "outside", "fifo", "missing", "a/b", "sub/missing/x", "inside"] {
                    _ = open(served, path)
                }
                _ = served.name(like: Array("A".utf8).span, in: Array("".utf8).span, now: 0)
                _ = served.name(like: Array("A".utf8).span, in: Array("a".utf8).span, now: 0)
            }
            // Other tests open descriptors too.
            #expect(count() < before + 40)
        }
    }

    @Test(arguments: [false, true])
    func namesAreFoundInAnyLetterCase(walks: Bool) throws {
        let folder = try tree()
        folder.write("root/README.txt", "one")
        folder.write("root/Readme.TXT", "two")
        folder.write("root/sub/ÄB", "umlaut")
        let served = ServedFolder(folder.path + "/root", walksComponents: walks)
        func name(_ like: String, in path: String = "") -> String? {
            served.name(like: Array(like.utf8).span, in: Array(path.utf8).span, now: 0).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(name("readme.txt") == "README.txt")
        #expect(name("SUB") == "sub")
        #expect(name("Äb", in: "sub") == "ÄB")
        #expect(name("Äb", in: "sub/") == "ÄB")
        #expect(name("äb", in: "sub") == nil)
        #expect(name("readme.tx") == nil)
        #expect(name("readme.txt2") == nil)
        #expect(name("x", in: "missing") == nil)
        #expect(name("x", in: "a") == nil)
        folder.write("root/New", "new")
        #expect(name("NEW") == "New")
    }

    /// The clock that the system stamps folders with moves in steps of some milliseconds.
    @Test func aNameOfTheSameInstantAsTheListingIsFound() throws {
        let folder = try TemporaryFolder()
        let served = ServedFolder(folder.path)
        let instant = time(nil)
        func find(_ name: String) -> Bool { served.name(like: Array(name.utf8).span, in: Array("".utf8).span, now: 0) != nil }
        folder.write("One", "")
        folder.setTimeOfChange(instant)
        #expect(find("one") && !find("two"))
        folder.write("Two", "")
        folder.setTimeOfChange(instant)
        #expect(find("one") && find("two"))
    }

    @Test func aFolderOfManyNamesIsListedOnce() throws {
        let folder = try TemporaryFolder()
        for index in 0..<5000 { folder.write("File\(index)", "") }
        folder.setTimeOfChange(time(nil) - 60)
        let served = ServedFolder(folder.path)
        for index in 0..<5000 {
            #expect(
                served.name(like: Array("fILE\(index)".utf8).span, in: Array("".utf8).span, now: 0) == Array("File\(index)".utf8))
        }
        #expect(served.listings.count == 1)
    }
}
