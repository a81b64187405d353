internal import Policy

struct TemplateError: Error {
    var message: String
    var offset: Int
}

/// `{name}` and `{{` of a literal text; stands in until Policy's parser of the same name is there.
enum TemplateParser {
    static func parse(literal text: String) throws(TemplateError) -> [ValueTemplate.Part] {
        var parts: [ValueTemplate.Part] = []
        var literal: [UInt8] = []
        let characters = Array(text.unicodeScalars)
        var index = 0
        while index < characters.count {
            guard characters[index] == "{" else {
                literal += Array(String(characters[index]).utf8)
                index += 1
                continue
            }
            if index + 1 < characters.count, characters[index + 1] == "{" {
                literal.append(UInt8(ascii: "{"))
                index += 2
                continue
            }
            guard let end = characters[index...].firstIndex(of: "}") else {
                throw TemplateError(message: "`{` is not closed; write `{{` for a brace", offset: index)
            }
            let name = characters[(index + 1)..<end].map(String.init).joined()
            guard let variable = variable(name) else {
                throw TemplateError(message: "unknown variable `{\(name)}`; write `{{` for a brace", offset: index)
            }
            if !literal.isEmpty { parts.append(.literal(literal)) }
            literal = []
            parts.append(.variable(variable))
            index = end + 1
        }
        if !literal.isEmpty { parts.append(.literal(literal)) }
        return parts
    }

    private static func variable(_ name: String) -> Variable? {
        switch name {
        case "request.method": return .requestMethod
        case "request.scheme": return .requestScheme
        case "request.host": return .requestHost
        case "request.authority": return .requestAuthority
        case "request.path": return .requestPath
        case "request.query": return .requestQuery
        case "request.target": return .requestTarget
        case "request.id": return .requestID
        case "client.ip": return .clientIP
        case "client.port": return .clientPort
        case "client.user": return .clientUser
        case "client.groups": return .clientGroups
        case "client.cert.subject": return .clientCertificateSubject
        case "client.cert.san": return .clientCertificateSAN
        case "upstream.host": return .upstreamHost
        case "rule.name": return .ruleName
        case "time.unix": return .timeUnix
        case "time.rfc3339": return .timeRFC3339
        case "uuid": return .uuid
        default:
            for (prefix, make) in prefixes where name.hasPrefix(prefix) && name.utf8.count > prefix.utf8.count {
                return make(String(name.dropFirst(prefix.count)))
            }
            return nil
        }
    }

    private static let prefixes: [(String, @Sendable (String) -> Variable)] = [
        ("request.header.", { .requestHeader($0.lowercased()) }), ("request.cookie.", { .requestCookie($0) }),
        ("client.claim.", { .clientClaim($0) }),
    ]
}
