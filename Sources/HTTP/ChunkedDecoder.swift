/// What the chunked coding yields next.
public enum ChunkEvent: Sendable, Equatable {
    /// `count` octets of content, at least one, at `start` of the input.
    case data(start: Int, count: Int)
    /// The whole input is taken and the message goes on.
    case needMore
    /// The last chunk and the trailer section are complete; the fields are in `trailers`.
    case end
}

/// Decodes the chunked transfer coding (RFC 9112 section 7.1), strictly, and resumable at every octet.
///
/// Sizes are 1*HEXDIG below 2^63; extensions are checked against their grammar, bounded and dropped; every line ends in CRLF.
/// An error is final: all later calls throw.
public struct ChunkedDecoder {
    /// The trailer section of the message; complete once `.end` has been returned.
    public let trailers: TrailerSection
    private var limits: HeadLimits
    private var state = State.size
    /// The size while it is read, then what is left of the chunk.
    private var remaining = 0
    private var sizeDigits = 0
    private var extensionBytes = 0
    private var extensionBytesOfMessage = 0

    private enum State: UInt8 {
        /// Digits; ends in a CR or in an extension.
        case size
        /// Between a size or a value and the `;` of the next extension: white space was seen.
        case beforeSemicolon
        case beforeName, name
        /// White space after a name: `=` or `;` must come.
        case afterName
        case beforeValue, value, quoted, quotedPair, afterQuoted
        /// The CR of a size line was seen.
        case sizeLineFeed
        case data, dataCarriageReturn, dataLineFeed
        case trailerLineStart, trailerLine, trailerLineFeed, lastLineFeed
        case end, failed
    }

    /// The decoder of one connection's messages, one after the other; see ``reset(limits:)``.
    public init(trailers: TrailerSection = TrailerSection(), limits: HeadLimits = HeadLimits()) {
        self.trailers = trailers
        self.limits = limits
        trailers.reset()
    }

    /// Makes it ready for the next message; allocates nothing.
    public mutating func reset(limits: HeadLimits) {
        self = ChunkedDecoder(trailers: trailers, limits: limits)
    }

    public var isAtEnd: Bool { state == .end }

    /// Decodes from `position`, which is moved behind what was taken; nothing behind the end of the message is.
    public mutating func next(_ input: Span<UInt8>, from position: inout Int) throws(HTTPError) -> ChunkEvent {
        while position < input.count {
            switch state {
            case .data: return takeData(input.count, &position)
            case .end: return .end
            case .failed: throw .malformed
            case .trailerLineStart, .trailerLine, .trailerLineFeed, .lastLineFeed:
                try takeTrailer(input, &position)
            default:
                try takeLine(input[position])
                position &+= 1
            }
        }
        if state == .failed { throw .malformed }
        return state == .end ? .end : .needMore
    }

    private mutating func takeData(_ inputCount: Int, _ position: inout Int) -> ChunkEvent {
        let start = position
        let count = min(remaining, inputCount &- position)
        position &+= count
        remaining &-= count
        if remaining == 0 { state = .dataCarriageReturn }
        return .data(start: start, count: count)
    }

    /// The octets between the data: size lines and the CRLF that ends each chunk's data.
    private mutating func takeLine(_ octet: UInt8) throws(HTTPError) {
        switch state {
        case .size: try takeSize(octet)
        case .sizeLineFeed:
            guard octet == Octet.lineFeed else { throw fail() }
            extensionBytes = 0
            sizeDigits = 0
            state = remaining == 0 ? .trailerLineStart : .data
        case .dataCarriageReturn:
            guard octet == Octet.carriageReturn else { throw fail() }
            state = .dataLineFeed
        case .dataLineFeed:
            guard octet == Octet.lineFeed else { throw fail() }
            state = .size
        default: try takeExtension(octet)
        }
    }

