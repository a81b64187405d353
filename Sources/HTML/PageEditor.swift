public import HTTP

/// Inserts into a page while it streams by: a slice in, what can be passed on out.
///
/// What is kept from slice to slice is the beginning of a tag whose name is not known yet, or of a meta element that may hold a
/// policy, up to ``longestHeld``; so memory is constant however long a page is. All that is not inserted is passed byte for byte.
public final class PageEditor {
    private let insertions: PageInsertions
    private let nonce: [UInt8]
    /// There is a policy for which what is inserted carries the nonce.
    private var carriesNonce: Bool
    private var charset: PageCharset
    /// Neither Content-Type nor a mark said what it is: the page itself may, within its first bytes.
    private var isCharsetOpen: Bool
    private var tokenizer = PageTokenizer()
    private var structure = PageStructure()
    private var remaining: PageStructure.Points = []
    private var policies: [(policy: SecurityPolicy, hasNonce: Bool)]
    /// With more policies than these nothing more is inserted.
    private static let mostPolicies = 64

    /// The first bytes, until they are known to be a mark or not; later, half of a unit.
    private let first = ByteBuffer(capacity: 16)
    private var hasBegun = false
    /// The bytes of the tag that is being read, from its less-than sign on.
    private let held = ByteBuffer(capacity: 64)
    private var holdsTag = false
    /// What comes behind the tag that is being read.
    private var afterTag: PageStructure.Points = []
    /// `head_start` waits for the element that may name the charset, which is looked for in the first bytes of a page only.
    private var waitsForCharset = false
    private let units = ByteBuffer(capacity: 16)
    /// Bytes of the present slice that have been passed on, or are held.
    private var passed = 0

    /// The longest meta element that is looked into.
    private static let longestHeld = 16 * 1024
    /// WHATWG HTML section 13.2.3.2: a charset is looked for in so many bytes.
    private static let charsetWindow = 1024

    /// Nothing more is to be inserted: what comes is passed on as it is.
    public private(set) var isPassing = false

    /// `contentType` is the value of the field; `nonce` is empty where policies are left as they are. `policies` are those of the
    /// page's head, each with whether it was given the nonce; `hasPolicy`: the head has one, be it for reports only.
    public init(
        _ insertions: PageInsertions, contentType: Span<UInt8>, nonce: [UInt8], hasPolicy: Bool,
        policies: [(policy: SecurityPolicy, hasNonce: Bool)]
    ) {
        self.insertions = insertions
        self.nonce = nonce
        carriesNonce = hasPolicy && !nonce.isEmpty
        self.policies = policies
        let named = PageCharset(contentType: contentType)
        charset = named ?? .other
        isCharsetOpen = named == nil
        for insertion in insertions.insertions { remaining.insert(PageStructure.Points(insertion.point)) }
    }

    /// Passes on what it can of the page's next bytes, with what is to be inserted among them.
    public func append(_ input: Span<UInt8>, to out: ByteBuffer) {
        if isPassing {
            passFirst(to: out)
            return out.append(input)
        }
        if !hasBegun {
            first.append(input)
            guard begin(to: out) else { return }
            let rest = ByteBuffer(capacity: first.count)
            rest.append(first.span)
            first.clear()
            return edit(rest.span, to: out)
        }
        if charset.width == 1 || first.isEmpty && input.count & 1 == 0 { return edit(input, to: out) }
        // Whole units only; an odd byte waits for its other half.
        first.append(input)
        let whole = ByteBuffer(capacity: first.count)
        whole.append(first.span.extracting(0..<first.count & ~1))
        first.removeFirst(whole.count)
        edit(whole.span, to: out)
    }

    /// The page is complete.
    public func finish(to out: ByteBuffer) {
        if !hasBegun && !first.isEmpty {
            hasBegun = true
            let rest = ByteBuffer(capacity: first.count)
            rest.append(first.span)
            first.clear()
            edit(rest.span, to: out)
        }
        if isPassing { return passFirst(to: out) }
        // A less-than sign at the very end is text.
        if tokenizer.state == .tagOpen { insert(structure.text(), to: out) }
        if structure.hasContent && tokenizer.isInMarkup {
            insert(structure.hasFrames ? remaining.subtracting([.bodyStart, .bodyEnd]) : remaining, to: out)
        }
        passHeld(to: out)
        passFirst(to: out)
    }

    /// Half of a unit that its other half has not come for.
    private func passFirst(to out: ByteBuffer) {
        if first.isEmpty { return }
        out.append(first.span)
        first.clear()
    }

