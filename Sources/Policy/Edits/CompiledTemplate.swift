internal import HTTP

/// A ``ValueTemplate`` whose variables no longer need strings; `{rule.name}` has become text.
final class CompiledTemplate {
    enum Part {
        case literal([UInt8])
        case secret(SecretID)
        /// One that reads the request or the connection.
        case variable(Source)
        /// `name` is lower-cased.
        case header(name: [UInt8])
        case cookie(name: [UInt8])
    }

    /// What a variable without a name reads.
    enum Source {
        case method, scheme, host, authority, path, query, target, id
        case clientIP, clientPort, certificateSubject, certificateNames
        case upstreamHost
        case timeUnix, timeRFC3339, uuid
        /// Identities that no authenticator has established.
        case absent
    }

    let parts: [Part]
    let display: String
    let isSecret: Bool
    /// Neither the request nor the time has a say in it.
    let isConstant: Bool
    let holdsSecrets: Bool
    /// The value is one variable, and is not sent when that is absent.
    let isSoleVariable: Bool

    init(_ template: ValueTemplate, ruleName: String) {
        let parts = template.parts.map { CompiledTemplate.compiled($0, ruleName) }
        self.parts = parts
        display = template.display
        isSecret = template.isSecret
        let isConstant = parts.allSatisfy { part in
            switch part {
            case .literal, .secret: true
            case .variable, .header, .cookie: false
            }
        }
        self.isConstant = isConstant
        holdsSecrets = parts.contains { if case .secret = $0 { true } else { false } }
        isSoleVariable = parts.count == 1 && !isConstant
    }

    private static func compiled(_ part: ValueTemplate.Part, _ ruleName: String) -> Part {
        switch part {
        case .literal(let bytes): .literal(bytes)
        case .secret(let id): .secret(id)
        case .variable(let variable): compiled(variable, ruleName)
        }
    }

    private static func compiled(_ variable: Variable, _ ruleName: String) -> Part {
        switch variable {
        case .requestMethod: .variable(.method)
        case .requestScheme: .variable(.scheme)
        case .requestHost: .variable(.host)
        case .requestAuthority: .variable(.authority)
        case .requestPath: .variable(.path)
        case .requestQuery: .variable(.query)
        case .requestTarget: .variable(.target)
        case .requestID: .variable(.id)
        case .requestHeader(let name): .header(name: RuleBytes.lowered(name))
        case .requestCookie(let name): .cookie(name: Array(name.utf8))
        case .clientIP: .variable(.clientIP)
        case .clientPort: .variable(.clientPort)
        case .clientCertificateSubject: .variable(.certificateSubject)
        case .clientCertificateSAN: .variable(.certificateNames)
        case .clientUser, .clientGroups, .clientClaim: .variable(.absent)
        case .upstreamHost: .variable(.upstreamHost)
        case .ruleName: .literal(Array(ruleName.utf8))
        case .timeUnix: .variable(.timeUnix)
        case .timeRFC3339: .variable(.timeRFC3339)
        case .uuid: .variable(.uuid)
        }
    }

    /// All secrets in it have a value.
    func isAvailable(_ secrets: SecretTable) -> Bool {
        for part in parts {
            if case .secret(let id) = part, !secrets.isAvailable(id) { return false }
        }
        return true
    }

    /// The length of a constant's value, so that no second copy is made of it while a buffer grows.
    func constantLength(_ secrets: SecretTable) -> Int {
        var length = 0
        for part in parts {
            switch part {
            case .literal(let bytes): length += bytes.count
            case .secret(let id): length += secrets.length(of: id) ?? 0
            case .variable, .header, .cookie: break
            }
        }
        return length
    }
}
