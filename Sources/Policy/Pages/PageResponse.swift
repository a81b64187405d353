public import HTML
public import HTTP

/// A response whose page is edited, or a 304 about one: what becomes of its fields.
public final class PageResponse {
    public enum Kind {
        /// The content is edited.
        case page
        /// The client has the edited page.
        case notModified
    }

    public let kind: Kind
    public let insertions: PageInsertions
    /// Of the Content-Type line, in the head's bytes.
    public let contentType: ByteRange
    /// Base64; empty where policies are left as they are.
    public let nonce: [UInt8]
    /// Of the head, in force: each with whether it gets the nonce.
    public private(set) var policies: [(policy: SecurityPolicy, hasNonce: Bool)] = []
    /// The head has a policy, be it for reports only.
    public private(set) var hasPolicy = false
    private let demands: [PolicyDemand]
    private let tag: PageTag
    /// There may be a nonce in it, so that no two users may be given the same answer.
    public private(set) var isPersonal = false

    /// Nil for a response that is left as it is, byte for byte: whatever is no complete HTML document, what is to be saved as a file,
    /// and what may not be transformed (RFC 9110 section 7.7). `nonce` is made anew for each response.
    public init?(
        _ head: ResponseHead, to request: CanonicalRequest, _ page: PageRequest, _ insertions: PageInsertions, nonce: [UInt8]
    ) {
        self.insertions = insertions
        self.nonce = insertions.mode == .nonce ? nonce : []
        tag = page.tag
        demands = insertions.demands
        if head.status == 304 {
            guard page.namesEditedPage(request) else { return nil }
            kind = .notModified
            contentType = .empty
            return
        }
        kind = .page
        guard let type = PageResponse.documentType(head) else { return nil }
        contentType = type
        takePolicies(head)
        // A `meta` further on may be a policy, and get the nonce.
        if !self.nonce.isEmpty && !demands.isEmpty { isPersonal = true }
    }

    /// Whether it is HTML: what becomes of it depends on who asks.
    public static func isHTML(_ head: ResponseHead) -> Bool {
        head.lines.contains { $0.id == .contentType && isHTML(type: head.bytes.span($0.value)) }
    }

    /// The same of a Content-Type's value.
    public static func isHTML(type: Span<UInt8>) -> Bool { MediaType.isNamed(type, "text/html") }

    /// The Content-Type of a response that is a whole HTML document, for showing.
    private static func documentType(_ head: ResponseHead) -> ByteRange? {
        guard head.status >= 200 && head.status < 300 || head.status >= 400, head.status != 204, head.status != 205,
            head.status != 206
        else { return nil }
        var type: ByteRange?
        for line in head.lines {
            let value = head.bytes.span(line.value)
            switch line.id {
            case .contentType:
                // Two types: who knows which one is believed.
                guard type == nil, MediaType.isNamed(value, "text/html") else { return nil }
                type = line.value
            case .cacheControl: if HTTP1.listContains(value, "no-transform") { return nil }
            case .other:
                let name = head.bytes.span(line.name)
                if CanonicalBytes.equalsIgnoringCase(name, "content-range") { return nil }
                if CanonicalBytes.equalsIgnoringCase(name, "content-disposition"), CanonicalBytes.hasPrefix(value, "attachment") {
                    return nil
                }
            default: break
            }
        }
        guard let type, PageCharset(contentType: head.bytes.span(type)) != .unsupported else { return nil }
        return type
    }

    private func takePolicies(_ head: ResponseHead) {
        for line in head.lines where line.id == .other {
            guard let isEnforced = PageResponse.isPolicy(head.bytes.span(line.name)) else { continue }
            hasPolicy = true
            let value = head.bytes.span(line.value)
            var list = ListElements()
            while let range = list.next(in: value) {
                let policy = SecurityPolicy(Array(copying: value.extracting(range)))
                if isEnforced { policies.append((policy, !nonce.isEmpty)) }
            }
        }
    }

    /// Whether a field is a policy, and one that is enforced; nil for other fields.
    private static func isPolicy(_ name: Span<UInt8>) -> Bool? {
        if CanonicalBytes.equalsIgnoringCase(name, "content-security-policy") { return true }
        return CanonicalBytes.equalsIgnoringCase(name, "content-security-policy-report-only") ? false : nil
    }

    // MARK: Field lines

    /// What is not true of the edited page: its length, digests (RFC 1864, RFC 9530, RFC 3230), ranges of it, and when it changed,
    /// which is also when something else is inserted.
    func drops(_ name: Span<UInt8>, id: FieldID) -> Bool {
        if id == .contentLength { return true }
        guard id == .other else { return false }
        switch name.count {
        case 6: return CanonicalBytes.equalsIgnoringCase(name, "digest")
        case 11:
            return CanonicalBytes.equalsIgnoringCase(name, "content-md5") || CanonicalBytes.equalsIgnoringCase(name, "repr-digest")
        case 13:
            return CanonicalBytes.equalsIgnoringCase(name, "accept-ranges")
                || CanonicalBytes.equalsIgnoringCase(name, "last-modified")
        case 14: return CanonicalBytes.equalsIgnoringCase(name, "content-digest")
        default:
            // The client goes on with the policy that it was given together with the page, and with the page's nonce.
            return kind == .notModified && !nonce.isEmpty && PageResponse.isPolicy(name) != nil
        }
    }

    /// Appends the value of a field that reads differently for the edited page; false for any other.
    func append(_ value: Span<UInt8>, of name: Span<UInt8>, id: FieldID, to out: ByteBuffer) -> Bool {
        guard id == .other else { return false }
        if name.count == 4 && CanonicalBytes.equalsIgnoringCase(name, "etag") {
            tag.appendEdited(value, to: out)
            return true
        }
        guard !nonce.isEmpty, PageResponse.isPolicy(name) != nil else { return false }
        var list = ListElements()
        var written = 0
        while let range = list.next(in: value) {
            let policy = SecurityPolicy(Array(copying: value.extracting(range)))
            for edit in policy.nonceEdits(for: demands) {
                out.append(value.extracting(written..<range.lowerBound + edit.range.lowerBound))
                written = range.lowerBound + edit.range.upperBound
                out.append(text: edit.words)
                out.append("'nonce-")
                out.append(nonce)
                out.append("'")
            }
        }
        out.append(value.extracting(written..<value.count))
        return true
    }

    /// 128 bits from the system's generator, as policies have them (CSP section 2.3.1).
    public static func makeNonce() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let raw = ByteBuffer(capacity: 16)
        for _ in 0..<2 {
            let word: UInt64 = random.next()
            for shift in 0..<8 { raw.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
        }
        let text = ByteBuffer(capacity: 24)
        Base64.append(raw.span, to: text)
        return Array(copying: text.span)
    }
}
