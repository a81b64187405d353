/// The PROXY protocol (haproxy.org, proxy-protocol.txt): what a proxy in front says of the connection before its first byte.
public enum ProxyHeader {
    public enum Version: Sendable, Hashable { case v1, v2 }

    public struct Malformed: Error {}

    public enum Reading: Equatable {
        /// So far it could become a header.
        case incomplete
        /// `source` is nil for connections of the proxy's own, such as health checks, and for families that are no IP.
        case header(length: Int, source: SocketAddress?)
    }

    /// Version 1 has at most 107 bytes (section 2.1); of version 2 no more than this is taken.
    public static let longest = 16 + 2048
    private static let longestV1 = 107
    private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]

    /// Reads the header at the front of `bytes`, which may be followed by anything.
    public static func parse(_ bytes: Span<UInt8>) throws(Malformed) -> Reading {
        if bytes.isEmpty { return .incomplete }
        return bytes[0] == signature[0] ? try parseV2(bytes) : try parseV1(bytes)
    }

    // MARK: Version 1

    private static func parseV1(_ bytes: Span<UInt8>) throws(Malformed) -> Reading {
        let prefix = Array("PROXY ".utf8)
        for index in 0..<min(prefix.count, bytes.count) where bytes[index] != prefix[index] { throw Malformed() }
        var line: [UInt8] = []
        var index = 0
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            if index == longestV1 - 1 { throw Malformed() }
            line.append(bytes[index])
            index += 1
        }
        guard index < bytes.count else { return .incomplete }
        guard line.last == UInt8(ascii: "\r") else { throw Malformed() }
        line.removeLast()
        guard line.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { throw Malformed() }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        let length = index + 1
        guard words.count > 1 else { throw Malformed() }
        if words[1] == "UNKNOWN" { return .header(length: length, source: nil) }
        guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6" else { throw Malformed() }
        let family = words[1] == "TCP4" ? SocketAddress.Family.ipv4 : .ipv6
        guard let source = address(words[2], words[4], family), address(words[3], words[5], family) != nil else {
            throw Malformed()
        }
        return .header(length: length, source: source)
    }

    private static func address(_ host: Substring, _ port: Substring, _ family: SocketAddress.Family) -> SocketAddress? {
        guard port.allSatisfy({ $0.isASCII && $0.isWholeNumber }), port == "0" || port.first != "0", let number = UInt16(port),
            !host.contains("%"), let found = SocketAddress(literal: String(host), port: number), found.family == family
        else { return nil }
        return found
    }

    // MARK: Version 2

    private static func parseV2(_ bytes: Span<UInt8>) throws(Malformed) -> Reading {
        for index in 0..<min(signature.count, bytes.count) where bytes[index] != signature[index] { throw Malformed() }
        guard bytes.count >= 16 else { return .incomplete }
        let content = Int(bytes[14]) << 8 | Int(bytes[15])
        guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1, 16 + content <= longest else { throw Malformed() }
        guard bytes.count >= 16 + content else { return .incomplete }
        let isLocal = bytes[12] & 15 == 0
        switch (isLocal, bytes[13] >> 4) {
        case (false, 1):
            guard content >= 12 else { throw Malformed() }
            return .header(length: 16 + content, source: address(bytes, octets: 4))
        case (false, 2):
            guard content >= 36 else { throw Malformed() }
            return .header(length: 16 + content, source: address(bytes, octets: 16))
        default: return .header(length: 16 + content, source: nil)
        }
    }

    private static func address(_ bytes: Span<UInt8>, octets count: Int) -> SocketAddress? {
        let port = 16 + 2 * count
        return SocketAddress(
            octets: (16..<16 + count).map { bytes[$0] }, port: UInt16(bytes[port]) << 8 | UInt16(bytes[port + 1]))
    }

    // MARK: Writing

    /// The header that tells a server of a client's connection from `source` to `destination`.
    public static func make(_ version: Version, from source: SocketAddress?, to destination: SocketAddress?) -> [UInt8] {
        let from = source?.octets ?? []
        let to = destination?.octets ?? []
        guard let source, let destination, !from.isEmpty, from.count == to.count else {
            return version == .v1 ? Array("PROXY UNKNOWN\r\n".utf8) : signature + [0x21, 0x00, 0, 0]
        }
        if version == .v1 {
            let family = from.count == 4 ? "TCP4" : "TCP6"
            return Array("PROXY \(family) \(source.host) \(destination.host) \(source.port) \(destination.port)\r\n".utf8)
        }
        let ports = [source.port, destination.port].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        let content = from + to + ports
        return signature + [0x21, from.count == 4 ? 0x11 : 0x21, 0, UInt8(content.count)] + content
    }
}
