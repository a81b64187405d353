@testable import HTTP
@testable import Policy
import Testing

@Suite struct AuthorityTests {
    @Test(
        arguments: [
            ("a.test", "a.test", "a.test", nil), ("A.Test:8080", "a.test:8080", "a.test", 8080),
            ("a.test.", "a.test", "a.test", nil),
            ("a.test.:80", "a.test:80", "a.test", 80), ("a.test:", "a.test", "a.test", nil),
            ("localhost", "localhost", "localhost", nil),
            ("127.0.0.1:65535", "127.0.0.1:65535", "127.0.0.1", 65535),
            ("a_b-c.test:0", "a_b-c.test:0", "a_b-c.test", 0),
            ("[::1]", "[::1]", "[::1]", nil), ("[2001:DB8:0:0::1]:443", "[2001:db8::1]:443", "[2001:db8::1]", 443),
            ("[::FFFF:127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]", nil),
            ("a.test:00080", "a.test:80", "a.test", 80),
            ("1.2.3.4.", "1.2.3.4", "1.2.3.4", nil),
            ("xn--bcher-kva.test", "xn--bcher-kva.test", "xn--bcher-kva.test", nil),
            ("1.2.3.com", "1.2.3.com", "1.2.3.com", nil),
        ] as [(String, String, String, UInt16?)])
    func accepted(_ source: String, _ expected: String, _ host: String, _ port: UInt16?) {
        let out = ByteBuffer("x")
        let authority = Authority.append(bytes(source), to: out)
        #expect(out.text == "x" + expected)
        #expect(authority?.port == port)
        #expect(authority.map { text(out.span(ByteRange(1, $0.hostLength))) } == host)
    }

