import Testing

@testable import Config
import Proxy

/// A configuration and what is said about it, without the file's name.
struct Example: CustomTestStringConvertible, Sendable {
    let text: String
    let messages: [String]

    init(_ text: String, _ messages: [String]) {
        self.text = text
        self.messages = messages
    }

    var testDescription: String { text }
}

@Suite struct ExampleTests {
    static let environment = ["API_TOKEN": "s3cr3t-canary", "EMPTY": "", "STAGE": "prod", "LINES": "a\nb"]

    @Test(arguments: faultyYAML + faultyKeys + faultyValues + faultyRules)
    func faultyConfigurationSaysAllThatIsWrongWithIt(example: Example) {
        #expect(throws: ConfigurationErrors.self) { try load(example.text, environment: Self.environment) }
        #expect(messages(example.text, environment: Self.environment) == example.messages.map { "config.yaml:" + $0 })
    }

    @Test(arguments: warned)
    func warnedConfigurationLoads(example: Example) throws {
        let loaded = try load(example.text, environment: Self.environment)
        #expect(loaded.configuration.warnings == example.messages.map { "config.yaml:" + $0 })
        #expect(loaded.warnings.problems.allSatisfy { $0.severity == .warning })
    }

    @Test(arguments: faultyYAML + faultyKeys + faultyValues + faultyRules)
    func noMessageHoldsASecret(example: Example) {
        do {
            _ = try load(example.text, environment: Self.environment)
        } catch {
            #expect(!error.render(color: true).contains("canary"))
        }
    }
}
