import Testing

@testable import Policy

/// RFC 9110 section 12.5.3.
@Suite struct AcceptedCodingsTests {
    @Test(
        arguments: [
            ("", 0, 0, 0, 1), ("gzip", 1000, 0, 0, 1), ("br, zstd, gzip", 1000, 1000, 1000, 1), ("x-gzip;q=0.5", 500, 0, 0, 1),
            ("GZIP;Q=0.123, br;q=1.000", 123, 1000, 0, 1), ("*", 1000, 1000, 1000, 1), ("*;q=0", 0, 0, 0, 0),
            ("gzip, *;q=0", 1000, 0, 0, 0),
            ("identity;q=0, gzip", 1000, 0, 0, 0), ("identity;q=0.5", 0, 0, 0, 500), ("gzip;q=0", 0, 0, 0, 1),
            ("*;q=0.1, br;q=0", 100, 0, 100, 1), ("gzip ; q=0.5", 500, 0, 0, 1), ("deflate, compress", 0, 0, 0, 1),
            // What is no weight is no wish.
            ("gzip;q=", 0, 0, 0, 1), ("gzip;q=2", 0, 0, 0, 1), ("gzip;q=1.001", 0, 0, 0, 1), ("gzip;q=0.1234", 0, 0, 0, 1),
            ("gzip;x=1", 0, 0, 0, 1), ("gzip;q=-1", 0, 0, 0, 1), ("gzip;q=0,5", 0, 0, 0, 1), ("gzip;", 0, 0, 0, 1),
            ("gzip;q=1.", 1000, 0, 0, 1),
        ] as [(String, Int, Int, Int, Int)])
    func weightsAreRead(value: String, gzip: Int, brotli: Int, zstd: Int, identity: Int) throws {
        var codings = AcceptedCodings()
        codings.read(bytes(value))
        #expect([codings.gzip, codings.brotli, codings.zstd, codings.identity] == [gzip, brotli, zstd, identity])
    }

    @Test func severalLinesAreOneList() throws {
        let request = try makeRequest("GET", "/", ["Host: a.test", "Accept-Encoding: br;q=0.5", "Accept-Encoding: *;q=0.2"])
        let codings = FileRequest(request).codings
        #expect([codings.gzip, codings.brotli, codings.zstd] == [200, 500, 200])
    }
}
