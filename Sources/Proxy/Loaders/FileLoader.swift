internal import Codings
internal import HTTP
internal import Policy
internal import Transport

/// Answers with local files (`serve`): finds the file, judges the request's conditions and ranges, sends what is asked for.
///
/// Content goes from the file to the socket by the kernel where the client's end lets it, in slices through this process
/// where not: over TLS, as HTTP/2 frames, or encoded. The length is that of the moment when the file was opened; one that
/// becomes shorter while it is sent ends the connection, since nothing else could tell the client.
final class FileLoader {
    /// SAFETY: the exchange owns this loader for as long as itself.
    private unowned(unsafe) let exchange: Exchange
    private var descriptor: Int32 = -1
    /// Of a small file, in the place of a descriptor.
    private var content: ByteBuffer?
    private let stretch = FileStretch()
    private let head = ResponseHead()
    private let entityTag = ByteBuffer(capacity: 64)
    private var ranges = ByteRanges()
    /// Between the parts of a multipart answer; empty when there is one part.
    private let boundary = ByteBuffer(capacity: 32)
    private var phase = Phase.idle
    /// The part that is being sent, an index into the ranges.
    private var part = 0
    private var position: UInt64 = 0
    private var end: UInt64 = 0
    private var type = 0
    private(set) var isPage = false
    private var size: UInt64 = 0
    private var encoder: ContentEncoder?
    private var turn: FileTurn?

    private enum Phase {
        case idle
        case content  // ─► idle
        case encoding  // ─► idle
    }

    /// Content up to here is sent with the head in one call: dearer for the kernel would be the call for the file.
    private static let largestRead = UInt64(FileCache.largestFile)
    /// So many slices are read before others have their turn.
    private static let slicesPerTurn = 16
    private static let encodedSlicesPerTurn = 4

    init(exchange: Exchange) { self.exchange = exchange }

    deinit { if descriptor >= 0 { SystemCalls.close(descriptor) } }

    private var worker: Worker { exchange.worker }

    // MARK: Start

    func start(_ plan: ServePlan, rule: Int) {
        let request = exchange.current
        guard request.method == .get || request.method == .head else {
            return plan.definition.fallsThrough ? exchange.fallThrough() : exchange.loader(didFailWith: .methodNotAllowed)
        }
        let asked = FileRequest(request)
        switch exchange.snapshot.files.find(plan, rule: rule, request, asked, now: worker.loop.now) {
        case .missing: plan.definition.fallsThrough ? exchange.fallThrough() : exchange.loader(didFailWith: .notFound)
        case .exhausted: exchange.loader(didFailWith: .overloaded)
        case .folder: sendToFolder()
        case .file(let file): answer(file, plan, asked)
        }
    }

    private func answer(_ file: FoundFile, _ plan: ServePlan, _ asked: FileRequest) {
        var asked = asked
        let types = exchange.snapshot.files.types
        isPage = PageResponse.isHTML(type: types.name(file.type))
        let page = isPage ? exchange.pageRequest : nil
        if page != nil { asked.asksForEditedPage() }
        descriptor = file.descriptor
        content = file.content
        type = file.type
        size = UInt64(file.identity.size)
        boundary.clear()
        var head = FileHead(
            types: types, type: file.type, plan: plan, coding: file.coding, size: size,
            modifiedNanoseconds: file.identity.modifiedNanoseconds, now: exchange.context.unixTime)
        if file.coding == nil, let coding = codingOnTheFly(plan, asked) {
            encoder = try? worker.codings.encoder(coding, isFast: false)
            if encoder != nil { head.encode(coding) }
        }
        head.writeEntityTag(to: entityTag)
        let request = exchange.current
        let validators = Validators(entityTag: clientsTag(page), modified: head.modified, now: head.now)
        switch Preconditions.verdict(asked, request, validators) {
        case .failed: return send(head, status: 412)
        case .notModified: return send(head, status: 304)
        case .proceed: break
        }
        part = 0
        (position, end) = (0, 0)
        if encoder != nil {
            end = size
            return send(head, status: 200, as: .encoding)
        }
        switch ranges(asked, request, validators) {
        case .unsatisfiable: send(head, status: 416)
        case .ignored:
            ranges.clear()
            end = size
            send(head, status: 200, as: .content)
        case .parts:
            if ranges.parts.count > 1 { makeBoundary() }
            send(head, status: 206, as: .content)
        }
    }

