extension HTTP1 {
    /// Which of the names that code asks for this is, in any case. The name must be a token.
    public static func fieldID(_ name: Span<UInt8>) -> FieldID { fieldID(name, 0, name.count) }

    /// The same for `count` octets from `start`; the caller has made sure that they are within `bytes`.
    @inline(always) static func fieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        count < 8 ? shortFieldID(bytes, start, count) : longFieldID(bytes, start, count)
    }

    @inline(always) private static func shortFieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        switch shortName(bytes, start, count) {
        case word("te"): .te
        case word("via"): .via
        case word("host"): .host
        case word("date"): .date
        case word("accept"): .accept
        case word("cookie"): .cookie
        case word("server"): .server
        case word("origin"): .origin
        case word("pragma"): .pragma
        case word("expect"): .expect
        case word("referer"): .referer
        case word("upgrade"): .upgrade
        case word("trailer"): .trailer
        case word("refresh"): .refresh
        default: .other
        }
    }

    @inline(always) private static func longFieldID(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> FieldID {
        switch count {
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
        if count < 12 { return .other }
        if isName(bytes, start, "x-forwarded-") || isName(bytes, start, "x-original-") { return .xForwardedOther }
        return .other
    }

    /// A name of fewer than eight octets as a word, folded like ``fold(_:)``; zero behind its end.
    @inline(always) private static func shortName(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> UInt64 {
        let used = (1 as UInt64) &<< UInt64(count &* 8) &- 1
        if bytes.count &- start >= 8 { return fold(WordScan.word(bytes, start)) & used }
        var octets: UInt64 = 0
        for index in 0..<count { octets |= UInt64(bytes[start &+ index]) &<< UInt64(index &* 8) }
        return fold(octets) & used
    }

    /// Makes letters lower case. Of the other tchars, it makes none one of those that our names are of: letters, digits,
    /// hyphen.
    @inline(always) private static func fold(_ octets: UInt64) -> UInt64 { octets | 0x2020_2020_2020_2020 }

    /// The word that ``shortName(_:_:_:)`` is for this name, which must be lower case and shorter than eight octets.
    ///
    /// SAFETY: `text` is a literal that has a pointer, and as many octets as it says. Inlined, this is a constant.
    @inline(always) private static func word(_ text: StaticString) -> UInt64 {
        var octets: UInt64 = 0
        for index in 0..<text.utf8CodeUnitCount {
            octets |= unsafe UInt64(text.utf8Start[index]) &<< UInt64(index &* 8)
        }
        return octets
    }

    /// Compares as many octets as `text` has, which must be lower case and at least eight; the caller has checked that they
    /// are there.
    ///
    /// SAFETY: `text` is a literal that has a pointer and at least as many octets as are loaded from it, by its own count.
    /// Inlined, its words are constants.
    @inline(always) private static func isName(_ bytes: Span<UInt8>, _ start: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        let wanted = unsafe UnsafeRawPointer(text.utf8Start)
        var position = 0
        while position < count {
            let offset = min(position, count &- 8)
            let octets = unsafe UInt64(littleEndian: wanted.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if fold(WordScan.word(bytes, start &+ offset)) != octets { return false }
            position &+= 8
        }
        return true
    }
}
