internal import CLinux
internal import Glibc

/// The command of `authproxy run -- CMD`: started with our standard streams and a fresh signal state.
public final class ChildProcess {
    public static let notFound = ENOENT
    private let process: pid_t
    public private(set) var isRunning = true

    public init(
        _ command: [String], environment additions: [String: String], without removed: [String] = []
    ) throws(SystemError) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var variables: [String] = additions.map { "\($0.key)=\($0.value)" }
        var index = 0
        while let entry = clinux_environment(index) {
            let text = String(cString: entry)
            let name = text.prefix { $0 != "=" }
            if additions[String(name)] == nil && !removed.contains(String(name)) { variables.append(text) }
            index += 1
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer {
            for pointer in unsafe arguments { unsafe free(pointer) }
            for pointer in unsafe environment { unsafe free(pointer) }
        }
        var process = pid_t()
        let code = unsafe posix_spawnp(&process, command[0], nil, &attributes, &arguments, &environment)
        if code != 0 { throw SystemError("posix_spawnp", code) }
        self.process = process
    }

    public func send(_ signal: ProcessSignal) { if isRunning { kill(process, signal.number) } }

    /// Its exit status once it has ended (128 + n when a signal ended it); nil before.
    public func reap() -> Int32? {
        guard isRunning else { return nil }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return nil }
        isRunning = false
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
}

extension SystemCalls {
    /// Cores this process may run on.
    public static var coreCount: Int { max(1, Int(clinux_core_count())) }
    public static var openFileLimit: Int { Int(clamping: clinux_raise_open_files()) }
}
