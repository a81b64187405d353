public import HTTP

/// `serve:` made ready: from a canonical path to a file's relative path, without looking at any file.
public final class ServePlan {
    public let definition: ServeDefinition
    /// `/static`; empty for none.
    private let stripped: [UInt8]
    /// Each of them with no slash.
    public let indexNames: [[UInt8]]
    public let cacheControl: [UInt8]
    public let charset: [UInt8]

    public init(_ definition: ServeDefinition) {
        self.definition = definition
        stripped = Array((definition.stripPrefix ?? "").utf8)
        indexNames = definition.index.map { Array($0.utf8) }
        cacheControl = Array((definition.cacheControl ?? "").utf8)
        charset = Array((definition.charset ?? "").utf8)
    }

    /// What a canonical path leads to.
    public enum Target: Sendable, Equatable {
        /// What was appended names a file, or a folder that was asked for without the slash at its end; empty for the root.
        case file
        /// What was appended names a folder: empty for the root, else with a slash at its end.
        case folder
        /// No file has such a name, or none that is shown.
        case nothing
    }

    /// Appends the path relative to the folder: escapes decoded, prefix gone, no slash in front.
    ///
    /// A decoded name that has a slash or NUL in it, or is `.`, `..` or empty, is nobody's: the file system would read it
    /// otherwise than the rules did.
    public func appendRelativePath(_ path: Span<UInt8>, to out: ByteBuffer) -> Target {
        let rest = behindPrefix(path)
        // `/static` of `strip_prefix: /static` is the folder itself, without its slash.
        if rest.isEmpty, !definition.isFlat, path.isEmpty || path[path.count - 1] != UInt8(ascii: "/") { return .file }
        var start = definition.isFlat ? lastSegment(rest, in: path) : rest.lowerBound
        var isFirst = true
        while start < rest.upperBound {
            var end = start
            while end < rest.upperBound && path[end] != UInt8(ascii: "/") { end += 1 }
            guard appendSegment(path.extracting(start..<end), isFirst: isFirst, to: out) else { return .nothing }
            isFirst = false
            if end == rest.upperBound { return .file }
            out.append(UInt8(ascii: "/"))
            start = end + 1
        }
        // Of a flat folder only files are given out: it would else be its own subfolder, by any name.
        return definition.isFlat ? .nothing : .folder
    }

    /// By whole segments; a path that does not lie below the prefix keeps it.
    private func behindPrefix(_ path: Span<UInt8>) -> Range<Int> {
        let length = stripped.count
        if length > 0, path.count >= length, RuleBytes.equal(path.extracting(0..<length), stripped),
            path.count == length || path[length] == UInt8(ascii: "/")
        {
            return min(length + 1, path.count)..<path.count
        }
        return min(1, path.count)..<path.count
    }

    private func lastSegment(_ rest: Range<Int>, in path: Span<UInt8>) -> Int {
        var start = rest.upperBound
        while start > rest.lowerBound && path[start - 1] != UInt8(ascii: "/") { start -= 1 }
        return start
    }

    private func appendSegment(_ segment: Span<UInt8>, isFirst: Bool, to out: ByteBuffer) -> Bool {
        let start = out.count
        var index = 0
        while index < segment.count {
            var byte = segment[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < segment.count, let high = RuleBytes.hexadecimal(segment[index]),
                    let low = RuleBytes.hexadecimal(segment[index + 1])
                else { return false }
                byte = high << 4 | low
                index += 2
            }
            if byte == 0 || byte == UInt8(ascii: "/") { return false }
            out.append(byte)
        }
        let name = out.span(ByteRange(start, out.count - start))
        guard !name.isEmpty else { return false }
        guard name[0] == UInt8(ascii: ".") else { return true }
        if name.count == 1 || name.count == 2 && name[1] == UInt8(ascii: ".") { return false }
        // RFC 8615: well-known locations are there to be seen.
        return definition.servesHidden || isFirst && RuleBytes.equal(name, Self.wellKnown)
    }

    private static let wellKnown = Array(".well-known".utf8)
}
