internal import Codings
internal import HTML
internal import HTTP
internal import Policy

// MARK: Pages into which rules insert: between 4, load, and 5, deliver

extension Exchange {
    /// What the request must say so that its answer can be edited; nil where nothing is inserted.
    var pageRequest: PageRequest? { plan?.page.flatMap { PageRequest(current, $0) } }

    /// What becomes of the response's head when its page is edited; nil for a response that is left as it is.
    func pageResponse(_ head: ResponseHead) -> PageResponse? {
        guard let insertions = plan?.page, head.status == 304 || PageResponse.isHTML(head), let request = pageRequest else {
            return nil
        }
        return PageResponse(
            head, to: current, request, insertions, nonce: insertions.mode == .nonce ? PageResponse.makeNonce() : [])
    }

    /// What decides whether the answer is edited, where it is a page. A 304 without a type, of which nobody knows better, may be
    /// about one.
    func pageDependence(_ head: ResponseHead, isEdited: Bool) -> PageDependence? {
        let mayBePage =
            isEdited || PageResponse.isHTML(head)
            || head.status == 304 && loader.sendsPage ?? !head.lines.contains { $0.id == .contentType }
        return mayBePage ? PageDependence(current) : nil
    }

    /// The one coding that the page is in. Nil when it is one that is not spoken here, or several: such a page is left alone.
    func pageCoding(_ head: ResponseHead) -> PageCoding? {
        var coding = PageCoding.identity
        for line in head.lines where line.id == .contentEncoding {
            let value = head.bytes.span(line.value)
            var names = ListCursor()
            while let range = names.next(in: value) {
                let name = value.extracting(range)
                if HTTP1.equalsIgnoringCase(name, "identity") { continue }
                guard coding == .identity, let known = ContentCoding(token: name) else { return nil }
                coding = .coded(known)
            }
        }
        return coding
    }

    enum PageCoding: Equatable {
        case identity
        case coded(ContentCoding)
    }

    /// Puts an editor between loader and client; false when there is no memory for it.
    func beginPage(_ page: PageResponse, _ head: ResponseHead, coding: PageCoding) -> Bool {
        guard page.kind == .page, !head.framing.isEmpty else { return true }
        var known: ContentCoding?
        if case .coded(let coding) = coding { known = coding }
        self.page = try? PageDelivery(self, page, contentType: head.bytes.span(page.contentType), coding: known)
        return self.page != nil
    }

    /// The client has taken all that it was sent.
    var clientTakesData: Bool { client.map { !$0.hasUnsentOutput } ?? false }

    func sendPage(_ content: Span<UInt8>) {
        guard let client else { return }
        record.bytesOut &+= UInt64(content.count)
        client.sendContent(content)
    }

    /// What the page had in hand is done with.
    func pageTakesMore() { loader.resume() }
}
