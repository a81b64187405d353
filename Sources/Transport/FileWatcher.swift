internal import CLinux
internal import Glibc

/// Tells which of some files have new content: however it got there, and also where the system reports no events.
///
/// Watched are the folder of each file and of each symbolic link on the way to it, so that a rename over the file, a swap of
/// the `..data` link of a Kubernetes volume, a delete with a later create, and a folder that appears later are all seen at
/// once; a look at each file's status every half second finds the rest (bind-mounted files, network file systems).
/// A file counts as changed when its content differs from what was last reported, not when it was merely touched.
///
/// One thread owns it: it calls ``changedPaths()`` when ``descriptor`` is readable, and every 500 ms.
public final class FileWatcher {
    /// Becomes readable when something may have changed; -1 when the system has no inotify instance left.
    public let descriptor: Int32

    /// Calls closer to the last full look than this, and without an event of ours, look at nothing.
    static let lookIntervalMilliseconds: Int64 = 400
    /// Emptied, vanished or half-written files are given this long to become whole.
    static let settleMilliseconds: Int64 = 200

    private var files: [WatchedFile] = []
    /// By watch number: the names in that folder that matter.
    private var folders: [Int32: Set<String>] = [:]
    private var lastLook: Int64 = 0

    /// Paths are absolute. What the files hold now counts as known: read them afterwards, or a change in between is missed.
    public init(paths: [String]) {
        do { descriptor = try FileSystemCalls.makeWatchDescriptor() } catch { descriptor = -1 }
        setPaths(paths)
    }

    deinit { if descriptor >= 0 { FileSystemCalls.close(descriptor) } }

    public var paths: [String] { files.map(\.path) }

    /// Watches these instead. Changes of those watched before that were not reported yet still will be; for new ones the same
    /// holds as for ``init(paths:)``.
    public func setPaths(_ paths: [String]) {
        var known: [String: WatchedFile] = [:]
        for file in files { known[file.path] = file }
        var seen: Set<String> = []
        files = paths.filter { seen.insert($0).inserted }.map { known[$0] ?? WatchedFile(path: $0) }
        watchFolders()
        for index in files.indices where known[files[index].path] == nil { files[index].takeAsKnown() }
    }

    /// The files whose content is other than when last reported; a file that stays away is reported once.
    public func changedPaths() -> [String] {
        let hasEvents = takeEvents()
        let now = FileSystemCalls.monotonicMilliseconds
        let isDue = now - lastLook >= Self.lookIntervalMilliseconds || files.contains { $0.suspectSince != nil }
        guard hasEvents || isDue else { return [] }
        lastLook = now

        // Links and folders may lead elsewhere now; a watch set after the file was looked at could come too late.
        if hasEvents || files.contains(where: \.isAbsent) { watchFolders() }
        var changed: [String] = []
        for index in files.indices where files[index].look(hasEvents: hasEvents, now: now) {
            changed.append(files[index].path)
        }
        if !changed.isEmpty && !hasEvents { watchFolders() }
        return changed
    }

    // MARK: Folders

    private func watchFolders() {
        guard descriptor >= 0 else { return }
        let before = folders
        folders = [:]
        for file in files { watchWay(to: file.path) }
        for watch in before.keys where folders[watch] == nil { FileSystemCalls.unwatch(watch, with: descriptor) }
    }