    /// The entity tag by which the client knows what it is sent.
    private func clientsTag(_ page: PageRequest?) -> ByteBuffer {
        guard let page else { return entityTag }
        let edited = ByteBuffer(capacity: 64)
        page.appendEdited(entityTag.span, to: edited)
        return edited
    }

    /// RFC 9110 section 14.2: ranges are for GET, and after all other conditions.
    private func ranges(_ asked: FileRequest, _ request: CanonicalRequest, _ validators: Validators) -> ByteRanges.Outcome {
        guard request.method == .get, case .at(let line) = asked.range,
            Preconditions.rangeApplies(asked, request, validators)
        else { return .ignored }
        return ranges.read(request.value(line), length: size)
    }

    /// Texts that are neither too short to gain from it nor so long that each request would cost much are encoded while they are
    /// sent; for parts of them they are sent as they are.
    private func codingOnTheFly(_ plan: ServePlan, _ asked: FileRequest) -> ContentCoding? {
        guard plan.definition.compresses, asked.codings.takesAny, asked.range == .none, size >= 1024, size <= 16 << 20,
            exchange.snapshot.files.types.traits(type).contains(.compressible)
        else { return nil }
        var choice = CodingChoice(asked.codings)
        while let coding = choice.next() { if coding == .brotli || coding == .gzip { return coding } }
        return nil
    }

    private func makeBoundary() {
        boundary.append(paddedHexadecimal: worker.random.next())
        boundary.append(paddedHexadecimal: worker.random.next())
    }

    // MARK: Head

    private func send(_ facts: FileHead, status: Int, as next: Phase = .idle) {
        let text = worker.fileBuffers.head
        text.clear()
        facts.write(status, entityTag: entityTag, parts: ranges.parts, boundary: boundary, to: text)
        let method = exchange.current.method
        let consumed = try? HTTP1.parseResponse(text.span, requestMethod: method, limits: worker.limits.head, into: head)
        guard consumed == text.count else {
            release()
            return exchange.loader(didFailWith: .internalError)
        }
        guard exchange.loader(didReceiveResponse: head) == .allow else {
            release()
            return exchange.loaderDidCancel()
        }
        guard next != .idle, method != .head else { return finish() }
        phase = next
        deliver()
    }

    /// A folder was asked for without the slash at its end, below which its pages' relative links lie. Not for ever: what is a
    /// folder today may be a file tomorrow.
    private func sendToFolder() {
        let path = exchange.current.path
        var start = path.count
        while start > 0 && path[start - 1] != UInt8(ascii: "/") { start -= 1 }
        let query = exchange.current.query
        exchange.loader = .fixed(Uncounted(exchange.fixedLoader))
        exchange.fixedLoader.start(status: 307, content: worker.empty.span) { (out) throws(Rejection) in
            // Relative, and begun so that no segment can be taken for a scheme or an authority.
            out.append("Location: ./")
            out.append(path.extracting(start..<path.count))
            out.append(UInt8(ascii: "/"))
            if !query.isEmpty {
                out.append(UInt8(ascii: "?"))
                out.append(query)
            }
            out.append("\r\n")
        }
    }

    // MARK: Content

    /// The client has taken what it was sent.
    func resume() { if phase != .idle { deliver() } }

    private func deliver() {
        countSent()
        var slices = phase == .encoding ? Self.encodedSlicesPerTurn : Self.slicesPerTurn
        while phase != .idle, !stretch.isCutShort, exchange.wantsData {
            if position == end {
                if phase == .encoding || !beginPart() { break }
            } else if slices == 0 {
                return takeTurn()
            } else {
                slices -= 1
                if !deliverSlice() { break }
            }
        }
        if phase == .idle { return }
        if stretch.isCutShort { return exchange.loader(didFailWith: .internalError) }
        if position == end, exchange.wantsData { end(of: phase) }
    }

