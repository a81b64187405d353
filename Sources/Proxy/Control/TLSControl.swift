internal import Transport

/// The control plane's side of TLS: makes each worker's contexts, and the keys of tickets that all have in common.
final class TLSControl {
    /// Nil until a listener has TLS.
    private var keys: TicketKeys?

    init(_ configuration: Configuration) throws(TLSFiles.Failure) { try makeKeys(configuration) }

    private func makeKeys(_ configuration: Configuration) throws(TLSFiles.Failure) {
        guard keys == nil, configuration.listeners.contains(where: { $0.tls != nil }) else { return }
        do throws(TLSError) { keys = try TicketKeys() } catch { throw TLSFiles.Failure(path: "TLS", text: error.text) }
    }

    /// One for each worker, of the files as they are now; throws before anything has changed.
    func adopt(_ configuration: Configuration, workers: Int) throws(TLSFiles.Failure) -> [Handover<TLSContexts>] {
        try makeKeys(configuration)
        var all: [Handover<TLSContexts>] = []
        for _ in 0..<workers { all.append(Handover(try TLSContexts(configuration, keys: keys))) }
        return all
    }

    /// Nil when there are no tickets, or no random bytes, when the keys stay as they are.
    func rotatedKeys() -> TicketKeys? {
        do throws(TLSError) { try keys?.rotate() } catch { return nil }
        return keys
    }
}
