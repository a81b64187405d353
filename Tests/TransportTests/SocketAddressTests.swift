import Testing

@testable import Transport

struct SocketAddressTests {
    @Test(
        arguments: [
            ("127.0.0.1", 80, "127.0.0.1:80", 0, 0x0000_ffff_7f00_0001),
            ("10.1.2.3", 65535, "10.1.2.3:65535", 0, 0x0000_ffff_0a01_0203),
            ("::1", 443, "[::1]:443", 0, 1),
            ("2001:DB8::a:b", 1, "[2001:db8::a:b]:1", 0x2001_0db8_0000_0000, 0x0000_0000_000a_000b),
            ("::ffff:1.2.3.4", 8, "1.2.3.4:8", 0, 0x0000_ffff_0102_0304),
        ] as [(String, UInt16, String, UInt64, UInt64)])
    func readsLiterals(literal: String, port: UInt16, text: String, high: UInt64, low: UInt64) throws {
        let address = try #require(SocketAddress(literal: literal, port: port))
        #expect(address.description == text)
        #expect(address.port == port)
        let bits = try #require(address.ipBits)
        #expect(bits.high == high)
        #expect(bits.low == low)
    }

    @Test(arguments: [
        "", "localhost", "127.1", "0x7f.0.0.1", "1.2.3.4.5", "[::1]", "::1%", "::1%nosuchzone", "1.2.3.4\0",
        "127.0.0.01x",
    ])
    func refusesWhatIsNoLiteral(text: String) {
        #expect(SocketAddress(literal: text, port: 1) == nil)
    }

    @Test func keepsAZone() throws {
        let address = try #require(SocketAddress(literal: "fe80::1%1", port: 9))
        #expect(address.family == .ipv6)
        #expect(address != SocketAddress(literal: "fe80::1", port: 9))
    }

    @Test func namesUnixSockets() throws {
        let path = try SocketAddress(unixPath: "/run/app.sock")
        #expect(path.description == "unix:/run/app.sock")
        #expect(path.family == .unix)
        #expect(path.ipBits == nil)
        #expect(path.port == 0)
        #expect(path.withSockaddr { _, length in length } == 2 + 13 + 1)
        let abstract = try SocketAddress(unixPath: "@app")
        #expect(abstract.description == "unix:@app")
        #expect(abstract.withSockaddr { _, length in length } == 2 + 4)
    }

    @Test func boundsUnixPaths() throws {
        let longest = "/" + String(repeating: "a", count: 106)
        #expect(try SocketAddress(unixPath: longest).host == longest)
        #expect(throws: SocketAddress.Invalid.pathTooLong(limit: 107)) { try SocketAddress(unixPath: longest + "a") }
        #expect(throws: SocketAddress.Invalid.emptyPath) { try SocketAddress(unixPath: "") }
    }

    @Test func comparesByAddressAndPort() throws {
        let one = try #require(SocketAddress(literal: "127.0.0.1", port: 80))
        var other = try #require(SocketAddress(literal: "127.0.0.1", port: 81))
        #expect(one != other)
        other.port = 80
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
    }

    @Test func knowsSpecialAddresses() throws {
        #expect(SocketAddress.any(port: 5).description == "[::]:5")
        #expect(SocketAddress.any(port: 5).isAny)
        #expect(SocketAddress(literal: "0.0.0.0", port: 5)?.isAny == true)
        #expect(SocketAddress(literal: "127.9.9.9", port: 5)?.isLoopback == true)
        #expect(SocketAddress(literal: "::1", port: 5)?.isLoopback == true)
        #expect(SocketAddress(literal: "128.0.0.1", port: 5)?.isLoopback == false)
        #expect(SocketAddress(literal: "::2", port: 5)?.isAny == false)
    }
}