    /// Looks at the first bytes; false: there are too few of them.
    private func begin(to out: ByteBuffer) -> Bool {
        if first.isEmpty { return false }
        if let mark = PageCharset.byMark(first.span) {
            charset = mark.charset
            isCharsetOpen = false
            out.append(first.span(ByteRange(0, mark.length)))
            first.removeFirst(mark.length)
        } else if first.count < 3 && [0xef, 0xfe, 0xff].contains(first[0]) {
            return false
        } else if charset == .unsupported {
            isPassing = true
        }
        hasBegun = true
        return true
    }

    // MARK: Editing

    private func edit(_ raw: Span<UInt8>, to out: ByteBuffer) {
        if isPassing { return out.append(raw) }
        guard charset.width == 2 else { return edit(raw, raw, to: out) }
        units.clear()
        var index = 0
        while index + 1 < raw.count {
            units.append(charset.unit(raw, index))
            index += 2
        }
        edit(units.span, raw.extracting(0..<index), to: out)
        // Half of a unit, at the end of a page.
        if index < raw.count { first.append(raw[index]) }
    }

    /// `text` has the units of `raw`.
    private func edit(_ text: Span<UInt8>, _ raw: Span<UInt8>, to out: ByteBuffer) {
        passed = 0
        var position = 0
        while !isPassing {
            let event = tokenizer.next(text, from: &position)
            if event == .needMore { break }
            handle(event, at: position, raw, to: out)
            tokenizer.tellsAll = structure.phase != .inBody && structure.phase != .ended
            if remaining.isEmpty && !holdsTag { isPassing = true }
        }
        if !isPassing && (holdsTag || tokenizer.isUndecided) {
            pass(raw, upTo: tokenizer.start, to: out)
            held.append(raw.extracting(passed..<raw.count))
            if held.count > Self.longestHeld {
                holdsTag = false
                passHeld(to: out)
            }
        } else {
            pass(raw, upTo: text.count, to: out)
        }
        tokenizer.advance(text.count)
    }

    private func handle(_ event: PageTokenizer.Event, at position: Int, _ raw: Span<UInt8>, to out: ByteBuffer) {
        switch event {
        case .needMore: break
        case .text: insertBefore(structure.text(), raw, to: out)
        case .tagName where tokenizer.isEndTag: insertBefore(structure.endTag(tokenizer.name), raw, to: out)
        case .tagName: startTag(raw, to: out)
        case .tagEnd:
            if holdsTag { metaElement(raw, upTo: position, to: out) }
            if afterTag.isEmpty { return }
            let points = afterTag
            afterTag = []
            if points == .headStart && mustWaitForCharset {
                waitsForCharset = true
            } else {
                pass(raw, upTo: position, to: out)
                insert(points, to: out)
            }
        }
    }

    private func startTag(_ raw: Span<UInt8>, to out: ByteBuffer) {
        let isInBody = structure.phase == .inBody
        let points = structure.startTag(tokenizer.name)
        if structure.hasFrames { remaining.subtract([.bodyStart, .bodyEnd]) }
        let isMeta = tokenizer.name == .meta && !isInBody
        if isMeta && points.before == .headStart && mustWaitForCharset {
            waitsForCharset = true
        } else if !(isMeta && waitsForCharset) {
            insertBefore(points.before, raw, to: out)
        }
        afterTag = points.after
        holdsTag = isMeta
    }

    /// Inserts before the text or the tag that has just been found.
    private func insertBefore(_ points: PageStructure.Points, _ raw: Span<UInt8>, to out: ByteBuffer) {
        let points = waitsForCharset ? points.union(.headStart) : points
        if points.isEmpty { return }
        waitsForCharset = false
        pass(raw, upTo: tokenizer.start, to: out)
        insert(points, to: out)
    }

    /// What is inserted would push the page's own word on its charset out of the bytes in which it is looked for.
    private var mustWaitForCharset: Bool {
        guard isCharsetOpen else { return false }
        var length = 0
        for insertion in insertions.insertions where insertion.point == .headStart {
            for case .text(let bytes) in insertion.ascii { length += bytes.count }
        }
        return length > Self.charsetWindow / 2
    }

    private func insert(_ points: PageStructure.Points, to out: ByteBuffer) {
        let points = points.intersection(remaining)
        if points.isEmpty { return }
        for insertion in insertions.insertions where points.contains(PageStructure.Points(insertion.point)) {
            let isAllowed = policies.allSatisfy { policy in
                insertion.demands.allSatisfy { policy.policy.allows($0, hasNonce: policy.hasNonce) }
            }
            if isAllowed { write(charset == .other ? insertion.ascii : insertion.unicode, to: out) }
        }
        remaining.subtract(points)
    }

    private func write(_ pieces: [Insertion.Piece], to out: ByteBuffer) {
        for piece in pieces {
            switch piece {
            case .text(let bytes): charset.append(bytes, to: out)
            case .nonce: if carriesNonce { charset.append(Array(" nonce=\"".utf8) + nonce + [Octet.quote], to: out) }
            }
        }
    }

