public import HTTP

/// The pairs of a request's Cookie lines (RFC 6265 section 4.2.1), in order, as ranges of the head's bytes.
///
/// Lenient as servers are: pairs end at a semicolon and nowhere else, white space around them is no part of them. Lines
/// that are dropped (nominated by Connection) have no pairs.
public struct CookiePairs {
    public struct Pair: Sendable, Equatable {
        /// Empty when the pair has no equals sign; the whole is the value then.
        public var name: ByteRange
        public var value: ByteRange
        public var whole: ByteRange
    }

    private let request: CanonicalRequest
    private var line: Int?
    private var position = 0

    public init(_ request: CanonicalRequest) {
        self.request = request
        line = request.fields.contains(.cookie) ? request.nextLine(.cookie) : nil
    }

    public mutating func next() -> Pair? {
        while let current = line {
            if !request.isDropped(current), let pair = nextPair(of: request.head.lines[current].value) { return pair }
            line = request.nextLine(.cookie, after: current)
            position = 0
        }
        return nil
    }

    private mutating func nextPair(of range: ByteRange) -> Pair? {
        let value = request.head.bytes.span(range)
        while position < value.count {
            let start = position
            let end = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: value, from: start) ?? value.count
            position = end + 1
            let pair = CanonicalBytes.trimmed(value, start..<end)
            if pair.isEmpty { continue }
            return CookiePairs.pair(in: value, pair, offset: Int(range.start))
        }
        return nil
    }

    private static func pair(in value: Span<UInt8>, _ range: Range<Int>, offset: Int) -> Pair {
        let whole = ByteRange(offset + range.lowerBound, range.count)
        guard let equals = CanonicalBytes.firstIndex(of: UInt8(ascii: "="), in: value, from: range.lowerBound),
            equals < range.upperBound
        else { return Pair(name: .empty, value: whole, whole: whole) }
        let name = CanonicalBytes.trimmed(value, range.lowerBound..<equals)
        let content = CanonicalBytes.trimmed(value, (equals + 1)..<range.upperBound)
        return Pair(
            name: ByteRange(offset + name.lowerBound, name.count),
            value: ByteRange(offset + content.lowerBound, content.count), whole: whole)
    }
}

/// Says which cookies go on: the `cookies:` edits of the rules that took the request.
///
/// Implemented by what compiles the rules; a cookie without a name has the empty one.
public protocol CookieFilter {
    /// Names are compared byte by byte (RFC 6265 section 5.3).
    func admits(_ name: Span<UInt8>) -> Bool
}

/// No edits.
public struct EveryCookie: CookieFilter {
    public init() {}
    public func admits(_ name: Span<UInt8>) -> Bool { true }
}

/// Writes the one Cookie value of a request.
public enum Cookies {
    /// Appends what goes on of the client's cookies, and of those that hops have set and that belong to this request,
    /// joined by `; `; returns how many.
    ///
    /// `edits` has to admit a cookie of a hop too: it is what would happen to it if the client came back with it.
    public static func append(
        of request: CanonicalRequest, client: CanonicalRequest, hops: HopCookies?, edits: some CookieFilter,
        to out: ByteBuffer
    ) -> Int {
        if let hops, !hops.isEmpty {
            return hops.append(
                client: client, includesClient: !request.leavesCredentialsBehind,
                host: hops.host(of: request, client: client),
                scheme: request.scheme, path: request.path, edits: edits, to: out)
        }
        if request.leavesCredentialsBehind { return 0 }
        var count = 0
        var pairs = CookiePairs(client)
        while let pair = pairs.next() {
            guard edits.admits(client.head.bytes.span(pair.name)) else { continue }
            appendPair(client.head.bytes.span(pair.whole), first: count == 0, to: out)
            count += 1
        }
        return count
    }

    /// Appends `name=value` behind what is there already.
    static func appendPair(_ pair: Span<UInt8>, first: Bool, to out: ByteBuffer) {
        if !first { out.append("; ") }
        out.append(pair)
    }
}
