import Glibc

/// A folder that is gone with the test.
final class TemporaryFolder {
    let path: String
    private var files: [String] = []

    struct Failure: Error {}

    init() throws {
        var template = Array("/tmp/authproxy-config-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Failure() }
        path = String(cString: made)
    }

    /// Returns the file's path.
    @discardableResult func write(_ name: String, _ text: String) throws -> String {
        let file = path + "/" + name
        guard let stream = fopen(file, "w") else { throw Failure() }
        defer { fclose(stream) }
        guard fputs(text, stream) >= 0 else { throw Failure() }
        files.append(file)
        return file
    }

    deinit {
        for file in files { unlink(file) }
        rmdir(path)
    }
}
