internal import Transport

/// Opens what the configuration listens on, and keeps what stays the same over a reload.
final class ListeningSockets {
    private struct Entry {
        var definition: ListenerDefinition
        var sockets: [ListeningSocket]  // one a worker, or one that all share

        func described(by definition: ListenerDefinition) -> Entry {
            let sockets = sockets.map { socket in
                var socket = socket
                socket.definition = definition
                return socket
            }
            return Entry(definition: definition, sockets: sockets)
        }
    }

    private var entries: [Entry] = []
    private let workers: Int

    init(workers: Int) { self.workers = workers }

    struct Failure: Error {
        var text: String
    }

    /// Opens the new ones; on failure everything is as it was. Old ones that are no longer named are forgotten: the workers
    /// close theirs, shared ones are closed by `closeForgotten`.
    func adopt(_ definitions: [ListenerDefinition]) throws(Failure) {
        let leaving = entries.filter { entry in !definitions.contains { $0.hasSocket(of: entry.definition) } }
        var fresh: [Entry] = []
        do {
            for definition in definitions where !entries.contains(where: { $0.definition.hasSocket(of: definition) }) {
                fresh.append(Entry(definition: definition, sockets: try open(definition, instead: leaving)))
            }
            try setModes(definitions)
        } catch {
            for entry in fresh { close(entry) }
            throw error
        }
        forgotten = leaving
        let all = entries + fresh
        entries = definitions.compactMap { definition in
            all.first { $0.definition.hasSocket(of: definition) }.map { $0.described(by: definition) }
        }
    }

    /// Unix sockets that stay may be for others than before; on failure all are for whom they were.
    private func setModes(_ definitions: [ListenerDefinition]) throws(Failure) {
        var changed: [(path: String, mode: UInt32?)] = []
        for entry in entries {
            guard case .unix(let path, let before) = entry.definition.address,
                case .unix(_, let mode)? = definitions.first(where: { $0.hasSocket(of: entry.definition) })?.address, mode != before
            else { continue }
            do {
                try UnixSocketFile.setMode(mode, of: path)
            } catch {
                for (path, mode) in changed { try? UnixSocketFile.setMode(mode, of: path) }
                throw Failure(text: "the mode of \(path) can not be changed: \(error.text)")
            }
            changed.append((path, before))
        }
    }

    private var forgotten: [Entry] = []

    /// Once the workers have let go of them.
    func closeForgotten() {
        for entry in forgotten {
            if case .unix(let path, _) = entry.definition.address { UnixSocketFile.remove(path) }
        }
        for entry in forgotten { for socket in entry.sockets where socket.isShared { SystemCalls.close(socket.descriptor) } }
        forgotten = []
    }

    /// At the end of the process: what it made in the file system goes with it.
    func removeFiles() {
        for entry in entries { if case .unix(let path, _) = entry.definition.address { UnixSocketFile.remove(path) } }
    }

    func sockets(forWorker index: Int) -> [ListeningSocket] {
        entries.map { $0.sockets[min(index, $0.sockets.count - 1)] }
    }

    /// Listener and port, as bound: where port 0 was asked for, the one that it became.
    var bound: [(definition: ListenerDefinition, port: UInt16)] { entries.map { ($0.definition, $0.sockets[0].port) } }

    private func close(_ entry: Entry) {
        for socket in entry.sockets { SystemCalls.close(socket.descriptor) }
    }

    private func open(_ definition: ListenerDefinition, instead leaving: [Entry]) throws(Failure) -> [ListeningSocket] {
        do {
            switch definition.address {
            case .tcp(let host, let port):
                return try openTCP(
                    definition, host: host, port: port, isOurs: leaving.contains { $0.definition.overlaps(definition) })
            case .unix(let path, let mode):
                let descriptor = try UnixSocketFile.listen(path: path, mode: mode)
                return [ListeningSocket(definition: definition, descriptor: descriptor, isShared: true, port: 0)]
            case .inherited(let descriptor):
                guard FileSystemCalls.kind(of: descriptor) == .socket else {
                    throw Failure(text: "\(definition.display): no socket was passed as this descriptor (socket activation)")
                }
                SystemCalls.prepareInherited(descriptor)
                let port = Socket.localAddress(descriptor)?.port ?? 0
                return [ListeningSocket(definition: definition, descriptor: descriptor, isShared: true, port: port)]
            }
        } catch let failure as Failure {
            throw failure
        } catch let error as SystemError {
            throw Failure(text: "can not listen on \(definition.display): \(error.text)")
        } catch {
            throw Failure(text: "can not listen on \(definition.display)")
        }
    }

    private func openTCP(
        _ definition: ListenerDefinition, host: String, port: UInt16, isOurs: Bool
    ) throws -> [ListeningSocket] {
        let address = host.isEmpty ? SocketAddress.any(port: port) : SocketAddress(literal: host, port: port)
        guard let address else { throw Failure(text: "\(definition.display): not an address to listen on") }
        // A bind without a shared port fails when anyone listens there already, which SO_REUSEPORT would hide.
        // What an old address of ours has is shared with the new one until it is closed.
        let probe = try Socket.listen(on: address, sharesPort: isOurs, backlog: 0)
        let chosen = Socket.localAddress(probe)?.port ?? port
        SystemCalls.close(probe)
        let shared = host.isEmpty ? SocketAddress.any(port: chosen) : SocketAddress(literal: host, port: chosen) ?? address
        var sockets: [ListeningSocket] = []
        do {
            for _ in 0..<workers {
                let descriptor = try Socket.listen(on: shared, sharesPort: true)
                sockets.append(
                    ListeningSocket(definition: definition, descriptor: descriptor, isShared: false, port: chosen))
            }
        } catch {
            for socket in sockets { SystemCalls.close(socket.descriptor) }
            throw error
        }
        return sockets
    }
}
