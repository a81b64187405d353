internal import COpenSSL
internal import Glibc

/// The names that a certificate is for (RFC 6125): subject alternative names, and without any the common name.
public struct CertificateNames: Sendable, Equatable {
    /// Lower-cased; a wildcard as `*.example.org`.
    public var hosts: [String]
    /// Literal addresses, as `inet_ntop` writes them.
    public var addresses: [String]

    public init(hosts: [String], addresses: [String] = []) {
        self.hosts = hosts
        self.addresses = addresses
    }

    /// Whether the certificate is for `host`: lower-cased, IPv6 literals in brackets. A wildcard stands for one label.
    public func covers(_ host: String) -> Bool {
        var name = host[...]
        if name.hasPrefix("[") { name = name.dropFirst().dropLast() }
        if addresses.contains(String(name)) { return true }
        if hosts.contains(String(name)) { return true }
        guard let dot = name.firstIndex(of: "."), dot > name.startIndex else { return false }
        return hosts.contains("*" + name[dot...])
    }
}

extension CertificateNames {
    init(_ certificate: OpaquePointer) {
        var hosts: [String] = []
        var addresses: [String] = []
        Self.forEachAlternativeName(of: certificate) { kind, bytes in
            if kind == "d", let name = Self.hostName(bytes) { hosts.append(name) }
            if kind == "i", let text = Self.address(bytes) { addresses.append(text) }
        }
        if hosts.isEmpty && addresses.isEmpty {
            var buffer = [CChar](repeating: 0, count: 256)
            let length = unsafe copenssl_common_name(certificate, &buffer, Int32(buffer.count))
            let bytes = buffer.prefix(Int(max(0, length))).map { UInt8(bitPattern: $0) }
            if let name = Self.hostName(bytes) { hosts = [name] }
        }
        self.init(hosts: hosts, addresses: addresses)
    }

    /// SAFETY: each name lives as long as the list, which is freed behind the last call.
    static func forEachAlternativeName(of certificate: OpaquePointer, _ body: (Character, [UInt8]) -> Void) {
        guard let names = unsafe copenssl_alternative_names(certificate) else { return }
        defer { unsafe GENERAL_NAMES_free(names) }
        let count = unsafe copenssl_name_count(names)
        for index in 0..<count {
            var kind: CChar = 0
            var length: Int32 = 0
            guard let start = unsafe copenssl_name(names, index, &kind, &length), kind != 0 else { continue }
            let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: Int(length)))
            body(Character(UnicodeScalar(UInt8(bitPattern: kind))), bytes)
        }
    }

    /// Names with anything in them that no host name has are no names.
    private static func hostName(_ bytes: [UInt8]) -> String? {
        let isClean = bytes.allSatisfy {
            $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a || $0 >= 0x30 && $0 <= 0x39
                || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*")].contains($0)
        }
        guard isClean, !bytes.isEmpty, bytes.count <= 253 else { return nil }
        let name = String(decoding: bytes, as: UTF8.self).lowercased()
        // `*` stands for a whole first label, and nowhere else.
        let rest = name.hasPrefix("*.") ? name.dropFirst(2) : name[...]
        return rest.isEmpty || rest.contains("*") ? nil : name
    }

    static func address(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Which of several certificates a client that asks for a name (SNI, RFC 6066 section 3) is shown.
///
/// Exact names go before wildcards; of certificates for one name there may be one a kind of key, of which the first given
/// counts. Certificates that go together, such as RSA and ECDSA for the same name, form a group.
public struct ServerNameTable: Sendable {
    /// Positions in the list of certificates that were given.
    public typealias Group = [Int]

    public private(set) var groups: [Group] = []
    private var exact: [String: Int] = [:]
    private var wildcards: [String: Int] = [:]
    /// For clients that name none, or one that no certificate is for: that of the first certificate.
    public private(set) var defaultGroup = 0

    /// `keyType` tells kinds of keys apart.
    public init(_ certificates: [(names: CertificateNames, keyType: Int32)]) {
        var members: [String: Group] = [:]
        var order: [String] = []
        for (index, certificate) in certificates.enumerated() {
            for host in certificate.names.hosts {
                if members[host] == nil { order.append(host) }
                let group = members[host] ?? []
                if group.contains(where: { certificates[$0].keyType == certificate.keyType }) { continue }
                members[host] = group + [index]
            }
        }
        for host in order {
            let number = number(of: members[host] ?? [])
            if host.hasPrefix("*.") { wildcards[String(host.dropFirst(2))] = number } else { exact[host] = number }
        }
        // The first certificate is shown with what goes with it under its own first name, if it is what is shown there.
        let partners = certificates.first?.names.hosts.first.flatMap { members[$0] } ?? []
        defaultGroup = certificates.isEmpty ? 0 : number(of: partners.first == 0 ? partners : [0])
    }

    private mutating func number(of group: Group) -> Int {
        if let known = groups.firstIndex(of: group) { return known }
        groups.append(group)
        return groups.count - 1
    }

    /// Nil: no certificate is for this name. `name` is lower-cased, without a dot at its end.
    public func group(for name: String) -> Int? {
        if let found = exact[name] { return found }
        guard let dot = name.firstIndex(of: "."), dot > name.startIndex else { return nil }
        return wildcards[String(name[name.index(after: dot)...])]
    }
}
