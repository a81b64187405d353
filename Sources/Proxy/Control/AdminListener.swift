internal import HTTP
internal import Policy
internal import Transport

/// Opens the administration's sockets: always a unix socket that only this user can use, and TCP where it is configured.
final class AdminListener: EventHandler {
    private unowned let server: Server
    private(set) var socketPath: String?
    private var doors: [Door] = []

    init(server: Server) throws(ListeningSockets.Failure) {
        self.server = server
        super.init()
        do {
            try adopt(server.configuration.admin)
        } catch {
            close()
            throw error
        }
    }

    /// Opens what is new before it closes what is no longer named; on failure everything is as it was.
    func adopt(_ definition: AdminDefinition) throws(ListeningSockets.Failure) {
        try adopt(socket: definition)
        let old = doors.first { !$0.isLocal }
        if old?.definition != definition.listen { try replace(old, by: definition.listen) }
    }

    private func adopt(socket definition: AdminDefinition) throws(ListeningSockets.Failure) {
        let wanted = definition.socket ?? AdminSocket.defaultPath()
        if wanted == nil {
            server.logWriter.log(
                .warn,
                "no admin socket: no folder for it can be trusted; set admin.socket, or XDG_RUNTIME_DIR, for reload and status")
        }
        guard wanted != socketPath else { return }
        let before = (path: socketPath, doors: doors.filter(\.isLocal))
        socketPath = nil
        if let wanted {
            do {
                try openSocket(wanted)
            } catch {
                // One that was asked for by name is not done without.
                if definition.socket != nil {
                    socketPath = before.path
                    let why = (error as? SystemError)?.text ?? "\(error)"
                    throw ListeningSockets.Failure(text: "admin.socket: can not listen on \(wanted): \(why)")
                }
                server.logWriter.log(.warn, "no admin socket at \(wanted): reload and status will not find this process")
            }
        }
        close(before.doors)
        if let path = before.path { UnixSocketFile.remove(path) }
    }

    private func replace(_ old: Door?, by fresh: ListenerDefinition?) throws(ListeningSockets.Failure) {
        guard let old, let before = old.definition, let fresh, before.overlaps(fresh) else {
            if let fresh { try openTCP(fresh) }
            if let old { close([old]) }
            return
        }
        close([old])
        do {
            try openTCP(fresh)
        } catch {
            do { try openTCP(before) } catch { server.logWriter.log(.error, error.text) }
            throw error
        }
    }

    private func openSocket(_ path: String) throws {
        let descriptor = try UnixSocketFile.listen(path: path, mode: 0o600)
        do {
            try add(Door(server: server, descriptor: descriptor, isLocal: true, definition: nil))
        } catch {
            SystemCalls.close(descriptor)
            UnixSocketFile.remove(path)
            throw error
        }
        socketPath = path
    }

    private func openTCP(_ definition: ListenerDefinition) throws(ListeningSockets.Failure) {
        guard case .tcp(let host, let port) = definition.address,
            let address = host.isEmpty ? SocketAddress.any(port: port) : SocketAddress(literal: host, port: port)
        else { throw ListeningSockets.Failure(text: "admin.listen: \(definition.display): not an address to listen on") }
        do {
            let descriptor = try Socket.listen(on: address, sharesPort: false)
            try add(Door(server: server, descriptor: descriptor, isLocal: false, definition: definition))
        } catch {
            throw ListeningSockets.Failure(text: "admin.listen: can not listen on \(definition.display): \(error.text)")
        }
    }

    private func add(_ door: Door) throws(SystemError) {
        try server.loop.add(door, descriptor: door.descriptor, levelTriggered: true)
        doors.append(door)
    }

    private func close(_ closing: [Door]) {
        for door in closing {
            server.loop.remove(door, descriptor: door.descriptor)
            SystemCalls.close(door.descriptor)
            doors.removeAll { $0 === door }
        }
    }

    func close() {
        close(doors)
        if let socketPath { UnixSocketFile.remove(socketPath) }
    }

    /// One listening socket of the administration.
    final class Door: EventHandler {
        unowned let server: Server
        let descriptor: Int32
        let isLocal: Bool
        let definition: ListenerDefinition?
        private var connections: [AdminConnection] = []

        private static let mostConnections = 64

        init(server: Server, descriptor: Int32, isLocal: Bool, definition: ListenerDefinition?) {
            self.server = server
            self.descriptor = descriptor
            self.isLocal = isLocal
            self.definition = definition
            super.init()
        }

        override func ready(_ readiness: Readiness) {
            while let accepted = try? Socket.accept(descriptor) {
                // Who says nothing makes room for who may.
                if connections.count >= Self.mostConnections { (connections.first { !$0.isAnswering } ?? connections[0]).close() }
                let connection = AdminConnection(door: self, descriptor: accepted.descriptor)
                if (try? server.loop.add(connection, descriptor: accepted.descriptor)) != nil {
                    connections.append(connection)
                    connection.begin()
                } else {
                    SystemCalls.close(accepted.descriptor)
                }
            }
        }

        func closed(_ connection: AdminConnection) { connections.removeAll { $0 === connection } }
    }
}

/// Where the administration's unix socket is: made by `run`, found by `reload` and `status`.
public enum AdminSocket {
    /// `$RUNTIME_DIRECTORY` (systemd), else `$XDG_RUNTIME_DIR`, else a folder of this user's own below /tmp.
    public static func folder() -> String? {
        if let folder = EnvironmentVariables.value("RUNTIME_DIRECTORY")?.split(separator: ":").first { return String(folder) }
        if let folder = EnvironmentVariables.value("XDG_RUNTIME_DIR"), !folder.isEmpty { return folder }
        return PrivateFolder.make("/tmp/authproxy-\(SystemCalls.userID)")
    }

    static func defaultPath() -> String? { folder().map { "\($0)/authproxy-\(SystemCalls.processID).sock" } }

    /// The sockets that processes of this user have made here.
    public static func present() -> [String] {
        guard let folder = folder() else { return [] }
        return PrivateFolder.entries(folder).filter { $0.hasPrefix("authproxy-") && $0.hasSuffix(".sock") }
            .map { "\(folder)/\($0)" }
    }
}
