import Policy
import Testing

@testable import Config

@Suite struct ReaderTests {
    @Test func aliasBombIsBounded() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = [String](repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(
            messages(text) == [
                "config.yaml:5:45: error: a4[7]: more than 100000 values through aliases, counted with all that they stand for"
            ])
    }

    @Test func depthIsBounded() {
        let text = "a: " + String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(messages(text).first?.contains("nested more than 48 levels deep") ?? false)
    }

    @Test func byteOrderMarkIsNoColumn() {
        #expect(
            messages("\u{feff}upstrem: demo") == ["config.yaml:1:1: error: unknown key `upstrem` (did you mean `upstream`?)"])
    }

    @Test func scalarStylesAreTold() throws {
        var reader = YAMLReader(Array("a: true\nb: \"true\"\nc: !!str true\nd: ~\ne: |\n  x\n".utf8), file: "f")
        let root = try reader.document()
        #expect(root.entries?.map(\.value.isPlain) == [true, false, false, true, false])
        #expect(root.entries?.map(\.value.isNull) == [false, false, false, true, false])
        #expect(root["e"]?.text == "x\n")
        #expect(root["b"]?.location.line == 2 && root["b"]?.location.column == 4)
    }

    /// Whatever the bytes, the loader ends with a configuration or with errors.
    @Test func mutatedConfigurationsAreReadOrRefused() throws {
        let seeds = (faultyKeys + faultyValues + faultyRules + warned).map { Array($0.text.utf8) }
        var state: UInt64 = 0x9e37_79b9_7f4a_7c15
        func random(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(max(bound, 1)))
        }
        let pieces = [
            "{", "}", "[", "]", ": ", "\n", "  ", "*a", "&a ", "${env:", "$${", "\"", "'", "\u{0}", "ü", "- ", "<<: ", "!!str ",
        ]
        for _ in 0..<1000 {
            var bytes = seeds[random(seeds.count)]
            for _ in 0...random(4) {
                let place = random(bytes.count)
                switch random(3) {
                case 0: bytes.insert(contentsOf: pieces[random(pieces.count)].utf8, at: place)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + random(8)))
                default: if !bytes.isEmpty { bytes[place] = UInt8(truncatingIfNeeded: random(256)) }
                }
            }
            do {
                _ = try load(String(decoding: bytes, as: UTF8.self), environment: ExampleTests.environment)
            } catch {
                #expect(!error.problems.isEmpty)
                #expect(!error.render(color: true).contains("canary"))
            }
        }
    }
}
