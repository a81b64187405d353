internal import Codings
internal import HTML
internal import HTTP
internal import Policy
internal import Transport

/// Stands between the loader and the client of one exchange whose page is edited: decodes, edits, encodes again.
///
/// ```
/// loader ─► pending ─► decoder ─► PageEditor ─► encoder ─► ClientConnection
/// ```
/// What is decoded at a time is bounded, however much the input stands for: while the client has output to take, or this has had its
/// share of a turn, what is left waits in `pending`, and the exchange wants no more data. What has been encoded is flushed before the
/// loop waits again, so that a page that comes in pieces is seen in pieces.
final class PageDelivery: EventHandler {
    /// SAFETY: the exchange owns this and lets go of it when it ends.
    private unowned(unsafe) let exchange: Exchange
    private let worker: Worker
    private let editor: PageEditor
    private let decoder: ContentDecoder?
    private let encoder: ContentEncoder?
    /// Input that has not been decoded yet.
    private let pending = ByteBuffer(capacity: 16)
    /// The decoder holds output for which it needs no more input.
    private var hasMore = false
    private var inputIsComplete = false
    private var isFinished = false
    /// Bytes are in the encoder that the client could have.
    private var isUnflushed = false
    private var awaitsTurn = false
    private var budget = PageDelivery.share

    /// Decoded at a time, and at most in one turn of the loop.
    private static let slice = 64 * 1024
    private static let share = 1024 * 1024
    /// `contentType` as the response has it.
    init(_ exchange: Exchange, _ page: PageResponse, contentType: Span<UInt8>, coding: ContentCoding?) throws(CodingError) {
        self.exchange = exchange
        worker = exchange.worker
        editor = PageEditor(
            page.insertions, contentType: contentType, nonce: page.nonce, hasPolicy: page.hasPolicy,
            policies: page.policies)
        if let coding {
            decoder = try worker.codings.decoder(coding)
            encoder = try worker.codings.encoder(coding, isFast: true)
        } else {
            (decoder, encoder) = (nil, nil)
        }
        super.init()
    }

    /// False while there is input in hand: more of it has to wait.
    var wantsInput: Bool { pending.isEmpty && !hasMore }

    /// Called once, when the exchange is over.
    func end() {
        isFinished = true
        worker.loop.remove(self)
        if let decoder { worker.codings.giveBack(decoder) }
        if let encoder { worker.codings.giveBack(encoder) }
    }

    func receive(_ data: Span<UInt8>) {
        guard decoder != nil else { return edit(data) }
        if !wantsInput { return pending.append(data) }
        decode(data)
    }

    func finishInput() {
        inputIsComplete = true
        if wantsInput { finish() }
    }

    /// The client has taken what it was sent.
    func resume() {
        if isFinished || wantsInput || awaitsTurn { return }
        decodePending()
    }

    override func turn() {
        awaitsTurn = false
        budget = Self.share
        if isFinished { return }
        if !wantsInput {
            if exchange.clientTakesData { decodePending() }
            if isFinished { return }
        }
        if isUnflushed, let encoder {
            encode { (out) throws(CodingError) in try encoder.append(Span<UInt8>(), to: out, flush: true) }
        }
        isUnflushed = false
    }

    private func askForTurn() {
        if awaitsTurn { return }
        if slot < 0, (try? worker.loop.add(self)) == nil { return }
        awaitsTurn = true
        worker.loop.runSoon(self)
    }

    // MARK: Decode

    private func decodePending() {
        let input = worker.buffers.lease()
        input.append(pending.span)
        pending.clear()
        hasMore = false
        decode(input.span)
        worker.buffers.giveBack(input)
        if isFinished || !wantsInput { return }
        if inputIsComplete { finish() } else { exchange.pageTakesMore() }
    }

