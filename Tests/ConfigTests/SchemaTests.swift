import HTTP
import Policy
import Proxy
import Testing

@testable import Config

@Suite struct SchemaTests {
    /// The defaults that the table documents are those that the code uses.
    @Test(arguments: [ObjectName.limits, .timeouts, .canonical, .log])
    func documentedDefaultsAreTheDefaults(object: ObjectName) throws {
        let keys = object.schema.currentKeys.compactMap { key in key.defaultText.map { "\(key.name): \($0)" } }
        let plain = try load("upstream: demo").configuration
        let written = try load("upstream: demo\n\(object.rawValue): {\(keys.joined(separator: ", "))}").configuration
        #expect(!keys.isEmpty)
        #expect("\(written.limits)" == "\(plain.limits)")
        #expect("\(written.timeouts)" == "\(plain.timeouts)")
        #expect("\(written.canonical)" == "\(plain.canonical)")
        #expect("\(written.log)" == "\(plain.log)")
    }

    @Test func documentedDefaultsOfUpstreamAndProxyAreTheDefaults() throws {
        func keys(_ object: ObjectName) -> String {
            object.schema.currentKeys.compactMap { key in key.defaultText.map { "\(key.name): \($0)" } }.joined(separator: ", ")
        }
        let plain = try load("upstream: http://a\nproxy: {}").configuration
        let written = try load(
            """
            upstream: {url: http://a, timeouts: {\(keys(.upstreamTimeouts))}, pool: {\(keys(.pool))}, \(keys(.upstream))}
            proxy: {\(keys(.proxy))}
            """
        ).configuration
        #expect("\(written.upstreams)" == "\(plain.upstreams)")
        #expect("\(String(describing: written.rules[0].action))" == "\(String(describing: plain.rules[0].action))")
    }

    @Test func schemaNamesEveryKeyOfThisVersionAndNoOther() {
        let schema = ConfigurationSchema.jsonSchema()
        #expect(schema.hasPrefix("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"))
        for object in ObjectName.allCases {
            #expect(object == .configuration || schema.contains("\"\(object.rawValue)\": {"))
            for key in object.schema.currentKeys { #expect(schema.contains("\"\(key.name)\": {")) }
        }
        for later in ["authenticators", "oauth2", "health"] { #expect(!schema.contains("\"\(later)\"")) }
    }

    @Test func schemaIsBalanced() {
        var depth = 0, inText = false, escaped = false
        for byte in ConfigurationSchema.jsonSchema().utf8 {
            if inText {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inText = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): inText = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: break
                }
            }
        }
        #expect(depth == 0 && !inText)
    }

    @Test func shippedConfigurationLoads() throws {
        let loaded = try ConfigurationLoader.load(path: shipped, environment: { _ in nil })
        #expect(loaded.configuration.warnings.isEmpty)
        #expect(loaded.configuration.upstreams.map(\.isDemo) == [true])
        #expect(loaded.configuration.listeners.map(\.display) == ["127.0.0.1:8080"])
        #expect(loaded.configuration.rules[0].request.set.map(\.name) == ["Authorization", "X-Forwarded-User"])
    }

    @Test func shippedConfigurationMentionsEveryKey() throws {
        let text = String(decoding: try FileReader.read(shipped), as: UTF8.self)
        for object in ObjectName.allCases {
            for key in object.schema.currentKeys { #expect(text.contains(key.name + ":"), "\(object.rawValue).\(key.name)") }
        }
    }

    private var shipped: String {
        var path = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        path.removeLast(3)
        return (path + ["config.yaml"]).joined(separator: "/")
    }
}
