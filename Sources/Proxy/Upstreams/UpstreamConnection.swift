internal import HTTP
internal import Transport

/// The upstream's end: a connection that one loader uses at a time, and that waits in its server's pool in between.
final class UpstreamConnection: Connection {
    let server: UpstreamServer
    /// For as long as there is a connection to it: it may be retired, and its snapshot gone, meanwhile.
    private let upstream: Upstream
    /// The socket is; with TLS the handshake comes next.
    private(set) var isConnected: Bool
    let client: ProxiedClient?
    /// It speaks HTTP/1.1 also with a server that speaks HTTP/2, since a tunnel is asked for.
    let isForUpgrade: Bool
    /// The loader that it works for, whose exchange keeps it and lets go of the connection before it ends; nil while idle.
    private(set) var loader: Uncounted<UpstreamLoader>?
    /// It has carried a request before: the server may have closed it just now.
    var isReused = false
    /// The server takes nothing more; what it has sent may still be read.
    private(set) var isWriteBroken = false

    private static let readsPerTurn = 16

    /// `client`: for whom it is opened, where the server is told so (the PROXY protocol).
    init(worker: Worker, descriptor: Int32, server: UpstreamServer, isConnected: Bool, client: ProxiedClient?, isForUpgrade: Bool) {
        self.server = server
        upstream = server.upstream
        self.isConnected = isConnected
        self.client = client
        self.isForUpgrade = isForUpgrade
        super.init(worker: worker, descriptor: descriptor)
    }

    override func becameWritable() {
        if isConnected { return }
        let error = Socket.pendingError(descriptor)
        if error == 0 {
            isConnected = true
            isBroken = false
            if greet() { loader?.with { $0.connected() } }
        } else {
            connectFailed()
        }
    }

    private func connectFailed() {
        let loader = loader
        self.loader = nil
        close()
        loader?.with { $0.connectFailed() }
    }

    override func pump() {
        guard isConnected else {
            if isBroken { connectFailed() }
            return
        }
        guard let loader else { return checkIdle() }
        loader.with { pump(for: $0) }
    }

    func work(for loader: UpstreamLoader?) { self.loader = loader.map { Uncounted($0) } }

    private func worksFor(_ loader: UpstreamLoader) -> Bool { self.loader.map { $0.with { $0 === loader } } ?? false }

    private func pump(for loader: UpstreamLoader) {
        if let tls, !tls.isEstablished { return shakeHands(tls, for: loader) }
        var reads = 0
        while isOpen, worksFor(loader), loader.wantsInput {
            if let own = input, loader.canUseInput {
                let consumed = loader.process(own)
                guard isOpen, worksFor(loader) else { break }
                keepInput(own, from: consumed)
                if consumed > 0 { continue }
            }
            guard isReadable else { break }
            if reads == Self.readsPerTurn {
                loop.runSoon(self)
                break
            }
            reads += 1
            if !readOnce(loader) { break }
        }
        worker.flushClientOutput()
        worker.flushUpstreamOutput()
    }

    /// An idle connection is to say nothing: bytes that come now would be taken for the answer to the next request.
    var isQuiet: Bool {
        if peerFinished || isBroken { return false }
        guard isReadable else { return true }
        if let tls { return isQuiet(through: tls) }
        if SystemCalls.hasInput(descriptor) { return false }
        isReadable = false
        return true
    }

    private func checkIdle() {
        if isQuiet { return }
        server.remove(self)
        close()
    }

    private func readOnce(_ loader: UpstreamLoader) -> Bool {
        if input == nil, tls == nil, let target = loader.spliceTarget,
            let result = target.client.splice(from: self, atMost: target.limit)
        {
            switch result {
            case .bytes(let count): loader.spliced(count)
            case .wouldBlock: break
            case .end: loader.upstreamFinished()
            case .failed: loader.connectionBroke()
            }
            return result != .wouldBlock && worksFor(loader)
        }
        if let input { return read(into: input, for: loader) }
        return uncounted(worker.receiveBuffer) { buffer in
            buffer.clear()
            return read(into: buffer, for: loader)
        }
    }

    private func read(into buffer: ByteBuffer, for loader: UpstreamLoader) -> Bool {
        switch receive(into: buffer) {
        case .bytes:
            let consumed = loader.process(buffer)
            if isOpen, worksFor(loader) { keepInput(buffer, from: consumed) }
            return true
        case .wouldBlock:
            return false
        case .end:
            loader.upstreamFinished()
            return false
        case .failed:
            loader.connectionBroke()
            return false
        }
    }

    override func outputDrained() { loader?.with { $0.outputDrained() } }

    override func outputMoved() { if loader != nil { loop.setDeadline(self, after: worker.timeouts.writeIdle) } }

    override func writeFailed() {
        isWriteBroken = true
        isReadable = true
        loop.runSoon(self)
    }

    override func deadlinePassed() {
        if let loader {
            loader.with { $0.deadlinePassed() }
        } else {
            server.remove(self)
            close()
        }
        worker.flushClientOutput()
    }

    func close(reset: Bool = false) {
        guard isOpen else { return }
        loader = nil
        if worker.isCorked(self) { worker.dropUpstreamOutput() }
        closeDescriptor(reset: reset)
        upstream.connectionClosed()
    }
}
