internal import HTTP
internal import Policy
internal import Transport

/// Accepts clients for one worker.
final class ClientListener: EventHandler {
    private(set) var socket: ListeningSocket
    /// Its place among the configuration's listeners.
    private(set) var index = 0
    private let worker: Worker
    private(set) var isOpen = true
    private let localAddress: SocketAddress?
    /// Of the last client: those that come one after the other often come from one address.
    private var lastAddress: IPAddress?
    private var lastText: ByteBuffer?

    /// A turn accepts so many, then others get their turn; what is left is announced again.
    private static let acceptsPerTurn = 64
    /// Out of descriptors or memory: pause, rather than spin on an event that can not be served.
    private static let pause = 200

    init(worker: Worker, socket: ListeningSocket) throws(SystemError) {
        self.worker = worker
        self.socket = socket
        localAddress = Socket.localAddress(socket.descriptor)
        super.init()
        try worker.loop.add(self, descriptor: socket.descriptor, levelTriggered: true)
    }

    /// The same socket, as a new configuration describes it.
    func become(_ socket: ListeningSocket, index: Int) {
        self.socket = socket
        self.index = index
    }

    var isSecure: Bool { socket.definition.tls != nil }

    override func ready(_ readiness: Readiness) {
        for _ in 0..<Self.acceptsPerTurn {
            do {
                guard let (descriptor, peer) = try Socket.accept(socket.descriptor) else { return }
                worker.accepted(descriptor, from: peer, at: self)
            } catch {
                worker.log(.error, "listener \(socket.definition.display): \(error.text)")
                worker.loop.remove(self, descriptor: socket.descriptor)
                worker.scheduleAccepting(self, after: Self.pause)
                return
            }
        }
    }

    func resume() { if isOpen { try? worker.loop.add(self, descriptor: socket.descriptor, levelTriggered: true) } }

    /// Closes when a reload names it no more, while others may listen in its place: connections that are being made with this socket, which
    /// would be reset with it, are waited for, as long as they take in a local network.
    func leave() {
        guard isOpen, !socket.isShared else { return close() }
        Socket.refuseConnectionsToCome(socket.descriptor)
        for _ in 0..<Self.mostPauses where FileSystemCalls.isReadable(socket.descriptor, within: Self.handshakeTime) { acceptAll() }
        close()
    }

    /// Milliseconds.
    private static let handshakeTime: Int32 = 5
    private static let mostPauses = 10

    private func acceptAll() {
        while let accepted = try? Socket.accept(socket.descriptor) {
            worker.accepted(accepted.descriptor, from: accepted.peer, at: self)
        }
    }

    /// Takes what is waiting, then closes: a connection in the queue of a closed socket would be reset.
    func close() {
        guard isOpen else { return }
        acceptAll()
        isOpen = false
        worker.loop.remove(self, descriptor: socket.descriptor)
        if !socket.isShared { SystemCalls.close(socket.descriptor) }
    }

    func facts(for peer: SocketAddress, trusted: [AddressRange]) -> ClientFacts {
        let address = peer.ipBits.map { IPAddress(high: $0.high, low: $0.low) }
        let text = text(of: address)
        return ClientFacts(
            peerAddress: address, peerPort: peer.port, scheme: isSecure ? .https : .http, listenerPort: socket.port,
            peerIsTrusted: address.map { peer in trusted.contains { $0.contains(peer) } } ?? false, addressText: text)
    }

    private func text(of address: IPAddress?) -> ByteBuffer {
        if let lastText, lastAddress == address { return lastText }
        let text = ByteBuffer(capacity: 16)
        if let address { address.append(to: text) } else { text.append("unix") }
        lastAddress = address
        lastText = text
        return text
    }

    /// Whether connecting to `address` would end here.
    func isReached(by address: SocketAddress) -> Bool {
        localAddress.map { Self.reaches($0, by: address) } ?? false
    }

    /// By whatever spelling: IPv4 as IPv6, the unspecified address (which leads to this machine), any address of this machine
    /// where all are listened on.
    static func reaches(_ listener: SocketAddress, by address: SocketAddress) -> Bool {
        guard let listening = listener.ipBits, let wanted = address.ipBits else { return listener == address }
        guard listener.port == address.port else { return false }
        let target = IPAddress(high: wanted.high, low: wanted.low)
        if target.isUnspecified || listening == wanted { return true }
        guard IPAddress(high: listening.high, low: listening.low).isUnspecified else { return false }
        return target.isLoopback || LocalAddresses.contains(address)
    }
}

/// Refuses a client for whom there is no room, in one small write that needs no state.
enum Shedding {
    /// `isPlain`: the client would understand an answer before a handshake.
    static func refuse(_ descriptor: Int32, isPlain: Bool) {
        guard isPlain else { return SystemCalls.close(descriptor) }
        let answer: StaticString = """
            HTTP/1.1 503 Service Unavailable\r
            Authproxy-Error: overloaded\r
            Content-Type: text/plain\r
            Content-Length: 45\r
            Connection: close\r
            Retry-After: 1\r
            \r
            The proxy is at its limit; try again later.\r

            """
        let bytes = unsafe UnsafeRawBufferPointer(start: answer.utf8Start, count: answer.utf8CodeUnitCount)
        _ = unsafe SystemCalls.send(descriptor, bytes)
        SystemCalls.finishSending(descriptor)
        SystemCalls.close(descriptor)
    }
}
