internal import CLinux
internal import Glibc

/// What became of opening a file for its content.
public enum FileOpening {
    /// A regular file, or a folder; the descriptor is the caller's to close.
    case opened(Int32, FileIdentity)
    /// There is none that may be seen, whatever the reason: it is not there, leads out of the folder, or is a device.
    case missing(Int32)
    /// The process has no descriptor left.
    case exhausted
}

/// A folder whose files are given out, and nothing outside of it: one for each worker and rule.
///
/// The kernel resolves every path below the folder's own descriptor (openat2(2), RESOLVE_BENEATH), so that neither `..` nor a
/// symbolic link leads out, whatever happens to the tree meanwhile; links within are followed. Where the call is not to be had
/// (before Linux 5.6, or behind a filter), paths are walked one component at a time and no link is followed at all.
public final class ServedFolder {
    public let path: String
    private var root: Int32 = -1
    private var rootIdentity: FileIdentity?
    /// When the folder's path was last looked at, in milliseconds: it may have come to lead to another folder since.
    private var checkedAt = -ServedFolder.checkInterval
    /// The path that is being opened, with a NUL behind it.
    private var name: [UInt8] = []
    private let walksComponents: Bool
    private(set) var listings: [FolderKey: FolderListing] = [:]

    /// A folder that is replaced whole, as by a link that is turned to a new release, is found so fast.
    private static let checkInterval: Int64 = 1_000
    private static let mostListings = 64
    /// The system's time of change moves in steps: a folder that has just been changed may be changed again unnoticed.
    private static let leastAge: Int64 = 2_000_000_000

    struct FolderKey: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// `walksComponents`: does without openat2, as where there is none.
    public init(_ path: String, walksComponents: Bool = !ServedFolder.hasOpenBeneath) {
        self.path = path
        self.walksComponents = walksComponents
    }

    deinit { if root >= 0 { SystemCalls.close(root) } }

    /// Whether the kernel, and what filters its calls, knows openat2.
    public static let hasOpenBeneath: Bool = {
        let descriptor = clinux_open_beneath(AT_FDCWD, ".")
        if descriptor < 0 { return errno != ENOSYS && errno != EPERM && errno != EINVAL }
        SystemCalls.close(descriptor)
        return true
    }()

    /// Opens the file of that path: relative, with `/` between components, without NUL. `now` is a monotonic time in
    /// milliseconds.
    public func open(_ relative: Span<UInt8>, now: Int64) -> FileOpening {
        guard begin(relative, now) else { return .missing(ENOENT) }
        return FileCalls.examine(walksComponents ? walk() : openBeneath())
    }

