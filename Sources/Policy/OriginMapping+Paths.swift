public import HTTP

/// How paths of the client become paths of the upstream, and back: strip_prefix, then add_prefix, then the path of the
/// upstream's URL. Made once per rule and upstream.
public final class PathMapping: Sendable {
    private let stripped: [UInt8]
    /// add_prefix behind the path of the URL.
    private let added: [UInt8]
    /// Nothing is changed either way.
    public let isIdentity: Bool

    /// Prefixes as configured, with or without a slash at their end; `basePath` is that of the upstream's URL.
    public init(stripPrefix: String?, addPrefix: String?, basePath: String = "") {
        stripped = PathMapping.prefix(stripPrefix ?? "")
        added = PathMapping.prefix(basePath) + PathMapping.prefix(addPrefix ?? "")
        isIdentity = stripped.isEmpty && added.isEmpty
    }

    /// Begins with a slash and ends without one; empty for the root.
    private static func prefix(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        if let first = bytes.first, first != UInt8(ascii: "/") { bytes.insert(UInt8(ascii: "/"), at: 0) }
        return bytes
    }

    /// Appends the path that the upstream gets for a canonical path of the client's; one that does not lie below
    /// strip_prefix keeps it.
    public func appendUpstreamPath(_ path: Span<UInt8>, to out: ByteBuffer) {
        out.append(added)
        appendRest(of: path, behind: PathMapping.lies(path, below: stripped) ? stripped.count : 0, to: out)
    }

    /// Appends the path under which the client reaches a path of the upstream; false and nothing when it reaches none
    /// there.
    public func appendClientPath(_ path: Span<UInt8>, to out: ByteBuffer) -> Bool {
        guard PathMapping.lies(path, below: added) else { return false }
        out.append(stripped)
        appendRest(of: path, behind: added.count, to: out)
        return true
    }

    /// Appends the Path of a cookie as the client needs it: one that contains all that the client reaches becomes all
    /// of it.
    func appendClientCookiePath(_ path: Span<UInt8>, to out: ByteBuffer) -> Bool {
        guard !path.isEmpty, path[0] == UInt8(ascii: "/") else { return false }
        if path.count == 1 || containsAdded(path) {
            if stripped.isEmpty { out.append(UInt8(ascii: "/")) }
            out.append(stripped)
            return true
        }
        return appendClientPath(path, to: out)
    }

    private func appendRest(of path: Span<UInt8>, behind length: Int, to out: ByteBuffer) {
        if path.count == length { out.append(UInt8(ascii: "/")) }
        out.append(path.extracting(length..<path.count))
    }

    private func containsAdded(_ path: Span<UInt8>) -> Bool {
        let endsInSlash = path[path.count - 1] == UInt8(ascii: "/")
        let prefix = path.extracting(0..<(endsInSlash ? path.count - 1 : path.count))
        let whole = added
        return PathMapping.lies(whole.span, below: prefix)
    }

    private static func lies(_ path: Span<UInt8>, below prefix: [UInt8]) -> Bool { lies(path, below: prefix.span) }

    /// By whole segments: /v1 and /v1/x lie below /v1, /v10 does not.
    private static func lies(_ path: Span<UInt8>, below prefix: Span<UInt8>) -> Bool {
        guard path.count >= prefix.count, CanonicalBytes.equals(path.extracting(0..<prefix.count), prefix) else {
            return false
        }
        return path.count == prefix.count || prefix.isEmpty || path[prefix.count] == UInt8(ascii: "/")
    }
}
