public import HTML
public import HTTP

/// A request that may be one for a page into which rules insert: what of its fields changes, so that the answer can be edited.
///
/// - Accept-Encoding names only codings that can be undone here.
/// - If-None-Match: an edited page's validator tells what was inserted (``PageTag``); one with something else is none any more.
/// - If-Match: an edited page's validator, which is weak, stands for the state of the origin that was edited, and is put to it as the
///   origin's own. One with something else passes as it is, and fails there.
/// - If-Modified-Since is left out where a page is asked for by name: it would not tell what is inserted.
/// - Range and If-Range are left out for what is a page for certain: parts of a page as the server has it fit no edited one.
public struct PageRequest {
    /// Sec-Fetch-Dest says that it is a page; otherwise the answer's type decides.
    public let isCertain: Bool
    /// Accept names HTML, or it is certain.
    private let namesHTML: Bool
    /// False for what only may name an edited page: as a script that stores a changed one does.
    private let asksForPage: Bool
    let tag: PageTag

    /// Nil for what is no document: by Sec-Fetch-Dest, else by X-Requested-With, Accept, Origin, Referer and method.
    public init?(_ request: CanonicalRequest, _ insertions: PageInsertions) {
        tag = PageTag(insertions.digest)
        asksForPage = true
        if let line = request.nextLine(.secFetchDest) {
            let value = request.value(line)
            guard
                CanonicalBytes.equalsIgnoringCase(value, "document") || CanonicalBytes.equalsIgnoringCase(value, "iframe")
                    || CanonicalBytes.equalsIgnoringCase(value, "frame")
            else { return nil }
            (isCertain, namesHTML) = (true, true)
            return
        }
        isCertain = false
        guard request.method == .get || request.method == .head || request.method == .post else { return nil }
        if PageRequest.isOfScript(request) { return nil }
        switch PageRequest.wish(of: request) {
        case .html: namesHTML = true
        case .anything where !PageRequest.tellsSource(request): namesHTML = false
        case .anything, .other: return nil
        }
    }

    private init(naming insertions: PageInsertions) {
        (isCertain, namesHTML, asksForPage) = (false, false, false)
        tag = PageTag(insertions.digest)
    }

    /// The same for any request that is sent to where rules insert: one for no document may still name an edited page.
    public static func sent(_ request: CanonicalRequest, _ insertions: PageInsertions) -> PageRequest {
        PageRequest(request, insertions) ?? PageRequest(naming: insertions)
    }

    /// Whether Accept asks for HTML by name.
    public static func namesHTML(_ request: CanonicalRequest) -> Bool { wish(of: request) == .html }

    /// Scripts of the time before Sec-Fetch-Dest say so by this field.
    fileprivate static func isOfScript(_ request: CanonicalRequest) -> Bool {
        let line = RuleFields.firstLine("x-requested-with", request, from: 0)
        return line >= 0 && CanonicalBytes.equalsIgnoringCase(request.value(line), "xmlhttprequest")
    }

    /// Whoever asks for anything may be a script or a picture of a page: browsers do not send Sec-Fetch-Dest without TLS, and `fetch`
    /// asks for `*/*`. These say where they are from.
    private static func tellsSource(_ request: CanonicalRequest) -> Bool {
        request.nextLine(.origin) != nil || request.nextLine(.referer) != nil
    }

    fileprivate enum Wish { case html, anything, other }

