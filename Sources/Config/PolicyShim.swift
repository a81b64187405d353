internal import CRE2
internal import Policy

// What Policy is to have, with the signatures that it will have; the file goes when that is there.

struct TemplateError: Error {
    var message: String
    var offset: Int
}

/// `{name}` and `{{` of a literal text; stands in until Policy's parser of the same name is there.
enum TemplateParser {
    static func parse(literal text: String) throws(TemplateError) -> [ValueTemplate.Part] {
        var parts: [ValueTemplate.Part] = []
        var literal: [UInt8] = []
        let characters = Array(text.utf8)
        var index = 0
        while index < characters.count {
            guard characters[index] == UInt8(ascii: "{") else {
                literal.append(characters[index])
                index += 1
                continue
            }
            if index + 1 < characters.count, characters[index + 1] == UInt8(ascii: "{") {
                literal.append(UInt8(ascii: "{"))
                index += 2
                continue
            }
            guard let end = characters[index...].firstIndex(of: UInt8(ascii: "}")) else {
                throw TemplateError(message: "a { without its }; write {{ for a literal brace", offset: index)
            }
            let name = String(decoding: characters[(index + 1)..<end], as: UTF8.self)
            guard let variable = variable(name) else {
                throw TemplateError(message: "unknown variable {\(name)}; write {{ for a literal brace", offset: index)
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

final class BytePattern {
    struct Fault: Error {
        var message: String
    }

    /// SAFETY: the pattern's bytes and the buffer for the message live through the call.
    init(_ source: String) throws(Fault) {
        let bytes = source.utf8.map { CChar(bitPattern: $0) }
        var message = [CChar](repeating: 0, count: 200)
        guard let compiled = unsafe cre2_compile(bytes, bytes.count, &message, message.count) else {
            throw Fault(message: String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        unsafe cre2_free(compiled)
    }
}

enum AddressRangeError: Error {
    case malformedAddress, malformedPrefix, hostBitsSet
}

extension AddressRange {
    static func parse(_ text: String) throws(AddressRangeError) -> AddressRange {
        let pieces = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = pieces.first, let address = IPAddress.parse(String(first)) else { throw .malformedAddress }
        if pieces.count == 1 { return AddressRange(address: address, prefixLength: 128) }
        guard pieces.count == 2, pieces[1].utf8.count <= 3, let bits = decimal(pieces[1]) else { throw .malformedPrefix }
        let isV4 = !first.contains(":")
        guard bits <= (isV4 ? 32 : 128) else { throw .malformedPrefix }
        let length = isV4 ? bits + 96 : bits
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
        guard address.high & ~mask(length) == 0, address.low & ~mask(length - 64) == 0 else { throw .hostBitsSet }
        return AddressRange(address: address, prefixLength: length)
    }
}

extension IPAddress {
    static func parse(_ text: String) -> IPAddress? {
        text.utf8.contains(UInt8(ascii: ":")) ? v6(text) : v4(text[...]).map { IPAddress(v4: $0) }
    }

    private static func v4(_ text: Substring) -> UInt32? {
        let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
        guard pieces.count == 4 else { return nil }
        var address: UInt32 = 0
        for piece in pieces {
            guard piece.utf8.count <= 3, let number = decimal(piece), number <= 255 else { return nil }
            if piece.utf8.count > 1 && piece.first == "0" { return nil }
            address = address << 8 | UInt32(number)
        }
        return address
    }

    private static func v6(_ text: String) -> IPAddress? {
        var front: [UInt16] = [], back: [UInt16] = []
        var sawGap = false
        var rest = text[...]
        if rest.hasPrefix("::") {
            sawGap = true
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != ":" }
            var groups: [UInt16]
            if piece.contains(".") {
                guard piece.endIndex == rest.endIndex, let v4 = v4(piece) else { return nil }
                groups = [UInt16(v4 >> 16), UInt16(v4 & 0xffff)]
            } else {
                guard (1...4).contains(piece.utf8.count), piece.allSatisfy(\.isHexDigit), let group = UInt16(piece, radix: 16)
                else {
                    return nil
                }
                groups = [group]
            }
            if sawGap { back += groups } else { front += groups }
            rest = rest[piece.endIndex...]
            guard !rest.isEmpty else { break }
            if rest.hasPrefix("::") {
                if sawGap { return nil }
                sawGap = true
                rest = rest.dropFirst(2)
            } else {
                rest = rest.dropFirst()
                if rest.isEmpty { return nil }
            }
        }
        let count = front.count + back.count
        guard sawGap ? count <= 7 : count == 8 else { return nil }
        let groups = front + [UInt16](repeating: 0, count: 8 - count) + back
        func half(_ part: ArraySlice<UInt16>) -> UInt64 { part.reduce(0) { $0 << 16 | UInt64($1) } }
        return IPAddress(high: half(groups[0..<4]), low: half(groups[4..<8]))
    }
}
