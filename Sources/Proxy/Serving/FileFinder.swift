internal import Codings
internal import HTTP
internal import Policy
internal import Transport

/// A file that answers a request. The descriptor is the holder's to close.
struct FoundFile {
    let descriptor: Int32
    let identity: FileIdentity
    /// Of ``MediaTypes``.
    let type: Int
    /// How the file's own content is encoded: it lay beside the one that was asked for.
    let coding: ContentCoding?
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
            let finding = findBelow(folder, plan, request, asked, now)
            guard case .missing = finding, plan.definition.spaFallback, isForPage(request) else { return finding }
            name.clear()
            return findIndex(folder, plan, asked, now)
        }
    }

    /// Where the file that was found lies, for a person.
    func shownPath(_ plan: ServePlan) -> String {
        switch plan.definition.source {
        case .file(let path): path
        case .folder(let path): path + "/" + String(decoding: Array(copying: name.span), as: UTF8.self)
        }
    }

    // MARK: One file

    private func findFile(_ path: String, _ plan: ServePlan, _ asked: FileRequest) -> Finding {
        let type = types.type(of: Array(path.utf8).span)
        switch FileCalls.open(path: path) {
        case .exhausted: return .exhausted
        case .missing: return .missing
        case .opened(let descriptor, let identity):
            guard identity.isRegular else {
                SystemCalls.close(descriptor)
                return .missing
            }
            let found = FoundFile(descriptor: descriptor, identity: identity, type: type, coding: nil)
            return .file(sibling(of: found, plan, asked) { FileCalls.open(path: path + $0.description) })
        }
    }

    // MARK: Below a folder

    private func findBelow(
        _ folder: ServedFolder, _ plan: ServePlan, _ request: CanonicalRequest, _ asked: FileRequest, _ now: Int64
    ) -> Finding {
        name.clear()
        switch plan.appendRelativePath(request.path, to: name) {
        case .nothing: return .missing
        case .folder: return findIndex(folder, plan, asked, now)
        case .file: break
        }
        switch open(folder, plan, now) {
        case .exhausted: return .exhausted
        case .missing: return .missing
        case .opened(let descriptor, let identity):
            if identity.isRegular { return .file(finish(descriptor, identity, folder, plan, asked, now)) }
            SystemCalls.close(descriptor)
            name.append(UInt8(ascii: "/"))
            guard case .file(let index) = findIndex(folder, plan, asked, now) else { return .missing }
            SystemCalls.close(index.descriptor)
            return .folder
        }
    }

    /// The first index that is there, of the folder whose path stands in `name`.
    private func findIndex(_ folder: ServedFolder, _ plan: ServePlan, _ asked: FileRequest, _ now: Int64) -> Finding {
        let length = name.count
        for index in plan.indexNames {
            name.truncate(to: length)
            name.append(index)
            switch open(folder, plan, now) {
            case .exhausted: return .exhausted
            case .missing: continue
            case .opened(let descriptor, let identity):
                if identity.isRegular { return .file(finish(descriptor, identity, folder, plan, asked, now)) }
                SystemCalls.close(descriptor)
            }
        }
        return .missing
    }

    private func open(_ folder: ServedFolder, _ plan: ServePlan, _ now: Int64) -> FileOpening {
        let opening = folder.open(name.span, now: now)
        guard case .missing = opening, plan.definition.ignoresCase, spell(folder, now) else { return opening }
        return folder.open(name.span, now: now)
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

    private func finish(
        _ descriptor: Int32, _ identity: FileIdentity, _ folder: ServedFolder, _ plan: ServePlan, _ asked: FileRequest,
        _ now: Int64
    ) -> FoundFile {
        let found = FoundFile(descriptor: descriptor, identity: identity, type: types.type(of: name.span), coding: nil)
        let length = name.count
        let chosen = sibling(of: found, plan, asked) { suffix in
            name.truncate(to: length)
            name.append(suffix)
            return folder.open(name.span, now: now)
        }
        if chosen.coding == nil { name.truncate(to: length) }
        return chosen
    }

    // MARK: Encoded beside it

    /// The same content as another file has it, encoded as the client likes best; else the file itself.
    private func sibling(
        of found: FoundFile, _ plan: ServePlan, _ asked: FileRequest, open: (StaticString) -> FileOpening
    ) -> FoundFile {
        guard plan.definition.compresses, asked.codings.takesAny, types.traits(found.type).contains(.compressible) else {
            return found
        }
        var choice = CodingChoice(asked.codings)
        while let coding = choice.next() {
            guard case .opened(let descriptor, let identity) = open(coding.suffix) else { continue }
            // One that is older than its file is of what the file was before.
            if identity.isRegular, identity.modifiedNanoseconds >= found.identity.modifiedNanoseconds {
                SystemCalls.close(found.descriptor)
                return FoundFile(descriptor: descriptor, identity: identity, type: found.type, coding: coding)
            }
            SystemCalls.close(descriptor)
        }
        return found
    }

    /// Whether an application that draws its own pages would be asked for this one: a path without extension, or a client that
    /// says that it wants HTML.
    private func isForPage(_ request: CanonicalRequest) -> Bool {
        if request.pathExtension.isEmpty { return true }
        var line = request.nextLine(.accept)
        while let index = line {
            if namesHTML(request.value(index)) { return true }
            line = request.nextLine(.accept, after: index)
        }
        return false
    }

    private func namesHTML(_ accept: Span<UInt8>) -> Bool {
        var list = ListCursor()
        while let range = list.next(in: accept) {
            let element = accept.extracting(range)
            guard element.count >= 9, HTTP1.equalsIgnoringCase(element.extracting(0..<9), "text/html") else { continue }
            if element.count == 9 || element[9] == UInt8(ascii: ";") || element[9] == UInt8(ascii: " ") { return true }
        }
        return false
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
