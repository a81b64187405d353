public import HTTP

/// What tells one state of a representation from another (RFC 9110 section 8.8).
public struct Validators {
    /// The whole entity tag, `W/` and quotes included.
    public let entityTag: ByteBuffer
    /// Last-Modified, seconds since the epoch.
    public var modified: Int
    /// The time of the answer, likewise.
    public var now: Int

    public init(entityTag: ByteBuffer, modified: Int, now: Int) {
        self.entityTag = entityTag
        self.modified = modified
        self.now = now
    }
}

/// Whether a request's conditions let it be answered as it is asked (RFC 9110 section 13).
public enum Preconditions {
    public enum Verdict: Sendable, Equatable {
        case proceed
        /// 304
        case notModified
        /// 412
        case failed
    }

    /// In the order of section 13.2.2, for GET and HEAD of a representation that is there.
    public static func verdict(_ asked: FileRequest, _ request: CanonicalRequest, _ validators: Validators) -> Verdict {
        if asked.hasIfMatch {
            if !lists(.ifMatch, request, validators, weakly: false) { return .failed }
        } else if let since = date(asked.ifUnmodifiedSince, request, validators.now), validators.modified > since {
            return .failed
        }
        if asked.hasIfNoneMatch {
            if lists(.ifNoneMatch, request, validators, weakly: true) { return .notModified }
        } else if let since = date(asked.ifModifiedSince, request, validators.now), validators.modified <= since {
            return .notModified
        }
        return .proceed
    }

    /// If-Range (section 13.1.5): whether the state that the client has parts of is the present one. Without the field it is.
    public static func rangeApplies(_ asked: FileRequest, _ request: CanonicalRequest, _ validators: Validators) -> Bool {
        switch asked.ifRange {
        case .none: return true
        case .several: return false
        case .at(let line):
            let value = request.value(line)
            guard !value.isEmpty else { return false }
            if value[0] == UInt8(ascii: "\"") || value[0] == UInt8(ascii: "W") && value.count > 1 && value[1] == UInt8(ascii: "/") {
                return matches(value, validators.entityTag.span, weakly: false)
            }
            // A date is exact, and says something only of a file that had been left alone for a second (section 8.8.2.2).
            guard let date = HTTPDate.parse(value, now: validators.now) else { return false }
            return date == validators.modified && validators.now > validators.modified
        }
    }

    /// A date that can not be read, or that is given twice, is no condition.
    private static func date(_ line: FileRequest.Line, _ request: CanonicalRequest, _ now: Int) -> Int? {
        guard case .at(let index) = line else { return nil }
        return HTTPDate.parse(request.value(index), now: now)
    }

    /// Whether some line of the field is `*` or lists the entity tag.
    private static func lists(
        _ field: FileRequest.Field, _ request: CanonicalRequest, _ validators: Validators, weakly: Bool
    ) -> Bool {
        let head = request.head
        for index in 0..<head.lines.count where !request.isDropped(index) {
            guard FileRequest.field(head.bytes.span(head.lines[index].name)) == field else { continue }
            let value = request.value(index)
            if value.count == 1 && value[0] == UInt8(ascii: "*") { return true }
            var tags = TagCursor()
            while let range = tags.next(in: value) {
                if matches(value.extracting(range), validators.entityTag.span, weakly: weakly) { return true }
            }
        }
        return false
    }

    /// Section 8.8.3.2. Strongly: neither is weak; weakly: the opaque tags are the same.
    static func matches(_ one: Span<UInt8>, _ other: Span<UInt8>, weakly: Bool) -> Bool {
        if !weakly { return one.count > 0 && one[0] == UInt8(ascii: "\"") && RuleBytes.equal(one, other) }
        return RuleBytes.equal(opaque(one), opaque(other))
    }

    @_lifetime(copy tag)
    private static func opaque(_ tag: Span<UInt8>) -> Span<UInt8> {
        let isWeak = tag.count > 2 && tag[0] == UInt8(ascii: "W") && tag[1] == UInt8(ascii: "/")
        return tag.extracting((isWeak ? 2 : 0)..<tag.count)
    }
}

/// Walks a list of entity tags: unlike other quoted strings they know no escapes (RFC 9110 section 8.8.3).
private struct TagCursor {
    private var position = 0

    mutating func next(in value: Span<UInt8>) -> Range<Int>? {
        while position < value.count {
            let start = position
            var isQuoted = false
            while position < value.count, isQuoted || value[position] != UInt8(ascii: ",") {
                if value[position] == UInt8(ascii: "\"") { isQuoted.toggle() }
                position += 1
            }
            let element = HTTP1.trimmed(value, start..<position)
            position += 1
            if !element.isEmpty { return element }
        }
        return nil
    }
}