    /// Works through the input as far as the client and this turn allow; the rest is kept.
    private func decode(_ input: Span<UInt8>) {
        guard let decoder else { return }
        var position = 0
        do {
            while !isFinished {
                let decoded = worker.pageBuffers.decoded
                decoded.clear()
                let progress = try decoder.decode(input, from: &position, into: decoded, atMost: Self.slice)
                if !decoded.isEmpty { edit(decoded.span) }
                budget -= decoded.count
                guard progress == .hasMore else { return }
                if budget <= 0 || !exchange.clientTakesData {
                    hasMore = true
                    if position < input.count { pending.append(input.extracting(position..<input.count)) }
                    if budget <= 0 { askForTurn() }
                    return
                }
            }
        } catch {
            fail(error)
        }
    }

    // MARK: Edit and encode

    private func edit(_ page: Span<UInt8>) {
        let edited = worker.pageBuffers.edited
        edited.clear()
        editor.append(page, to: edited)
        pass(edited)
    }

    private func pass(_ edited: ByteBuffer) {
        if isFinished || edited.isEmpty { return }
        guard let encoder else { return exchange.sendPage(edited.span) }
        isUnflushed = true
        askForTurn()
        encode { (out) throws(CodingError) in try encoder.append(edited.span, to: out) }
    }

    private func encode(_ body: (ByteBuffer) throws(CodingError) -> Void) {
        let encoded = worker.pageBuffers.encoded
        encoded.clear()
        do {
            try body(encoded)
        } catch {
            return fail(error)
        }
        if !encoded.isEmpty { exchange.sendPage(encoded.span) }
    }

    private func finish() {
        if isFinished { return }
        do {
            try decoder?.finish()
        } catch {
            return fail(error)
        }
        let edited = worker.pageBuffers.edited
        edited.clear()
        editor.finish(to: edited)
        pass(edited)
        if isFinished { return }
        if let encoder { encode { (out) throws(CodingError) in try encoder.finish(to: out) } }
        if isFinished { return }
        isFinished = true
        exchange.complete(trailers: nil)
    }

    /// A page that can not be read to its end is broken off, never cut short as if it were complete.
    private func fail(_ error: CodingError) {
        if isFinished { return }
        isFinished = true
        exchange.fail(error == .outOfMemory ? .overloaded : .upstreamProtocolError)
    }
}

/// What every page of a worker is edited in, used within one call.
final class PageBuffers {
    let decoded = ByteBuffer(capacity: 16)
    let edited = ByteBuffer(capacity: 16)
    let encoded = ByteBuffer(capacity: 16)
}

/// Decoders and encoders between two uses: making one costs more than a small page.
final class CodingPool {
    private var decoders: [[ContentDecoder]] = ContentCoding.allCases.map { _ in [] }
    private var encoders: [[ContentEncoder]] = ContentCoding.allCases.map { _ in [] }
    private var fastEncoders: [[ContentEncoder]] = ContentCoding.allCases.map { _ in [] }
    /// So many of each kind are kept.
    private static let most = 4

    func decoder(_ coding: ContentCoding) throws(CodingError) -> ContentDecoder {
        if let spare = decoders[Int(coding.rawValue)].popLast() { return spare }
        return try ContentDecoder(coding)
    }

    func encoder(_ coding: ContentCoding, isFast: Bool) throws(CodingError) -> ContentEncoder {
        let index = Int(coding.rawValue)
        if let spare = isFast ? fastEncoders[index].popLast() : encoders[index].popLast() { return spare }
        return isFast ? try ContentEncoder(fast: coding) : try ContentEncoder(coding)
    }

    func giveBack(_ decoder: ContentDecoder) {
        let index = Int(decoder.coding.rawValue)
        guard decoders[index].count < Self.most, (try? decoder.reset()) != nil else { return }
        decoders[index].append(decoder)
    }

    /// Takes back one that may be in the middle of a stream.
    func giveBack(_ encoder: ContentEncoder) {
        let index = Int(encoder.coding.rawValue)
        let count = encoder.isFast ? fastEncoders[index].count : encoders[index].count
        guard count < Self.most, (try? encoder.reset()) != nil else { return }
        if encoder.isFast { fastEncoders[index].append(encoder) } else { encoders[index].append(encoder) }
    }
}
