import HTTP
import Testing

/// The bounds on heads, and which of them answers first; the cases LM-01 to LM-03.
struct HeadLimitTests {
    private func get(target: Int, padding: Int = 0) -> String {
        "GET /" + String(repeating: "a", count: target - 1) + " HTTP/1.1\r\nHost: a\r\nX: "
            + String(repeating: "b", count: padding) + "\r\n\r\n"
    }

    @Test func targetsAreBounded() {
        #expect(request(get(target: 8192)).head?.target.utf8.count == 8192)
        #expect(request(get(target: 8193)) == .refused(.uriTooLong))
        #expect(request("GET /" + String(repeating: "a", count: 8191)) == .incomplete)
        #expect(request("GET /" + String(repeating: "a", count: 8192)) == .refused(.uriTooLong))
        #expect(request("GET /" + String(repeating: "a", count: 70000)) == .refused(.uriTooLong))
    }

    @Test func headsAreBounded() {
        let exact = get(target: 1, padding: 4096 - get(target: 1).utf8.count)
        #expect(request(exact, limits: limits(headerBytes: 4096)).head?.consumed == 4096)
        #expect(request("\r\n" + exact, limits: limits(headerBytes: 4096)).head?.consumed == 4098)
        #expect(request(exact, limits: limits(headerBytes: 4095)) == .refused(.headerTooLarge))
        #expect(request(get(target: 1, padding: 20000)) == .refused(.headerTooLarge))
        #expect(request("GET / HTTP/1.1\r\nX: " + String(repeating: "b", count: 20000)) == .refused(.headerTooLarge))
        #expect(request("GET / HTTP/1.1\r\n" + String(repeating: "b", count: 20000)) == .refused(.headerTooLarge))
        #expect(request("GET / HTTP/1.1\r\nX:" + String(repeating: " ", count: 20000)) == .refused(.headerTooLarge))
    }

    @Test func aLongRequestLineIsTheTargetsFault() {
        #expect(request(get(target: 5000), limits: limits(headerBytes: 4096)) == .refused(.uriTooLong))
        #expect(request(get(target: 9000, padding: 20000)) == .refused(.uriTooLong))
    }

    @Test func linesAreCounted() {
        func lines(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "a:\r\n", count: count - 1) + "\r\n"
        }
        #expect(request(lines(100)).head?.fields.count == 100)
        #expect(request(lines(101)) == .refused(.headerTooLarge))
        #expect(request(lines(3), limits: limits(headerCount: 3)).head?.fields.count == 3)
        #expect(request(lines(4), limits: limits(headerCount: 3)) == .refused(.headerTooLarge))
        #expect(request(lines(1), limits: limits(headerCount: 0)) == .refused(.headerTooLarge))
        #expect(request(lines(4000), limits: limits(headerBytes: 1 << 20, headerCount: 100_000)).head?.fields.count == 4000)
    }

    @Test func responsesAreBounded() {
        let head = "HTTP/1.1 200 OK\r\nX: " + String(repeating: "b", count: 100) + "\r\n\r\n"
        #expect(response(head, limits: limits(headerBytes: head.utf8.count)).head?.consumed == head.utf8.count)
        #expect(response(head, limits: limits(headerBytes: head.utf8.count - 1)) == .refused(.headerTooLarge))
        #expect(response("HTTP/1.1 200 " + String(repeating: "b", count: 20000)) == .refused(.headerTooLarge))
        #expect(response("HTTP/1.1 200 OK\r\na:\r\nb:\r\n\r\n", limits: limits(headerCount: 1)) == .refused(.headerTooLarge))
    }
}
