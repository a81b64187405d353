internal import HTTP
internal import Policy
internal import Transport

// MARK: Answers that need no upstream

extension Exchange {
    func startBlock(_ block: BlockDefinition) {
        let answer = BlockedAnswer(to: current, status: block.status)
        let content = worker.scratch
        content.clear()
        answer.appendContent(to: content)
        record.reason = "blocked"
        loader = .fixed(Uncounted(fixedLoader))
        fixedLoader.start(status: answer.status, content: content.span) { (out) throws(Rejection) in
            if let type = answer.contentType {
                out.append("Content-Type: ")
                out.append(type)
                out.append("\r\n")
            }
            out.append("Cache-Control: ")
            out.append(text: block.cacheControl ?? "no-store")
            out.append("\r\nAuthproxy-Error: blocked\r\n")
        }
    }

    func startServe(_ serve: ServePlan, rule: Int) {
        let file = fileLoader
        loader = .file(Uncounted(file))
        file.start(serve, rule: rule)
    }

    func startRespond(_ respond: RespondPlan) {
        loader = .fixed(Uncounted(fixedLoader))
        fixedLoader.start(status: respond.status, content: respond.body.span) { [context] (out) throws(Rejection) in
            try respond.writeHeaders(context, into: out)
        }
    }

    func startRedirect(_ redirect: RedirectPlan) {
        loader = .fixed(Uncounted(fixedLoader))
        fixedLoader.start(status: redirect.status, content: worker.empty.span) { [context] (out) throws(Rejection) in
            out.append("Location: ")
            try redirect.writeLocation(context, into: out)
            out.append("\r\n")
        }
    }

    func startDemo() {
        let demo = demoLoader
        loader = .demo(Uncounted(demo))
        demo.start()
    }

    // MARK: Errors of our own

    /// A constant answer: nothing of the request is in it.
    func writeError(_ rejection: Rejection, to client: ClientEnd) {
        let keeps = client.decideToKeep()
        let isProblem = acceptsJSON
        let body = worker.scratch
        body.clear()
        if isProblem {
            body.append("{\"type\":\"authproxy:")
            body.append(rejection.reason)
            body.append("\",\"title\":\"")
            body.append(rejection.sentence)
            body.append("\",\"status\":")
            body.append(decimal: rejection.status)
            body.append("}\n")
        } else {
            body.append(rejection.sentence)
            body.append("\n")
        }
        withOutput(of: client) { writeErrorHead(rejection, length: body.count, isProblem: isProblem, keeps: keeps, to: $0) }
        client.responseBegins(.length(UInt64(body.count)))
        record.status = rejection.status
        if head.method != .head {
            client.sendContent(body.span)
            record.bytesOut = UInt64(body.count)
        }
    }

    private func writeErrorHead(_ rejection: Rejection, length: Int, isProblem: Bool, keeps: Bool, to out: ByteBuffer) {
        out.append("HTTP/1.1 ")
        out.append(decimal: rejection.status)
        out.append(UInt8(ascii: " "))
        out.append(ReasonPhrase.of(rejection.status))
        out.append("\r\nDate: ")
        worker.dates.append(unixSeconds: context.unixTime, to: out)
        out.append(isProblem ? "\r\nContent-Type: application/problem+json" : "\r\nContent-Type: text/plain; charset=utf-8")
        out.append("\r\nCache-Control: no-store\r\nAuthproxy-Error: ")
        out.append(rejection.reason)
        out.append("\r\nContent-Length: ")
        out.append(decimal: length)
        if rejection.status == 503 { out.append("\r\nRetry-After: 1") }
        if rejection == .methodNotAllowed {
            // Once a rule has taken the request, it is a file that was asked for.
            out.append(isTagged ? "\r\nAllow: GET, HEAD" : "\r\nAllow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS")
        }
        if !keeps {
            out.append("\r\nConnection: close")
        } else if head.version == .http10 {
            out.append("\r\nConnection: keep-alive")
        }
        out.append("\r\n\r\n")
    }

    /// Accept names a JSON type (RFC 9457); a preference by quality is more than an error page needs.
    private var acceptsJSON: Bool {
        for line in head.lines where line.id == .accept {
            let value = head.bytes.span(line.value)
            var elements = ListCursor()
            while let range = elements.next(in: value) {
                let element = value.extracting(range)
                if starts(element, with: "application/json") || starts(element, with: "application/problem+json") { return true }
            }
        }
        return false
    }

    private func starts(_ bytes: Span<UInt8>, with text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        return bytes.count >= length && HTTP1.equalsIgnoringCase(bytes.extracting(0..<length), text)
    }

    // MARK: 6 Record

    func finishRecord() {
        record.endedAt = worker.microseconds()
        let rule = withPlan { $0?.actionRule ?? -1 }
        metrics.requestAnswered(
            listener: indexes.listener(listener), rule: indexes.rule(rule), status: record.status,
            method: head.method, durationMicroseconds: record.durationMicroseconds, bytesIn: record.bytesIn,
            bytesOut: record.bytesOut)
        if record.attempts > 0, upstream != nil {
            let index = uncounted(upstream.unsafelyUnwrapped) { $0.index }
            metrics.upstreamAnswered(indexes.upstream(index), status: record.upstreamStatus)
        }
        guard log.wantsAccess else { return }
        var texts = AccessTexts()
        texts.requestID = context.requestID.span
        texts.clientAddress = request.clientAddressText.isEmpty ? context.client.addressText.span : request.clientAddressText.span
        if !head.methodName.isEmpty { texts.method = head.bytes.span(head.methodName) }
        texts.host = request.host
        texts.path = request.path
        texts.query = request.query
        if rule >= 0 { texts.rule = snapshot.ruleName(rule) }
        if let upstream { texts.upstream = upstream.nameText.span }
        texts.version = isHTTP2 ? .http2 : head.version
        log.access(record, texts)
    }
}
