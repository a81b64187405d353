internal import HTTP

/// What a request for a file says beyond its target: preconditions, ranges, codings.
///
/// Lines that end at this hop (nominated by Connection) are not looked at.
public struct FileRequest {
    public private(set) var range = Line.none
    public private(set) var ifRange = Line.none
    public private(set) var hasIfMatch = false
    public private(set) var hasIfNoneMatch = false
    public private(set) var ifModifiedSince = Line.none
    public private(set) var ifUnmodifiedSince = Line.none
    public private(set) var codings = AcceptedCodings()

    /// A field that may stand once.
    public enum Line: Sendable, Equatable {
        case none
        case at(Int)
        /// More than once: what is meant can not be known.
        case several

        mutating func note(_ line: Int) { self = self == .none ? .at(line) : .several }
    }

    public init() {}

    public init(_ request: CanonicalRequest) {
        let head = request.head
        for index in 0..<head.lines.count {
            let name = head.bytes.span(head.lines[index].name)
            guard let field = Self.field(name), !request.isDropped(index) else { continue }
            switch field {
            case .range: range.note(index)
            case .ifRange: ifRange.note(index)
            case .ifMatch: hasIfMatch = true
            case .ifNoneMatch: hasIfNoneMatch = true
            case .ifModifiedSince: ifModifiedSince.note(index)
            case .ifUnmodifiedSince: ifUnmodifiedSince.note(index)
            case .acceptEncoding: codings.read(request.value(index))
            }
        }
    }

    /// What is asked of a page into which rules insert: parts of the file fit no edited page, and the file's time tells nothing
    /// of what is inserted.
    public mutating func asksForEditedPage() {
        range = .none
        ifRange = .none
        ifModifiedSince = .none
        ifUnmodifiedSince = .none
    }

    enum Field { case range, ifRange, ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, acceptEncoding }

    static func field(_ name: Span<UInt8>) -> Field? {
        switch name.count {
        case 5: HTTP1.equalsIgnoringCase(name, "range") ? .range : nil
        case 8:
            HTTP1.equalsIgnoringCase(name, "if-range") ? .ifRange : HTTP1.equalsIgnoringCase(name, "if-match") ? .ifMatch : nil
        case 13: HTTP1.equalsIgnoringCase(name, "if-none-match") ? .ifNoneMatch : nil
        case 15: HTTP1.equalsIgnoringCase(name, "accept-encoding") ? .acceptEncoding : nil
        case 17: HTTP1.equalsIgnoringCase(name, "if-modified-since") ? .ifModifiedSince : nil
        case 19: HTTP1.equalsIgnoringCase(name, "if-unmodified-since") ? .ifUnmodifiedSince : nil
        default: nil
        }
    }
}

/// The codings that a client takes (RFC 9110 section 12.5.3): weights from 0, not at all, to 1000. Without Accept-Encoding
/// content is sent as it is: who does not ask may not be able to decode.
public struct AcceptedCodings: Sendable, Equatable {
    public private(set) var gzip = 0
    public private(set) var brotli = 0
    public private(set) var zstd = 0
    /// Content as it is; taken unless it is refused in so many words.
    public private(set) var identity = 1
    private var others: Int?
    private var named: UInt8 = 0

    public init() {}

    public var takesAny: Bool { gzip > 0 || brotli > 0 || zstd > 0 }

    /// Reads one Accept-Encoding line; several are one list.
    public mutating func read(_ value: Span<UInt8>) {
        var list = ListCursor()
        while let range = list.next(in: value) {
            let element = value.extracting(range)
            var end = 0
            while end < element.count && element[end] != UInt8(ascii: ";") { end += 1 }
            let name = element.extracting(HTTP1.trimmed(element, 0..<end))
            guard let weight = Self.weight(element.extracting(end..<element.count)) else { continue }
            note(name, weight)
        }
        settle()
    }

    private mutating func note(_ name: Span<UInt8>, _ weight: Int) {
        switch name.count {
        case 1: if name[0] == UInt8(ascii: "*") { others = weight }
        case 2: if HTTP1.equalsIgnoringCase(name, "br") { (brotli, named) = (weight, named | 1) }
        case 4:
            if HTTP1.equalsIgnoringCase(name, "gzip") { (gzip, named) = (weight, named | 2) }
            if HTTP1.equalsIgnoringCase(name, "zstd") { (zstd, named) = (weight, named | 4) }
        case 6: if HTTP1.equalsIgnoringCase(name, "x-gzip") { (gzip, named) = (weight, named | 2) }
        case 8: if HTTP1.equalsIgnoringCase(name, "identity") { (identity, named) = (weight, named | 8) }
        default: break
        }
    }

    /// `*` stands for what is not named.
    private mutating func settle() {
        guard let others else { return }
        if named & 1 == 0 { brotli = others }
        if named & 2 == 0 { gzip = others }
        if named & 4 == 0 { zstd = others }
        if named & 8 == 0, others == 0 { identity = 0 }
    }

    /// `;q=0.5` in thousandths, 1000 where there is none; nil for what is no weight.
    private static func weight(_ parameters: Span<UInt8>) -> Int? {
        if parameters.isEmpty { return 1000 }
        let range = HTTP1.trimmed(parameters, 1..<parameters.count)
        let text = parameters.extracting(range)
        guard text.count >= 3, text.count <= 7, text[0] | 0x20 == UInt8(ascii: "q"), text[1] == UInt8(ascii: "=") else {
            return nil
        }
        guard text[2] == UInt8(ascii: "0") || text[2] == UInt8(ascii: "1") else { return nil }
        var value = Int(text[2] - UInt8(ascii: "0")) * 1000
        if text.count > 3 && text[3] != UInt8(ascii: ".") { return nil }
        var scale = 100
        for index in 4..<max(text.count, 4) {
            guard CanonicalBytes.isDigit(text[index]) else { return nil }
            value += Int(text[index] - UInt8(ascii: "0")) * scale
            scale /= 10
        }
        return value <= 1000 ? value : nil
    }
}