    /// False when no part is left.
    private func beginPart() -> Bool {
        guard part < ranges.parts.count else { return false }
        let range = ranges.parts[part]
        part += 1
        (position, end) = (range.lowerBound, range.upperBound)
        if !boundary.isEmpty {
            let text = worker.fileBuffers.head
            text.clear()
            FileHead.writePartHead(range, of: size, types: exchange.snapshot.files.types, type, boundary, to: text)
            exchange.loader(didReceiveData: text.span)
        }
        return true
    }

    /// False when nothing more can be delivered now, or ever.
    private func deliverSlice() -> Bool {
        if let content {
            let slice = content.span(ByteRange(Int(position), Int(end - position)))
            position = end
            return deliver(slice)
        }
        if phase == .content, end - position > Self.largestRead, let client = exchange.spliceClient {
            stretch.set(descriptor, position..<end)
            position = end
            client.send(stretch)
            countSent()
            return true
        }
        // The head may still be in the way.
        guard exchange.wantsData else { return false }
        let read = worker.fileBuffers.read
        read.clear()
        let length = Int(min(end - position, UInt64(FileBuffers.readSize)))
        var result = IOResult.end
        unsafe read.appendUninitialized(minimum: length) { room in
            result = unsafe SystemCalls.read(
                descriptor, at: position, into: UnsafeMutableRawBufferPointer(rebasing: room[..<length]))
            if case .bytes(let count) = result { return count }
            return 0
        }
        guard case .bytes(let count) = result else {
            stretch.cutShort()
            return false
        }
        position += UInt64(count)
        return deliver(read.span)
    }

    private func deliver(_ slice: Span<UInt8>) -> Bool {
        guard let encoder else {
            exchange.loader(didReceiveData: slice)
            return true
        }
        let encoded = worker.fileBuffers.encoded
        encoded.clear()
        do {
            try encoder.append(slice, to: encoded)
        } catch {
            stretch.cutShort()
            return false
        }
        if !encoded.isEmpty { exchange.loader(didReceiveData: encoded.span) }
        return true
    }

    /// All has been delivered but what stands behind the content itself.
    private func end(of phase: Phase) {
        let last = worker.fileBuffers.encoded
        last.clear()
        if let encoder {
            guard (try? encoder.finish(to: last)) != nil else { return exchange.loader(didFailWith: .internalError) }
        } else if !boundary.isEmpty {
            FileHead.writeLastBoundary(boundary, to: last)
        }
        if !last.isEmpty { exchange.loader(didReceiveData: last.span) }
        finish()
    }

    private func finish() {
        release()
        exchange.loaderDidFinish(trailers: nil)
    }

    private func countSent() {
        let count = stretch.takeSent()
        if count > 0 { exchange.loader(didSplice: count) }
    }

    // MARK: Turns

    /// Goes on when others have had their turn.
    private func takeTurn() {
        if turn == nil {
            let turn = FileTurn(loader: self)
            guard (try? worker.loop.add(turn)) != nil else { return exchange.loader(didFailWith: .overloaded) }
            self.turn = turn
        }
        worker.flushClientOutput()
        if let turn { worker.loop.runSoon(turn) }
    }

    func turnCame() {
        worker.eventBegins()
        resume()
        worker.flushClientOutput()
    }

    // MARK: End

    func stop() { release() }

    private func release() {
        phase = .idle
        countSent()
        stretch.set(-1, 0..<0)
        content = nil
        if descriptor >= 0 {
            SystemCalls.close(descriptor)
            descriptor = -1
        }
        if let turn {
            self.turn = nil
            worker.loop.remove(turn)
        }
        if let encoder {
            self.encoder = nil
            worker.codings.giveBack(encoder)
        }
    }
}

/// A file loader's place in the loop, for those that need more than one turn.
private final class FileTurn: EventHandler {
    /// SAFETY: the loader takes this out of the loop before it serves another exchange, and lives as long as its worker.
    private unowned(unsafe) let loader: FileLoader

    init(loader: FileLoader) {
        self.loader = loader
        super.init()
    }

    override func turn() { loader.turnCame() }
}