    /// Whether Accept asks for HTML by name, or for anything.
    fileprivate static func wish(of request: CanonicalRequest) -> Wish {
        var line = request.nextLine(.accept)
        if line == nil { return .anything }
        var wish = Wish.other
        while let current = line {
            let value = request.value(current)
            var ranges = ListElements()
            while let range = ranges.next(in: value) {
                let element = value.extracting(range)
                let end = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: element) ?? element.count
                let type = element.extracting(CanonicalBytes.trimmed(element, 0..<end))
                if SpokenCodings.isRefusal(element.extracting(end..<element.count)) { continue }
                if CanonicalBytes.equalsIgnoringCase(type, "text/html")
                    || CanonicalBytes.equalsIgnoringCase(type, "application/xhtml+xml")
                {
                    return .html
                }
                let isWild = CanonicalBytes.equalsIgnoringCase(type, "text/*") || CanonicalBytes.equalsIgnoringCase(type, "*/*")
                if isWild { wish = .anything }
            }
            line = request.nextLine(.accept, after: current)
        }
        return wish
    }

    /// The ETag of the page as it is edited, for the server's own of it.
    public func appendEdited(_ tag: Span<UInt8>, to out: ByteBuffer) { self.tag.appendEdited(tag, to: out) }

    /// An If-None-Match names a page as this plan edits it: a 304 is about that one.
    public func namesEditedPage(_ request: CanonicalRequest) -> Bool {
        var line = RuleFields.firstLine("if-none-match", request, from: 0)
        while line >= 0 {
            if namesEditedPage(request.value(line)) { return true }
            line = RuleFields.firstLine("if-none-match", request, from: line + 1)
        }
        return false
    }

    private func namesEditedPage(_ value: Span<UInt8>) -> Bool {
        var tags = ListElements()
        while let range = tags.next(in: value) {
            if case .own = tag.verdict(value.extracting(range)) { return true }
        }
        return false
    }

    /// What becomes of a field line of the client's.
    enum Change { case none, drop, acceptEncoding, ifNoneMatch, ifMatch }

    func change(of name: Span<UInt8>, _ value: Span<UInt8>) -> Change {
        if name.count == 8 && CanonicalBytes.equalsIgnoringCase(name, "if-match") {
            return namesEditedPage(value) ? .ifMatch : .none
        }
        guard asksForPage else { return .none }
        switch name.count {
        case 5 where CanonicalBytes.equalsIgnoringCase(name, "range"): return isCertain ? .drop : .none
        case 8 where CanonicalBytes.equalsIgnoringCase(name, "if-range"): return isCertain ? .drop : .none
        case 13 where CanonicalBytes.equalsIgnoringCase(name, "if-none-match"): return keepsTag(value) ? .ifNoneMatch : .drop
        case 15 where CanonicalBytes.equalsIgnoringCase(name, "accept-encoding"): return .acceptEncoding
        case 17 where CanonicalBytes.equalsIgnoringCase(name, "if-modified-since"): return namesHTML ? .drop : .none
        default: return .none
        }
    }

    private func keepsTag(_ value: Span<UInt8>) -> Bool {
        var tags = ListElements()
        while let range = tags.next(in: value) {
            if passes(value.extracting(range)) { return true }
        }
        return false
    }

    /// What may be a picture's validator passes where nobody knows that this is a page.
    private func passes(_ element: Span<UInt8>) -> Bool {
        switch tag.verdict(element) {
        case .own: true
        case .foreign: false
        case .plain: !isCertain || element.count == 1
        }
    }

    /// Appends the value as it is sent; `change` is the one of this line, and not `drop`.
    func append(_ value: Span<UInt8>, _ change: Change, to out: ByteBuffer) {
        switch change {
        case .none, .drop: out.append(value)
        case .acceptEncoding: SpokenCodings.append(value, to: out)
        case .ifNoneMatch, .ifMatch:
            var tags = ListElements()
            var isFirst = true
            while let range = tags.next(in: value) {
                let element = value.extracting(range)
                guard change == .ifMatch || passes(element) else { continue }
                if !isFirst { out.append(", ") }
                isFirst = false
                tag.appendOriginal(element, to: out)
            }
        }
    }
}

/// Which fields of a request decide whether an HTML answer is a page to be edited.
///
/// In the order in which they are looked at: each is there for want of the ones before.
public enum PageDependence: Sendable {
    case destination, requester, accept, source

    public init(_ request: CanonicalRequest) {
        if request.nextLine(.secFetchDest) != nil {
            self = .destination
        } else if PageRequest.isOfScript(request) {
            self = .requester
        } else if case .anything = PageRequest.wish(of: request) {
            self = .source
        } else {
            self = .accept
        }
    }

    /// For Vary (RFC 9110 section 12.5.5).
    var fields: StaticString {
        switch self {
        case .destination: "Sec-Fetch-Dest"
        case .requester: "Sec-Fetch-Dest, X-Requested-With"
        case .accept: "Sec-Fetch-Dest, X-Requested-With, Accept"
        case .source: "Sec-Fetch-Dest, X-Requested-With, Accept, Origin, Referer"
        }
    }
}

