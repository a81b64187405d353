internal import CLinux
internal import Glibc

/// Where a socket is bound or connected: IPv4, IPv6 or a unix socket, with or without a name in the file system.
///
/// SAFETY: the storage is as large as any socket address and zeroed before use; `length` never exceeds it.
public struct SocketAddress: Sendable {
    public enum Family: Sendable { case ipv4, ipv6, unix, unknown }

    public enum Invalid: Error, Sendable, Equatable {
        case emptyPath
        case pathTooLong(limit: Int)
    }

    /// `sun_path` holds this many bytes and the zero behind them (unix(7)).
    public static let longestPath = 107

    private var storage = sockaddr_storage()
    private var length: socklen_t = 0

    /// As accept(2), getsockname(2) or getaddrinfo(3) gave it.
    init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
    }

    /// A copy of what `address` points at; nil for what is no address of a family known here.
    init?(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        let count = Int(length)
        guard count <= MemoryLayout<sockaddr_storage>.size, count >= MemoryLayout<sa_family_t>.size else { return nil }
        withUnsafeMutableBytes(of: &storage) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: address, count: count))
        }
        self.length = length
        if family == .unknown { return nil }
    }

    /// A literal address: `127.0.0.1`, `::1`, `fe80::1%eth0` (RFC 4007 section 11), without brackets. nil for anything else.
    public init?(literal: String, port: UInt16) {
        // What has a zero byte in it would be cut there.
        if literal.utf8.contains(0) { return nil }
        var v4 = sockaddr_in()
        if inet_pton(AF_INET, literal, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            store(v4)
            return
        }
        let parts = literal.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var v6 = sockaddr_in6()
        guard inet_pton(AF_INET6, String(parts[0]), &v6.sin6_addr) == 1 else { return nil }
        if parts.count == 2 {
            let zone = UInt32(parts[1]) ?? if_nametoindex(String(parts[1]))
            if zone == 0 { return nil }
            v6.sin6_scope_id = zone
        }
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = port.bigEndian
        store(v6)
    }

    /// 4 or 16 octets in network byte order; nil for any other number.
    public init?(octets: [UInt8], port: UInt16) {
        if octets.count == 4 {
            var v4 = sockaddr_in()
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            v4.sin_addr.s_addr = octets.reduce(0) { $0 << 8 | UInt32($1) }.bigEndian
            store(v4)
        } else if octets.count == 16 {
            var v6 = sockaddr_in6()
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &v6.sin6_addr) { unsafe $0.copyBytes(from: octets) }
            store(v6)
        } else {
            return nil
        }
    }

    /// In network byte order: 4 octets, also for an IPv4-mapped form, or 16; none for unix sockets.
    public var octets: [UInt8] {
        guard let bits = ipBits else { return [] }
        let all = [bits.high, bits.low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
        return bits.high == 0 && bits.low >> 32 == 0xffff ? Array(all[12...]) : all
    }

    /// All addresses of the machine, both families.
    public static func any(port: UInt16) -> SocketAddress {
        var v6 = sockaddr_in6()
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = port.bigEndian
        var address = SocketAddress(storage: sockaddr_storage(), length: 0)
        address.store(v6)
        return address
    }

    /// A unix socket; `@name` is one in the abstract namespace.
    public init(unixPath path: String) throws(Invalid) {
        let bytes = Array(path.utf8)
        if bytes.isEmpty { throw .emptyPath }
        if bytes.count > Self.longestPath { throw .pathTooLong(limit: Self.longestPath) }
        let isAbstract = bytes[0] == UInt8(ascii: "@")
        let offset = MemoryLayout<sa_family_t>.size
        storage.ss_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage) { target in
            for index in bytes.indices { unsafe target[offset + index] = bytes[index] }
            if isAbstract { unsafe target[offset] = 0 }
        }
        // An abstract name is exactly as long as the length says, zeros included; a path ends at its zero.
        length = socklen_t(offset + bytes.count + (isAbstract ? 0 : 1))
    }

    private mutating func store<Address>(_ address: Address) {
        withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: Address.self) }
        length = socklen_t(MemoryLayout<Address>.size)
    }

    private func load<Address>(_: Address.Type) -> Address {
        withUnsafeBytes(of: storage) { unsafe $0.loadUnaligned(as: Address.self) }
    }

    func withSockaddr<Result, Failure>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafePointer(to: storage) { (pointer) throws(Failure) -> Result in
            try unsafe body(UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    public var family: Family {
        switch (Int32(storage.ss_family), Int(length)) {
        case (AF_INET, MemoryLayout<sockaddr_in>.size...): .ipv4
        case (AF_INET6, MemoryLayout<sockaddr_in6>.size...): .ipv6
        case (AF_UNIX, MemoryLayout<sa_family_t>.size...): .unix
        default: .unknown
        }
    }

    /// As socket(2) takes it.
    var familyNumber: Int32 { Int32(storage.ss_family) }

    /// The IP address in network byte order; IPv4 in its IPv4-mapped form (RFC 4291 section 2.5.5.2). nil for unix sockets.
    public var ipBits: (high: UInt64, low: UInt64)? {
        switch family {
        case .ipv4:
            return (0, 0x0000_ffff_0000_0000 | UInt64(UInt32(bigEndian: load(sockaddr_in.self).sin_addr.s_addr)))
        case .ipv6:
            let bytes = load(sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: bytes) { bytes in
                unsafe (
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
        case .unix, .unknown:
            return nil
        }
    }

    /// 0 for unix sockets.
    public var port: UInt16 {
        get {
            switch family {
            case .ipv4: UInt16(bigEndian: load(sockaddr_in.self).sin_port)
            case .ipv6: UInt16(bigEndian: load(sockaddr_in6.self).sin6_port)
            case .unix, .unknown: 0
            }
        }
        set {
            if family == .ipv4 {
                var address = load(sockaddr_in.self)
                address.sin_port = newValue.bigEndian
                store(address)
            } else if family == .ipv6 {
                var address = load(sockaddr_in6.self)
                address.sin6_port = newValue.bigEndian
                store(address)
            }
        }
    }

    /// Stands for all addresses of the machine: `0.0.0.0` or `::`.
    public var isAny: Bool {
        guard let bits = ipBits else { return false }
        return bits.high == 0 && (bits.low == 0 || bits.low == 0x0000_ffff_0000_0000)
    }

    public var isLoopback: Bool {
        guard let bits = ipBits else { return family == .unix }
        return bits.high == 0 && (bits.low == 1 || bits.low >> 24 == 0xffff_7f)
    }

    /// The address without the port: `127.0.0.1`, also for its IPv4-mapped form; `::1`; a unix socket's path, `@name` or nothing.
    public var host: String {
        switch family {
        case .ipv4: return Self.text(AF_INET, load(sockaddr_in.self).sin_addr)
        case .ipv6:
            if let bits = ipBits, bits.high == 0, bits.low >> 32 == 0xffff {
                return Self.text(AF_INET, in_addr(s_addr: UInt32(truncatingIfNeeded: bits.low).bigEndian))
            }
            return Self.text(AF_INET6, load(sockaddr_in6.self).sin6_addr)
        case .unix: return unixPath
        case .unknown: return ""
        }
    }

    private static func text<Address>(_ family: Int32, _ address: Address) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            unsafe withUnsafeBytes(of: address) { bytes in
                guard
                    let text = unsafe inet_ntop(family, bytes.baseAddress, buffer.baseAddress, socklen_t(buffer.count))
                else { return "" }
                return unsafe String(cString: text)
            }
        }
    }

    private var unixPath: String {
        let offset = MemoryLayout<sa_family_t>.size
        return withUnsafeBytes(of: storage) { bytes in
            var name = unsafe Array(bytes[offset..<max(offset, Int(length))])
            if name.first == 0 && name.count > 1 {
                name[0] = UInt8(ascii: "@")
            } else if let end = name.firstIndex(of: 0) {
                name.removeSubrange(end...)
            }
            return String(decoding: name, as: UTF8.self)
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`, `unix:@name`.
    public var description: String {
        switch family {
        case .ipv4: "\(host):\(port)"
        case .ipv6: host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix: "unix:\(host)"
        case .unknown: "unknown"
        }
    }
}

extension SocketAddress: Hashable {
    public static func == (left: SocketAddress, right: SocketAddress) -> Bool {
        left.length == right.length
            && withUnsafeBytes(of: left.storage) { a in
                unsafe withUnsafeBytes(of: right.storage) { b in
                    unsafe a[0..<Int(left.length)].elementsEqual(b[0..<Int(right.length)])
                }
            }
    }

    public func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes(of: storage) {
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[0..<Int(length)]))
        }
    }
}
