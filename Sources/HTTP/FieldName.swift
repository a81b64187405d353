extension HTTP1 {
    /// Which of the names that code asks for this is, in any case.
    package static func fieldID(_ name: Span<UInt8>) -> FieldID { fieldID(name, 0, name.count) }

    /// The same for `count` octets from `start`; the caller has made sure that they are within `bytes`.
    @inline(always) static func fieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        if count >= 12 { return longFieldID(bytes, start, count) }
        return shortFieldID(bytes, start, count)
    }

    @inline(always) private static func shortFieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        switch count {
        case 2: if isName(bytes, start, "te") { return .te }
        case 3: if isName(bytes, start, "via") { return .via }
        case 4:
            if isName(bytes, start, "host") { return .host }
            if isName(bytes, start, "date") { return .date }
        case 6:
            if isName(bytes, start, "accept") { return .accept }
            if isName(bytes, start, "cookie") { return .cookie }
            if isName(bytes, start, "server") { return .server }
            if isName(bytes, start, "origin") { return .origin }
            if isName(bytes, start, "pragma") { return .pragma }
            if isName(bytes, start, "expect") { return .expect }
        case 7:
            if isName(bytes, start, "referer") { return .referer }
            if isName(bytes, start, "upgrade") { return .upgrade }
            if isName(bytes, start, "trailer") { return .trailer }
            if isName(bytes, start, "refresh") { return .refresh }
        case 8:
            if isName(bytes, start, "location") { return .location }
            if isName(bytes, start, "cdn-loop") { return .cdnLoop }
        case 9:
            if isName(bytes, start, "forwarded") { return .forwarded }
            if isName(bytes, start, "x-real-ip") { return .xRealIP }
        case 10:
            if isName(bytes, start, "connection") { return .connection }
            if isName(bytes, start, "set-cookie") { return .setCookie }
            if isName(bytes, start, "keep-alive") { return .keepAlive }
        default: break
        }
        return .other
    }

    @inline(always) private static func longFieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        switch count {
        case 12:
            if isName(bytes, start, "content-type") { return .contentType }
            if isName(bytes, start, "x-request-id") { return .xRequestID }
            if isName(bytes, start, "max-forwards") { return .maxForwards }
        case 13:
            if isName(bytes, start, "authorization") { return .authorization }
            if isName(bytes, start, "cache-control") { return .cacheControl }
        case 14:
            if isName(bytes, start, "content-length") { return .contentLength }
            if isName(bytes, start, "sec-fetch-dest") { return .secFetchDest }
            if isName(bytes, start, "http2-settings") { return .http2Settings }
        case 15: if isName(bytes, start, "x-forwarded-for") { return .xForwardedFor }
        case 16:
            if isName(bytes, start, "content-encoding") { return .contentEncoding }
            if isName(bytes, start, "content-location") { return .contentLocation }
            if isName(bytes, start, "x-forwarded-host") { return .xForwardedHost }
            if isName(bytes, start, "x-forwarded-port") { return .xForwardedPort }
            if isName(bytes, start, "proxy-connection") { return .proxyConnection }
        case 17:
            if isName(bytes, start, "transfer-encoding") { return .transferEncoding }
            if isName(bytes, start, "x-forwarded-proto") { return .xForwardedProto }
        case 18: if isName(bytes, start, "proxy-authenticate") { return .proxyAuthenticate }
        case 19: if isName(bytes, start, "proxy-authorization") { return .proxyAuthorization }
        default: break
        }
        if isName(bytes, start, "x-forwarded-") || isName(bytes, start, "x-original-") { return .xForwardedOther }
        return .other
    }

    /// Compares as many octets as `text` has, which must be lower case; the caller has checked that there are that many.
    ///
    /// SAFETY: `text` is a literal that has a pointer and at least as many octets as are loaded from it, by its own count.
    /// Inlined, its words are constants.
    @inline(always) private static func isName(_ bytes: Span<UInt8>, _ start: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        let wanted = unsafe UnsafeRawPointer(text.utf8Start)
        if count < 8 {
            for index in 0..<count {
                let octet = unsafe wanted.load(fromByteOffset: index, as: UInt8.self)
                if WordScan.lowercased(bytes[start &+ index]) != octet { return false }
            }
            return true
        }
        var position = 0
        while position < count {
            let offset = min(position, count &- 8)
            let octets = unsafe UInt64(littleEndian: wanted.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if WordScan.lowercased(WordScan.word(bytes, start &+ offset)) != octets { return false }
            position &+= 8
        }
        return true
    }
}
