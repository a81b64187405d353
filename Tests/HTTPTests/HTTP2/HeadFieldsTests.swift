import HTTP
import Testing

struct HeadFieldsTests {
    private func fields(_ text: String, hasStartLine: Bool = true) -> [String] {
        let bytes = Array(text.utf8)
        var walk = HeadFields(bytes.span, hasStartLine: hasStartLine)
        var found: [String] = []
        while let field = walk.next(in: bytes.span) {
            found.append(
                "\(String(decoding: bytes[field.name], as: UTF8.self))=\(String(decoding: bytes[field.value], as: UTF8.self))")
        }
        return found
    }

    @Test func linesAreFields() {
        #expect(fields("HTTP/1.1 200 OK\r\nA: 1\r\nB:2\r\nC: \r\n\r\n") == ["A=1", "B=2", "C="])
        #expect(fields("X-Sum: 1\r\nY: a b\r\n", hasStartLine: false) == ["X-Sum=1", "Y=a b"])
        #expect(fields("HTTP/1.1 200 OK\r\n\r\n").isEmpty)
        #expect(fields("", hasStartLine: false).isEmpty)
    }

    @Test func theStartLineIsTakenApart() {
        let request = Array("OPTIONS * HTTP/1.1\r\n\r\n".utf8)
        let line = HeadFields(request.span).requestLine(request.span)
        #expect(line.map { request[$0.method].elementsEqual("OPTIONS".utf8) && request[$0.target].elementsEqual("*".utf8) } == true)
    }
}