    // MARK: Passing on

    /// Passes on what comes before a unit of the slice; a tag that began in one before stays where it is.
    private func pass(_ raw: Span<UInt8>, upTo unit: Int, to out: ByteBuffer) {
        if unit < 0 { return }
        passHeld(to: out)
        let end = unit * charset.width
        if end > passed { out.append(raw.extracting(passed..<end)) }
        passed = max(passed, end)
    }

    private func passHeld(to out: ByteBuffer) {
        if held.isEmpty { return }
        out.append(held.span)
        held.clear()
    }

    // MARK: Meta elements

    /// A whole meta element: what it says of charset and policy.
    private func metaElement(_ raw: Span<UInt8>, upTo position: Int, to out: ByteBuffer) {
        holdsTag = false
        pass(raw, upTo: tokenizer.start, to: out)
        held.append(raw.extracting(passed..<position * charset.width))
        passed = position * charset.width
        var tag: [UInt8] = []
        if charset.width == 1 {
            for index in held.span.indices { tag.append(held[index]) }
        } else {
            for index in stride(from: 0, to: held.count - 1, by: 2) { tag.append(charset.unit(held.span, index)) }
        }
        let named = isCharsetOpen ? MetaElement.charset(tag) : nil
        if waitsForCharset && named == nil {
            waitsForCharset = false
            insert(.headStart, to: out)
        }
        passPolicy(tag, to: out)
        if waitsForCharset {
            waitsForCharset = false
            insert(.headStart, to: out)
        }
        guard let named else { return }
        isCharsetOpen = false
        if named == .unsupported { isPassing = true }
    }

    /// Passes the element on, its policy with the nonce if there is one.
    private func passPolicy(_ tag: [UInt8], to out: ByteBuffer) {
        guard let content = MetaElement.policy(tag) else { return passHeld(to: out) }
        guard policies.count < Self.mostPolicies else {
            // No page has so many; what they say together is not found out.
            remaining = []
            return passHeld(to: out)
        }
        let (text, ends) = TagAttributes.decoded(tag, content)
        let policy = SecurityPolicy(text)
        let demands = insertions.insertions.filter { remaining.contains(PageStructure.Points($0.point)) }.flatMap(\.demands)
        let edits = nonce.isEmpty ? [] : policy.nonceEdits(for: demands)
        policies.append((policy, !nonce.isEmpty))
        carriesNonce = !nonce.isEmpty
        var written = 0
        for edit in edits where edit.range.lowerBound > 0 {
            let start = ends[edit.range.lowerBound - 1] * charset.width
            out.append(held.span(ByteRange(written, start - written)))
            charset.append(MetaElement.source(edit.words, nonce, in: content.quote), to: out)
            written = ends[edit.range.upperBound - 1] * charset.width
        }
        out.append(held.span(ByteRange(written, held.count - written)))
        held.clear()
    }
}

/// What the editor asks of a meta element.
enum MetaElement {
    /// What it says that the page's charset is; nil when it says nothing.
    static func charset(_ tag: [UInt8]) -> PageCharset? {
        if let value = TagAttributes.value(of: "charset", in: tag.span) {
            let label = TagAttributes.decoded(tag, value).bytes
            return PageCharset(label: label.span.extracting(HTTP1.trimmed(label.span, 0..<label.count)))
        }
        guard isEquivalent(tag, "content-type"), let value = TagAttributes.value(of: "content", in: tag.span) else { return nil }
        let content = TagAttributes.decoded(tag, value).bytes
        return PageCharset(contentType: content.span)
    }

    static func policy(_ tag: [UInt8]) -> TagAttributes.Value? {
        isEquivalent(tag, "content-security-policy") ? TagAttributes.value(of: "content", in: tag.span) : nil
    }

    private static func isEquivalent(_ tag: [UInt8], _ name: StaticString) -> Bool {
        guard let value = TagAttributes.value(of: "http-equiv", in: tag.span) else { return false }
        let text = TagAttributes.decoded(tag, value).bytes
        return HTTP1.equalsIgnoringCase(text.span, name)
    }

    /// The words of an edit and `'nonce-...'`, as they stand in an attribute.
    static func source(_ words: String, _ nonce: [UInt8], in quote: UInt8?) -> [UInt8] {
        let mark = Array((quote == Octet.quote ? "'" : "&#39;").utf8)
        let written = words.utf8.flatMap { $0 == 0x20 && quote == nil ? Array("&#32;".utf8) : [$0] }
        return written + mark + Array("nonce-".utf8) + nonce + mark
    }
}
