@testable import Config
import Policy
import Proxy

/// A configuration as the tests load it: a name for the file, no environment but the one given.
func load(
    _ text: String, environment: [String: String] = [:], file: String = "config.yaml",
    overrides: ConfigurationOverrides = ConfigurationOverrides()
) throws(ConfigurationErrors) -> LoadedConfiguration {
    try ConfigurationLoader.load(text: text, file: file, environment: { environment[$0] }, overrides: overrides)
}

/// The one-line messages of a faulty configuration; of a good one its warnings.
func messages(
    _ text: String, environment: [String: String] = [:], overrides: ConfigurationOverrides = ConfigurationOverrides()
) -> [String] {
    do {
        return try load(text, environment: environment, overrides: overrides).configuration.warnings
    } catch {
        return error.problems.map(\.line)
    }
}
