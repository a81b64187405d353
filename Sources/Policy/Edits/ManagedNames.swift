internal import HTTP

/// Names that rules may write towards one upstream: the client's lines of these names go before any edit is made.
///
/// A `set` or credential name goes in every spelling; of an `append` or `default` name every other spelling goes.
final class ManagedNames {
    private struct Entry {
        /// Lower-cased; nil when every spelling goes.
        var spelling: [UInt8]?
        var reason: String
    }

    private(set) var table = FoldedNameTable()
    private var entries: [Entry] = []

    init() {}

    /// Takes in what one rule writes. Host is left out: there is one line of it, and the request writer's.
    func insert(_ rule: RuleDefinition, _ credentials: [CredentialDefinition]) {
        for set in rule.request.set { insert(set.name, spelling: nil, "rule \(rule.name) sets it") }
        for index in rule.credentials where credentials.indices.contains(index) {
            insert(credentials[index].fieldName, spelling: nil, "credential \(credentials[index].name) sets it")
        }
        for append in rule.request.append {
            insert(append.name, spelling: RuleBytes.lowered(append.name), "rule \(rule.name) appends to it")
        }
        for entry in rule.request.defaults {
            insert(entry.name, spelling: RuleBytes.lowered(entry.name), "rule \(rule.name) has a default for it")
        }
    }

    private func insert(_ name: String, spelling: [UInt8]?, _ reason: String) {
        if FieldNames.isHost(name) || FieldNames.isReserved(name) { return }
        let number = table.insert(Array(name.utf8))
        guard number < entries.count else {
            entries.append(Entry(spelling: spelling, reason: reason))
            return
        }
        // Two spellings that are both "the" one: neither the client's first nor its second can be told from a forgery.
        if let present = entries[number].spelling, present != spelling {
            entries[number] = Entry(spelling: nil, reason: reason)
        }
    }

    func removes(_ name: Span<UInt8>, hash: UInt64) -> Bool { entry(removing: name, hash) >= 0 }

    /// Why a client's line of this name goes, for a person; nil: it stays.
    func reason(forRemoving name: Span<UInt8>) -> String? {
        let number = entry(removing: name, NameFold.hash(name))
        if number < 0 { return nil }
        let entry = entries[number]
        return entry.spelling == nil
            ? "managed: \(entry.reason)" : "another spelling of a managed name: \(entry.reason)"
    }

    private func entry(removing name: Span<UInt8>, _ hash: UInt64) -> Int {
        let number = table.find(name, hash: hash)
        if number < 0 { return -1 }
        guard let spelling = entries[number].spelling else { return number }
        return RuleBytes.equal(name, ignoringCase: spelling) ? -1 : number
    }
}

/// Names whose lines are written by the proxy alone.
public enum FieldNames {
    private static let reserved: Set<String> = [
        "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive",
        "proxy-connection",
        "http2-settings",
    ]

    /// Framing and connection fields (RFC 9110 section 7.6.1, RFC 9112 section 6): no edit may write them.
    public static func isReserved(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

    static func isHost(_ name: String) -> Bool { name.lowercased() == "host" }
}
