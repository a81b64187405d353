internal import CRE2
internal import HTTP

/// A regular expression over bytes that must match the whole text; linear time whatever the pattern (RE2).
///
/// SAFETY: the pattern is made in `init` and freed in `deinit`; the text is only read during the call.
public final class BytePattern {
    private let pattern: OpaquePointer
    public let source: String

    /// Why a pattern can not be compiled, in RE2's words.
    public struct Fault: Error, Sendable, Equatable {
        public let message: String
    }

    public init(_ source: String) throws(Fault) {
        var message = [CChar](repeating: 0, count: 200)
        let text = source.utf8.map { CChar(bitPattern: $0) }
        guard let compiled = unsafe cre2_compile(text, text.count, &message, message.count) else {
            let length = message.firstIndex(of: 0) ?? message.count
            throw Fault(message: String(decoding: message[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        pattern = compiled
        self.source = source
    }

    deinit { unsafe cre2_free(pattern) }

    public func matches(_ text: Span<UInt8>) -> Bool {
        unsafe text.withUnsafeBytes { bytes in
            // An empty span may have no address; RE2 wants one.
            guard let start = bytes.baseAddress else { return unsafe cre2_full_match(pattern, "", 0) == 1 }
            return unsafe cre2_full_match(pattern, start.assumingMemoryBound(to: CChar.self), bytes.count) == 1
        }
    }
}
