/// Finds the tags of an HTML page (WHATWG HTML section 13.2.5) in slices of any size, keeping no bytes.
///
/// What is markup in a comment, a script, other text elements or an attribute's value is none here. Each step depends on the
/// bytes up to it and on no later one, so a page gives the same tags however it is cut.
struct PageTokenizer {
    enum Event: Equatable {
        /// The slice is at its end.
        case needMore
        /// Text that is not white space begins, at ``start``.
        case text
        /// The name of a tag is known, which began at ``start``: ``name``, ``isEndTag``. Attributes follow.
        case tagName
        /// The tag whose name was told ends before the position.
        case tagEnd
    }

    private(set) var state = TokenizerState.data
    /// Where the present tag or text began: an index of the slice, below zero in one before.
    private(set) var start = 0
    private(set) var name = TagName()
    private(set) var isEndTag = false
    /// Every tag is told of; otherwise only the end tags of body and html.
    var tellsAll = true
    /// The first text is told of.
    var tellsText = true
    private var isTold = false
    private var isNameDecided = false
    private var isSelfClosing = false
    /// The element whose text is passed over.
    private(set) var textElement = TagName()
    private var cdataMatched = 0
    /// Open templates: what is in them is no part of the page.
    private var templates = 0
    /// Open svg and math elements, where CDATA and self-closing tags are what they look like.
    private var foreign = 0

    private static let cdata: InlineArray<6, UInt8> = [0x43, 0x44, 0x41, 0x54, 0x41, 0x5b]

    init() {}

    /// The bytes from ``start`` on may be those of a tag whose name is not known yet.
    var isUndecided: Bool {
        switch state {
        case .tagOpen, .endTagOpen: true
        case .tagName: !isNameDecided
        default: false
        }
    }

    /// What would be inserted here would be read as markup.
    var isInMarkup: Bool { (state == .data || state == .tagOpen) && templates == 0 }

    /// The next slice begins where this one of `count` bytes ends.
    mutating func advance(_ count: Int) { start -= count }

    /// Goes on from `position` to the next event.
    mutating func next(_ bytes: Span<UInt8>, from position: inout Int) -> Event {
        while position < bytes.count {
            switch state {
            case .data:
                if let event = data(bytes, &position) { return event }
            case .tagOpen, .endTagOpen:
                if let event = tagOpen(bytes, &position) { return event }
            case .tagName:
                if let event = tagName(bytes, &position) { return event }
            case .beforeAttributeName, .attributeName, .afterAttributeName, .beforeAttributeValue, .doubleQuoted, .singleQuoted,
                .unquoted, .afterQuoted, .selfClosing:
                if let event = attributes(bytes, &position) { return event }
            case .plaintext: position = bytes.count
            case .text: textElement(bytes, &position)
            case .textLessThan, .textEndOpen, .textEndName:
                if let event = textEnd(bytes[position], &position) { return event }
            case .bogusComment:
                position = Octet.index(of: Octet.greaterThan, in: bytes, from: position)
                if position < bytes.count { (state, position) = (.data, position + 1) }
            case .comment:
                position = Octet.index(of: Octet.dash, in: bytes, from: position)
                if position < bytes.count { (state, position) = (.commentEndDash, position + 1) }
            case .cdata:
                position = Octet.index(of: UInt8(ascii: "]"), in: bytes, from: position)
                if position < bytes.count { (state, position) = (.cdataBracket, position + 1) }
            case .scriptEscapeStart, .scriptEscapeStartDash, .escaped, .escapedDash, .escapedDashDash, .escapedLessThan,
                .escapedEndName, .doubleEscapeStart, .doubleEscaped, .doubleEscapedDash, .doubleEscapedDashDash,
                .doubleEscapedLessThan, .doubleEscapeEnd:
                if escapedScript(bytes[position]) { position += 1 }
            case .markupDeclaration, .markupDash, .cdataOpen, .cdataBracket, .cdataBrackets:
                if declaration(bytes[position]) { position += 1 }
            case .commentStart, .commentStartDash, .commentEndDash, .commentEnd, .commentEndBang:
                comment(bytes[position])
                position += 1
            }
        }
        return .needMore
    }

