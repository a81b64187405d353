public import HTTP

/// A worker's current values of all secrets.
///
/// Whatever was built from them remembers ``generation`` and is wiped and built anew when it is no longer current.
public final class SecretTable {
    private var values: [Secret?]
    public private(set) var generation = 0

    public init(_ definitions: [SecretDefinition]) { values = definitions.map(\.value) }

    /// Puts a new value in force; nil says that it can not be had any more.
    public func update(_ id: SecretID, _ secret: Secret?) {
        guard values.indices.contains(id.index) else { return }
        values[id.index] = secret
        generation &+= 1
    }

    public func isAvailable(_ id: SecretID) -> Bool { length(of: id) != nil }

    func length(of id: SecretID) -> Int? { values.indices.contains(id.index) ? values[id.index]?.length : nil }

    /// Appends the value to a buffer that its owner wipes; false when there is none.
    public func append(_ id: SecretID, to out: ByteBuffer) -> Bool {
        guard values.indices.contains(id.index), let secret = values[id.index] else { return false }
        secret.append(to: out)
        return true
    }
}
