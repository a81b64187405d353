package import HTTP

/// A worker's current values of all secrets.
///
/// Whatever was built from them remembers ``generation`` and is wiped and built anew when it is no longer current.
package final class SecretTable {
    private var values: [Secret?]
    package private(set) var generation = 0

    package init(_ definitions: [SecretDefinition]) { values = definitions.map(\.value) }

    /// Puts a new value in force; nil says that it can not be had any more.
    package func update(_ id: SecretID, _ secret: Secret?) {
        guard values.indices.contains(id.index) else { return }
        values[id.index] = secret
        generation &+= 1
    }

    package func isAvailable(_ id: SecretID) -> Bool { length(of: id) != nil }

    func length(of id: SecretID) -> Int? { values.indices.contains(id.index) ? values[id.index]?.length : nil }

    /// Appends the value to a buffer that its owner wipes; false when there is none.
    package func append(_ id: SecretID, to out: ByteBuffer) -> Bool {
        guard values.indices.contains(id.index), let secret = values[id.index] else { return false }
        secret.append(to: out)
        return true
    }
}
