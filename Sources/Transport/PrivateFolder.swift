internal import CLinux
internal import Glibc

/// Folders for what only this user may reach.
public enum PrivateFolder {
    /// Makes the folder, or takes it when it is this user's and closed to others; nil otherwise.
    public static func make(_ path: String) -> String? {
        if mkdir(path, 0o700) == 0 { return path }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { return nil }
        return path
    }

    public static func entries(_ path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            names.append(name)
        }
        return names.sorted()
    }
}

public enum EnvironmentVariables {
    public static func value(_ name: String) -> String? {
        guard let pointer = getenv(name) else { return nil }
        return unsafe String(cString: pointer)
    }
}

extension SystemCalls {
    public static var userID: UInt32 { geteuid() }
    public static var processID: Int32 { getpid() }
}
