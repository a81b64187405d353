internal import Policy

/// RFC 9110 section 5.6.2.
func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"),
        UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
        UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
        true
    default: false
    }
}

func isToken(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isTokenByte) }

/// Names that differ only in what managed names are compared without are one name: lower case, `-` for anything else.
func foldedName(_ name: String) -> [UInt8] {
    name.utf8.map {
        switch $0 {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): $0 | 0x20
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): $0
        default: UInt8(ascii: "-")
        }
    }
}

/// What is wrong with a text that has a syntax of its own, and what would be right.
struct SyntaxProblem: Error {
    var message: String
    var hint: String?
    /// The message says it all; what else would be right is beside the point.
    var isWhole: Bool

    init(_ message: String, hint: String? = nil, isWhole: Bool = false) {
        self.message = message
        self.hint = hint
        self.isWhole = isWhole
    }
}

/// Hosts, addresses and URLs as configurations have them: one strict reading, no guesses.
enum HostSyntax {
    struct HostAndPort {
        /// Lower-cased; an IPv6 literal without brackets.
        var host: String
        var isV6: Bool
        var port: UInt16?

        var bracketed: String { isV6 ? "[\(host)]" : host }
    }

    /// `host`, `host:port`, `[v6]`, `[v6]:port`.
    static func hostAndPort(_ text: Substring) throws(SyntaxProblem) -> HostAndPort {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw SyntaxProblem("the bracket of an IPv6 address is not closed")
            }
            let literal = text[text.index(after: text.startIndex)..<end]
            guard literal.contains(":"), IPAddress.parse(String(literal)) != nil else {
                throw SyntaxProblem("`\(quoted(String(literal)))` is not an IPv6 address")
            }
            let rest = text[text.index(after: end)...]
            return HostAndPort(host: literal.lowercased(), isV6: true, port: try port(after: rest))
        }
        let host = text.prefix { $0 != ":" }
        let rest = text[host.endIndex...]
        if rest.dropFirst().contains(":") {
            let isAddress = IPAddress.parse(String(text)) != nil
            throw SyntaxProblem(
                "an IPv6 address stands in brackets", hint: isAddress ? "write `[\(text)]`" : "write `[::1]:8080`")
        }
        return HostAndPort(host: try name(host), isV6: false, port: try port(after: rest))
    }

    private static func port(after text: Substring) throws(SyntaxProblem) -> UInt16? {
        if text.isEmpty { return nil }
        guard text.hasPrefix(":") else { throw SyntaxProblem("`\(quoted(String(text)))` behind the host") }
        return try port(text.dropFirst())
    }

    static func port(_ text: Substring) throws(SyntaxProblem) -> UInt16 {
        let isClean = text.utf8.count == 1 || text.first != "0"
        guard isClean, text.utf8.count <= 5, let number = decimal(text), let port = UInt16(exactly: number) else {
            throw SyntaxProblem("`\(quoted(String(text)))` is not a port", hint: "ports are 0 to 65535")
        }
        return port
    }

    /// A name (RFC 1123 section 2.1, `_` let through) or an IPv4 literal, lower-cased.
    static func name(_ text: Substring) throws(SyntaxProblem) -> String {
        let shown = quoted(String(text))
        if text.isEmpty { throw SyntaxProblem("the host is missing") }
        if text.hasSuffix(".") { throw SyntaxProblem("the host `\(shown)` ends in a dot", hint: "write it without") }
        if text.utf8.contains(where: { $0 >= 0x80 }) {
            throw SyntaxProblem("the host `\(shown)` is not ASCII", hint: "write its `xn--` form")
        }
        let lowered = text.lowercased()
        let labels = lowered.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            lowered.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy {
                        $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a || $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2d || $0 == 0x5f
                    }
            }
        guard isName else { throw SyntaxProblem("`\(shown)` is not a host name") }
        // What some resolvers would read as a number is an address only in the one usual form.
        if let last = labels.last, last.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) || last.hasPrefix("0x") {
            guard IPAddress.parse(lowered) != nil else {
                throw SyntaxProblem("`\(shown)` is not an IPv4 address", hint: "write it as `127.0.0.1`")
            }
        }
        return lowered
    }
}
