import Glibc
import Testing

@testable import Transport

/// A service manager's end of `NOTIFY_SOCKET`.
private final class NotifySocket {
    let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        let address = try SocketAddress(unixPath: path)
        try #require(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
    }

    deinit { close(descriptor) }

    func next() -> String? {
        guard FileSystemCalls.isReadable(descriptor, within: 2_000) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[0..<count], as: UTF8.self)
    }
}

struct ServiceManagerTests {
    @Test(arguments: [true, false])
    func notifies(isAbstract: Bool) throws {
        let folder = try TemporaryFolder()
        let path = isAbstract ? "@notify-\(folder.path)" : "\(folder.path)/notify"
        let socket = try NotifySocket(path)
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": path], processID: 1)
        #expect(manager.isPresent)

        #expect(manager.ready(status: "serving\n2 listeners"))
        #expect(socket.next() == "READY=1\nSTATUS=serving 2 listeners")
        let before = FileSystemCalls.monotonicMilliseconds
        #expect(manager.reloading())
        let reloading = try #require(socket.next())
        #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        let time = try #require(Int64(reloading.drop { $0 != "\n" }.drop { $0 != "=" }.dropFirst()))
        #expect(time / 1_000 >= before && time / 1_000 <= FileSystemCalls.monotonicMilliseconds)
        #expect(manager.status("draining"))
        #expect(socket.next() == "STATUS=draining")
        #expect(manager.watchdog())
        #expect(socket.next() == "WATCHDOG=1")
        #expect(manager.stopping(status: "bye"))
        #expect(socket.next() == "STOPPING=1\nSTATUS=bye")
    }

    @Test(arguments: [nil, "", "@", "relative", "vsock:2:1234", "/nowhere/notify"])
    func isQuietWithoutOne(path: String?) {
        let manager = ServiceManager(environment: path.map { ["NOTIFY_SOCKET": $0] } ?? [:], processID: 1)
        #expect(!manager.ready(status: "x"))
    }

    @Test(
        arguments: [
            (["WATCHDOG_USEC": "30000000"], 30_000),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], 30_000),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
            (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "-5"], nil),
            (["WATCHDOG_USEC": "many"], nil),
            ([:], nil),
        ] as [([String: String], Int?)])
    func readsTheWatchdog(environment: [String: String], milliseconds: Int?) {
        #expect(ServiceManager(environment: environment, processID: 7).watchdogMilliseconds == milliseconds)
    }

    @Test func ignoresDescriptorsMeantForOthers() {
        for environment in [
            ["LISTEN_FDS": "1"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"], ["LISTEN_PID": "7", "LISTEN_FDS": "0"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "99999"], ["LISTEN_PID": "7", "LISTEN_FDS": "x"], ["LISTEN_PID": "7"],
        ] {
            #expect(ServiceManager(environment: environment, processID: 7).inherited == [])
        }
    }

    @Test func namesInheritedDescriptors() {
        // Descriptors 3 and 4 may be anything here; those that are open are taken under their names.
        let environment = ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "web:"]
        let names = [3: "web", 4: "unknown"] as [Int32: String]
        let expected = [3, 4].filter { fcntl($0, F_GETFD) >= 0 }.map {
            InheritedDescriptor(descriptor: $0, name: names[$0] ?? "")
        }
        #expect(ServiceManager(environment: environment, processID: 7).inherited == expected)
    }
}
