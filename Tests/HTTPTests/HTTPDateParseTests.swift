import Testing

@testable import HTTP

@Suite struct HTTPDateParseTests {
    private func parse(_ text: String, now: Int = 1_800_000_000) -> Int? { HTTPDate.parse(Array(text.utf8).span, now: now) }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Tue Nov 14 22:13:20 2023", 1_700_000_000), ("Tuesday, 14-Nov-23 22:13:20 GMT", 1_700_000_000),
        ("Wednesday, 14-Nov-40 22:13:20 GMT", 2_236_544_000), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_799),
    ])
    func theThreeFormsAreRead(text: String, seconds: Int) { #expect(parse(text) == seconds) }

    @Test func aYearOfTwoDigitsIsNotFarInTheFuture() {
        #expect(parse("Monday, 01-Jan-90 00:00:00 GMT") == 631_152_000)
        #expect(parse("Monday, 01-Jan-70 00:00:00 GMT") == 3_155_760_000)
    }

    @Test(arguments: [
        "", "x", "0", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2023 12:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 06 08:49:37 199x",
        "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT ", ",", "aaaaaaa,", "Sun, 06 Nov 1994 08:49:37 GMTSun,",
    ])
    func whatIsNoDateIsNone(text: String) { #expect(parse(text) == nil) }

    @Test func whatIsWrittenIsRead() {
        for seconds in stride(from: 0, to: 4_000_000_000, by: 12_345_677) {
            let out = ByteBuffer()
            HTTPDate.append(unixSeconds: seconds, to: out)
            #expect(HTTPDate.parse(out.span, now: 0) == seconds)
        }
    }
}
