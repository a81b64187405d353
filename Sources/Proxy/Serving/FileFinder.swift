internal import Codings
internal import HTTP
internal import Policy
internal import Transport

/// A file that answers a request: its content, or a descriptor that is the holder's to close.
struct FoundFile {
    /// -1 where there is the content.
    let descriptor: Int32
    let content: ByteBuffer?
    let identity: FileIdentity
    /// Of ``MediaTypes``.
    let type: Int
    /// How the file's own content is encoded: it lay beside the one that was asked for.
    let coding: ContentCoding?

    func close() { if descriptor >= 0 { SystemCalls.close(descriptor) } }
}

/// Finds the files of `serve` rules, one for each worker; sends nothing, so that `explain` finds them by the same code.
final class FileFinder {
    enum Finding {
        case file(FoundFile)
        /// A folder that has an index, asked for without the slash at its end.
        case folder
        case missing
        /// No descriptor is left.
        case exhausted
    }

    let types: MediaTypes
    /// By rule; nil for rules that serve no folder.
    private let folders: [ServedFolder?]
    /// The relative path that is being looked for.
    private let name = ByteBuffer(capacity: 256)
    private let spelled = ByteBuffer(capacity: 16)
    private var cache = FileCache()

    init(_ rules: [RuleDefinition], systemMediaTypes: [UInt8]) {
        var isUsed = false
        folders = rules.map { rule in
            guard case .serve(let serve)? = rule.action else { return nil }
            isUsed = true
            guard case .folder(let path) = serve.source else { return nil }
            return ServedFolder(path)
        }
        types = MediaTypes(system: isUsed ? systemMediaTypes : [])
    }

    /// `now` is a monotonic time in milliseconds.
    func find(_ plan: ServePlan, rule: Int, _ request: CanonicalRequest, _ asked: FileRequest, now: Int64) -> Finding {
        switch plan.definition.source {
        case .file(let path): return findFile(path, plan, asked)
        case .folder:
            guard rule >= 0, rule < folders.count, let folder = folders[rule] else { return .missing }
            let place = Place(folder: folder, plan: plan, rule: rule, now: now)
            let finding = findBelow(place, request, asked)
            guard case .missing = finding, plan.definition.spaFallback, isForPage(request) else { return finding }
            name.clear()
            return findIndex(place, asked)
        }
    }

    /// Where the file that was found lies, for a person.
    func shownPath(_ plan: ServePlan) -> String {
        switch plan.definition.source {
        case .file(let path): path
        case .folder(let path): path + "/" + String(decoding: Array(copying: name.span), as: UTF8.self)
        }
    }

    private enum Opened {
        case file(FoundFile)
        case folder
        case missing
        case exhausted
    }

    /// Where a search takes place.
    private struct Place {
        let folder: ServedFolder
        let plan: ServePlan
        let rule: Int
        let now: Int64
    }

    // MARK: One file

    private func findFile(_ path: String, _ plan: ServePlan, _ asked: FileRequest) -> Finding {
        let type = types.type(of: Array(path.utf8).span)
        switch opened(FileCalls.open(path: path), type: type) {
        case .exhausted: return .exhausted
        case .missing, .folder: return .missing
        case .file(let found):
            return .file(
                sibling(of: found, plan, asked) { opened(FileCalls.open(path: path + $0.description), type: type) })
        }
    }

    private func opened(_ opening: FileOpening, type: Int) -> Opened {
        switch opening {
        case .exhausted: return .exhausted
        case .missing: return .missing
        case .opened(let descriptor, let identity):
            guard identity.isRegular else {
                SystemCalls.close(descriptor)
                return .folder
            }
            return .file(FoundFile(descriptor: descriptor, content: nil, identity: identity, type: type, coding: nil))
        }
    }

    // MARK: Below a folder

    private func findBelow(_ place: Place, _ request: CanonicalRequest, _ asked: FileRequest) -> Finding {
        name.clear()
        switch place.plan.appendRelativePath(request.path, to: name) {
        case .nothing: return .missing
        case .folder: return findIndex(place, asked)
        case .file: break
        }
        switch open(place) {
        case .exhausted: return .exhausted
        case .missing: return .missing
        case .file(let found): return .file(finish(found, place, asked))
        case .folder where place.plan.definition.isFlat: return .missing
        case .folder:
            if !name.isEmpty { name.append(UInt8(ascii: "/")) }
            switch findIndex(place, asked) {
            case .file(let index):
                index.close()
                return .folder
            case .exhausted: return .exhausted
            case .missing, .folder: return .missing
            }
        }
    }

    /// The first index that is there, of the folder whose path stands in `name`.
    private func findIndex(_ place: Place, _ asked: FileRequest) -> Finding {
        let length = name.count
        for index in place.plan.indexNames {
            name.truncate(to: length)
            name.append(index)
            switch open(place) {
            case .exhausted: return .exhausted
            case .missing, .folder: continue
            case .file(let found): return .file(finish(found, place, asked))
            }
        }
        return .missing
    }