    private mutating func takeSize(_ octet: UInt8) throws(HTTPError) {
        if let digit = Octet.hexadecimalDigit(octet) {
            sizeDigits &+= 1
            // Section 7.1: anticipate large numerals. Int.max is as much as anything here can count.
            guard sizeDigits <= Limits.chunkSizeDigits, remaining <= Int.max &>> 4 else { throw fail() }
            remaining = remaining &<< 4 | Int(digit)
            return
        }
        guard sizeDigits > 0 else { throw fail() }
        if octet == Octet.carriageReturn {
            state = .sizeLineFeed
        } else {
            state = .beforeSemicolon
            try takeExtension(octet)
        }
    }

    /// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ) (section 7.1.1).
    private mutating func takeExtension(_ octet: UInt8) throws(HTTPError) {
        if octet == Octet.carriageReturn {
            guard state == .name || state == .value || state == .afterQuoted else { throw fail() }
            state = .sizeLineFeed
            return
        }
        extensionBytes &+= 1
        extensionBytesOfMessage &+= 1
        guard extensionBytes <= Limits.chunkExtensionBytes,
            extensionBytesOfMessage <= Limits.chunkExtensionBytesPerMessage,
            let next = ChunkedDecoder.extensionState(after: state, octet)
        else { throw fail() }
        state = next
    }

    /// The state that follows; nil: the octet may not stand here.
    private static func extensionState(after state: State, _ octet: UInt8) -> State? {
        let isBlank = Octet.isBlank(octet)
        switch state {
        case .beforeSemicolon:
            return isBlank ? .beforeSemicolon : octet == Octet.semicolon ? .beforeName : nil
        case .beforeName:
            return isBlank ? .beforeName : Octet.isToken(octet) ? .name : nil
        case .name, .afterName:
            if isBlank { return .afterName }
            if octet == Octet.semicolon { return .beforeName }
            if octet == Octet.equals { return .beforeValue }
            return state == .name && Octet.isToken(octet) ? .name : nil
        case .beforeValue:
            if isBlank { return .beforeValue }
            return octet == Octet.quote ? .quoted : Octet.isToken(octet) ? .value : nil
        case .value, .afterQuoted:
            if isBlank { return .beforeSemicolon }
            if octet == Octet.semicolon { return .beforeName }
            return state == .value && Octet.isToken(octet) ? .value : nil
        case .quoted:
            if octet == Octet.quote { return .afterQuoted }
            if octet == Octet.backslash { return .quotedPair }
            return Octet.isForbiddenInText(octet) ? nil : .quoted
        case .quotedPair:
            return Octet.isForbiddenInText(octet) ? nil : .quoted
        default: return nil
        }
    }

    /// The trailer section (section 7.1.2): collected line by line, and parsed like the fields of a head when it has ended.
    private mutating func takeTrailer(_ input: Span<UInt8>, _ position: inout Int) throws(HTTPError) {
        let octet = input[position]
        switch state {
        case .trailerLineStart where octet == Octet.carriageReturn: state = .lastLineFeed
        case .trailerLineStart, .trailerLine:
            let end = WordScan.text(input, from: position)
            let room = max(limits.headerBytes, 0) &- trailers.bytes.count
            guard end &- position <= room else { throw fail(.headerTooLarge) }
            trailers.bytes.append(input.extracting(position..<end))
            position = end
            state = .trailerLine
            if end == input.count { return }
            guard input[end] == Octet.carriageReturn else { throw fail() }
            state = .trailerLineFeed
        case .trailerLineFeed:
            guard octet == Octet.lineFeed else { throw fail() }
            trailers.bytes.append("\r\n")
            state = .trailerLineStart
        default:
            guard octet == Octet.lineFeed else { throw fail() }
            try finishTrailers()
        }
        position &+= 1
    }

    private mutating func finishTrailers() throws(HTTPError) {
        state = .failed
        if !trailers.bytes.isEmpty { try trailers.parse(limits) }
        state = .end
    }

    private mutating func fail(_ error: HTTPError = .malformed) -> HTTPError {
        state = .failed
        return error
    }
}
