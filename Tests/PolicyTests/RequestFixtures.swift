@testable import HTTP
@testable import Policy

// Heads for tests of what comes after parsing, made from text without the parser.

extension ByteBuffer {
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    convenience init(_ text: String) {
        self.init()
        append(text: text)
    }
}

/// The bytes of a text. They are never freed: a span does not keep its buffer alive.
@_lifetime(immortal)
func bytes(_ text: String) -> Span<UInt8> {
    let buffer = ByteBuffer(text)
    _ = unsafe Unmanaged.passRetained(buffer)
    return buffer.span
}

func text(_ span: Span<UInt8>) -> String {
    var bytes: [UInt8] = []
    for index in 0..<span.count { bytes.append(span[index]) }
    return String(decoding: bytes, as: UTF8.self)
}

private let fieldIDs: [String: FieldID] = [
    "host": .host, "connection": .connection, "content-length": .contentLength, "transfer-encoding": .transferEncoding,
    "te": .te,
    "trailer": .trailer, "upgrade": .upgrade, "keep-alive": .keepAlive, "proxy-connection": .proxyConnection,
    "proxy-authorization": .proxyAuthorization, "proxy-authenticate": .proxyAuthenticate, "expect": .expect,
    "via": .via,
    "cdn-loop": .cdnLoop, "http2-settings": .http2Settings, "forwarded": .forwarded, "x-forwarded-for": .xForwardedFor,
    "x-forwarded-host": .xForwardedHost, "x-forwarded-proto": .xForwardedProto, "x-forwarded-port": .xForwardedPort,
    "x-real-ip": .xRealIP, "x-request-id": .xRequestID, "authorization": .authorization, "cookie": .cookie,
    "set-cookie": .setCookie, "location": .location, "content-location": .contentLocation, "refresh": .refresh,
    "cache-control": .cacheControl, "content-type": .contentType, "accept": .accept, "sec-fetch-dest": .secFetchDest,
    "content-encoding": .contentEncoding, "referer": .referer, "origin": .origin,
]

private func fieldID(_ name: String) -> FieldID {
    let lowered = name.lowercased()
    if let id = fieldIDs[lowered] { return id }
    return lowered.hasPrefix("x-forwarded-") || lowered.hasPrefix("x-original-") ? .xForwardedOther : .other
}

private func line(_ field: String, _ bytes: ByteBuffer) -> FieldLine {
    let colon = field.firstIndex(of: ":")!
    let name = String(field[..<colon])
    var value = field[field.index(after: colon)...]
    while value.first == " " { value.removeFirst() }
    let nameRange = ByteRange(bytes.count, name.utf8.count)
    bytes.append(text: name + ": ")
    let valueRange = ByteRange(bytes.count, value.utf8.count)
    bytes.append(text: value + "\r\n")
    return FieldLine(name: nameRange, value: valueRange, id: fieldID(name))
}

/// A request head; `target` may hold any bytes.
func fill(
    _ head: RequestHead, _ method: String, _ target: [UInt8], _ fields: [String], version: HTTPVersion = .http11,
    framing: BodyFraming = .none
) {
    head.reset()
    head.methodName = ByteRange(0, method.utf8.count)
    head.bytes.append(text: method + " ")
    head.target = ByteRange(head.bytes.count, target.count)
    head.bytes.append(target)
    head.bytes.append(" HTTP/1.1\r\n")
    head.version = version
    head.framing = framing
    let methods: [String: HTTP.Method] = [
        "GET": .get, "HEAD": .head, "POST": .post, "PUT": .put, "DELETE": .delete, "CONNECT": .connect,
        "OPTIONS": .options,
        "TRACE": .trace, "PATCH": .patch,
    ]
    head.method = methods[method] ?? .other
    for field in fields { head.lines.append(line(field, head.bytes)) }
}

func makeResponse(_ status: Int, _ fields: [String]) -> ResponseHead {
    let head = ResponseHead()
    head.status = status
    head.bytes.append("HTTP/1.1 xxx\r\n")
    for field in fields { head.lines.append(line(field, head.bytes)) }
    return head
}

func makeClient(
    _ address: String? = "127.0.0.1", scheme: Scheme = .http, port: UInt16 = 8080, trusted: Bool = false
) -> ClientFacts {
    let parsed = address.flatMap { IPAddress.parse($0) }
    return ClientFacts(
        peerAddress: parsed, peerPort: 50000, scheme: scheme, listenerPort: port, peerIsTrusted: trusted,
        addressText: ByteBuffer(address ?? "unix"))
}

func makeRequest(
    _ method: String = "GET", _ target: String = "/", _ fields: [String] = ["Host: a.test"],
    version: HTTPVersion = .http11,
    framing: BodyFraming = .none, client: ClientFacts = makeClient(), trusted: [String] = [],
    settings: CanonicalSettings = CanonicalSettings(), instance: String = "me"
) throws -> CanonicalRequest {
    let request = CanonicalRequest()
    fill(request.head, method, Array(target.utf8), fields, version: version, framing: framing)
    try request.canonicalise(
        client: client, trusted: trusted.map { try AddressRange.parse($0) },
        settings: CompiledCanonicalSettings(settings),
        instance: bytes(instance))
    return request
}

extension CanonicalRequest {
    /// The names of the lines that go on.
    var passing: [String] {
        head.lines.indices.filter { !isWithheld($0) }.map { text(head.bytes.span(head.lines[$0].name)) }
    }
}

extension ResolvedURL {
    func resolve(location: String, against base: CanonicalRequest) -> Bool { resolve(bytes(location), against: base) }
}

/// Numbers that look random and are the same in each run.
struct SplitMix {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
