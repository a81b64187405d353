import HTTP
import Testing

struct ReasonPhraseTests {
    @Test(arguments: [
        (100, "Continue"), (103, "Early Hints"), (200, "OK"), (204, "No Content"), (226, "IM Used"), (304, "Not Modified"),
        (308, "Permanent Redirect"),
        (400, "Bad Request"), (413, "Content Too Large"), (421, "Misdirected Request"),
        (431, "Request Header Fields Too Large"),
        (502, "Bad Gateway"), (508, "Loop Detected"), (299, ""), (306, ""), (499, ""), (599, ""), (0, ""), (999, ""), (-1, ""),
    ])
    func phrases(status: Int, phrase: String) {
        #expect("\(ReasonPhrase.of(status))" == phrase)
    }

    /// A response is written with them, so that each must be one (RFC 9112 section 4).
    @Test func allAreLegal() {
        for status in 100...599 { #expect(isFieldValue(Array("\(ReasonPhrase.of(status))".utf8))) }
    }
}
