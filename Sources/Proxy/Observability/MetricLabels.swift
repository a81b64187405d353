internal import Policy

/// The numbers under which a configuration's listeners, rules, upstreams and credentials are counted, by their index in it.
public struct MetricIndexes: Sendable, Equatable {
    /// No rule took the request, or there are more names than numbers.
    public static let none = UInt16.max

    public var listeners: [UInt16] = []
    public var rules: [UInt16] = []
    public var upstreams: [UInt16] = []
    public var credentials: [UInt16] = []
}

/// All names that were ever counted under. A name keeps its number over reloads, so a counter never changes its meaning.
///
/// Names come from configurations only; no client can make a label.
public struct MetricLabels: Sendable {
    public struct Names: Sendable {
        private(set) var names: [String] = []
        private var numbers: [String: UInt16] = [:]

        mutating func number(of name: String) -> UInt16 {
            if let number = numbers[name] { return number }
            guard names.count < Int(MetricIndexes.none) else { return MetricIndexes.none }
            let number = UInt16(names.count)
            names.append(name)
            numbers[name] = number
            return number
        }

        /// Empty for ``MetricIndexes/none``.
        subscript(number: UInt16) -> String { Int(number) < names.count ? names[Int(number)] : "" }
    }

    public private(set) var listeners = Names()
    public private(set) var rules = Names()
    public private(set) var upstreams = Names()
    public private(set) var credentials = Names()

    public init() {}

    /// Numbers for a configuration that comes into force.
    public mutating func adopt(_ configuration: Configuration) -> MetricIndexes {
        var indexes = MetricIndexes()
        indexes.listeners = configuration.listeners.map { listeners.number(of: $0.display) }
        indexes.rules = configuration.rules.map { rules.number(of: $0.name) }
        indexes.upstreams = configuration.upstreams.map { upstreams.number(of: $0.name) }
        indexes.credentials = configuration.credentials.map { credentials.number(of: $0.name) }
        return indexes
    }
}
