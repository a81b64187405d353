/// Where in a page something can be inserted; in the order in which the places come.
public enum InsertionPoint: Int, Sendable, CaseIterable {
    case headStart, headEnd, bodyStart, bodyEnd

    /// As configurations have it.
    public var name: String {
        switch self {
        case .headStart: "head_start"
        case .headEnd: "head_end"
        case .bodyStart: "body_start"
        case .bodyEnd: "body_end"
        }
    }
}

/// What becomes of a page's Content Security Policy.
public enum PolicyMode: Sendable {
    /// Every policy gets a fresh nonce, and so does what is inserted.
    case nonce
    /// Policies stay; what they would forbid is not inserted.
    case leave
}

/// One thing to insert, as the configuration has it.
public struct InsertionDefinition: Sendable {
    public enum Content: Sendable {
        /// A style sheet and a script, put into the page.
        case css([UInt8]), javascript([UInt8])
        /// The same by their URL.
        case cssURL(String), javascriptURL(String)
        /// Markup as it is.
        case html([UInt8])
    }

    public var point: InsertionPoint
    public var content: Content
    /// `css brand.css`, for a person.
    public var display: String

    public init(point: InsertionPoint, content: Content, display: String) {
        self.point = point
        self.content = content
        self.display = display
    }
}

/// All that rules insert into a page, made ready for pages of every charset.
public final class PageInsertions {
    public let mode: PolicyMode
    let insertions: [Insertion]
    /// Of what is inserted, so that a page with something else is another representation.
    public let digest: UInt64
    /// What all of it together needs policies to allow.
    public let demands: [PolicyDemand]

    public init(_ definitions: [InsertionDefinition], mode: PolicyMode) {
        self.mode = mode
        let ordered = InsertionPoint.allCases.flatMap { point in definitions.filter { $0.point == point } }
        insertions = ordered.map { Insertion($0, mode) }
        demands = insertions.flatMap(\.demands)
        var digest: UInt64 = mode == .nonce ? 0xcbf2_9ce4_8422_2325 : 0x8422_2325_cbf2_9ce4
        for insertion in insertions {
            digest = (digest ^ UInt64(insertion.point.rawValue)) &* 0x0000_0100_0000_01b3
            for piece in insertion.ascii {
                if case .text(let bytes) = piece { for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 } }
            }
        }
        self.digest = digest
    }
}

/// One thing to insert, in two spellings: as it is for UTF-8 and UTF-16, and in ASCII for every other charset.
struct Insertion {
    enum Piece: Equatable {
        case text([UInt8])
        /// Where ` nonce="..."` stands, if there is a nonce.
        case nonce
    }

    let point: InsertionPoint
    let unicode: [Piece]
    let ascii: [Piece]
    /// What a policy would have to allow.
    let demands: [PolicyDemand]

    init(_ definition: InsertionDefinition, _ mode: PolicyMode) {
        point = definition.point
        var markup = MarkupBuilder(takesNonce: mode == .nonce)
        switch definition.content {
        case .css(let bytes):
            markup.open("<style", ">", behind: "</style>") { $0.add(InlineText.style(bytes), .style) }
            demands = [.inlineStyle]
        case .javascript(let bytes):
            markup.open("<script", ">", behind: "</script>") { $0.add(InlineText.script(bytes), .script) }
            demands = [.inlineScript]
        case .cssURL(let url):
            markup.open("<link", " rel=\"stylesheet\" href=\"", behind: "\">") { $0.add(InlineText.attribute(url), .markup) }
            demands = [.style(url: url)]
        case .javascriptURL(let url):
            markup.open("<script", " src=\"", behind: "\"></script>") { $0.add(InlineText.attribute(url), .markup) }
            demands = [.script(url: url)]
        case .html(let bytes):
            demands = markup.add(snippet: bytes)
        }
        unicode = markup.unicode
        ascii = markup.ascii
    }
}

/// Puts an insertion together in both spellings.
struct MarkupBuilder {
    /// What text outside of ASCII is part of, which says how it is written in ASCII.
    enum Context { case markup, script, style, comment }

    private(set) var unicode: [Insertion.Piece] = []
    private(set) var ascii: [Insertion.Piece] = []
    private let takesNonce: Bool
    private var unicodeText: [UInt8] = []
    private var asciiText: [UInt8] = []

    init(takesNonce: Bool) { self.takesNonce = takesNonce }

    mutating func open(_ tag: String, _ rest: String, behind: String, _ body: (inout MarkupBuilder) -> Void) {
        add(Array(tag.utf8), .markup)
        addNonce()
        add(Array(rest.utf8), .markup)
        body(&self)
        add(Array(behind.utf8), .markup)
        finish()
    }

    mutating func add(_ bytes: [UInt8], _ context: Context) {
        unicodeText += bytes
        asciiText += InlineText.ascii(bytes, context)
    }

    private mutating func addNonce() {
        guard takesNonce else { return }
        finish()
        unicode.append(.nonce)
        ascii.append(.nonce)
    }

    private mutating func finish() {
        if !unicodeText.isEmpty { unicode.append(.text(unicodeText)) }
        if !asciiText.isEmpty { ascii.append(.text(asciiText)) }
        unicodeText = []
        asciiText = []
    }

    /// Markup of the user's: its scripts, style sheets and links get the nonce. What it demands of a policy.
    mutating func add(snippet: [UInt8]) -> [PolicyDemand] {
        var tokenizer = PageTokenizer()
        tokenizer.tellsText = false
        var demands: [PolicyDemand] = []
        var tag: [UInt8] = []
        var index = 0
        while index < snippet.count {
            let context = tokenizer.context
            // A character outside of ASCII is written as a whole.
            var end = index + 1
            while snippet[index] >= 0xc0 && end < snippet.count && snippet[end] & 0xc0 == 0x80 { end += 1 }
            let slice = Array(snippet[index..<end])
            var position = 0
            var isNamed = false
            var event = tokenizer.next(slice.span, from: &position)
            while event != .needMore {
                if event == .tagName { isNamed = !tokenizer.isEndTag && tokenizer.name.mayHaveNonce }
                if event == .tagEnd, !tokenizer.isEndTag {
                    demands += PolicyDemand.demands(ofTag: tokenizer.name, tag + slice)
                }
                event = tokenizer.next(slice.span, from: &position)
            }
            if tokenizer.start == 0 && slice == [Octet.lessThan] { tag = [] }
            tokenizer.advance(slice.count)
            tag += slice
            // The name ends before this byte.
            if isNamed { addNonce() }
            add(slice, context)
            index = end
        }
        finish()
        return demands
    }
}

extension TagName {
    var mayHaveNonce: Bool { self == .script || self == .style || self == .link }
}

extension PageTokenizer {
    /// What text here is part of.
    var context: MarkupBuilder.Context {
        switch state {
        case .comment, .commentStart, .commentStartDash, .commentEndDash, .commentEnd, .commentEndBang, .bogusComment: .comment
        case .text, .textLessThan, .textEndOpen, .textEndName: textContext
        case .escaped, .escapedDash, .escapedDashDash, .doubleEscaped, .doubleEscapedDash, .doubleEscapedDashDash: .script
        default: .markup
        }
    }

    private var textContext: MarkupBuilder.Context {
        if textElement == .script { return .script }
        return textElement == .style ? .style : .markup
    }
}