    /// What the path leads to at present, wherever that is: to be compared with what ``open(_:now:)`` gave for it.
    public func identity(_ relative: Span<UInt8>, now: Int64) -> FileIdentity? {
        guard begin(relative, now) else { return nil }
        return unsafe name.withUnsafeBytes { bytes in
            guard let path = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return nil }
            return unsafe FileSystemCalls.identity(in: root, path)
        }
    }

    /// Readies `name` for a system call; false when there is no folder.
    private func begin(_ relative: Span<UInt8>, _ now: Int64) -> Bool {
        if now - checkedAt >= Self.checkInterval { checkRoot(now) }
        name.removeAll(keepingCapacity: true)
        if relative.isEmpty { name.append(UInt8(ascii: ".")) }
        unsafe relative.withUnsafeBufferPointer { unsafe name.append(contentsOf: $0) }
        name.append(0)
        return root >= 0
    }

    private func openBeneath() -> Int32 {
        for _ in 0..<4 {
            let descriptor = unsafe name.withUnsafeBytes { unsafe FileCalls.openBeneath(root, $0) }
            // Something was renamed while the path was resolved: resolved anew.
            if descriptor != -EAGAIN { return descriptor }
        }
        return -EAGAIN
    }

    /// Component after component, none of them a link.
    private func walk() -> Int32 {
        var folder = root
        var start = 0
        for index in 0..<name.count {
            guard name[index] == UInt8(ascii: "/") || name[index] == 0 else { continue }
            let isLast = name[index] == 0
            name[index] = 0
            let next =
                isNowhere(start..<index)
                ? -ENOENT
                : unsafe name.withUnsafeBytes { bytes in
                    unsafe FileCalls.openComponent(
                        folder, UnsafeRawBufferPointer(rebasing: bytes[start...]), isFolder: !isLast)
                }
            if folder != root { SystemCalls.close(folder) }
            if next < 0 || isLast { return next }
            folder = next
            start = index + 1
        }
        return -ENOENT
    }

    /// An empty name, or one that leads up: there is no kernel here that would stop it.
    private func isNowhere(_ part: Range<Int>) -> Bool {
        if part.count > 2 { return false }
        return !part.contains { name[$0] != UInt8(ascii: ".") } && (part.count != 1 || name.count != 2)
    }

    private func checkRoot(_ now: Int64) {
        checkedAt = now
        let identity = FileSystemCalls.identity(ofPath: path)
        if root >= 0, let identity, identity.device == rootIdentity?.device, identity.inode == rootIdentity?.inode { return }
        if root >= 0 { SystemCalls.close(root) }
        listings = [:]
        root = path.withCString { clinux_open_folder($0) }
        rootIdentity = root >= 0 ? FileSystemCalls.identity(of: root) : nil
    }

    // MARK: Any letter case

    /// The name in `folder`, a relative path with or without a slash at its end, that is `name` but for the case of ASCII letters;
    /// nil when there is none. A folder is listed when it is first asked for, and again when it has changed.
    public func name(like name: Span<UInt8>, in folder: Span<UInt8>, now: Int64) -> [UInt8]? {
        let endsInSlash = !folder.isEmpty && folder[folder.count - 1] == UInt8(ascii: "/")
        let path = folder.extracting(0..<folder.count - (endsInSlash ? 1 : 0))
        guard case .opened(let descriptor, let identity) = open(path, now: now) else { return nil }
        guard identity.isFolder else {
            SystemCalls.close(descriptor)
            return nil
        }
        let key = FolderKey(device: identity.device, inode: identity.inode)
        if let known = listings[key], known.modifiedNanoseconds == identity.modifiedNanoseconds {
            SystemCalls.close(descriptor)
            return known.name(like: name)
        }
        let age = FileSystemCalls.realtimeMilliseconds * 1_000_000 - identity.modifiedNanoseconds
        let listing = FolderListing(descriptor, identity)
        if age >= Self.leastAge {
            if listings.count >= Self.mostListings { listings = [:] }
            listings[key] = listing
        }
        return listing.name(like: name)
    }
}

/// The calls that open served files; errno is read here, as a negative result.
public enum FileCalls {
    /// Opens a file by its whole path: one that the configuration names, so links are followed wherever they lead.
    public static func open(path: String) -> FileOpening {
        let descriptor = path.withCString { clinux_open_watched($0) }
        return examine(descriptor < 0 ? -errno : descriptor)
    }

    @inline(never)
    static func openBeneath(_ folder: Int32, _ path: UnsafeRawBufferPointer) -> Int32 {
        guard let path = unsafe path.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -EINVAL }
        let descriptor = unsafe clinux_open_beneath(folder, path)
        return descriptor < 0 ? -errno : descriptor
    }

    @inline(never)
    static func openComponent(_ folder: Int32, _ name: UnsafeRawBufferPointer, isFolder: Bool) -> Int32 {
        guard let name = unsafe name.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -EINVAL }
        let descriptor = unsafe clinux_open_component(folder, name, isFolder ? 1 : 0)
        return descriptor < 0 ? -errno : descriptor
    }

    /// What a descriptor, or a negative errno, turns out to be; what is neither file nor folder is closed.
    static func examine(_ descriptor: Int32) -> FileOpening {
        guard descriptor >= 0 else {
            return descriptor == -EMFILE || descriptor == -ENFILE || descriptor == -ENOMEM ? .exhausted : .missing(-descriptor)
        }
        guard let identity = FileSystemCalls.identity(of: descriptor), identity.isRegular || identity.isFolder else {
            SystemCalls.close(descriptor)
            return .missing(ENXIO)
        }
        return .opened(descriptor, identity)
    }
}
