import HTTP
import Testing

struct FieldNameTests {
    @Test(arguments: [
        ("Host", FieldID.host), ("Connection", .connection), ("Content-Length", .contentLength),
        ("Transfer-Encoding", .transferEncoding),
        ("TE", .te), ("Trailer", .trailer), ("Upgrade", .upgrade), ("Keep-Alive", .keepAlive),
        ("Proxy-Connection", .proxyConnection),
        ("Proxy-Authorization", .proxyAuthorization), ("Proxy-Authenticate", .proxyAuthenticate), ("Expect", .expect),
        ("Via", .via),
        ("CDN-Loop", .cdnLoop), ("HTTP2-Settings", .http2Settings), ("Forwarded", .forwarded),
        ("X-Forwarded-For", .xForwardedFor),
        ("X-Forwarded-Host", .xForwardedHost), ("X-Forwarded-Proto", .xForwardedProto), ("X-Forwarded-Port", .xForwardedPort),
        ("X-Real-IP", .xRealIP), ("X-Request-Id", .xRequestID), ("Authorization", .authorization), ("Cookie", .cookie),
        ("Set-Cookie", .setCookie), ("Location", .location), ("Content-Location", .contentLocation), ("Refresh", .refresh),
        ("Cache-Control", .cacheControl), ("Content-Type", .contentType), ("Accept", .accept), ("Date", .date),
        ("Server", .server),
        ("Content-Encoding", .contentEncoding), ("Referer", .referer), ("Origin", .origin), ("Sec-Fetch-Dest", .secFetchDest),
        ("Pragma", .pragma), ("Max-Forwards", .maxForwards),
    ])
    func names(name: String, id: FieldID) {
        for spelling in [name, name.lowercased(), name.uppercased()] {
            #expect(fieldID(spelling) == id)
            if id == .transferEncoding { continue }  // "0" is no coding
            #expect(request("GET / HTTP/1.0\r\n\(spelling):0\r\n\r\n").head?.fields == ["\(spelling)=0 [\(id)]"])
        }
        for near in [name + "x", "x" + name, String(name.dropLast()), String(name.dropLast()) + "_", name + "-"] {
            let isFamily = near.lowercased().hasPrefix("x-forwarded-")
            #expect(fieldID(near) == (isFamily ? .xForwardedOther : .other), "\(near)")
        }
    }

    @Test(arguments: [
        "X-Forwarded-Prefix", "x-forwarded-user", "X-FORWARDED-", "X-Original-URL", "x-original-uri", "X-Forwarded-Fo",
        "X-Forwarded-Ports",
        "X-Forwarded-Access-Token",
    ])
    func forwardedFamily(name: String) {
        #expect(fieldID(name) == .xForwardedOther)
    }

    @Test(arguments: [
        "", "a", "X-Forwarded", "X_Forwarded_For", "X-Origin-Al", "Hos~", "User-Agent", "Accept-Encoding", "VIA^", "e",
    ])
    func others(name: String) {
        #expect(fieldID(name) == .other)
    }

    /// A name at the very end of its bytes is read as far as it goes.
    @Test func shortNamesStandAlone() {
        for name in ["te", "via", "host", "accept", "trailer"] {
            let followed = Array((name + "xxxxxxxx").utf8)
            let id = HTTP1.fieldID(followed.span.extracting(first: name.utf8.count))
            #expect(fieldID(name) == id)
            #expect(id != .other)
        }
    }
}