    /// Follows the path as the kernel would (path_resolution(7)) and watches where it could turn elsewhere.
    private func watchWay(to path: String) {
        var rest = Array(path.split(separator: "/").map(String.init).reversed())
        var folder: [String] = []
        var links = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                _ = folder.popLast()
                continue
            }
            let folderPath = "/" + folder.joined(separator: "/")
            let entry = (folder.isEmpty ? "" : folderPath) + "/" + name
            if rest.isEmpty || FileSystemCalls.link(entry) != .noLink { watch(name, in: folderPath) }
            switch FileSystemCalls.link(entry) {
            case .missing: return
            case .noLink: folder.append(name)
            case .link(let target):
                links += 1
                if links > 40 { return }  // the kernel's own limit
                if target.hasPrefix("/") { folder = [] }
                rest.append(contentsOf: target.split(separator: "/").map(String.init).reversed())
            }
        }
    }

    private func watch(_ name: String, in folder: String) {
        guard let watch = FileSystemCalls.watch(folder: folder, with: descriptor) else { return }
        folders[watch, default: []].insert(name)
    }

    // MARK: Events

    /// Takes all events there are; true when one concerns a file of ours or a folder itself.
    private func takeEvents() -> Bool {
        guard descriptor >= 0 else { return false }
        var concernsUs = false
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 8) { buffer in
            while let count = unsafe FileSystemCalls.read(descriptor, into: buffer), count > 0 {
                if unsafe isConcerned(by: UnsafeRawBufferPointer(rebasing: buffer[0..<count])) { concernsUs = true }
            }
        }
        return concernsUs
    }

    /// SAFETY: each event and its name is read only after a check that the bytes which the kernel gave hold it.
    private func isConcerned(by events: UnsafeRawBufferPointer) -> Bool {
        let headSize = MemoryLayout<inotify_event>.size
        let whole = UInt32(IN_Q_OVERFLOW) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_UNMOUNT)
        var position = 0
        while position + headSize <= events.count {
            let event = unsafe events.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
            let nameEnd = position + headSize + Int(event.len)
            guard nameEnd <= events.count else { return true }
            if event.mask & whole != 0 { return true }
            if let names = folders[event.wd] {
                let name = unsafe events[(position + headSize)..<nameEnd].prefix { $0 != 0 }
                if names.contains(String(decoding: name, as: UTF8.self)) { return true }
            }
            position = nameEnd
        }
        return false
    }
}

/// One file as it was last looked at.
private struct WatchedFile {
    enum Content: Equatable {
        case absent
        case bytes(count: Int, hash: UInt64)
        /// Not read: no regular file, or one too large; its status stands for it.
        case status(FileIdentity)
    }

    let path: String
    private var reported = Content.absent
    private var identity: FileIdentity?
    /// False while a further write could leave the same status behind: the clock of file times ticks slowly.
    private var identityIsTelling = false
    /// Since when it has been other than reported without being reported.
    private(set) var suspectSince: Int64?

    /// Larger ones are compared by status: no secret, certificate or list is that large.
    static let largestRead = 64 << 20
    static let clockTickMilliseconds: Int64 = 50

    init(path: String) { self.path = path }

    var isAbsent: Bool { identity == nil }

    mutating func takeAsKnown() {
        reported = readContent()
        suspectSince = nil
    }

    /// True when the content is other than reported, and is now to be reported.
    mutating func look(hasEvents: Bool, now: Int64) -> Bool {
        if let identity, identityIsTelling, suspectSince == nil, FileSystemCalls.identity(ofPath: path) == identity {
            return false
        }
        let content = readContent()
        if content == reported {
            suspectSince = nil
            return false
        }
        if !isWhole(content, hasEvents: hasEvents) {
            let since = suspectSince ?? now
            suspectSince = since
            if now - since < FileWatcher.settleMilliseconds { return false }
        }
        suspectSince = nil
        reported = content
        return true
    }

    /// False for what a writer may be in the middle of: emptied before a write, removed before a create, or written so
    /// recently that only the periodic look has seen it.
    private func isWhole(_ content: Content, hasEvents: Bool) -> Bool {
        switch content {
        case .absent, .bytes(count: 0, hash: _): false
        case .bytes, .status: hasEvents || identityIsTelling
        }
    }

    private mutating func readContent() -> Content {
        identity = nil
        identityIsTelling = false
        let descriptor: Int32
        do { descriptor = try FileSystemCalls.openWatched(path) } catch { return .absent }
        defer { FileSystemCalls.close(descriptor) }
        guard let before = FileSystemCalls.identity(of: descriptor) else { return .absent }
        identity = before
        identityIsTelling = true
        guard before.isRegular, before.size <= Self.largestRead else { return .status(before) }

        let (count, hash) = Self.hash(descriptor)
        let age = FileSystemCalls.realtimeMilliseconds - before.modifiedNanoseconds / 1_000_000
        identityIsTelling =
            (age < 0 || age > Self.clockTickMilliseconds) && FileSystemCalls.identity(of: descriptor) == before
        return .bytes(count: count, hash: hash)
    }

    /// FNV-1a over at most ``largestRead`` bytes. What was read may be a secret, so the buffer is zeroed.
    private static func hash(_ descriptor: Int32) -> (count: Int, hash: UInt64) {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 8) { buffer in
            defer { if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) } }
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            var total = 0
            while total <= largestRead, let count = unsafe FileSystemCalls.read(descriptor, into: buffer), count > 0 {
                for index in 0..<count { hash = (hash ^ UInt64(unsafe buffer[index])) &* 0x100_0000_01b3 }
                total += count
            }
            return (total, hash)
        }
    }
}
