internal import Glibc
public import HTTP

/// Bytes that must not be seen: no description, no comparison that tells by time, zeroed when the last owner lets go.
///
/// SAFETY: `@unchecked Sendable` since the bytes are written in `init` only and freed in `deinit`, so all threads just read.
public final class Secret: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let storage: UnsafeMutableRawBufferPointer

    public init(_ bytes: Span<UInt8>) {
        storage = .allocate(byteCount: max(bytes.count, 1), alignment: 1)
        length = bytes.count
        for index in 0..<bytes.count { unsafe storage[index] = bytes[index] }
    }

    /// For values whose other copies the caller can not zero (environment, parsed YAML).
    public convenience init(_ bytes: [UInt8]) { self.init(bytes.span) }

    deinit {
        unsafe explicit_bzero(storage.baseAddress!, storage.count)
        storage.deallocate()
    }

    public let length: Int

    /// Appends the value to a buffer that is about to be sent, and that its owner wipes.
    public func append(to buffer: ByteBuffer) {
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: storage[0..<length]))
    }

    /// Compares without telling by time where the difference is.
    public func equals(_ other: Secret) -> Bool {
        guard length == other.length else { return false }
        var difference: UInt8 = 0
        for index in 0..<length { unsafe difference |= storage[index] ^ other.storage[index] }
        return difference == 0
    }

    /// Whether every byte may stand in a field value (RFC 9110 section 5.5).
    public var isFieldValue: Bool {
        for index in 0..<length {
            let byte = unsafe storage[index]
            if byte < 0x20 && byte != 0x09 || byte == 0x7f { return false }
        }
        return true
    }

    public var description: String { "***" }
    public var debugDescription: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
