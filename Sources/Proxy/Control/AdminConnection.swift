internal import HTTP
internal import Policy
internal import Transport

/// One request to the administration and its answer; the connection then ends.
final class AdminConnection: EventHandler {
    private let door: AdminListener.Door
    private var server: Server { door.server }
    private var descriptor: Int32
    private let input = ByteBuffer(capacity: 4 * 1024)
    private let head = RequestHead()
    private let output = ByteBuffer(capacity: 4 * 1024)
    private var sent = 0
    private var isAnswering = false
    private var lingers = false

    private static let patience = 5_000

    init(door: AdminListener.Door, descriptor: Int32) {
        self.door = door
        self.descriptor = descriptor
        super.init()
    }

    func begin() {
        server.loop.setDeadline(self, after: Self.patience)
        read()
    }

    override func ready(_ readiness: Readiness) {
        if lingers || !isAnswering { read() } else if output.count > 0 { write() }
    }

    override func deadlinePassed() { close() }

    private func close() {
        guard descriptor >= 0 else { return }
        server.loop.remove(self)
        SystemCalls.close(descriptor)
        descriptor = -1
        door.connections -= 1
    }

    private func read() {
        while descriptor >= 0 {
            var result = IOResult.wouldBlock
            unsafe input.appendUninitialized(minimum: 4096) { room in
                result = unsafe SystemCalls.receive(descriptor, into: room)
                if case .bytes(let count) = result { return count }
                return 0
            }
            switch result {
            case .wouldBlock: return
            case .end, .failed:
                if lingers || !isAnswering { close() }
                return
            case .bytes:
                if lingers { input.clear() } else if parse() { return }
            }
        }
    }

    private func parse() -> Bool {
        do {
            guard try HTTP1.parseRequest(input.span, limits: HeadLimits(), into: head) != nil else { return false }
        } catch {
            answer(Rejection(error).status, "text/plain", "bad request\n")
            return true
        }
        isAnswering = true
        route()
        return true
    }

    // MARK: Routes

    private func route() {
        let target = text(head.target)
        guard isFromAdministrator(target) else { return }
        switch (text(head.methodName), target) {
        case ("GET", "/healthz"): answer(200, "text/plain", "ok\n")
        case ("GET", "/readyz"):
            answer(server.isDraining ? 503 : 200, "text/plain", server.isDraining ? "stopping\n" : "ready\n")
        case ("GET", "/metrics"):
            server.collectReports { [self] reports in
                answer(200, "text/plain; version=0.0.4; charset=utf-8", MetricsPage.render(server, reports))
            }
        case ("GET", "/status"):
            server.collectReports { [self] reports in answer(200, "application/json", StatusPage.render(server, reports)) }
        case ("POST", "/reload"):
            if let fault = server.reload() {
                answer(422, "text/plain; charset=utf-8", fault + "\n")
            } else {
                answer(200, "text/plain", "reloaded\n")
            }
        case (_, "/healthz"), (_, "/readyz"), (_, "/metrics"), (_, "/status"), (_, "/reload"):
            answer(405, "text/plain", "method not allowed\n")
        default: answer(404, "text/plain", "/healthz /readyz /metrics /status, POST /reload\n")
        }
    }

    /// Over TCP, `status` and `reload` need the token; a browser's requests are refused altogether, whoever sent it here.
    private func isFromAdministrator(_ target: String) -> Bool {
        if door.isLocal { return true }
        for line in head.lines where line.id == .origin || line.id == .secFetchDest || isSecFetch(line) {
            answer(403, "text/plain", "not for browsers\n")
            return false
        }
        if target == "/healthz" || target == "/readyz" { return true }
        guard namesUs else {
            answer(421, "text/plain", "ask for this by an address, localhost, or the name in admin.listen\n")
            return false
        }
        guard target == "/status" || target == "/reload" else { return true }
        guard let token = server.adminToken else {
            answer(403, "text/plain", "over TCP this needs admin.token in the configuration\n")
            return false
        }
        for line in head.lines where line.id == .authorization {
            let value = head.bytes.span(line.value)
            if value.count > 7, HTTP1.equalsIgnoringCase(value.extracting(0..<7), "bearer "),
                token.equals(Secret(value.extracting(7..<value.count)))
            {
                return true
            }
        }
        answer(401, "text/plain", "a bearer token is needed\n")
        return false
    }

    /// A page on a name that was made to lead here sends that name in Host.
    private var namesUs: Bool {
        for line in head.lines where line.id == .host {
            guard let authority = Authority.parse(text(line.value)) else { return false }
            var host = String(authority.text.utf8.prefix(authority.hostLength)) ?? ""
            if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
            return host == "localhost" || IPAddress.parse(host) != nil
        }
        return true
    }

    private func isSecFetch(_ line: FieldLine) -> Bool {
        let name = head.bytes.span(line.name)
        return name.count > 10 && HTTP1.equalsIgnoringCase(name.extracting(0..<10), "sec-fetch-")
    }

    private func text(_ range: ByteRange) -> String {
        let span = head.bytes.span(range)
        var bytes: [UInt8] = []
        for index in 0..<span.count { bytes.append(span[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Answers

    private func answer(_ status: Int, _ type: String, _ body: String) {
        guard descriptor >= 0 else { return }
        isAnswering = true
        output.append("HTTP/1.1 ")
        output.append(decimal: status)
        output.append(" ")
        output.append(ReasonPhrase.of(status))
        output.append("\r\nContent-Type: ")
        output.append(text: type)
        output.append("\r\nContent-Length: ")
        output.append(decimal: body.utf8.count)
        if status == 401 { output.append("\r\nWWW-Authenticate: Bearer") }
        output.append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n")
        output.append(text: body)
        server.loop.setDeadline(self, after: Self.patience)
        write()
    }

    private func write() {
        while descriptor >= 0, sent < output.count {
            let result = unsafe output.withUnsafeBytes { bytes in
                unsafe SystemCalls.send(descriptor, UnsafeRawBufferPointer(rebasing: bytes[sent...]))
            }
            switch result {
            case .bytes(let count): sent += count
            case .wouldBlock: return
            case .end, .failed: return close()
            }
        }
        guard descriptor >= 0, !lingers else { return }
        lingers = true
        SystemCalls.finishSending(descriptor)
        read()
    }
}
