/// What an insertion needs a page's policy to allow.
public enum PolicyDemand: Sendable, Equatable {
    case inlineScript, inlineStyle
    case script(url: String)
    case style(url: String)

    var isScript: Bool {
        switch self {
        case .inlineScript, .script: true
        case .inlineStyle, .style: false
        }
    }

    /// Of a start tag in an inserted snippet; `tag` holds all of it.
    static func demands(ofTag name: TagName, _ tag: [UInt8]) -> [PolicyDemand] {
        func text(_ attribute: StaticString) -> String? {
            guard let value = TagAttributes.value(of: attribute, in: tag.span) else { return nil }
            return String(decoding: TagAttributes.decoded(tag, value).bytes, as: UTF8.self)
        }
        if name == .script { return [text("src").map { .script(url: $0) } ?? .inlineScript] }
        if name == .style { return [.inlineStyle] }
        if name == .link, text("rel")?.lowercased().split(separator: " ").contains("stylesheet") ?? false {
            return [.style(url: text("href") ?? "")]
        }
        return []
    }
}

/// One Content Security Policy (CSP level 3 section 2.2): what it says of scripts and style sheets that are inserted.
public struct SecurityPolicy {
    /// The list that decides about a kind of element; nil where the policy has none, which allows everything.
    struct SourceList {
        var name: String
        /// Behind its last source; where another one can be put.
        var end: Int
        var sources: [String]

        private func has(_ keyword: String) -> Bool { sources.contains(keyword) }

        /// CSP section 6.7.3.2: 'unsafe-inline' counts only where nothing more precise stands beside it.
        func allowsAllInline(isScript: Bool) -> Bool {
            let isPrecise = sources.contains {
                $0.hasPrefix("'nonce-") || $0.hasPrefix("'sha256-") || $0.hasPrefix("'sha384-") || $0.hasPrefix("'sha512-")
            }
            return has("'unsafe-inline'") && !isPrecise && !(isScript && has("'strict-dynamic'"))
        }

        /// A conservative reading of CSP section 6.7.2.8: `'self'` for the page's own origin, `*`, a scheme, or scheme and host.
        /// `data:`, `blob:` and other schemes than http and https are allowed by name alone.
        func allows(url: String, isScript: Bool) -> Bool {
            if isScript && has("'strict-dynamic'") { return false }
            let text = SourceList.asParsed(url)
            guard let end = SourceList.schemeEnd(text) else {
                return !text.hasPrefix("//") && (has("'self'") || has("*"))
            }
            let scheme = text[..<end]
            let rest = text[text.index(after: end)...]
            if has("\(scheme):") || scheme == "https" && has("http:") { return true }
            guard scheme == "http" || scheme == "https", rest.hasPrefix("//") else { return false }
            let host = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            return has("*") || has(String(host)) || has("\(scheme)://\(host)")
        }

        /// As a URL parser takes it: without line breaks and tabs, nor white space in front; a backslash is a slash.
        private static func asParsed(_ url: String) -> String {
            let kept = url.unicodeScalars.drop { $0.value <= 0x20 }.filter { $0 != "\t" && $0 != "\n" && $0 != "\r" }
            return String(String.UnicodeScalarView(kept.map { $0 == "\\" ? "/" : $0 })).lowercased()
        }

        private static func isSchemeCharacter(_ character: Character) -> Bool {
            character.isASCII && (character.isLetter || character.isNumber || "+-.".contains(character))
        }

        /// Where the colon behind the scheme stands; nil for a URL that is relative to the page's.
        private static func schemeEnd(_ text: String) -> String.Index? {
            guard let end = text.firstIndex(where: { !isSchemeCharacter($0) }), text[end] == ":",
                let first = text.first, first.isASCII && first.isLetter
            else { return nil }
            return end
        }
    }

    private(set) var script: SourceList?
    private(set) var style: SourceList?
    /// The sandbox directive without allow-scripts.
    private(set) var forbidsScripts = false
    /// Behind the policy's last word, and whether that is a semicolon.
    private let end: Int
    private let endsWithSemicolon: Bool

    public init(_ text: [UInt8]) {
        end = (text.lastIndex { !Octet.isSpace($0) } ?? -1) + 1
        endsWithSemicolon = end > 0 && text[end - 1] == UInt8(ascii: ";")
        var lists: [String: SourceList] = [:]
        for range in Self.directives(text) {
            let words = text[range].split(whereSeparator: Octet.isSpace)
            guard let first = words.first else { continue }
            let name = Self.lowered(first)
            // The first of its name counts.
            if lists[name] != nil { continue }
            lists[name] = SourceList(name: name, end: words[words.count - 1].endIndex, sources: words.dropFirst().map(Self.lowered))
        }
        script = lists["script-src-elem"] ?? lists["script-src"] ?? lists["default-src"]
        style = lists["style-src-elem"] ?? lists["style-src"] ?? lists["default-src"]
        if let sandbox = lists["sandbox"] { forbidsScripts = !sandbox.sources.contains("allow-scripts") }
    }

    private static func directives(_ text: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        for index in text.indices where text[index] == UInt8(ascii: ";") {
            ranges.append(start..<index)
            start = index + 1
        }
        ranges.append(start..<text.count)
        return ranges
    }

    private static func lowered(_ word: ArraySlice<UInt8>) -> String {
        String(decoding: word.map(Octet.lowered), as: UTF8.self)
    }

    /// A change of a policy's text: in place of a range stand the words before the nonce's source, and that source.
    public struct Edit: Equatable {
        public var range: Range<Int>
        public var words: String
    }

    /// What gives the nonce to what is demanded, from front to back.
    ///
    /// - A list whose 'unsafe-inline' is in force gets none: a nonce would put it out of force, and with it what the page's own
    ///   scripts live by.
    /// - `'none'` stays for everything else: elements get a directive of their own beside it (CSP section 6.1.12).
    public func nonceEdits(for demands: [PolicyDemand]) -> [Edit] {
        var edits: [Edit] = []
        var directives: [String] = []
        for (list, isScript, name) in [(script, true, "script-src-elem"), (style, false, "style-src-elem")] {
            guard let list, demands.contains(where: { $0.isScript == isScript }), !list.allowsAllInline(isScript: isScript) else {
                continue
            }
            if list.sources != ["'none'"] {
                let edit = Edit(range: list.end..<list.end, words: " ")
                if !edits.contains(edit) { edits.append(edit) }
            } else if list.name == name {
                edits.append(Edit(range: list.end - 6..<list.end, words: ""))
            } else {
                directives.append(name)
            }
        }
        edits.sort { $0.range.lowerBound < $1.range.lowerBound }
        for (index, name) in directives.enumerated() {
            let separator = index == 0 && endsWithSemicolon ? " " : "; "
            edits.append(Edit(range: end..<end, words: "\(separator)\(name) "))
        }
        return edits
    }

    /// `hasNonce`: the policy was given one, and what is inserted carries it.
    func allows(_ demand: PolicyDemand, hasNonce: Bool) -> Bool {
        if demand.isScript && forbidsScripts { return false }
        guard let list = demand.isScript ? script : style else { return true }
        let allowsInline = list.allowsAllInline(isScript: demand.isScript)
        if hasNonce && !allowsInline { return true }
        switch demand {
        case .inlineScript, .inlineStyle: return allowsInline
        case .script(let url), .style(let url): return list.allows(url: url, isScript: demand.isScript)
        }
    }
}