    private mutating func data(_ bytes: Span<UInt8>, _ position: inout Int) -> Event? {
        if tellsText && templates == 0 {
            while position < bytes.count && Octet.isSpace(bytes[position]) { position += 1 }
            if position < bytes.count && bytes[position] != Octet.lessThan {
                start = position
                tellsText = false
                return .text
            }
        } else {
            position = Octet.index(of: Octet.lessThan, in: bytes, from: position)
        }
        if position < bytes.count {
            start = position
            state = .tagOpen
            position += 1
        }
        return nil
    }

    private mutating func tagOpen(_ bytes: Span<UInt8>, _ position: inout Int) -> Event? {
        let byte = bytes[position]
        if Octet.isLetter(byte) {
            isEndTag = state == .endTagOpen
            name = TagName()
            isNameDecided = false
            isTold = false
            isSelfClosing = false
            state = .tagName
            return nil
        }
        if state == .endTagOpen {
            // `</>` is nothing at all.
            state = byte == Octet.greaterThan ? .data : .bogusComment
            if byte == Octet.greaterThan { position += 1 }
            return nil
        }
        switch byte {
        case Octet.slash: state = .endTagOpen
        case UInt8(ascii: "!"): state = .markupDeclaration
        case UInt8(ascii: "?"): state = .bogusComment
        default:
            // The less-than sign was text.
            state = .data
            guard tellsText && templates == 0 else { return nil }
            tellsText = false
            return .text
        }
        position += 1
        return nil
    }

    private mutating func tagName(_ bytes: Span<UInt8>, _ position: inout Int) -> Event? {
        var index = position
        while index < bytes.count {
            let byte = bytes[index]
            if Octet.isSpace(byte) || byte == Octet.slash || byte == Octet.greaterThan {
                position = index
                if !isNameDecided {
                    isNameDecided = true
                    if tellsOfTag() { return .tagName }
                }
                state = .beforeAttributeName
                return nil
            }
            name.append(byte)
            index += 1
            if name.isLong && !isNameDecided {
                position = index
                isNameDecided = true
                if tellsOfTag() { return .tagName }
            }
        }
        position = index
        return nil
    }

    private mutating func tellsOfTag() -> Bool {
        isTold = templates == 0 && (tellsAll || isEndTag && (name == .body || name == .html))
        return isTold
    }

    private mutating func attributes(_ bytes: Span<UInt8>, _ position: inout Int) -> Event? {
        var index = position
        var state = state
        defer {
            position = index
            self.state = state
        }
        while index < bytes.count {
            let byte = bytes[index]
            switch state {
            case .doubleQuoted, .singleQuoted:
                let end = state == .doubleQuoted ? Octet.quote : Octet.apostrophe
                while index < bytes.count && bytes[index] != end { index += 1 }
                if index == bytes.count { return nil }
                state = .afterQuoted
            case .beforeAttributeValue:
                switch byte {
                case Octet.quote: state = .doubleQuoted
                case Octet.apostrophe: state = .singleQuoted
                case Octet.greaterThan: return endTag(&index, &state)
                default: if !Octet.isSpace(byte) { state = .unquoted }
                }
            case .unquoted:
                if byte == Octet.greaterThan { return endTag(&index, &state) }
                if Octet.isSpace(byte) { state = .beforeAttributeName }
            default:
                if byte == Octet.greaterThan {
                    isSelfClosing = state == .selfClosing
                    return endTag(&index, &state)
                }
                if byte == Octet.slash {
                    state = .selfClosing
                } else if byte == Octet.equals && (state == .attributeName || state == .afterAttributeName) {
                    state = .beforeAttributeValue
                } else if Octet.isSpace(byte) {
                    state = state == .attributeName || state == .afterAttributeName ? .afterAttributeName : .beforeAttributeName
                } else {
                    state = .attributeName
                }
            }
            index += 1
        }
        return nil
    }

