import HTTP
import Testing

@testable import Policy

/// RFC 9110 section 13.
@Suite struct PreconditionsTests {
    static let modified = 1_700_000_000
    static let same = "Tue, 14 Nov 2023 22:13:20 GMT"
    static let before = "Tue, 14 Nov 2023 22:13:19 GMT"
    static let after = "Tue, 14 Nov 2023 22:13:21 GMT"

    private func verdict(_ fields: [String], tag: String = "\"a\"") throws -> Preconditions.Verdict {
        let request = try makeRequest("GET", "/", ["Host: a.test"] + fields)
        let validators = Validators(entityTag: ByteBuffer(tag), modified: Self.modified, now: Self.modified + 100)
        return Preconditions.verdict(FileRequest(request), request, validators)
    }

    @Test(
        arguments: [
            ([], .proceed), (["If-None-Match: \"a\""], .notModified), (["If-None-Match: W/\"a\""], .notModified),
            (["If-None-Match: \"b\", \"a\""], .notModified), (["If-None-Match: \"b\"", "If-None-Match: \"a\""], .notModified),
            (["If-None-Match: *"], .notModified), (["If-None-Match: \"b\""], .proceed), (["If-None-Match: a"], .proceed),
            // Entity tags know no escapes, and may have commas in them.
            (["If-None-Match: \"x\\\", \"a\""], .notModified), (["If-None-Match: \"b,\"a\""], .proceed),
            (["If-Match: \"a\""], .proceed), (["If-Match: W/\"a\""], .failed), (["If-Match: \"b\""], .failed),
            (["If-Match: *"], .proceed),
            (["If-Modified-Since: \(same)"], .notModified), (["If-Modified-Since: \(before)"], .proceed),
            (["If-Modified-Since: \(after)"], .notModified), (["If-Modified-Since: soon"], .proceed),
            (["If-Modified-Since: \(same)", "If-Modified-Since: \(same)"], .proceed),
            (["If-Unmodified-Since: \(same)"], .proceed), (["If-Unmodified-Since: \(before)"], .failed),
            (["If-Unmodified-Since: soon"], .proceed),
            // The order of section 13.2.2: tags before dates, and what fails before what is not modified.
            (["If-None-Match: \"b\"", "If-Modified-Since: \(same)"], .proceed),
            (["If-Match: \"a\"", "If-Unmodified-Since: \(before)"], .proceed),
            (["If-Match: \"b\"", "If-None-Match: \"a\""], .failed), (["If-Match: \"a\"", "If-None-Match: \"a\""], .notModified),
            (["Connection: If-None-Match", "If-None-Match: \"a\""], .proceed),
        ] as [([String], Preconditions.Verdict)])
    func conditionsAreJudgedInTheirOrder(fields: [String], wanted: Preconditions.Verdict) throws {
        #expect(try verdict(fields) == wanted)
    }

    @Test func aWeakTagIsNoStrongMatch() throws {
        #expect(try verdict(["If-Match: W/\"a\""], tag: "W/\"a\"") == .failed)
        #expect(try verdict(["If-None-Match: \"a\""], tag: "W/\"a\"") == .notModified)
    }

    @Test(
        arguments: [
            ([], true), (["If-Range: \"a\""], true), (["If-Range: \"b\""], false), (["If-Range: W/\"a\""], false),
            (["If-Range: \(same)"], true), (["If-Range: \(before)"], false), (["If-Range: \(after)"], false),
            (["If-Range: x"], false),
            (["If-Range: \"a\"", "If-Range: \"a\""], false), (["If-Range:"], false),
        ] as [([String], Bool)])
    func partsAreOfThePresentState(fields: [String], wanted: Bool) throws {
        let request = try makeRequest("GET", "/", ["Host: a.test"] + fields)
        let validators = Validators(entityTag: ByteBuffer("\"a\""), modified: Self.modified, now: Self.modified + 100)
        #expect(Preconditions.rangeApplies(FileRequest(request), request, validators) == wanted)
    }

    @Test func aDateSaysNothingOfAFileThatWasJustWritten() throws {
        let request = try makeRequest("GET", "/", ["Host: a.test", "If-Range: \(Self.same)"])
        let validators = Validators(entityTag: ByteBuffer("\"a\""), modified: Self.modified, now: Self.modified)
        #expect(!Preconditions.rangeApplies(FileRequest(request), request, validators))
    }
}
