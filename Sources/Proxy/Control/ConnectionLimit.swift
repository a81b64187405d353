internal import Transport

/// Connections are bounded by what the system lets a process open: half of it, since each client may need an upstream.
enum ConnectionLimit {
    static func clamped(_ wanted: Int) -> Int { min(wanted, max(16, SystemCalls.openFileLimit / 2)) }
}
