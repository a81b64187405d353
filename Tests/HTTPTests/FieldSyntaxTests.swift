import HTTP
import Testing

struct FieldSyntaxTests {
    @Test func tokens() {
        let tchars = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for octet in UInt8.min...UInt8.max {
            for position in [0, 3, 7, 8, 12] {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 13)
                bytes[position] = octet
                #expect(isToken(bytes) == tchars.contains(octet))
                #expect(isToken([octet]) == tchars.contains(octet))
            }
        }
        #expect(!isToken([]))
    }

    @Test func fieldValues() {
        for octet in UInt8.min...UInt8.max {
            let isLegal = octet >= 0x20 && octet != 0x7f || octet == 0x09
            for position in [0, 3, 7, 8, 12] {
                for filler: UInt8 in [0x20, 0x61, 0x7e, 0xff, 0x09] {
                    var bytes = [UInt8](repeating: filler, count: 13)
                    bytes[position] = octet
                    #expect(isFieldValue(bytes) == isLegal)
                }
            }
        }
        #expect(isFieldValue([]))
    }

    @Test(arguments: [
        ("", "", true), ("a", "A", true), ("Content-Length", "cONTENT-lENGTH", true), ("abcdefgh", "ABCDEFGH", true),
        ("a", "b", false),
        ("a", "", false), ("[", "{", false), ("@", "`", false), ("abcdefgh[", "abcdefgh{", false), ("Z\u{e9}", "z\u{e9}", true),
        ("\u{c9}", "\u{e9}", false), ("-", "\r", false), ("content-length", "content\rlength", false),
        ("keep-alive", "keep-alivf", false),
    ])
    func comparison(first: String, second: String, areEqual: Bool) {
        let one = Array(first.utf8)
        let other = Array(second.utf8)
        #expect(isEqual(one, other) == areEqual)
        #expect(isEqual(other, one) == areEqual)
    }

    @Test func comparisonWithALiteral() {
        #expect(isEqual("Keep-Alive", "keep-alive"))
        #expect(isEqual("CLOSE", "close"))
        #expect(!isEqual("closed", "close"))
        #expect(isEqual("", ""))
    }

    @Test(arguments: [
        ("0", UInt64(0)), ("007", 7), ("18446744073709551615", .max), ("18446744073709551616", nil),
        ("99999999999999999999", nil), ("", nil), ("+1", nil),
        ("-1", nil), (" 1", nil), ("1 ", nil), ("1,1", nil), ("0x1", nil), ("1e3", nil),
        ("00000000000000000000000000000000000000001", 1),
    ])
    func decimals(text: String, value: UInt64?) {
        let parsed = HTTP1.decimal(Array(text.utf8).span)
        #expect(parsed == value)
    }

    @Test(arguments: [
        ("", []), (",", []), (" , \t,", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb ", ["a", "b"]),
        (",a,,b,", ["a", "b"]),
        ("\"a, b\", c", ["\"a, b\"", "c"]), ("x=\"a\\\",b\", c", ["x=\"a\\\",b\"", "c"]), ("\"open, b", ["\"open, b"]),
        ("a b, c", ["a b", "c"]),
        ("a\\,b", ["a\\", "b"]), ("\"x\\", ["\"x\\"]), ("\"\",\"\"", ["\"\"", "\"\""]),
        ("for=\"[::1]:80\", for=b", ["for=\"[::1]:80\"", "for=b"]),
    ])
    func lists(value: String, elements: [String]) {
        #expect(HTTPTests.elements(value) == elements)
    }

    @Test func listsContainWords() {
        #expect(listContains("gzip;q=0.5, Trailers", "trailers"))
        #expect(!listContains("\"trailers\", xtrailers", "trailers"))
    }

    @Test func trimming() {
        let bytes = Array(" \t a b\t ".utf8)
        #expect(trimmed(bytes, 0..<bytes.count) == 3..<6)
        #expect(trimmed(bytes, 0..<2).isEmpty)
        #expect(trimmed(bytes, 3..<3) == 3..<3)
    }
}
