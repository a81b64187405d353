public import HTTP

/// The one reading of `host[:port]`, wherever it stands: Host, an absolute target, a Location, the configuration.
///
/// Stricter than RFC 3986 section 3.2, since each reader of an odd host has its own idea of it: no user information, no
/// escapes, no sub-delimiters, nothing but ASCII; what ends in a number is a dotted-decimal address or nothing.
public struct Authority: Sendable, Equatable {
    /// Brackets of an IPv6 literal included.
    public let hostLength: Int
    /// nil when it has none; an empty one (`a.test:`) is none.
    public let port: UInt16?

    private static let maximumLength = 255

    /// Appends the canonical text (host in lower case, without the dot that ends a fully qualified name; port in
    /// decimal).
    ///
    /// Appends nothing and returns nil when `text` is no authority.
    public static func append(_ text: Span<UInt8>, to out: ByteBuffer) -> Authority? {
        let start = out.count
        guard let hostEnd = endOfHost(text), hostEnd > 0, hostEnd <= maximumLength else { return nil }
        var port: UInt16?
        if hostEnd < text.count {
            guard text[hostEnd] == UInt8(ascii: ":") else { return nil }
            let digits = text.extracting((hostEnd + 1)..<text.count)
            if !digits.isEmpty {
                guard digits.count <= 5, let value = CanonicalBytes.decimal(digits, limit: 65535) else { return nil }
                port = UInt16(value)
            }
        }
        let host = text.extracting(0..<hostEnd)
        guard host[0] == UInt8(ascii: "[") ? appendLiteral(host, to: out) : appendName(host, to: out) else {
            out.truncate(to: start)
            return nil
        }
        let hostLength = out.count - start
        if let port {
            out.append(UInt8(ascii: ":"))
            out.append(decimal: UInt(port))
        }
        return Authority(hostLength: hostLength, port: port)
    }

    /// The first colon, or the bracket that closes a literal.
    private static func endOfHost(_ text: Span<UInt8>) -> Int? {
        if text.isEmpty { return nil }
        if text[0] == UInt8(ascii: "[") {
            return CanonicalBytes.firstIndex(of: UInt8(ascii: "]"), in: text).map { $0 + 1 }
        }
        return CanonicalBytes.firstIndex(of: UInt8(ascii: ":"), in: text) ?? text.count
    }

    private static func appendLiteral(_ host: Span<UInt8>, to out: ByteBuffer) -> Bool {
        guard let address = IPAddress.parseIPv6(host.extracting(1..<(host.count - 1))) else { return false }
        out.append(UInt8(ascii: "["))
        address.appendIPv6(to: out)
        out.append(UInt8(ascii: "]"))
        return true
    }

    private static func appendName(_ text: Span<UInt8>, to out: ByteBuffer) -> Bool {
        let dot = UInt8(ascii: ".")
        let length = text[text.count - 1] == dot ? text.count - 1 : text.count
        if length == 0 { return false }
        var labelStart = 0
        for index in 0..<length {
            let byte = text[index]
            if byte == dot {
                if index == labelStart { return false }
                labelStart = index + 1
            } else if !CanonicalBytes.isAlphanumeric(byte) && byte != UInt8(ascii: "-") && byte != UInt8(ascii: "_") {
                return false
            }
            out.append(CanonicalBytes.lowered(byte))
        }
        if labelStart == length { return false }
        if isNumber(text.extracting(labelStart..<length)) {
            return IPAddress.parseIPv4(text.extracting(0..<length)) != nil
        }
        return true
    }

    /// Digits, or hexadecimal with its `0x`: the label that makes resolvers take a name for an address.
    private static func isNumber(_ label: Span<UInt8>) -> Bool {
        let isHexadecimal = CanonicalBytes.hasPrefix(label, "0x")
        for index in (isHexadecimal ? 2 : 0)..<label.count {
            let byte = label[index]
            guard isHexadecimal ? CanonicalBytes.hexValue(byte) != nil : CanonicalBytes.isDigit(byte) else {
                return false
            }
        }
        return true
    }

    /// Not for the data path: nil when `text` is no authority.
    public static func parse(_ text: String) -> (text: String, hostLength: Int, port: UInt16?)? {
        let out = ByteBuffer()
        let bytes = Array(text.utf8)
        guard let parts = append(bytes.span, to: out) else { return nil }
        return (unsafe out.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }, parts.hostLength, parts.port)
    }
}
