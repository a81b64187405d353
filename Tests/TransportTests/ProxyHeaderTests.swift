import Testing
import Transport

@Suite struct ProxyHeaderTests {
    private func read(_ bytes: [UInt8]) throws -> ProxyHeader.Reading { try ProxyHeader.parse(bytes.span) }
    private func read(_ text: String) throws -> ProxyHeader.Reading { try read(Array(text.utf8)) }

    private func v2(_ command: UInt8, _ family: UInt8, _ content: [UInt8]) -> [UInt8] {
        Array("\r\n\r\n\0\r\nQUIT\n".utf8) + [command, family, UInt8(content.count >> 8), UInt8(content.count & 0xff)] + content
    }

    @Test func versionOneNamesTheClient() throws {
        let line = "PROXY TCP4 192.0.2.7 198.51.100.1 51234 443\r\n"
        let expected = ProxyHeader.Reading.header(
            length: line.utf8.count, source: SocketAddress(literal: "192.0.2.7", port: 51234))
        #expect(try read(line) == expected)
        #expect(try read(line + "GET / HTTP/1.1\r\n") == expected)
        let six = "PROXY TCP6 2001:db8::1 ::1 1 65535\r\n"
        #expect(
            try read(six)
                == .header(length: six.utf8.count, source: SocketAddress(literal: "2001:db8::1", port: 1)))
    }

    @Test func unknownConnectionsKeepTheirPeer() throws {
        #expect(try read("PROXY UNKNOWN\r\n") == .header(length: 15, source: nil))
        let long = "PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n"
        #expect(try read(long) == .header(length: long.utf8.count, source: nil))
        #expect(try read(v2(0x20, 0, [])) == .header(length: 16, source: nil))
        #expect(try read(v2(0x21, 0x31, [UInt8](repeating: 0, count: 216))) == .header(length: 232, source: nil))
    }

    @Test func versionTwoNamesTheClientAndMayHaveMoreBehind() throws {
        let four = v2(0x21, 0x11, [192, 0, 2, 7, 127, 0, 0, 1, 0xc8, 0x22, 1, 0xbb, 3, 0, 1, 9])
        #expect(
            try read(four) == .header(length: four.count, source: SocketAddress(literal: "192.0.2.7", port: 51234)))
        let addresses = [UInt8](repeating: 0, count: 15) + [1] + [UInt8](repeating: 0, count: 16)
        let six = v2(0x21, 0x21, addresses + [0, 80, 0, 81])
        #expect(try read(six) == .header(length: six.count, source: SocketAddress(literal: "::1", port: 80)))
    }

    @Test func everyPrefixOfAHeaderIsIncomplete() throws {
        for whole in [Array("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n".utf8), v2(0x21, 0x11, [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2])] {
            for count in 0..<whole.count { #expect(try read(Array(whole[..<count])) == .incomplete) }
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n", "PROXY\r\n", "PROXY \r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
        "PROXY TCP4 ::1 ::1 1 2\r\n", "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 -1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n", "PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", "PROXY tcp4 1.2.3.4 5.6.7.8 1 2\r\n", "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP6 fe80::1%lo ::1 1 2\r\n", "PROXY UNIX a b 1 2\r\n", "\u{16}\u{3}\u{1}",
    ])
    func whatIsNoHeaderIsRefused(_ text: String) {
        #expect(throws: ProxyHeader.Malformed.self) { try read(text) }
    }

    @Test func aLineWithoutEndIsRefusedAtItsBound() {
        #expect(throws: ProxyHeader.Malformed.self) { try read("PROXY UNKNOWN " + String(repeating: "x", count: 200)) }
    }

    @Test(arguments: [
        (0x11 as UInt8, 0x11 as UInt8, 12), (0x22, 0x11, 12), (0x21, 0x11, 11), (0x21, 0x21, 35), (0x21, 0x11, 4000),
    ])
    func faultyVersionTwo(_ command: UInt8, _ family: UInt8, _ count: Int) {
        #expect(throws: ProxyHeader.Malformed.self) { try read(v2(command, family, [UInt8](repeating: 0, count: count))) }
    }

    @Test(arguments: [ProxyHeader.Version.v1, .v2], [("192.0.2.7", "127.0.0.1"), ("2001:db8::1", "::1")])
    func whatIsWrittenIsRead(_ version: ProxyHeader.Version, _ ends: (String, String)) throws {
        let source = SocketAddress(literal: ends.0, port: 51234)
        let bytes = ProxyHeader.make(version, from: source, to: SocketAddress(literal: ends.1, port: 443))
        #expect(try read(bytes) == .header(length: bytes.count, source: source))
    }

    @Test(arguments: [ProxyHeader.Version.v1, .v2])
    func clientsWithoutAnAddressAreUnknown(_ version: ProxyHeader.Version) throws {
        let four = SocketAddress(literal: "127.0.0.1", port: 1)
        let ends: [(SocketAddress?, SocketAddress?)] = [(nil, nil), (four, nil), (four, SocketAddress(literal: "::1", port: 1))]
        for (from, to) in ends {
            let bytes = ProxyHeader.make(version, from: from, to: to)
            #expect(try read(bytes) == .header(length: bytes.count, source: nil))
        }
    }
}
