import Testing

@testable import Config

@Suite struct ScalarTests {
    @Test(arguments: [
        ("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("1m30s", 90_000), ("1h0m1ms", 3_600_001),
        ("", nil),
        ("10", nil), ("s", nil), ("-1s", nil), ("1.5s", nil), ("10 s", nil), ("10S", nil), ("1d", nil),
        ("9999999999999999h", nil),
        ("99999999999999999999s", nil), ("१s", nil),
    ])
    func duration(text: String, milliseconds: Int?) { #expect(Quantity.milliseconds(text) == milliseconds) }

    @Test(arguments: [
        ("0B", 0), ("512B", 512), ("16KiB", 16_384), ("1MiB", 1 << 20), ("2GiB", 2 << 30), ("64k", nil), ("64KB", nil),
        ("64", nil),
        ("KiB", nil), ("1 KiB", nil), ("1.5MiB", nil), ("99999999999GiB", nil), ("", nil),
    ])
    func size(text: String, bytes: Int?) { #expect(Quantity.bytes(text) == bytes) }

    @Test(arguments: [
        ("upstrem", "upstream"), ("usptream", "upstream"), ("upstreamss", "upstreams"), ("trustedProxies", "trusted_proxies"),
        ("Trusted-Proxies", "trusted_proxies"), ("zzz", nil), ("a", nil),
    ])
    func suggestion(word: String, meant: String?) {
        #expect(Suggestions.nearest(to: word, in: ObjectName.configuration.schema.keys.map(\.name)) == meant)
    }

    @Test func everySynonymLeadsToAKeyOrAWord() {
        let keys = ObjectName.allCases.flatMap { $0.schema.keys.map(\.name) }
        for word in ["headers", "port", "backend", "routes", "timeout", "delete", "add", "ip", "logging"] {
            #expect(Suggestions.synonym(of: word, in: keys) != nil, "\(word)")
        }
    }
}
