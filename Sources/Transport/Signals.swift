internal import CLinux
internal import Glibc

/// The signals that mean something to the proxy.
public enum ProcessSignal: Sendable, CaseIterable {
    case terminate, interrupt, hangUp, user1, quit, child

    var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        case .user1: SIGUSR1
        case .quit: SIGQUIT
        case .child: SIGCHLD
        }
    }
}

/// Signals as input of the control thread's loop instead of interruptions; a signalfd.
///
/// Both the blocked mask and the ignored SIGPIPE are inherited by a child: who starts one undoes them there
/// (`POSIX_SPAWN_SETSIGMASK`, `POSIX_SPAWN_SETSIGDEF`).
public final class SignalSource {
    /// Readable when ``next()`` has something.
    public let descriptor: Int32

    /// To be called before any other thread starts, since threads inherit what is blocked.
    public init() throws(FileSystemError) {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in ProcessSignal.allCases { sigaddset(&mask, signal.number) }
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        // A peer that went away is seen as EPIPE by the one call that it concerns.
        signal(SIGPIPE, SIG_IGN)
        descriptor = try FileSystemCalls.makeSignalDescriptor(mask)
    }

    deinit { FileSystemCalls.close(descriptor) }

    /// The next signal that came, nil when there is none. Several of a kind may have become one.
    public func next() -> ProcessSignal? {
        var entry = signalfd_siginfo()
        while true {
            let count = withUnsafeMutableBytes(of: &entry) { unsafe FileSystemCalls.read(descriptor, into: $0) }
            guard count == MemoryLayout<signalfd_siginfo>.size else { return nil }
            if let signal = ProcessSignal.allCases.first(where: { UInt32($0.number) == entry.ssi_signo }) {
                return signal
            }
        }
    }
}
