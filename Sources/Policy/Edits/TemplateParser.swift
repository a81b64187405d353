/// Why a text with `{name}` in it can not be a value: where (in bytes from its start) and what would be right.
public struct TemplateError: Error, Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        case unterminated
        case unknown(name: String, nearest: String?)
        case missingName(of: String)
        case badName(String)
    }

    public let offset: Int
    public let kind: Kind

    public var message: String {
        switch kind {
        case .unterminated: "a { without its }; write {{ for a literal brace"
        case .unknown(let name, let nearest):
            "unknown variable {\(name)}"
                + (nearest.map { ", did you mean {\($0)}?" } ?? "; write {{ for a literal brace")
        case .missingName(let variable): "{\(variable)} needs a name at its end"
        case .badName(let name): "\"\(name)\" can not be a name here"
        }
    }
}

/// Reads the `{name}` syntax of one literal piece of a value; `{{` is a literal brace, a lone `}` is itself.
public enum TemplateParser {
    private static let variables: [(name: String, variable: Variable)] = [
        ("request.method", .requestMethod), ("request.scheme", .requestScheme), ("request.host", .requestHost),
        ("request.authority", .requestAuthority), ("request.path", .requestPath), ("request.query", .requestQuery),
        ("request.target", .requestTarget), ("request.id", .requestID), ("client.ip", .clientIP),
        ("client.port", .clientPort), ("client.user", .clientUser), ("client.groups", .clientGroups),
        ("client.cert.subject", .clientCertificateSubject), ("client.cert.san", .clientCertificateSAN),
        ("upstream.host", .upstreamHost), ("rule.name", .ruleName), ("time.unix", .timeUnix),
        ("time.rfc3339", .timeRFC3339), ("uuid", .uuid),
    ]
    /// Variables that take a name.
    private static let families = ["request.header.", "request.cookie.", "client.claim."]

    /// All names, for messages and schemas.
    public static var names: [String] { variables.map(\.name) + families.map { $0 + "NAME" } }

    public static func parse(literal: String) throws(TemplateError) -> [ValueTemplate.Part] {
        let bytes = Array(literal.utf8)
        var parts: [ValueTemplate.Part] = []
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "{") else {
                text.append(bytes[index])
                index += 1
                continue
            }
            if index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "{") {
                text.append(UInt8(ascii: "{"))
                index += 2
                continue
            }
            guard let close = bytes[index...].firstIndex(of: UInt8(ascii: "}")) else {
                throw TemplateError(offset: index, kind: .unterminated)
            }
            if !text.isEmpty { parts.append(.literal(text)) }
            text.removeAll()
            parts.append(
                .variable(try variable(String(decoding: bytes[(index + 1)..<close], as: UTF8.self), at: index)))
            index = close + 1
        }
        if !text.isEmpty { parts.append(.literal(text)) }
        return parts
    }

    private static func variable(_ name: String, at offset: Int) throws(TemplateError) -> Variable {
        if let known = variables.first(where: { $0.name == name }) { return known.variable }
        for family in families where name.hasPrefix(family) {
            let rest = Array(name.utf8.dropFirst(family.utf8.count))
            if rest.isEmpty { throw TemplateError(offset: offset, kind: .missingName(of: name)) }
            switch family {
            case "request.header.":
                guard RuleBytes.isToken(rest.span) else { throw badName(rest, offset) }
                return .requestHeader(String(decoding: RuleBytes.lowered(rest), as: UTF8.self))
            case "request.cookie.":
                guard RuleBytes.isToken(rest.span) else { throw badName(rest, offset) }
                return .requestCookie(String(decoding: rest, as: UTF8.self))
            default: return .clientClaim(String(decoding: rest, as: UTF8.self))
            }
        }
        throw TemplateError(offset: offset, kind: .unknown(name: name, nearest: nearest(to: name)))
    }

    private static func badName(_ name: [UInt8], _ offset: Int) -> TemplateError {
        TemplateError(offset: offset, kind: .badName(String(decoding: name, as: UTF8.self)))
    }

    /// The known name that takes the fewest changes, when these are few.
    private static func nearest(to name: String) -> String? {
        var best: (distance: Int, name: String)?
        for candidate in names {
            let distance = editDistance(Array(name.utf8), Array(candidate.utf8))
            if distance < best?.distance ?? Int.max { best = (distance, candidate) }
        }
        guard let best, best.distance <= max(2, best.name.utf8.count / 3) else { return nil }
        return best.name
    }

    private static func editDistance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let replaced = diagonal + (byte == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[other.count]
    }
}