/// Of a client's Accept-Encoding, what can be undone here (RFC 9110 section 12.5.3).
enum SpokenCodings {
    static func append(_ value: Span<UInt8>, to out: ByteBuffer) {
        let start = out.count
        var elements = ListElements()
        var hasAny = false
        while let range = elements.next(in: value) {
            let element = value.extracting(range)
            let end = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: element) ?? element.count
            let name = element.extracting(CanonicalBytes.trimmed(element, 0..<end))
            let weight = element.extracting(end..<element.count)
            if name.count == 1 && name[0] == UInt8(ascii: "*") {
                // Any coding: of these. A `*` that refuses passes as it is; a second one says nothing.
                if hasAny { continue }
                hasAny = true
                if isRefusal(weight) { add(element, start, to: out) } else { addOthers(value, weight, start, to: out) }
            } else if isSpoken(name) {
                add(element, start, to: out)
            }
        }
        if out.count == start { out.append("identity") }
    }

    static func isSpoken(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 2: CanonicalBytes.equalsIgnoringCase(name, "br")
        case 4: CanonicalBytes.equalsIgnoringCase(name, "gzip") || CanonicalBytes.equalsIgnoringCase(name, "zstd")
        case 6: CanonicalBytes.equalsIgnoringCase(name, "x-gzip")
        case 7: CanonicalBytes.equalsIgnoringCase(name, "deflate")
        case 8: CanonicalBytes.equalsIgnoringCase(name, "identity")
        default: false
        }
    }

    static func isRefusal(_ weight: Span<UInt8>) -> Bool {
        var digits = false
        for index in weight.indices {
            if weight[index] >= UInt8(ascii: "1") && weight[index] <= UInt8(ascii: "9") { return false }
            if weight[index] == UInt8(ascii: "0") { digits = true }
        }
        return digits
    }

    private static func add(_ element: Span<UInt8>, _ start: Int, to out: ByteBuffer) {
        if out.count > start { out.append(", ") }
        out.append(element)
    }

    /// Those that the field does not name itself.
    private static func addOthers(_ value: Span<UInt8>, _ weight: Span<UInt8>, _ start: Int, to out: ByteBuffer) {
        for name: StaticString in ["gzip", "br", "zstd"] where !names(name, value) {
            if out.count > start { out.append(", ") }
            out.append(name)
            out.append(weight)
        }
    }

    private static func names(_ coding: StaticString, _ value: Span<UInt8>) -> Bool {
        var elements = ListElements()
        while let range = elements.next(in: value) {
            let element = value.extracting(range)
            let end = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: element) ?? element.count
            let name = element.extracting(CanonicalBytes.trimmed(element, 0..<end))
            if CanonicalBytes.equalsIgnoringCase(name, coding) { return true }
        }
        return false
    }
}

/// How an edited page's ETag tells what was inserted: `"x"` becomes `W/"x~1f2e3d4c"`, `W/"x"` becomes `W/"x~1f2e3d4cw"`.
///
/// Weak, since the bytes of an edited page differ from one time to the next (RFC 9110 section 8.8.1).
struct PageTag {
    enum Verdict {
        /// Of a page with what is inserted now.
        case own
        /// Of a page with something else inserted.
        case foreign
        /// Of what was not edited here, or `*`.
        case plain
    }

    private let digits: [UInt8]

    init(_ digest: UInt64) {
        digits = (0..<8).map {
            RuleBytes.lower(RuleBytes.hexadecimalDigit(UInt8(truncatingIfNeeded: digest >> UInt64($0 * 4 + 8)) & 15))
        }
    }

    func verdict(_ tag: Span<UInt8>) -> Verdict {
        guard let mark = PageTag.mark(tag) else { return .plain }
        for (index, digit) in digits.enumerated() where tag[mark + 1 + index] != digit { return .foreign }
        return .own
    }

    /// Where the tilde of an edited page's ETag stands.
    private static func mark(_ tag: Span<UInt8>) -> Int? {
        guard tag.count >= 11, tag[tag.count - 1] == UInt8(ascii: "\"") else { return nil }
        let isWeak = tag[tag.count - 2] == UInt8(ascii: "w")
        let mark = tag.count - (isWeak ? 11 : 10)
        guard mark > 0, tag[mark] == UInt8(ascii: "~") else { return nil }
        for index in mark + 1..<mark + 9 where RuleBytes.hexadecimal(tag[index]) == nil { return nil }
        return mark
    }

    /// The origin's own ETag.
    func appendOriginal(_ tag: Span<UInt8>, to out: ByteBuffer) {
        guard let mark = PageTag.mark(tag), case .own = verdict(tag) else { return out.append(tag) }
        let isWeak = tag[tag.count - 2] == UInt8(ascii: "w")
        let start = tag[0] == UInt8(ascii: "W") && !isWeak ? 2 : 0
        out.append(tag.extracting(min(start, mark)..<mark))
        out.append(UInt8(ascii: "\""))
    }

    /// The ETag of the edited page.
    func appendEdited(_ tag: Span<UInt8>, to out: ByteBuffer) {
        guard tag.count >= 2, tag[tag.count - 1] == UInt8(ascii: "\"") else { return out.append(tag) }
        let isWeak = tag[0] == UInt8(ascii: "W")
        if !isWeak { out.append("W/") }
        out.append(tag.extracting(0..<tag.count - 1))
        out.append(UInt8(ascii: "~"))
        out.append(digits)
        if isWeak { out.append(UInt8(ascii: "w")) }
        out.append(UInt8(ascii: "\""))
    }
}
