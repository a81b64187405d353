internal import HTTP
internal import Policy
internal import Transport

// What goes on after the head: events, downloads, WebSockets. All of it waits while the client takes nothing.

extension DemoLoader {
    private static let blocksPerTurn = 16
    private static let blockLength = 64 * 1024

    /// Gives the loader its place in the loop; false when there is none, and the exchange has failed.
    private func startTicking() -> Bool {
        let ticker = DemoTicker(loader: self)
        guard (try? worker.loop.add(ticker)) != nil else {
            exchange.loader(didFailWith: .overloaded)
            return false
        }
        self.ticker = ticker
        return true
    }

    // MARK: Events

    func startEvents() {
        beginHead(200, type: "text/event-stream")
        guard startTicking(), passHead() else { return }
        guard hasContent else { return finish() }
        phase = .events
        eventsSent = 0
        eventIsDue = false
        let out = worker.buffers.lease()
        ServerSentEvents.appendPreamble(to: out)
        exchange.loader(didReceiveData: out.span)
        worker.buffers.giveBack(out)
        sendEvent()
    }

    func secondPassed() {
        guard phase == .events else { return }
        let worker = worker
        if exchange.wantsData { sendEvent() } else { eventIsDue = true }
        worker.flushClientOutput()
    }

    func sendEvent() {
        eventIsDue = false
        eventsSent += 1
        let out = worker.buffers.lease()
        ServerSentEvents.appendEvent(eventsSent, unixSeconds: worker.unixTime, to: out)
        exchange.loader(didReceiveData: out.span)
        worker.buffers.giveBack(out)
        if eventsSent >= ServerSentEvents.lastEvent { return finish() }
        if let ticker { worker.loop.setDeadline(ticker, after: ServerSentEvents.interval) }
    }

    // MARK: Bytes

    func startBytes(_ count: UInt64) {
        beginHead(200, type: "application/octet-stream")
        appendLength(count)
        guard startTicking(), passHead() else { return }
        guard hasContent, count > 0 else { return finish() }
        phase = .bytes
        bytesLeft = count
        let block = worker.buffers.lease()
        while block.count < Self.blockLength { block.append("The quick brown fox jumps over the lazy dog, 0123456789 ABCDEF.\n") }
        self.block = block
        pour()
    }

    /// Sends until the client has to be waited for, or others in the loop have waited long enough.
    func pour() {
        guard let block else { return }
        for _ in 0..<Self.blocksPerTurn {
            guard exchange.wantsData else { return }
            let count = min(bytesLeft, UInt64(Self.blockLength))
            bytesLeft -= count
            exchange.loader(didReceiveData: block.span(ByteRange(0, Int(count))))
            if bytesLeft == 0 { return finish() }
        }
        if let ticker { worker.loop.runSoon(ticker) }
    }

    /// A turn of the loop that `pour` has asked for.
    func goOn() {
        guard phase == .bytes else { return }
        let worker = worker
        pour()
        worker.flushClientOutput()
    }

    // MARK: WebSocket

    func startWebSocket() {
        switch WebSocketHandshake.judge(exchange.head) {
        case .accept(let upgrade, let key) where allowsWebSocket:
            exchange.upgradeToken = upgrade
            beginHead(101)
            text.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ")
            WebSocketHandshake.appendAccept(for: exchange.head.bytes.span(key), to: text)
            text.append("\r\n")
            // What the client has sent behind its head may come while the head is passed.
            echo = WebSocketEcho()
            phase = .tunnel
            _ = passHead()
        case .accept, .notAsked:
            respond(
                426, type: "text/plain; charset=utf-8", "This is for WebSockets; a rule's proxy.upgrades has to let them through.\n"
            ) { out in
                out.append("Upgrade: websocket\r\nConnection: Upgrade\r\n")
            }
        case .otherVersion:
            respond(426, type: "text/plain; charset=utf-8", "Version 13 is spoken here.\n") { out in
                out.append("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n")
            }
        case .malformed:
            respond(400, type: "text/plain; charset=utf-8", "Sec-WebSocket-Key is sixteen octets in Base64.\n")
        }
    }

    /// The rule passes such an upgrade on; an upstream would not see it otherwise.
    private var allowsWebSocket: Bool {
        exchange.plan?.proxy?.definition.upgrades.contains("websocket") ?? false
    }

    func sendBack(_ content: Span<UInt8>) {
        guard let echo else { return }
        let worker = worker
        let out = worker.buffers.lease()
        let outcome = echo.receive(content, into: out)
        if !out.isEmpty { exchange.loader(didReceiveData: out.span) }
        worker.buffers.giveBack(out)
        if outcome == .closed { finish() }
    }
}