    @Test(arguments: [
        "", ":80", ".", "..", "a..b", ".a", "a.test..", "a.test/admin", "a.test@b.test", "user@a.test", "a.test:abc",
        "a.test#b", "a.test b",
        "a.test:65536", "a.test:-1", "a.test:+1", "a.test:8080:1", "a.test:123456", "a.test: 80", "[::1", "::1",
        "[::1]x", "[::1]:",
        "[]", "[:]", "[::1%25eth0]", "[::1%eth0]", "[v1.x]", "[1.2.3.4]", "a,b", "a;b", "a*b", "a%2eb", "é.test",
        "a\\b", "256.1.1.1", "1.2.3",
        "127.1", "0x7f.1", "0x7f000001", "2130706433", "010.0.0.1", "1.2.3.4.5", "a.0x1f", "a.1", "a\"b", "a\tb",
    ])
    func refused(_ source: String) {
        let out = ByteBuffer("x")
        let isAccepted = Authority.append(bytes(source), to: out) != nil
        // An empty port is none, behind brackets too.
        #expect(isAccepted == (source == "[::1]:"))
        if !isAccepted { #expect(out.text == "x") }
    }

    @Test func tooLong() {
        let name = String(repeating: "a", count: 255)
        #expect(Authority.parse(name)?.hostLength == 255)
        #expect(Authority.parse(name + "a") == nil)
    }

    @Test func forConfiguration() throws {
        let parsed = try #require(Authority.parse("App.Internal:3000"))
        #expect(parsed == ("app.internal:3000", 12, 3000))
    }
}

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("10.1.2.3", "10.1.2.3"), ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"), ("2001:db8::1", "2001:db8::1"), ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"),
        ("::ffff:1.2.3.4", "1.2.3.4"), ("::ffff:102:304", "1.2.3.4"), ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("::1.2.3.4", "::102:304"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("fe80::", "fe80::"), ("0:0:0:0:0:0:0:0", "::"),
    ])
    func parse(_ source: String, _ expected: String) throws {
        let address = try #require(IPAddress.parse(source))
        let out = ByteBuffer()
        address.append(to: out)
        #expect(out.text == expected)
        #expect(IPAddress.parse(out.text) == address)
    }

    @Test(arguments: [
        "", ".", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4 ",
        "+1.2.3.4", ":", ":::", "1:::2", "::1::",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "12345::", "g::", "1:", ":1",
        "1::2:", "::1.2.3",
        "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "[::1]", "::1%eth0", "a.b.c.d", "0x1.2.3.4", "::01.2.3.4", "10.0.0.1/8",
    ])
    func malformed(_ source: String) {
        #expect(IPAddress.parse(source) == nil)
    }

    @Test func randomAddressesRoundTrip() throws {
        var random = SplitMix(state: 3)
        for _ in 0..<3000 {
            // Sparse groups, so that runs of zeros of each length come up.
            let mask = random.next() & random.next()
            var high = random.next()
            var low = random.next()
            for group in 0..<4 {
                if mask >> UInt64(group) & 1 == 1 { high &= ~(0xffff << UInt64(16 * group)) }
                if mask >> UInt64(group + 4) & 1 == 1 { low &= ~(0xffff << UInt64(16 * group)) }
            }
            let address = IPAddress(high: high, low: low)
            let out = ByteBuffer()
            address.append(to: out)
            #expect(IPAddress.parse(out.text) == address, "\(out.text)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true, false, true), ("127.255.0.1", true, false, true), ("0.0.0.0", true, false, true),
        ("::1", true, false, true),
        ("::", true, false, true), ("::ffff:127.0.0.1", true, false, true), ("64:ff9b::127.0.0.1", true, false, true),
        ("::127.0.0.1", true, false, true), ("169.254.169.254", false, true, true), ("fe80::1", false, true, true),
        ("febf::1", false, true, true), ("fec0::1", false, false, true),
        ("64:ff9b::169.254.169.254", false, true, true),
        ("2002:a9fe:a9fe::1", false, true, true), ("10.0.0.1", false, false, true), ("172.16.0.1", false, false, true),
        ("172.31.255.255", false, false, true), ("172.32.0.1", false, false, false),
        ("192.168.1.1", false, false, true),
        ("100.64.0.1", false, false, true), ("100.128.0.1", false, false, false), ("198.18.0.1", false, false, true),
        ("198.20.0.1", false, false, false), ("fd00:ec2::254", false, false, true), ("fc00::1", false, false, true),
        ("fe00::1", false, false, false), ("64:ff9b:1::1", false, false, true), ("8.8.8.8", false, false, false),
        ("2001:4860::8888", false, false, false), ("64:ff9b::8.8.8.8", false, false, false),
        ("2002:808:808::1", false, false, false),
        ("11.0.0.1", false, false, false), ("128.0.0.1", false, false, false),
    ])
    func kinds(_ source: String, _ loopback: Bool, _ linkLocal: Bool, _ isPrivate: Bool) throws {
        let address = try #require(IPAddress.parse(source))
        #expect(address.isLoopback == loopback)
        #expect(address.isLinkLocal == linkLocal)
        #expect(address.isPrivate == isPrivate)
        #expect(RedirectPolicy.permitsAddress(address, upstreamIsPrivate: true) == !linkLocal)
        #expect(RedirectPolicy.permitsAddress(address, upstreamIsPrivate: false) == !isPrivate)
    }

    @Test(
        arguments: [
            ("10.0.0.0/8", 104, "10.1.2.3", "11.0.0.0"), ("127.0.0.2/32", 128, "127.0.0.2", "127.0.0.3"),
            ("192.168.1.1", 128, "192.168.1.1", "192.168.1.2"),
            ("0.0.0.0/0", 96, "1.2.3.4", "::1"), ("2001:db8::/32", 32, "2001:db8:ffff::1", "2001:db9::"),
            ("::/0", 0, "ffff::", nil),
            ("fe80::/10", 10, "febf::1", "fec0::"), ("2001:db8::/64", 64, "2001:db8::ffff", "2001:db8:0:1::"),
            ("2001:db8::8000:0:0:0/65", 65, "2001:db8::8000:0:0:1", "2001:db8::1"),
            ("172.16.0.0/12", 108, "172.31.0.1", "172.32.0.0"),
        ] as [(String, Int, String, String?)])
    func ranges(_ source: String, _ prefixLength: Int, _ inside: String, _ outside: String?) throws {
        let range = try AddressRange.parse(source)
        #expect(range.prefixLength == prefixLength)
        #expect(range.contains(try #require(IPAddress.parse(inside))))
        if let outside { #expect(!range.contains(try #require(IPAddress.parse(outside)))) }
    }

    @Test(
        arguments: [
            ("10.1.2.3/8", .hostBitsSet), ("2001:db8::1/32", .hostBitsSet), ("1.0.0.0/0", .hostBitsSet),
            ("10.0.0.0/33", .malformedPrefix),
            ("::/129", .malformedPrefix), ("10.0.0.0/", .malformedPrefix), ("10.0.0.0/08", .malformedPrefix),
            ("10.0.0.0/-1", .malformedPrefix),
            ("10.0.0/8", .malformedAddress), ("", .malformedAddress), ("/8", .malformedAddress),
            ("10.0.0.0/8/8", .malformedPrefix),
        ] as [(String, AddressRangeError)])
    func malformedRanges(_ source: String, _ error: AddressRangeError) {
        #expect(throws: error) { try AddressRange.parse(source) }
    }
}
