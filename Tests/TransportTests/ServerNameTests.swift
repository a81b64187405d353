import Testing
import Transport

@Suite struct ServerNameTests {
    private func names(_ hosts: String...) -> CertificateNames { CertificateNames(hosts: hosts) }

    @Test func anExactNameGoesBeforeAWildcardAndTheFirstIsTheDefault() {
        let table = ServerNameTable([
            (names("*.example.org"), 1), (names("a.example.org"), 1), (names("example.org", "other.test"), 1),
        ])
        let shown = { (name: String) in table.group(for: name).map { table.groups[$0] } }
        #expect(shown("a.example.org") == [1])
        #expect(shown("b.example.org") == [0])
        #expect(shown("example.org") == [2])
        #expect(shown("other.test") == [2])
        // A wildcard stands for one label (RFC 6125 section 6.4.3).
        #expect(shown("a.b.example.org") == nil)
        #expect(shown("nowhere.test") == nil)
        #expect(shown("org") == nil)
        #expect(shown("") == nil)
        #expect(shown(".example.org") == nil)
        #expect(table.groups[table.defaultGroup] == [0])
    }

    @Test func certificatesOfSeveralKindsForOneNameAreShownTogether() {
        let table = ServerNameTable([(names("a.test"), 1), (names("a.test", "b.test"), 2), (names("a.test"), 1)])
        #expect(table.group(for: "a.test").map { table.groups[$0] } == [0, 1])
        #expect(table.group(for: "b.test").map { table.groups[$0] } == [1])
        #expect(table.groups[table.defaultGroup] == [0, 1])
    }

    @Test func aCertificateWithoutNamesCanBeTheDefault() {
        let table = ServerNameTable([(names(), 1), (names("a.test"), 1)])
        #expect(table.groups[table.defaultGroup] == [0])
    }

    @Test(arguments: [
        ("a.test", true), ("b.w.test", true), ("w.test", false), ("c.b.w.test", false), ("127.0.0.1", true), ("127.0.0.2", false),
        ("[::1]", true), ("[::2]", false), ("", false), ("*.w.test", true), (".w.test", false),
    ])
    func aCertificateCoversItsNames(_ host: String, _ isCovered: Bool) {
        let names = CertificateNames(hosts: ["a.test", "*.w.test"], addresses: ["127.0.0.1", "::1"])
        #expect(names.covers(host) == isCovered)
    }
}
