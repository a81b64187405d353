internal import Glibc

/// Plain output of commands, and the end of the process.
public enum StandardStreams {
    public static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    public static func exit(_ status: Int32) -> Never { Glibc.exit(status) }
}

public enum FileStatus {
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