    /// Opens what `name` says, by the folders' own spelling where that is asked for.
    private func open(_ place: Place) -> Opened {
        let opened = openAsSpelled(place)
        guard case .missing = opened, place.plan.definition.ignoresCase, spell(place.folder, place.now) else { return opened }
        return openAsSpelled(place)
    }

    private func openAsSpelled(_ place: Place) -> Opened {
        let type = types.type(of: name.span)
        if let known = cache.find(rule: place.rule, name.span),
            place.folder.identity(name.span, now: place.now) == known.identity
        {
            return .file(FoundFile(descriptor: -1, content: known.content, identity: known.identity, type: type, coding: nil))
        }
        let opened = opened(place.folder.open(name.span, now: place.now), type: type)
        guard case .file(let found) = opened, found.identity.size <= FileCache.largestFile, let content = read(found) else {
            return opened
        }
        found.close()
        cache.insert(CachedFile(rule: place.rule, path: name.span, identity: found.identity, content: content))
        return .file(FoundFile(descriptor: -1, content: content, identity: found.identity, type: type, coding: nil))
    }

    /// The whole of a small file; nil when it has become shorter meanwhile.
    private func read(_ file: FoundFile) -> ByteBuffer? {
        let size = file.identity.size
        let content = ByteBuffer(capacity: size)
        if size == 0 { return content }
        unsafe content.appendUninitialized(minimum: size) { room in
            let result = unsafe SystemCalls.read(
                file.descriptor, at: 0, into: UnsafeMutableRawBufferPointer(rebasing: room[..<size]))
            if case .bytes(let count) = result { return count }
            return 0
        }
        return content.count == size ? content : nil
    }

    /// Puts the names that the folders have into `name`; false when one of them has none like it.
    private func spell(_ folder: ServedFolder, _ now: Int64) -> Bool {
        spelled.clear()
        var start = 0
        for end in 0...name.count where end == name.count || name[end] == UInt8(ascii: "/") {
            if start < end {
                let wanted = name.span(ByteRange(start, end - start))
                guard let own = folder.name(like: wanted, in: spelled.span, now: now) else { return false }
                spelled.append(own)
            }
            if end < name.count { spelled.append(UInt8(ascii: "/")) }
            start = end + 1
        }
        name.clear()
        name.append(spelled.span)
        return true
    }

    private func finish(_ found: FoundFile, _ place: Place, _ asked: FileRequest) -> FoundFile {
        let length = name.count
        let chosen = sibling(of: found, place.plan, asked) { suffix in
            name.truncate(to: length)
            name.append(suffix)
            return openAsSpelled(place)
        }
        if chosen.coding == nil { name.truncate(to: length) }
        return chosen
    }

    // MARK: Encoded beside it

    /// The same content as another file has it, encoded as the client likes best; else the file itself.
    private func sibling(
        of found: FoundFile, _ plan: ServePlan, _ asked: FileRequest, open: (StaticString) -> Opened
    ) -> FoundFile {
        guard plan.definition.compresses, asked.codings.takesAny, types.traits(found.type).contains(.compressible) else {
            return found
        }
        var choice = CodingChoice(asked.codings)
        while let coding = choice.next() {
            guard case .file(let encoded) = open(coding.suffix) else { continue }
            // One that is older than its file is of what the file was before.
            if encoded.identity.modifiedNanoseconds >= found.identity.modifiedNanoseconds {
                found.close()
                return FoundFile(
                    descriptor: encoded.descriptor, content: encoded.content, identity: encoded.identity, type: found.type,
                    coding: coding)
            }
            encoded.close()
        }
        return found
    }

    /// Whether an application that draws its own pages would be asked for this one: a path without extension, or a client that
    /// says that it wants HTML.
    private func isForPage(_ request: CanonicalRequest) -> Bool {
        request.pathExtension.isEmpty || PageRequest.namesHTML(request)
    }
}

/// The codings that a client takes, the best first: by weight, then by how small they make content.
struct CodingChoice {
    private let codings: AcceptedCodings
    private var taken: UInt8 = 0

    init(_ codings: AcceptedCodings) { self.codings = codings }

    mutating func next() -> ContentCoding? {
        var best: ContentCoding?
        // Content as it is may be liked better.
        var weight = max(codings.identity, 1) - 1
        for coding in [ContentCoding.brotli, .zstd, .gzip] where taken & 1 << coding.rawValue == 0 {
            guard self.weight(coding) > weight else { continue }
            best = coding
            weight = self.weight(coding)
        }
        if let best { taken |= 1 << best.rawValue }
        return best
    }

    private func weight(_ coding: ContentCoding) -> Int {
        switch coding {
        case .gzip: codings.gzip
        case .brotli: codings.brotli
        case .zstd: codings.zstd
        case .deflate: 0
        }
    }
}

extension ContentCoding {
    /// What files that are encoded so are called by.
    var suffix: StaticString {
        switch self {
        case .gzip: ".gz"
        case .deflate: ".zz"
        case .brotli: ".br"
        case .zstd: ".zst"
        }
    }
}
