internal import HTTP

/// What the demo origin has at a path; any path that is nothing else shows the request.
enum DemoRoute: Equatable {
    case page
    case redirect
    case landed
    case events
    case upload
    case websocket
    case headers
    case bytes(UInt64)
    case status(Int)
    case tracker
    /// `/bytes/` or `/status/` with a number that they do not take.
    case outOfRange

    static let largestDownload: UInt64 = 100 << 30

    /// `path` is canonical, without the query.
    init(path: Span<UInt8>) {
        self = Self.fixed(path) ?? Self.numbered(path) ?? .page
    }

    private static func fixed(_ path: Span<UInt8>) -> DemoRoute? {
        if equals(path, "/redirect") { return .redirect }
        if equals(path, "/landed") { return .landed }
        if equals(path, "/events") { return .events }
        if equals(path, "/upload") { return .upload }
        if equals(path, "/websocket") { return .websocket }
        if equals(path, "/headers") { return .headers }
        if equals(path, "/tracker.js") { return .tracker }
        return nil
    }

    private static func numbered(_ path: Span<UInt8>) -> DemoRoute? {
        if let digits = rest(of: path, after: "/bytes/") {
            guard let count = HTTP1.decimal(path.extracting(digits)), count <= largestDownload else { return .outOfRange }
            return .bytes(count)
        }
        if let digits = rest(of: path, after: "/status/") {
            guard let status = HTTP1.decimal(path.extracting(digits)), (200...599).contains(status) else { return .outOfRange }
            return .status(Int(status))
        }
        return nil
    }

    private static func equals(_ path: Span<UInt8>, _ text: StaticString) -> Bool {
        path.count == text.utf8CodeUnitCount && rest(of: path, after: text) != nil
    }

    private static func rest(of path: Span<UInt8>, after prefix: StaticString) -> Range<Int>? {
        // SAFETY: the prefixes are literals of more than one scalar, which point at their octets and live for ever.
        let expected = unsafe Span(_unsafeStart: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        guard path.count >= expected.count else { return nil }
        for index in 0..<expected.count where path[index] != expected[index] { return nil }
        return expected.count..<path.count
    }
}
