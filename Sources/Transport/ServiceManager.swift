internal import CLinux
internal import Glibc

/// A socket that the service manager opened for us (sd_listen_fds(3)).
public struct InheritedDescriptor: Sendable, Equatable {
    public let descriptor: Int32
    /// `FileDescriptorName=` of the socket unit; "unknown" when it has none.
    public let name: String
}

/// The service manager that started us, when it is one that wants to be told how we are (sd_notify(3)).
///
/// Every notification is a no-op without `NOTIFY_SOCKET`, and nothing fails because of one that could not be sent.
public struct ServiceManager: Sendable {
    private let address: SocketAddress?
    /// Within how many milliseconds it expects to hear ``watchdog()`` again; ping at half of it. nil: it does not watch.
    public let watchdogMilliseconds: Int?
    public let inherited: [InheritedDescriptor]

    static let firstInheritedDescriptor: Int32 = 3
    static let mostInheritedDescriptors = 1_024

    /// Takes the variables out of the environment too, so that no child believes they are meant for it.
    public static func fromEnvironment() -> ServiceManager {
        let names = [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
            "LISTEN_PIDFDID",
        ]
        var values: [String: String] = [:]
        for name in names {
            if let value = unsafe getenv(name) { values[name] = unsafe String(cString: value) }
            unsetenv(name)
        }
        let manager = ServiceManager(environment: values, processID: Int(getpid()))
        for entry in manager.inherited { FileSystemCalls.setCloseOnExec(entry.descriptor) }
        return manager
    }

    public init(environment: [String: String], processID: Int) {
        address = Self.address(environment["NOTIFY_SOCKET"])
        watchdogMilliseconds = Self.watchdog(environment, processID)
        inherited = Self.inherited(environment, processID)
    }

    public var isPresent: Bool { address != nil }

    private static func address(_ text: String?) -> SocketAddress? {
        guard let text, text.hasPrefix("/") || text.hasPrefix("@"), text.utf8.count > 1 else { return nil }
        return try? SocketAddress(unixPath: text)
    }

    private static func watchdog(_ environment: [String: String], _ processID: Int) -> Int? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(Int.init), microseconds >= 1_000 else {
            return nil
        }
        if let owner = environment["WATCHDOG_PID"], Int(owner) != processID { return nil }
        return microseconds / 1_000
    }

    private static func inherited(_ environment: [String: String], _ processID: Int) -> [InheritedDescriptor] {
        guard environment["LISTEN_PID"].flatMap(Int.init) == processID,
            let count = environment["LISTEN_FDS"].flatMap(Int.init), (1...mostInheritedDescriptors).contains(count)
        else { return [] }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        return (0..<count).compactMap { index in
            let descriptor = firstInheritedDescriptor + Int32(index)
            guard FileSystemCalls.isOpen(descriptor) else { return nil }
            let name = index < names.count && !names[index].isEmpty ? String(names[index]) : "unknown"
            return InheritedDescriptor(descriptor: descriptor, name: name)
        }
    }

    /// The sockets are open and the configuration is in force; also the end of a reload.
    @discardableResult
    public func ready(status: String) -> Bool { send(["READY=1", Self.status(status)]) }

    /// `Type=notify-reload` wants the time with it, to tell this reload from an earlier one.
    @discardableResult
    public func reloading() -> Bool { send(["RELOADING=1", "MONOTONIC_USEC=\(clinux_monotonic_us())"]) }

    @discardableResult
    public func stopping(status: String) -> Bool { send(["STOPPING=1", Self.status(status)]) }

    @discardableResult
    public func status(_ text: String) -> Bool { send([Self.status(text)]) }

    @discardableResult
    public func watchdog() -> Bool { send(["WATCHDOG=1"]) }

    /// A line end in a status would begin another variable.
    private static func status(_ text: String) -> String {
        "STATUS=" + String(decoding: text.utf8.map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }

    private func send(_ variables: [String]) -> Bool {
        guard let address else { return false }
        do {
            try FileSystemCalls.sendDatagram(Array(variables.joined(separator: "\n").utf8), to: address)
            return true
        } catch {
            return false
        }
    }
}
