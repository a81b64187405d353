internal import HTTP
internal import Policy
internal import Transport

// What is answered at once.

extension DemoLoader {
    func answer() {
        phase = .idle
        switch route {
        case .page: show(as: nil, isLanding: false)
        case .landed: show(as: nil, isLanding: true)
        case .headers: show(as: .json, isLanding: false)
        case .redirect:
            respond(302, type: "text/plain; charset=utf-8", "The landing is at /landed.\n") { out in
                out.append("Location: /landed?from=redirect\r\n")
            }
        case .tracker:
            respond(200, type: "text/javascript; charset=utf-8", "console.info('authproxy demo: /tracker.js was loaded')\n")
        case .outOfRange:
            respond(404, type: "text/plain; charset=utf-8", "/bytes/ takes up to 107374182400, /status/ 200 to 599.\n")
        case .status(let status): respondStatus(status)
        case .upload: respondUpload()
        case .events: startEvents()
        case .bytes(let count): startBytes(count)
        case .websocket: startWebSocket()
        }
    }

    private func show(as form: DemoRepresentation?, isLanding: Bool) {
        let view = exchange.demoRequestView()
        let form = form ?? DemoRepresentation.preferred(for: view)
        let content = worker.buffers.lease()
        let nonce = makeNonce()
        switch form {
        case .html:
            DemoPage(view: view, contentLength: contentLength, isLanding: isLanding, nonce: nonce).append(to: content)
        case .json: DemoListing.appendJSON(view, contentLength: contentLength, to: content)
        case .text: DemoListing.appendText(view, contentLength: contentLength, to: content)
        }
        beginHead(200, type: Self.contentType(of: form))
        text.append("Vary: Accept\r\n")
        if form == .html {
            text.append("Content-Security-Policy: ")
            DemoPage.appendPolicy(nonce: nonce, to: text)
            text.append("\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n")
        }
        deliver(content)
    }

    private static func contentType(of form: DemoRepresentation) -> StaticString {
        switch form {
        case .html: "text/html; charset=utf-8"
        case .json: "application/json"
        case .text: "text/plain; charset=utf-8"
        }
    }

    /// 128 bits in hexadecimal, from the system's generator: a nonce is not to be guessed.
    private func makeNonce() -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        return (0..<2).flatMap { _ in
            let word: UInt64 = system.next()
            return (0..<16).map { digits[Int(word >> UInt64($0 * 4) & 15)] }
        }
    }

    private func respondStatus(_ status: Int) {
        let content = worker.buffers.lease()
        content.append(decimal: status)
        content.append(" ")
        content.append(ReasonPhrase.of(status))
        content.append("\n")
        let isEmpty = status == 204 || status == 205 || status == 304
        beginHead(status, type: isEmpty ? nil : "text/plain; charset=utf-8")
        switch status {
        case 301, 302, 303, 307, 308: text.append("Location: /landed?from=status\r\n")
        case 401: text.append("WWW-Authenticate: Basic realm=\"demo\"\r\n")
        case 405: text.append("Allow: GET\r\n")
        case 503: text.append("Retry-After: 1\r\n")
        default: break
        }
        if isEmpty { content.clear() }
        deliver(content)
    }

    private func respondUpload() {
        let microseconds = max(1, UInt64(max(0, SystemClock.microseconds() - startedAt)))
        let (scaled, overflow) = contentLength.multipliedReportingOverflow(by: 1_000_000)
        let content = worker.buffers.lease()
        content.append("{\"received\": ")
        content.append(decimal: UInt(contentLength))
        content.append(", \"microseconds\": ")
        content.append(decimal: UInt(microseconds))
        content.append(", \"bytes_per_second\": ")
        content.append(decimal: UInt(overflow ? contentLength / microseconds &* 1_000_000 : scaled / microseconds))
        content.append("}\n")
        beginHead(200, type: "application/json")
        deliver(content)
    }

    func respond(
        _ status: Int, type: StaticString, _ sentence: StaticString, fields: (ByteBuffer) -> Void = { _ in }
    ) {
        let content = worker.buffers.lease()
        content.append(sentence)
        beginHead(status, type: type)
        fields(text)
        deliver(content)
    }
}
