internal import Glibc

/// Whole files, read with plain system calls and a bound on their size.
enum FileReader {
    struct Failure: Error {
        /// `No such file or directory`, `larger than 16 MiB`.
        var reason: String
    }

    /// The configuration file, bodies, style sheets and scripts; for URL lists see ``FileContent/listLimit``.
    static let fileLimit = 16 << 20
    /// The file of a `${file:}`.
    static let secretLimit = 64 << 10

    /// A FIFO or a device is read as far as it gives something at once, unless it must be a regular file.
    ///
    /// SAFETY: `read` writes at most the size of the buffer that it is given, and `strerror` returns a text that is copied
    /// before any other call.
    static func read(_ path: String, limit: Int = fileLimit, mustBeRegular: Bool = false) throws(Failure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure() }
        if status.st_mode & S_IFMT == S_IFDIR { throw Failure(reason: "it is a folder") }
        if mustBeRegular && status.st_mode & S_IFMT != S_IFREG { throw Failure(reason: "it is no regular file") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure() }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw Failure(reason: "it is larger than \(size(limit))") }
            bytes.append(contentsOf: chunk[0..<count])
        }
    }

    enum Kind { case missing, file, folder, other }

    static func kind(of path: String) -> Kind {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .missing }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    /// A path as it is used: relative ones begin at `folder`.
    static func absolute(_ path: String, in folder: String) -> String {
        if path.hasPrefix("/") { return path }
        var rest = path[...]
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        return folder.hasSuffix("/") ? folder + rest : folder + "/" + rest
    }

    /// The absolute path of the folder that a file is in.
    ///
    /// SAFETY: `getcwd` allocates the text that it returns, which is copied and freed here.
    static func folder(of file: String) -> String {
        var path = file
        if !path.hasPrefix("/") {
            guard let current = unsafe getcwd(nil, 0) else { return "." }
            defer { unsafe free(current) }
            path = unsafe absolute(file, in: String(cString: current))
        }
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    private static func size(_ bytes: Int) -> String {
        bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }

    private static func failure() -> Failure {
        let code = errno
        return unsafe Failure(reason: strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)")
    }
}
