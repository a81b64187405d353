internal import CLinux
internal import Glibc

/// Wakes a thread that waits, from any other; an eventfd.
///
/// A latch swallows signals that nobody waited for into one; a counting one lets a waiter through for each.
public final class WakeSignal: Sendable {
    public let descriptor: Int32

    public init(counting: Bool = false) throws(FileSystemError) {
        descriptor = try FileSystemCalls.makeWakeDescriptor(counting: counting)
    }

    deinit { FileSystemCalls.close(descriptor) }

    public func signal() {
        let one: UInt64 = 1
        _ = withUnsafeBytes(of: one) { unsafe FileSystemCalls.write(descriptor, $0) }
    }

    /// True when signalled in time, and then takes the signal; -1 waits for ever.
    public func wait(milliseconds: Int32) -> Bool {
        while FileSystemCalls.isReadable(descriptor, within: milliseconds) {
            if take() { return true }
            // Another waiter was quicker: a bounded wait ends early then, which its users allow for.
            if milliseconds >= 0 { return false }
        }
        return false
    }

    private func take() -> Bool {
        var count: UInt64 = 0
        return withUnsafeMutableBytes(of: &count) { unsafe FileSystemCalls.read(descriptor, into: $0) } != nil
    }
}