    /// At the `>` of a tag.
    private mutating func endTag(_ index: inout Int, _ state: inout TokenizerState) -> Event? {
        index += 1
        state = isEndTag ? stateBehindEndTag() : stateBehindStartTag()
        return isTold ? .tagEnd : nil
    }

    private mutating func stateBehindStartTag() -> TokenizerState {
        let isEmpty = isSelfClosing && foreign > 0
        if name == .svg || name == .math {
            if !isSelfClosing { foreign += 1 }
        } else if isEmpty {
            return .data
        } else if name == .template {
            templates += 1
        } else if name.holdsText {
            textElement = name
            return .text
        } else if name == .plaintext && foreign == 0 {
            return .plaintext
        }
        return .data
    }

    private mutating func stateBehindEndTag() -> TokenizerState {
        if name == .template && templates > 0 { templates -= 1 }
        if (name == .svg || name == .math) && foreign > 0 { foreign -= 1 }
        return .data
    }

    // MARK: Elements that hold text

    private mutating func textElement(_ bytes: Span<UInt8>, _ position: inout Int) {
        position = Octet.index(of: Octet.lessThan, in: bytes, from: position)
        if position < bytes.count { (state, position) = (.textLessThan, position + 1) }
    }

    /// Whether `</` and the element's name follow; also within the escaped part of a script.
    private mutating func textEnd(_ byte: UInt8, _ position: inout Int) -> Event? {
        switch state {
        case .textLessThan:
            if byte == Octet.slash {
                state = .textEndOpen
            } else if byte == UInt8(ascii: "!") && textElement == .script {
                state = .scriptEscapeStart
            } else {
                state = .text
                return nil
            }
        case .textEndOpen:
            name = TagName()
            state = Octet.isLetter(byte) ? .textEndName : .text
            return nil
        default:
            if endsTextElement(byte) {
                beginTextEndTag()
                return nil
            }
            if !Octet.isLetter(byte) {
                state = .text
                return nil
            }
            name.append(byte)
        }
        position += 1
        return nil
    }

    private func endsTextElement(_ byte: UInt8) -> Bool {
        name == textElement && (Octet.isSpace(byte) || byte == Octet.slash || byte == Octet.greaterThan)
    }

    private mutating func beginTextEndTag() {
        isEndTag = true
        isTold = false
        isSelfClosing = false
        isNameDecided = true
        state = .beforeAttributeName
    }

    /// The states of a script that holds `<!--` (WHATWG HTML sections 13.2.5.18 to 13.2.5.31); true when the byte is taken.
    private mutating func escapedScript(_ byte: UInt8) -> Bool {
        switch state {
        case .scriptEscapeStart, .scriptEscapeStartDash:
            guard byte == Octet.dash else {
                state = .text
                return false
            }
            state = state == .scriptEscapeStart ? .scriptEscapeStartDash : .escapedDashDash
        case .escaped, .escapedDash, .escapedDashDash:
            state = escapedNext(byte, .escaped, .escapedDash, .escapedDashDash, .escapedLessThan)
        case .doubleEscaped, .doubleEscapedDash, .doubleEscapedDashDash:
            state = escapedNext(byte, .doubleEscaped, .doubleEscapedDash, .doubleEscapedDashDash, .doubleEscapedLessThan)
        case .escapedLessThan:
            name = TagName()
            guard byte == Octet.slash else {
                state = Octet.isLetter(byte) ? .doubleEscapeStart : .escaped
                return false
            }
            state = .escapedEndName
        case .escapedEndName:
            if endsTextElement(byte) {
                beginTextEndTag()
                return false
            }
            guard Octet.isLetter(byte) else {
                state = .escaped
                return false
            }
            name.append(byte)
        case .doubleEscapedLessThan:
            name = TagName()
            guard byte == Octet.slash else {
                state = .doubleEscaped
                return false
            }
            state = .doubleEscapeEnd
        default: return doubleEscape(byte)
        }
        return true
    }

