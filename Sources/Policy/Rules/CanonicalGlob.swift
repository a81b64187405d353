internal import HTTP

/// Brings a glob into the form that canonical paths have, so that `/caf%c3%a9` and `/%61b` match what they mean.
public enum CanonicalGlob {
    /// `*` is a legal octet of a path and stays. Nil when no canonical path can be like this.
    public static func canonical(_ pattern: String, mergesSlashes: Bool = false) -> String? {
        let bytes = Array(pattern.utf8)
        let out = ByteBuffer(capacity: bytes.count + 16)
        guard append(bytes.span, mergesSlashes: mergesSlashes, to: out) else { return nil }
        return RuleBytes.text(out.span)
    }

    static func append(_ pattern: Span<UInt8>, mergesSlashes: Bool, to out: ByteBuffer) -> Bool {
        var options = CanonicalTarget.Options()
        options.mergesSlashes = mergesSlashes
        do {
            try CanonicalTarget.appendPath(pattern, options, to: out)
            return true
        } catch {
            return false
        }
    }
}
