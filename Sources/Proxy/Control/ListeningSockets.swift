internal import Transport

/// Opens what the configuration listens on, and keeps what stays the same over a reload.
final class ListeningSockets {
    private struct Entry {
        var definition: ListenerDefinition
        var sockets: [ListeningSocket]  // one a worker, or one that all share

        func isSame(as other: Entry) -> Bool { sockets[0].descriptor == other.sockets[0].descriptor }

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
    /// close theirs, shared ones are closed by `closeForgotten`, which is given what this returns.
    func adopt(_ definitions: [ListenerDefinition]) throws(Failure) -> Generation {
        // Each old one is one new one's, in order: several may ask for any port.
        var leaving = entries + forgotten.map(\.entry)
        var adopted: [Entry?] = definitions.map { definition in
            leaving.firstIndex { $0.definition.hasSocket(of: definition) }.map { leaving.remove(at: $0) }
        }
        let staying = adopted.compactMap { $0 }
        var fresh: [Entry] = []
        do {
            for index in definitions.indices where adopted[index] == nil {
                let entry = Entry(definition: definitions[index], sockets: try open(definitions[index], instead: leaving))
                fresh.append(entry)
                adopted[index] = entry
            }
            try setModes(zip(adopted, definitions).map { (from: $0?.definition.address, to: $1.address) })
        } catch {
            for entry in fresh { discard(entry) }
            throw error
        }
        generation += 1
        forgotten.removeAll { old in staying.contains { $0.isSame(as: old.entry) } }
        for entry in entries where leaving.contains(where: { $0.isSame(as: entry) }) && entry.sockets[0].isShared {
            forgotten.append((entry, generation))
        }
        entries = zip(adopted, definitions).compactMap { $0?.described(by: $1) }
        return generation
    }

    /// Unix sockets that stay may be for others than before; on failure all are for whom they were.
    private func setModes(_ changes: [(from: ListenerDefinition.Address?, to: ListenerDefinition.Address)]) throws(Failure) {
        var changed: [(path: String, mode: UInt32?)] = []
        for case (.unix(let path, let before)?, .unix(_, let mode)) in changes where mode != before {
            do {
                try UnixSocketFile.setMode(mode, of: path)
            } catch {
                for (path, mode) in changed { try? UnixSocketFile.setMode(mode, of: path) }
                throw Failure(text: "the mode of \(path) can not be changed: \(error.text)")
            }
            changed.append((path, before))
        }
    }

    /// Which call of `adopt` has forgotten a socket.
    typealias Generation = Int
    private var generation = 0
    private var forgotten: [(entry: Entry, since: Generation)] = []

    /// Those up to this generation, once the workers have let go of them.
    func closeForgotten(_ generation: Generation) {
        for (entry, since) in forgotten where since <= generation { discard(entry) }
        forgotten.removeAll { $0.since <= generation }
    }

    /// At the end of the process: what it made in the file system goes with it.
    func removeFiles() {
        for entry in entries + forgotten.map(\.entry) {
            if case .unix(let path, _) = entry.definition.address { UnixSocketFile.remove(path) }
        }
    }

    func sockets(forWorker index: Int) -> [ListeningSocket] {
        entries.map { $0.sockets[min(index, $0.sockets.count - 1)] }
    }

    /// Listener and port, as bound: where port 0 was asked for, the one that it became.
    var bound: [(definition: ListenerDefinition, port: UInt16)] { entries.map { ($0.definition, $0.sockets[0].port) } }

    /// Closes it, and removes what it made in the file system. What was inherited stays open: its number would go to something else,
    /// and be taken for the socket that a configuration names once more.
    private func discard(_ entry: Entry) {
        switch entry.definition.address {
        case .inherited: return
        case .unix(let path, _): UnixSocketFile.remove(path)
        case .tcp: break
        }
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
                guard Socket.isListening(descriptor) else {
                    throw Failure(
                        text: "\(definition.display): no listening socket was passed as this descriptor (socket activation)")
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
