internal import COpenSSL

/// The keys that session tickets are sealed with (RFC 5077, RFC 8446 section 4.6.1): the newest seals, each opens.
///
/// Every worker has the same, so that a client may come back to any; the control plane makes a new one now and then.
public struct TicketKeys: Sendable {
    private var keys: [[UInt8]]

    /// Milliseconds; a ticket is good for at least one interval less than keys are kept.
    public static let rotationInterval = 6 * 3_600_000
    static let kept = Int(copenssl_ticket_key_count)
    static let size = MemoryLayout<copenssl_ticket_key>.size
    /// Seconds that a session may be resumed: no longer than its key is kept at the least.
    static let lifetime = (kept - 1) * rotationInterval / 1000

    public init() throws(TLSError) { keys = [try Self.makeKey()] }

    private static func makeKey() throws(TLSError) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: size)
        guard unsafe RAND_bytes(&key, Int32(size)) == 1 else { throw .taken("no random bytes to be had") }
        return key
    }

    public mutating func rotate() throws(TLSError) { keys = Array(([try Self.makeKey()] + keys).prefix(Self.kept)) }

    public var count: Int { keys.count }

    /// SAFETY: a key is `size` octets, all of any value, and at most `kept` are written.
    fileprivate func write(to ring: UnsafeMutablePointer<copenssl_ticket_keys>) {
        unsafe withUnsafeMutableBytes(of: &ring.pointee.keys) { bytes in
            for (index, key) in keys.enumerated() {
                for (offset, byte) in key.enumerated() { unsafe bytes[index * Self.size + offset] = byte }
            }
        }
        unsafe ring.pointee.count = Int32(keys.count)
    }
}

/// A worker's copy of the keys, where its contexts look for them.
///
/// SAFETY: contexts that point here hold this object; it is written to by the worker that they serve.
public final class TicketKeyRing {
    let state: UnsafeMutablePointer<copenssl_ticket_keys>

    public init(_ keys: TicketKeys) {
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: copenssl_ticket_keys())
        unsafe state.pointee.algorithm = EVP_CIPHER_fetch(nil, "AES-256-CBC", nil)
        unsafe keys.write(to: state)
    }

    public func update(_ keys: TicketKeys) { unsafe keys.write(to: state) }

    deinit {
        unsafe EVP_CIPHER_free(state.pointee.algorithm)
        unsafe OPENSSL_cleanse(state, MemoryLayout<copenssl_ticket_keys>.size)
        unsafe state.deallocate()
    }
}
