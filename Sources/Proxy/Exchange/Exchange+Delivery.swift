internal import HTTP
internal import Policy
internal import Transport

// MARK: 5 Deliver

extension Exchange: LoaderDelegate {
    /// The client has taken all that it was sent; what more came would have to be kept.
    var wantsData: Bool { clientTakesData && page?.wantsInput ?? true }

    func clientDrained() {
        page?.resume()
        loader.resume()
    }

    func loader(didReceiveInformational head: ResponseHead) {
        guard let client, self.head.version != .http10 else { return }
        // RFC 9110 10.1.1: a client that did not ask for 100 gets none from us.
        if head.status == 100 && !self.head.expectsContinue { return }
        withOutput(of: client) { responseWriter.writeInformational(head, to: $0) }
        client.informationalWritten()
    }

    func loader(didReceiveResponse head: ResponseHead) -> ResponseDisposition {
        guard let client else { return .cancel }
        record.upstreamAnswered(head.status, at: worker.microseconds())
        if head.status == 101 { return switchProtocols(head, to: client) }
        if followsRedirect(head) { return .cancel }
        if client.demandsTunnel, head.status < 300 {
            // On a stream, success would mean that the tunnel is there (RFC 8441 section 5).
            redirects.failure = loader.asksOrigin ? .upstreamProtocolError : .notImplemented
            return .cancel
        }
        // What the client sent behind a request to switch protocols may not have been meant as HTTP.
        if asksForUpgrade { client.distrust() }
        let coding = withPlan { $0?.page == nil } ? nil : pageCoding(head)
        let edited = coding == nil ? nil : pageResponse(head)
        let framing = framing(of: head, isEdited: edited?.kind == .page)
        let keeps = client.decideToKeep() && !framing.endsWithConnection
        if let edited, let coding, !beginPage(edited, head, coding: coding) {
            redirects.failure = .overloaded
            return .cancel
        }
        do throws(Rejection) {
            try writeResponseHead(head, framing: framing, keeps: keeps, edited, to: client)
        } catch {
            redirects.failure = error
            return .cancel
        }
        responseBegins()
        client.responseBegins(framing)
        record.status = head.status
        return .allow
    }

    /// RFC 9112 6: content whose length is not known is chunked, or for HTTP/1.0 clients ends with the connection.
    private func framing(of head: ResponseHead, isEdited: Bool) -> BodyFraming {
        switch head.framing {
        case .none: .none
        case .length where !isEdited || head.framing.isEmpty: head.framing
        case .length, .chunked, .untilClose: self.head.version != .http10 ? .chunked : .untilClose
        }
    }

    private func switchProtocols(_ head: ResponseHead, to client: ClientEnd) -> ResponseDisposition {
        if case .http2(let stream) = client, !stream.with({ $0.isHandshakeAnswered(head, to: self.head) }) {
            redirects.failure = .upstreamProtocolError
            return .cancel
        }
        do {
            try writeResponseHead(head, framing: .none, keeps: true, nil, to: client)
        } catch {
            return .cancel
        }
        responseBegins()
        record.status = 101
        client.becomeTunnel()
        metrics.tunnelOpened()
        return .becomeTunnel
    }

    func loader(didReceiveData data: Span<UInt8>) {
        guard let client else { return }
        if let page { return page.receive(data) }
        record.bytesOut &+= UInt64(data.count)
        client.sendContent(data)
    }

    /// The client's connection, where the kernel may bring content into it, from a socket or a file: its head is sent, and nothing
    /// is in the way. Nil where content has to pass through this process.
    var spliceClient: ClientConnection? {
        guard page == nil, case .http1(let client)? = client, client.with({ $0.takesKernelContent }) else { return nil }
        return client.object
    }

    /// So much went out without passing through this process.
    func loader(didSplice count: Int) { record.bytesOut &+= UInt64(count) }

    func loaderDidFinish(trailers: TrailerSection?) {
        guard client != nil else { return }
        if let page { return page.finishInput() }
        guard let trailers, takesTrailers, !trailers.lines.isEmpty else { return complete(trailers: nil) }
        let lines = worker.buffers.lease()
        writeResponseTrailers(trailers, to: lines)
        complete(trailers: lines)
        worker.buffers.giveBack(lines)
    }

    func loaderDidFinishSending() { client?.upstreamFinishedTunnel() }

    func loaderDidCancel() {
        if let failure = redirects.failure {
            redirects.failure = nil
            return fail(failure)
        }
        issueAnew()
    }

    func loader(didFailWith rejection: Rejection) { fail(rejection) }
}
