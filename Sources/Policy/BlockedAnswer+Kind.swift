internal import HTTP

// What kind of resource a request asks for: by the extension of its path, else Sec-Fetch-Dest, else Accept.

extension BlockedAnswer {
    static func kind(for request: CanonicalRequest) -> Kind {
        if let kind = kind(ofExtension: request.target.span(request.pathExtension)) { return kind }
        if let line = request.nextLine(.secFetchDest), let kind = kind(ofDestination: request.value(line)) {
            return kind
        }
        return kindByAccept(request)
    }

    private static func kind(ofExtension text: Span<UInt8>) -> Kind? {
        switch text.count {
        case 2:
            return CanonicalBytes.equalsIgnoringCase(text, "js") ? .javascript : nil
        case 3:
            if CanonicalBytes.equalsIgnoringCase(text, "css") { return .css }
            if CanonicalBytes.equalsIgnoringCase(text, "mjs") { return .javascript }
            if CanonicalBytes.equalsIgnoringCase(text, "htm") { return .html }
            if CanonicalBytes.equalsIgnoringCase(text, "txt") { return .text }
            if CanonicalBytes.equalsIgnoringCase(text, "xml") { return .xml }
            if CanonicalBytes.equalsIgnoringCase(text, "svg") { return .svg }
            if CanonicalBytes.equalsIgnoringCase(text, "gif") { return .gif }
            return CanonicalBytes.equalsIgnoringCase(text, "png") ? .png : nil
        case 4:
            if CanonicalBytes.equalsIgnoringCase(text, "html") { return .html }
            return CanonicalBytes.equalsIgnoringCase(text, "json") ? .json : nil
        default:
            return nil
        }
    }

    /// Fetch section 2.2.5. `empty` (fetch, XMLHttpRequest) says nothing of the type, nor does a destination that is
    /// new; fonts and media have no empty document.
    private static func kind(ofDestination text: Span<UInt8>) -> Kind? {
        if CanonicalBytes.equalsIgnoringCase(text, "script") || CanonicalBytes.equalsIgnoringCase(text, "worker")
            || CanonicalBytes.equalsIgnoringCase(text, "sharedworker")
            || CanonicalBytes.equalsIgnoringCase(text, "serviceworker")
            || CanonicalBytes.equalsIgnoringCase(text, "audioworklet")
            || CanonicalBytes.equalsIgnoringCase(text, "paintworklet")
        {
            return .javascript
        }
        if CanonicalBytes.equalsIgnoringCase(text, "style") { return .css }
        if CanonicalBytes.equalsIgnoringCase(text, "image") { return .png }
        if CanonicalBytes.equalsIgnoringCase(text, "document") || CanonicalBytes.equalsIgnoringCase(text, "iframe")
            || CanonicalBytes.equalsIgnoringCase(text, "frame")
        {
            return .html
        }
        if CanonicalBytes.equalsIgnoringCase(text, "manifest") || CanonicalBytes.equalsIgnoringCase(text, "json") {
            return .json
        }
        if CanonicalBytes.equalsIgnoringCase(text, "xslt") { return .xml }
        if CanonicalBytes.equalsIgnoringCase(text, "font") || CanonicalBytes.equalsIgnoringCase(text, "audio")
            || CanonicalBytes.equalsIgnoringCase(text, "video") || CanonicalBytes.equalsIgnoringCase(text, "track")
        {
            return .unknown
        }
        return nil
    }

    /// RFC 9110 section 12.5.1: of the types that we have, the one that is wanted most, the first of equals.
    private static func kindByAccept(_ request: CanonicalRequest) -> Kind {
        var best = Kind.unknown
        var bestWeight = 0
        var line = request.nextLine(.accept)
        while let current = line {
            let value = request.value(current)
            var ranges = ListElements()
            while let range = ranges.next(in: value) {
                let element = value.extracting(range)
                let typeEnd = CanonicalBytes.firstIndex(of: UInt8(ascii: ";"), in: element) ?? element.count
                guard let kind = kind(ofType: element.extracting(CanonicalBytes.trimmed(element, 0..<typeEnd))) else {
                    continue
                }
                let weight = weight(of: element)
                if weight > bestWeight {
                    best = kind
                    bestWeight = weight
                }
            }
            line = request.nextLine(.accept, after: current)
        }
        return best
    }

    private static func kind(ofType text: Span<UInt8>) -> Kind? {
        if CanonicalBytes.equalsIgnoringCase(text, "text/html")
            || CanonicalBytes.equalsIgnoringCase(text, "application/xhtml+xml")
        {
            return .html
        }
        if CanonicalBytes.equalsIgnoringCase(text, "text/css") { return .css }
        if CanonicalBytes.equalsIgnoringCase(text, "text/javascript")
            || CanonicalBytes.equalsIgnoringCase(text, "application/javascript")
        {
            return .javascript
        }
        if CanonicalBytes.equalsIgnoringCase(text, "application/json") { return .json }
        if CanonicalBytes.equalsIgnoringCase(text, "image/svg+xml") { return .svg }
        if CanonicalBytes.equalsIgnoringCase(text, "image/gif") { return .gif }
        if CanonicalBytes.hasPrefix(text, "image/") { return .png }
        if CanonicalBytes.equalsIgnoringCase(text, "application/xml")
            || CanonicalBytes.equalsIgnoringCase(text, "text/xml")
        {
            return .xml
        }
        if CanonicalBytes.equalsIgnoringCase(text, "text/plain") || CanonicalBytes.equalsIgnoringCase(text, "text/*") {
            return .text
        }
        return nil
    }

    /// In thousandths; RFC 9110 section 12.4.2.
    private static func weight(of element: Span<UInt8>) -> Int {
        guard let range = ForwardedElement.parameter("q", in: element) else { return 1000 }
        let text = element.extracting(range)
        guard !text.isEmpty, text.count <= 5, CanonicalBytes.isDigit(text[0]) else { return 0 }
        var weight = Int(text[0] &- 0x30) * 1000
        guard text.count > 1 else { return min(weight, 1000) }
        guard text[1] == UInt8(ascii: ".") else { return 0 }
        var scale = 100
        for index in 2..<text.count {
            guard CanonicalBytes.isDigit(text[index]) else { return 0 }
            weight += Int(text[index] &- 0x30) * scale
            scale /= 10
        }
        return min(weight, 1000)
    }
}
