/// A tag's name, as far as any that the tokenizer or the editor asks for is told apart: its first eight letters and its length.
struct TagName: Equatable {
    private(set) var letters: UInt64 = 0
    private(set) var length: Int32 = 0

    /// No name that is asked for is longer than this.
    static let longest: Int32 = 9

    init() {}

    init(_ text: StaticString) { for byte in text.description.utf8 { append(byte) } }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if length < 8 { letters |= UInt64(Octet.lowered(byte)) << UInt64(length * 8) }
        if length <= Self.longest { length += 1 }
    }

    var isLong: Bool { length > Self.longest }

    static let html = TagName("html")
    static let head = TagName("head")
    static let body = TagName("body")
    static let frameset = TagName("frameset")
    static let br = TagName("br")
    static let base = TagName("base")
    static let basefont = TagName("basefont")
    static let bgsound = TagName("bgsound")
    static let link = TagName("link")
    static let meta = TagName("meta")
    static let title = TagName("title")
    static let script = TagName("script")
    static let style = TagName("style")
    static let noscript = TagName("noscript")
    static let noframes = TagName("noframes")
    static let noembed = TagName("noembed")
    static let iframe = TagName("iframe")
    static let xmp = TagName("xmp")
    static let textarea = TagName("textarea")
    static let template = TagName("template")
    static let plaintext = TagName("plaintext")
    static let svg = TagName("svg")
    static let math = TagName("math")

    /// What stands in a head, and does not end it (WHATWG HTML section 13.2.6.4.4).
    var belongsInHead: Bool {
        switch self {
        case .base, .basefont, .bgsound, .link, .meta, .title, .noscript, .noframes, .style, .script, .template: true
        default: false
        }
    }

    /// Its content is text up to its end tag. Of noscript so too: where scripts run that is what it is, and where they don't,
    /// nothing in it is asked for.
    var holdsText: Bool {
        switch self {
        case .script, .style, .noscript, .noframes, .noembed, .iframe, .xmp, .title, .textarea: true
        default: false
        }
    }
}
