import Testing

@testable import Policy

struct NameFoldTests {
    @Test(arguments: [
        ("X-Env", "x-env"), ("x_env", "x-env"), ("X.ENV", "x-env"), ("x!env", "x-env"), ("X9", "x9"), ("@[`{", "----"),
        ("Zz", "zz"), ("\u{e9}", "--"),
    ])
    func folds(name: String, expected: String) {
        #expect(String(decoding: NameFold.folded(name), as: UTF8.self) == expected)
    }

    @Test func tableFindsEverySpelling() {
        var table = FoldedNameTable()
        for number in 0..<200 { #expect(table.insert(Array("X-Name-\(number)".utf8)) == number) }
        #expect(table.insert(Array("x_name_7".utf8)) == 7)
        for number in 0..<200 {
            #expect(table.find(text: "x.NAME_\(number)") == number)
        }
        for absent in ["X-Name-200", "X-Name", "", "Y-Name-1", "X-Name-1-"] {
            #expect(table.find(text: absent) == -1)
        }
    }
}
