import Synchronization
import Testing

@testable import Transport

/// Collects what resolvers answer, and waits for it.
private final class Answers: Sendable {
    typealias Answer = Result<[SocketAddress], ResolutionError>
    private let answers = Mutex<[Answer]>([])
    private let arrivals: WakeSignal

    init() throws { arrivals = try WakeSignal(counting: true) }

    func add(_ answer: Answer) {
        answers.withLock { $0.append(answer) }
        arrivals.signal()
    }

    func wait(for count: Int) throws -> [Answer] {
        for _ in 0..<count { try #require(arrivals.wait(milliseconds: 10_000)) }
        return answers.withLock { $0 }
    }
}

struct ResolverTests {
    @Test func answersLiteralsAtOnce() throws {
        let resolver = try Resolver { _, _ in .failure(ResolutionError(text: "asked")) }
        let answer = Mutex<[SocketAddress]>([])
        resolver.resolve(name: "::1", port: 80) { result in answer.withLock { $0 = (try? result.get()) ?? [] } }
        #expect(answer.withLock { $0.map(\.description) } == ["[::1]:80"])
    }

    @Test func asksTheSystem() throws {
        let resolver = try Resolver()
        let answers = try Answers()
        resolver.resolve(name: "localhost", port: 8080) { answers.add($0) }
        let addresses = try answers.wait(for: 1)[0].get()
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.isLoopback && $0.port == 8080 })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func saysWhyThereIsNone() throws {
        let resolver = try Resolver()
        let answers = try Answers()
        resolver.resolve(name: "does-not-exist.invalid", port: 1) { answers.add($0) }
        guard case .failure(let error) = try answers.wait(for: 1)[0] else {
            Issue.record("a reserved name (RFC 6761 section 6.4) resolved")
            return
        }
        #expect(!error.text.isEmpty)
    }

    @Test(arguments: [
        "127.1", "0x7f000001", "2130706433", "1.2.3.0x4", "", "a b", "a\0b", ".", String(repeating: "a", count: 254),
    ])
    func asksForNamesOnly(name: String) throws {
        #expect(!Resolver.isName(name))
    }

    @Test(arguments: ["localhost", "api.example.com", "api.example.com.", "1password.com", "_x._tcp.local", "a.0xn"])
    func takesNames(name: String) {
        // The last one ends in what begins like a hexadecimal number.
        #expect(Resolver.isName(name) == (name != "a.0xn"))
    }

    @Test func asksOnceForTheSameName() throws {
        let asked = Mutex(0)
        let gate = try WakeSignal(counting: true)
        let resolver = try Resolver { _, port in
            asked.withLock { $0 += 1 }
            _ = gate.wait(milliseconds: 10_000)
            return .success(SocketAddress(literal: "192.0.2.1", port: port).map { [$0] } ?? [])
        }
        let answers = try Answers()
        for _ in 0..<5 { resolver.resolve(name: "a.example", port: 1) { answers.add($0) } }
        gate.signal()
        let all = try answers.wait(for: 5)
        #expect(all.allSatisfy { (try? $0.get().map(\.description)) == ["192.0.2.1:1"] })
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func doesNotQueueWithoutEnd() throws {
        let gate = try WakeSignal(counting: true)
        let resolver = try Resolver { _, _ in
            _ = gate.wait(milliseconds: 10_000)
            return .failure(ResolutionError(text: "late"))
        }
        let answers = try Answers()
        let extra = 3
        for index in 0..<(Resolver.longestQueue + extra) {
            resolver.resolve(name: "n\(index % 64).example", port: 1) { answers.add($0) }
        }
        let refused = ResolutionError(text: "too many names are being resolved")
        #expect(try answers.wait(for: extra) == Array(repeating: .failure(refused), count: extra))
        for _ in 0..<64 { gate.signal() }
        #expect(try answers.wait(for: Resolver.longestQueue).count == Resolver.longestQueue + extra)
    }

    @Test func answersWhatStillWaitsWhenItEnds() throws {
        let gate = try WakeSignal(counting: true)
        let answers = try Answers()
        var resolver: Resolver? = try Resolver { _, _ in
            _ = gate.wait(milliseconds: 10_000)
            return .failure(ResolutionError(text: "done"))
        }
        for index in 0..<8 { resolver?.resolve(name: "n\(index).example", port: 1) { answers.add($0) } }
        resolver = nil
        for _ in 0..<Resolver.threadCount { gate.signal() }
        #expect(try answers.wait(for: 8).count == 8)
    }
}
