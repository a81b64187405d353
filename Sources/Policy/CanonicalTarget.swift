public import HTTP

/// The one reading of a path and a query: what is matched is what is sent.
///
/// Canonical means: dot segments resolved, repeated slashes merged, unreserved escapes decoded, other escapes in upper
/// case, bytes that may not stand in a path escaped. An encoded slash stays what it is. The result is a fixed point:
/// canonicalising it again changes nothing.
public enum CanonicalTarget {
    public struct Options: Sendable {
        public var rejectsEncodedSlash = false
        public var mergesSlashes = true
        public var rejectsDotSegments = false

        public init() {}
    }

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
    private static let percent = UInt8(ascii: "%")

    /// Appends the canonical form of a path that begins with a slash and has neither query nor fragment.
    public static func appendPath(_ path: Span<UInt8>, _ options: Options, to out: ByteBuffer) throws(Rejection) {
        if isCanonical(path) { return out.append(path) }
        guard !path.isEmpty, path[0] == slash else { throw .badRequest }
        let start = out.count
        out.append(slash)
        var segment = out.count
        var position = 1
        while true {
            if position < path.count && path[position] != slash {
                position = try appendPart(of: path, from: position, options, to: out)
                continue
            }
            let isLast = position >= path.count
            let kind = dotSegment(in: out, from: segment)
            switch kind {
            case .none:
                let isRepeatedSlash = out.count == segment && options.mergesSlashes
                if !isLast && !isRepeatedSlash { out.append(slash) }
            case .parameters:
                // `..;x` is a parent to servers that know path parameters and a name to the others.
                throw .badRequest
            case .current, .parent:
                if options.rejectsDotSegments { throw .badRequest }
                removeSegment(kind, at: segment, pathStart: start, in: out)
            }
            if isLast { return }
            segment = out.count
            position += 1
        }
    }

    /// Most paths are canonical as they come; then one append is all.
    private static func isCanonical(_ path: Span<UInt8>) -> Bool {
        guard !path.isEmpty, path[0] == slash else { return false }
        var previous: UInt8 = 0
        for index in 0..<path.count {
            let byte = path[index]
            if !CanonicalBytes.isPath(byte) { return false }
            if previous == slash && (byte == slash || byte == dot) { return false }
            previous = byte
        }
        return true
    }

    /// Appends what stands at `position`, a run of plain bytes, an escape or one byte to be escaped; returns what
    /// follows it.
    private static func appendPart(
        of path: Span<UInt8>, from position: Int, _ options: Options, to out: ByteBuffer
    ) throws(Rejection) -> Int {
        var end = position
        while end < path.count && path[end] != slash && CanonicalBytes.isPath(path[end]) { end += 1 }
        if end > position {
            out.append(path.extracting(position..<end))
            return end
        }
        let byte = path[position]
        if byte != percent {
            if CanonicalBytes.isControl(byte) || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "#") {
                throw .badRequest
            }
            appendEscape(byte, to: out)
            return position + 1
        }
        guard path.count - position >= 3, let high = CanonicalBytes.hexValue(path[position + 1]),
            let low = CanonicalBytes.hexValue(path[position + 2])
        else { throw .badRequest }
        let value = high << 4 | low
        if value == 0 || value == UInt8(ascii: "\\") || value == slash && options.rejectsEncodedSlash {
            throw .badRequest
        }
        if CanonicalBytes.isUnreserved(value) {
            out.append(value)
        } else {
            appendEscape(value, to: out)
        }
        return position + 3
    }

    private static func appendEscape(_ byte: UInt8, to out: ByteBuffer) {
        out.append(percent)
        out.append(CanonicalBytes.upperHex(byte >> 4))
        out.append(CanonicalBytes.upperHex(byte & 15))
    }

    private enum DotSegment { case none, current, parent, parameters }

    /// What the segment at the end of `out` is, escapes of dots being decoded by now.
    private static func dotSegment(in out: ByteBuffer, from segment: Int) -> DotSegment {
        let length = out.count - segment
        guard length > 0, out[segment] == dot else { return .none }
        if length == 1 { return .current }
        let isParent = out[segment + 1] == dot
        if isParent && length == 2 { return .parent }
        let rest = segment + (isParent ? 2 : 1)
        if out[rest] == UInt8(ascii: ";") { return .parameters }
        let isEscapedSemicolon =
            out.count - rest >= 3 && out[rest] == percent && out[rest + 1] == UInt8(ascii: "3")
            && out[rest + 2] == UInt8(ascii: "B")
        return isEscapedSemicolon ? .parameters : .none
    }

    /// RFC 3986 section 5.2.4; what stands before the root is the root.
    private static func removeSegment(_ kind: DotSegment, at segment: Int, pathStart: Int, in out: ByteBuffer) {
        var end = segment
        if kind == .parent && end - 1 > pathStart {
            end -= 1
            while out[end - 1] != slash { end -= 1 }
        }
        out.truncate(to: end)
    }

    /// Appends a client's query byte for byte; RFC 9112 section 3.2 knows no fragment.
    public static func appendQuery(_ query: Span<UInt8>, to out: ByteBuffer) throws(Rejection) {
        for index in 0..<query.count {
            let byte = query[index]
            if CanonicalBytes.isControl(byte) || byte == UInt8(ascii: "#") || byte == 0x20 { throw .badRequest }
        }
        out.append(query)
    }

    /// Appends a query of a Location, in which servers leave raw what has to be escaped before it can be sent.
    static func appendLenientQuery(_ query: Span<UInt8>, to out: ByteBuffer) throws(Rejection) {
        for index in 0..<query.count {
            let byte = query[index]
            if CanonicalBytes.isControl(byte) { throw .badRequest }
            switch byte {
            case 0x20, 0x80..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"): appendEscape(byte, to: out)
            default: out.append(byte)
            }
        }
    }

    /// The extension of the last segment of the path that `target` begins with, without its dot.
    ///
    /// Path parameters are no part of a name: `/admin;.png` has no extension, lest one be made up for a matcher. Nor
    /// has a name that begins with its only dot.
    static func pathExtension(of target: ByteBuffer, pathLength: Int) -> ByteRange {
        var end = pathLength
        var position = pathLength
        var lastDot: Int?
        while position > 0 && target[position - 1] != slash {
            position -= 1
            if target[position] == UInt8(ascii: ";") {
                end = position
                lastDot = nil
            } else if target[position] == dot && lastDot == nil {
                lastDot = position
            }
        }
        guard let lastDot, lastDot > position, lastDot + 1 < end else { return .empty }
        return ByteRange(lastDot + 1, end - lastDot - 1)
    }
}
