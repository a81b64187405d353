/// What the field lines of a head say about its framing and its connection, gathered while they are parsed.
struct FieldFacts {
    private var seen: UInt64 = 0
    private var contentLength: UInt64 = 0
    private var isChunkedAlone = false
    private(set) var connectionCloses = false
    private(set) var connectionKeepsAlive = false
    private(set) var connectionUpgrades = false
    private(set) var expectsContinue = false
    private(set) var takesTrailers = false

    func has(_ id: FieldID) -> Bool { seen & FieldSectionKind.bit(id) != 0 }

    /// Takes note of one line; throws for a second line of a singleton, and for a length or coding that is none.
    @inline(always)
    mutating func note(
        _ id: FieldID, _ bytes: Span<UInt8>, _ value: Range<Int>, _ kind: FieldSectionKind
    ) throws(HTTPError) {
        let bit = FieldSectionKind.bit(id)
        if seen & bit & kind.singletons != 0 { throw .malformed }
        seen |= bit
        switch id {
        case .contentLength, .transferEncoding, .connection, .expect, .te:
            if kind != .trailer { try noteControl(id, bytes.extracting(value)) }
        default: break
        }
    }

    @inline(never)
    private mutating func noteControl(_ id: FieldID, _ value: Span<UInt8>) throws(HTTPError) {
        switch id {
        case .contentLength:
            // RFC 9110 8.6: 1*DIGIT. A list of the same number might be repaired (RFC 9112 6.3 item 5); it is not.
            guard let length = HTTP1.decimal(value), length <= UInt64(Int64.max) else { throw .malformed }
            contentLength = length
        case .transferEncoding:
            isChunkedAlone = HTTP1.equalsIgnoringCase(value, "chunked")
            if !isChunkedAlone { try FieldFacts.checkCodings(value) }
        case .connection: noteConnection(value)
        case .expect: expectsContinue = expectsContinue || HTTP1.listContains(value, "100-continue")
        case .te: takesTrailers = takesTrailers || HTTP1.listContains(value, "trailers")
        default: break
        }
    }

    private mutating func noteConnection(_ value: Span<UInt8>) {
        if HTTP1.equalsIgnoringCase(value, "keep-alive") {  // what most send, and nothing else
            connectionKeepsAlive = true
            return
        }
        var options = ListCursor()
        while let option = options.next(in: value) {
            let name = value.extracting(option)
            if HTTP1.equalsIgnoringCase(name, "close") { connectionCloses = true }
            if HTTP1.equalsIgnoringCase(name, "keep-alive") { connectionKeepsAlive = true }
            if HTTP1.equalsIgnoringCase(name, "upgrade") { connectionUpgrades = true }
        }
    }

    /// A list of tokens that ends in the only `chunked` has a length that can be known (RFC 9112 section 6.3 item 4), though
    /// its other codings are not spoken here. Every other list that is not `chunked` itself is malformed.
    private static func checkCodings(_ value: Span<UInt8>) throws(HTTPError) {
        var start = 0
        while true {
            var end = start
            while end < value.count && value[end] != Octet.comma { end &+= 1 }
            let coding = value.extracting(HTTP1.trimmed(value, start..<end))
            guard HTTP1.isToken(coding) else { throw .malformed }
            let isLast = end == value.count
            guard HTTP1.equalsIgnoringCase(coding, "chunked") == isLast else { throw .malformed }
            if isLast { return }
            start = end &+ 1
        }
    }

    /// The framing that the fields ask for (RFC 9112 section 6.3), before a response's own rules; `.none`: they are silent.
    func framing(version: HTTPVersion) throws(HTTPError) -> BodyFraming {
        guard has(.transferEncoding) else { return has(.contentLength) ? .length(contentLength) : .none }
        // 6.1: a Transfer-Encoding next to a Content-Length, or in HTTP/1.0, is an attempt at smuggling or a fault.
        guard !has(.contentLength), version == .http11 else { throw .malformed }
        guard isChunkedAlone else { throw .unsupportedTransferCoding }
        return .chunked
    }

    /// RFC 9112 section 9.3.
    func keepsAlive(version: HTTPVersion) -> Bool {
        !connectionCloses && (version == .http11 || connectionKeepsAlive)
    }
}
