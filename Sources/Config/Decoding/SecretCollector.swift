internal import Policy

/// The secrets of a configuration, each source once, and which environment variables are secret.
final class SecretCollector {
    private struct Key: Hashable {
        var source: SecretDefinition.Source
        var value: [UInt8]
    }

    private(set) var definitions: [SecretDefinition] = []
    private var indexes: [Key: Int] = [:]
    private var variables: Set<String> = []
    private var publicUses: [(variable: String, value: Value, offset: Int, length: Int)] = []

    func add(_ source: SecretDefinition.Source, _ value: [UInt8]) -> SecretID {
        if case .environment(let name) = source { variables.insert(name) }
        let key = Key(source: source, value: value)
        if let index = indexes[key] { return SecretID(index) }
        indexes[key] = definitions.count
        definitions.append(SecretDefinition(source: source, value: Secret(value)))
        return SecretID(definitions.count - 1)
    }

    /// A variable in a place that clients see.
    func show(_ variable: String, _ value: Value, offset: Int, length: Int) {
        publicUses.append((variable, value, offset, length))
    }

    /// Once everything is read: no variable may be secret in one place and shown in another.
    func check(_ decoder: ConfigurationDecoder) {
        for use in publicUses where variables.contains(use.variable) {
            decoder.fail(
                use.value, at: use.offset, length: use.length,
                "`\(use.variable)` is used as a secret elsewhere in this file; it may not stand where clients see it",
                hint: "use another variable")
        }
    }
}
