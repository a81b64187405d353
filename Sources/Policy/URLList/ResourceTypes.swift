internal import HTTP

/// What a request is for, as lists in Adblock syntax name it.
struct ResourceTypes: OptionSet {
    let rawValue: UInt16

    static let script = ResourceTypes(rawValue: 1 << 0)
    static let image = ResourceTypes(rawValue: 1 << 1)
    static let stylesheet = ResourceTypes(rawValue: 1 << 2)
    static let object = ResourceTypes(rawValue: 1 << 3)
    static let xmlhttprequest = ResourceTypes(rawValue: 1 << 4)
    static let subdocument = ResourceTypes(rawValue: 1 << 5)
    static let document = ResourceTypes(rawValue: 1 << 6)
    static let font = ResourceTypes(rawValue: 1 << 7)
    static let media = ResourceTypes(rawValue: 1 << 8)
    static let websocket = ResourceTypes(rawValue: 1 << 9)
    static let ping = ResourceTypes(rawValue: 1 << 10)
    static let other = ResourceTypes(rawValue: 1 << 11)
    static let all = ResourceTypes(rawValue: 1 << 12 - 1)

    /// The names that options have, and the short ones that some lists use.
    static func named(_ name: String) -> ResourceTypes? {
        switch name {
        case "script": .script
        case "image": .image
        case "stylesheet", "css": .stylesheet
        case "object", "object-subrequest": .object
        case "xmlhttprequest", "xhr": .xmlhttprequest
        case "subdocument", "frame": .subdocument
        case "document", "doc": .document
        case "font": .font
        case "media": .media
        case "websocket": .websocket
        case "ping", "beacon": .ping
        case "other": .other
        case "all": .all
        default: nil
        }
    }

    /// By Sec-Fetch-Dest (Fetch section 2.2.5), else by the extension of the path, else by Accept; `other` where nothing tells.
    static func of(_ request: CanonicalRequest) -> ResourceTypes {
        if request.head.asksForUpgrade { return .websocket }
        if let line = request.nextLine(.secFetchDest) { return destination(request.value(line)) }
        switch BlockedAnswer.kind(for: request) {
        case .css: return .stylesheet
        case .javascript: return .script
        case .html: return [.document, .subdocument]
        case .svg, .gif, .png: return .image
        case .json: return .xmlhttprequest
        case .text, .xml, .unknown: return .other
        }
    }

    private static func destination(_ text: Span<UInt8>) -> ResourceTypes {
        func isNamed(_ name: StaticString) -> Bool { CanonicalBytes.equalsIgnoringCase(text, name) }
        if isNamed("empty") { return [.xmlhttprequest, .ping] }
        if isNamed("image") { return .image }
        if isNamed("script") || CanonicalBytes.hasPrefix(text, "script-") || isNamed("worker") || isNamed("sharedworker")
            || isNamed("serviceworker") || isNamed("audioworklet") || isNamed("paintworklet")
        {
            return .script
        }
        if isNamed("style") || isNamed("xslt") { return .stylesheet }
        if isNamed("document") { return .document }
        if isNamed("iframe") || isNamed("frame") || isNamed("fencedframe") { return .subdocument }
        if isNamed("font") { return .font }
        if isNamed("audio") || isNamed("video") || isNamed("track") { return .media }
        if isNamed("embed") || isNamed("object") { return .object }
        if isNamed("websocket") { return .websocket }
        if isNamed("report") { return .ping }
        return .other
    }
}

/// Which site a request comes from.
enum RequestParty {
    case first, third
    /// There is neither Sec-Fetch-Site nor a Referer.
    case unknown

    /// By Sec-Fetch-Site (Fetch Metadata section 2.2), else by the host of the page.
    static func of(_ request: CanonicalRequest, page: Span<UInt8>) -> RequestParty {
        let line = RuleFields.firstLine("sec-fetch-site", request, from: 0)
        if line >= 0 {
            return CanonicalBytes.equalsIgnoringCase(request.value(line), "cross-site") ? .third : .first
        }
        if page.isEmpty { return .unknown }
        return RuleBytes.equal(site(of: page), site(of: request.host)) ? .first : .third
    }

    /// The host's last two labels, or three where the second is as short as in `co.uk`; the whole of an address. Where a public
    /// suffix is longer than that, two of its sites count as one.
    @_lifetime(copy host)
    private static func site(of host: Span<UInt8>) -> Span<UInt8> {
        if host.isEmpty || host[host.count - 1] == UInt8(ascii: "]") || CanonicalBytes.isDigit(host[host.count - 1]) { return host }
        var starts: (last: Int, second: Int, third: Int) = (0, 0, 0)
        var dots = 0
        var index = host.count - 1
        while index > 0 && dots < 3 {
            if host[index] == UInt8(ascii: ".") {
                dots += 1
                if dots == 1 {
                    starts.last = index + 1
                } else if dots == 2 {
                    starts.second = index + 1
                } else {
                    starts.third = index + 1
                }
            }
            index -= 1
        }
        if dots < 2 { return host }
        let isShort = host.count - starts.last == 2 && starts.last - 1 - starts.second <= 3
        return host.extracting((isShort ? starts.third : starts.second)..<host.count)
    }
}

/// The page that a request comes from, by its Referer, else its Origin.
enum RequestingPage {
    /// The host as it stands there, without port; empty where nothing tells. Browsers write it in lower case.
    @_lifetime(immortal)
    static func host(of request: CanonicalRequest) -> Span<UInt8> {
        guard let line = request.nextLine(.referer) ?? request.nextLine(.origin) else { return request.head.bytes.span(.empty) }
        let range = request.head.lines[line].value
        let url = request.head.bytes.span(range)
        guard let start = authorityStart(of: url) else { return request.head.bytes.span(.empty) }
        var end = start
        var isBracketed = false
        while end < url.count {
            let byte = url[end]
            if byte == UInt8(ascii: "[") { isBracketed = true }
            if byte == UInt8(ascii: "]") { isBracketed = false }
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: ":") && !isBracketed { break }
            end += 1
        }
        return request.head.bytes.span(ByteRange(Int(range.start) + start, end - start))
    }

    private static func authorityStart(of url: Span<UInt8>) -> Int? {
        var index = 0
        while index + 2 < url.count {
            if url[index] == UInt8(ascii: ":") {
                return url[index + 1] == UInt8(ascii: "/") && url[index + 2] == UInt8(ascii: "/") ? index + 3 : nil
            }
            index += 1
        }
        return nil
    }
}
