import HTTP
import Testing

@testable import Policy

@Suite struct ServePlanTests {
    private func target(
        _ path: String, _ change: (inout ServeDefinition) -> Void = { _ in }
    ) -> (ServePlan.Target, String) {
        var definition = ServeDefinition(source: .folder("/srv"))
        change(&definition)
        let out = ByteBuffer()
        let target = ServePlan(definition).appendRelativePath(bytes(path), to: out)
        return (target, target == .nothing ? "" : out.text)
    }

    @Test(
        arguments: [
            ("/a.txt", .file, "a.txt"), ("/", .folder, ""), ("/sub/", .folder, "sub/"), ("/sub/b", .file, "sub/b"),
            ("/two%20words", .file, "two words"), ("/%C3%A9", .file, "é"), ("/a%25b", .file, "a%b"), ("/..a", .nothing, ""),
            ("/a..", .file, "a.."), ("/a..b/c", .file, "a..b/c"), ("/.well-known/x", .file, ".well-known/x"),
        ] as [(String, ServePlan.Target, String)])
    func pathsBecomeNames(path: String, wanted: ServePlan.Target, name: String) {
        #expect(target(path) == (wanted, name))
    }

    @Test(arguments: [
        "/a%2Fb", "/a%2fb", "/%2F", "/x%00", "/..", "/../a", "/a/../b", "/.", "/a/./b", "//a", "/a//b", "/%2e%2e/x", "/.env",
        "/a/.git/x",
        "/%2Eenv", "/a/.well-known/x", "/%", "/%4", "/%zz", "/a%",
    ])
    func namesThatAreNobodys(path: String) {
        #expect(target(path).0 == .nothing)
    }

    @Test func hiddenNamesAreShownWhenAsked() {
        #expect(target("/.env") { $0.servesHidden = true } == (.file, ".env"))
        #expect(target("/a/..") { $0.servesHidden = true }.0 == .nothing)
    }

    @Test(arguments: [
        ("/static/a", "a"), ("/static/", ""), ("/static", ""), ("/statics/a", "statics/a"), ("/other/a", "other/a"),
        ("/static/a/b", "a/b"),
    ])
    func prefixesAreStrippedByWholeSegments(path: String, name: String) {
        #expect(target(path) { $0.stripPrefix = "/static" }.1 == name)
    }

    @Test func thePrefixAloneIsTheFolderWithoutItsSlash() {
        let plan: (String) -> ServePlan.Target = { self.target($0) { $0.stripPrefix = "/static" }.0 }
        #expect(plan("/static") == .file && plan("/static/") == .folder && plan("/") == .folder)
    }

    @Test(arguments: ["/", "/far/", "/far/away/"])
    func flatFoldersHaveNoFolders(path: String) {
        #expect(target(path) { $0.isFlat = true }.0 == .nothing)
    }

    @Test(arguments: [("/far/away/a.js", "a.js"), ("/a.js", "a.js"), ("/far/", ""), ("/", ""), ("/x/%2Ea", "")])
    func flatPathsAreTheirLastSegment(path: String, name: String) {
        #expect(target(path) { $0.isFlat = true }.1 == name)
    }
}
