internal import CLinux
internal import Glibc
internal import Synchronization

/// Why a name has no addresses, in words for the log.
public struct ResolutionError: Error, Sendable, Equatable {
    public let text: String
    public init(text: String) { self.text = text }
}

/// Resolves names on threads of its own, since getaddrinfo(3) waits; it obeys nsswitch.conf, hosts and resolv.conf.
///
/// All workers share one. Requests for a name that is being asked for already join it. Nothing is cached: how long an answer
/// holds is not told by getaddrinfo, so the caller decides.
public final class Resolver: Sendable {
    public typealias Completion = @Sendable (Result<[SocketAddress], ResolutionError>) -> Void

    static let threadCount = 2
    /// Requests that may wait, over all names.
    static let longestQueue = 4_096
    /// One that waited longer is answered without being asked: its connect timeout is over.
    static let longestWaitMilliseconds: Int64 = 15_000

    private let queue: ResolutionQueue

    public convenience init() throws(FileSystemError) {
        try self.init(lookup: Resolver.lookUp)
    }

    /// `lookup` stands in for getaddrinfo in tests.
    init(lookup: @escaping @Sendable (String, UInt16) -> Result<[SocketAddress], ResolutionError>)
        throws(FileSystemError)
    {
        let queue = try ResolutionQueue()
        self.queue = queue
        for number in 0..<Self.threadCount {
            let started = BackgroundThread.start(name: "resolver-\(number)") {
                while let request = queue.next() { queue.finish(request, with: lookup(request.name, request.port)) }
            }
            if !started { throw FileSystemError(operation: "pthread_create", code: EAGAIN) }
        }
    }

    deinit { queue.close() }

    /// Calls `completion` once: on a resolver thread, or at once on this one for a literal address, a name that can not be one,
    /// and a full queue. It must not wait; a worker's posts to its mailbox.
    public func resolve(name: String, port: UInt16, completion: @escaping Completion) {
        if let address = SocketAddress(literal: name, port: port) { return completion(.success([address])) }
        guard Self.isName(name) else {
            return completion(.failure(ResolutionError(text: "not a host name or address")))
        }
        if !queue.add(name: name, port: port, completion) {
            completion(.failure(ResolutionError(text: "too many names are being resolved")))
        }
    }

    /// Refuses what getaddrinfo would read as an address in an odd notation (`127.1`, `0x7f000001`), which no check on addresses
    /// in a configuration would have seen, and what DNS can not hold.
    static func isName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty, bytes.count <= 253, bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return false }
        let labels = bytes.split(separator: UInt8(ascii: "."))
        guard let last = labels.last else { return false }
        let isNumber = last.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let isHexadecimal =
            last.count >= 2 && last.first == UInt8(ascii: "0")
            && last.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
        return !isNumber && !isHexadecimal
    }

    /// SAFETY: the list is freed once, after the last read of it; each address is copied by the length that stands beside it.
    private static func lookUp(name: String, port: UInt16) -> Result<[SocketAddress], ResolutionError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        if code == EAI_SYSTEM { return .failure(ResolutionError(text: String(cString: strerror(errno)))) }
        if code != 0 { return .failure(ResolutionError(text: unsafe String(cString: gai_strerror(code)))) }
        defer { unsafe freeaddrinfo(list) }

        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let bytes = unsafe current.pointee.ai_addr,
                var address = unsafe SocketAddress(copying: bytes, length: current.pointee.ai_addrlen)
            {
                address.port = port
                if !addresses.contains(address) { addresses.append(address) }
            }
            unsafe entry = current.pointee.ai_next
        }
        if addresses.isEmpty { return .failure(ResolutionError(text: "the name has no address")) }
        return .success(addresses)
    }
}

/// What is to be resolved, in order of arrival, one entry per name and port.
private final class ResolutionQueue: Sendable {
    struct Request: Hashable {
        let name: String
        let port: UInt16
    }

    private struct Waiting {
        var completions: [Resolver.Completion]
        let since: Int64
    }

    private struct State {
        var waiting: [Request: Waiting] = [:]
        var order: [Request] = []
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let arrivals: WakeSignal

    init() throws(FileSystemError) { arrivals = try WakeSignal(counting: true) }

    /// False when there is no room.
    func add(name: String, port: UInt16, _ completion: @escaping Resolver.Completion) -> Bool {
        let request = Request(name: name, port: port)
        enum Outcome { case full, joined, queued }
        let outcome = state.withLock { state -> Outcome in
            if state.count >= Resolver.longestQueue || state.isClosed { return .full }
            state.count += 1
            if state.waiting[request]?.completions.append(completion) != nil { return .joined }
            state.waiting[request] = Waiting(completions: [completion], since: FileSystemCalls.monotonicMilliseconds)
            state.order.append(request)
            return .queued
        }
        if outcome == .queued { arrivals.signal() }
        return outcome != .full
    }

    /// Waits for work; nil when there will be none.
    func next() -> Request? {
        while arrivals.wait(milliseconds: -1) {
            var late: Request?
            let taken = state.withLock { state -> Request? in
                if state.isClosed || state.order.isEmpty { return nil }
                let request = state.order.removeFirst()
                let since = state.waiting[request]?.since ?? 0
                if FileSystemCalls.monotonicMilliseconds - since <= Resolver.longestWaitMilliseconds { return request }
                late = request
                return nil
            }
            if let taken { return taken }
            guard let late else { break }
            finish(late, with: .failure(ResolutionError(text: "the resolver did not answer in time")))
        }
        // One signal per thread ends them all.
        arrivals.signal()
        return nil
    }

    func finish(_ request: Request, with result: Result<[SocketAddress], ResolutionError>) {
        let completions = state.withLock { state -> [Resolver.Completion] in
            let completions = state.waiting.removeValue(forKey: request)?.completions ?? []
            state.count -= completions.count
            return completions
        }
        for completion in completions { completion(result) }
    }

    /// Ends the threads as soon as they come back; what still waits is answered.
    func close() {
        let rest = state.withLock { state -> [Resolver.Completion] in
            state.isClosed = true
            let running = Set(state.waiting.keys).subtracting(state.order)
            let rest = state.order.flatMap { state.waiting[$0]?.completions ?? [] }
            state.waiting = state.waiting.filter { running.contains($0.key) }
            state.order = []
            state.count -= rest.count
            return rest
        }
        arrivals.signal()
        for completion in rest { completion(.failure(ResolutionError(text: "the resolver is closed"))) }
    }
}
