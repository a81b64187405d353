internal import CRE2

/// Whether RE2 takes a pattern, which is compiled anew where it is used.
enum RegexSyntax {
    /// SAFETY: the pattern's bytes and the buffer for the message live through the call; the message is zero-terminated.
    static func problem(in pattern: String) -> String? {
        let bytes = pattern.utf8.map { CChar(bitPattern: $0) }
        var message = [CChar](repeating: 0, count: 200)
        if let compiled = unsafe cre2_compile(bytes, bytes.count, &message, message.count) {
            unsafe cre2_free(compiled)
            return nil
        }
        return String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
