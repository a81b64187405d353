internal import Transport

/// Where log lines end up: a file of our own, or a stream that we were given and share with others.
struct LogOutput: Sendable {
    let destination: LogDefinition.Destination
    let descriptor: Int32
    let kind: DescriptorKind

    /// A pipe that polls as writable takes this much without waiting (pipe(7), PIPE_BUF), and in one piece.
    private static let pipeChunk = 4_096

    init(opening destination: LogDefinition.Destination) throws(FileSystemError) {
        self.destination = destination
        switch destination {
        case .stderr: descriptor = 2
        case .stdout: descriptor = 1
        case .file(let path): descriptor = try FileSystemCalls.openAppending(path)
        }
        kind = FileSystemCalls.kind(of: descriptor)
    }

    func close() {
        if case .file = destination { FileSystemCalls.close(descriptor) }
    }

    /// Writes what the destination takes now. The descriptor may be shared with a shell, so it is not made non-blocking.
    func write(_ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
        switch kind {
        case .file: return unsafe FileSystemCalls.write(descriptor, bytes)
        case .socket: return unsafe FileSystemCalls.sendNow(descriptor, bytes)
        case .pipe, .terminal, .other:
            guard FileSystemCalls.isWritable(descriptor, within: 0) else { return .wouldWait }
            return unsafe FileSystemCalls.write(
                descriptor, UnsafeRawBufferPointer(rebasing: bytes[0..<Self.chunk(of: bytes)]))
        }
    }

    /// Ends behind a line if it can: lines of several processes on one pipe stay whole.
    private static func chunk(of bytes: UnsafeRawBufferPointer) -> Int {
        if bytes.count <= pipeChunk { return bytes.count }
        let end = unsafe bytes[0..<pipeChunk].lastIndex(of: UInt8(ascii: "\n"))
        return end.map { $0 + 1 } ?? pipeChunk
    }

    /// `auto`: for eyes on a terminal, for programs otherwise.
    func style(_ format: LogDefinition.Format, allowsColour: Bool) -> LogStyle {
        switch format {
        case .json: .json
        case .text: kind == .terminal && allowsColour ? .colour : .text
        case .auto: kind != .terminal ? .json : allowsColour ? .colour : .text
        }
    }
}