    private func escapedNext(
        _ byte: UInt8, _ plain: TokenizerState, _ dash: TokenizerState, _ dashDash: TokenizerState, _ lessThan: TokenizerState
    ) -> TokenizerState {
        switch byte {
        case Octet.dash: state == plain ? dash : dashDash
        case Octet.lessThan: lessThan
        case Octet.greaterThan where state == dashDash: .text
        default: plain
        }
    }

    /// Behind `<` or `</` in a script's escaped part: a whole `script` begins or ends what is escaped twice.
    private mutating func doubleEscape(_ byte: UInt8) -> Bool {
        let (whole, other): (TokenizerState, TokenizerState) =
            state == .doubleEscapeStart ? (.doubleEscaped, .escaped) : (.escaped, .doubleEscaped)
        if Octet.isSpace(byte) || byte == Octet.slash || byte == Octet.greaterThan {
            state = name == .script ? whole : other
        } else if Octet.isLetter(byte) {
            name.append(byte)
        } else {
            state = other
            return false
        }
        return true
    }

    // MARK: Comments, doctypes, CDATA

    /// True when the byte is taken.
    private mutating func declaration(_ byte: UInt8) -> Bool {
        switch state {
        case .markupDeclaration:
            switch byte {
            case Octet.dash: state = .markupDash
            case UInt8(ascii: "[") where foreign > 0:
                cdataMatched = 0
                state = .cdataOpen
            default:
                state = .bogusComment  // a doctype ends like one
                return false
            }
        case .markupDash:
            state = byte == Octet.dash ? .commentStart : .bogusComment
            return byte == Octet.dash
        case .cdataOpen:
            guard byte == Self.cdata[cdataMatched] else {
                state = .bogusComment
                return false
            }
            cdataMatched += 1
            if cdataMatched == Self.cdata.count { state = .cdata }
        case .cdataBracket: state = byte == UInt8(ascii: "]") ? .cdataBrackets : .cdata
        default: if byte != UInt8(ascii: "]") { state = byte == Octet.greaterThan ? .data : .cdata }
        }
        return true
    }

    private mutating func comment(_ byte: UInt8) {
        switch (state, byte) {
        case (.commentStart, Octet.dash): state = .commentStartDash
        case (.commentStart, Octet.greaterThan), (.commentStartDash, Octet.greaterThan), (.commentEnd, Octet.greaterThan),
            (.commentEndBang, Octet.greaterThan):
            state = .data
        case (.commentStartDash, Octet.dash), (.commentEndDash, Octet.dash), (.commentEnd, Octet.dash): state = .commentEnd
        case (.commentEnd, UInt8(ascii: "!")): state = .commentEndBang
        case (.commentEndBang, Octet.dash): state = .commentEndDash
        default: state = .comment
        }
    }
}

/// Where in a page's syntax the tokenizer is; names as in WHATWG HTML section 13.2.5, shortened.
enum TokenizerState: UInt8 {
    case data, tagOpen, endTagOpen, tagName
    case beforeAttributeName, attributeName, afterAttributeName, beforeAttributeValue
    case doubleQuoted, singleQuoted, unquoted, afterQuoted, selfClosing
    case plaintext
    case text, textLessThan, textEndOpen, textEndName
    case scriptEscapeStart, scriptEscapeStartDash
    case escaped, escapedDash, escapedDashDash, escapedLessThan, escapedEndName
    case doubleEscapeStart, doubleEscaped, doubleEscapedDash, doubleEscapedDashDash, doubleEscapedLessThan, doubleEscapeEnd
    case bogusComment, markupDeclaration, markupDash
    case commentStart, commentStartDash, comment, commentEndDash, commentEnd, commentEndBang
    case cdataOpen, cdata, cdataBracket, cdataBrackets
}
