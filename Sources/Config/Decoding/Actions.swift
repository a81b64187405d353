internal import Policy
internal import Proxy

extension ConfigurationDecoder {
    func proxy(_ value: Value, _ upstreams: UpstreamTable) -> ProxyDefinition? {
        guard let fields = fields(value) else { return nil }
        var proxy = ProxyDefinition()
        if let name = fields["upstream"] {
            if let text = text(name) {
                if let index = upstreams.index(of: text) {
                    proxy.upstream = index
                } else if upstreams.isDeclared {
                    reference(name, to: text, among: upstreams.names, of: "upstreams")
                }
            }
        } else {
            proxy.upstream = defaultUpstream(upstreams, at: value) ?? 0
        }
        proxy.stripPrefix = fields["strip_prefix"].flatMap(prefix)
        proxy.addPrefix = fields["add_prefix"].flatMap(prefix)
        if let path = fields["path"] {
            proxy.path = pathTemplate(path)
            if let more = fields.key("strip_prefix") ?? fields.key("add_prefix") {
                fail(more, "`path` is given too, which replaces the whole path", hint: "keep one of the two")
            }
        }
        if let host = fields["preserve_host"], !isWord(host, "auto") {
            proxy.preserveHost = boolean(host).map { $0 ? .yes : .no } ?? .auto
        }
        if fields.has("upgrades") { proxy.upgrades = fields.list("upgrades").compactMap(upgrade) }
        if let timeouts = fields.fields("timeouts") {
            proxy.connectTimeout = timeouts.duration("connect")
            proxy.responseTimeout = timeouts.duration("response")
            proxy.responseIdleTimeout = timeouts.duration("response_idle")
        }
        if let redirects = fields["redirects"] { proxy.redirects = self.redirects(redirects) }
        proxy.retries = fields.integer("retries") ?? proxy.retries
        return proxy
    }

    /// `/v1`: canonical, without a trailing slash.
    func prefix(_ value: Value) -> String? {
        parsed(value) { (text) throws(SyntaxProblem) -> String in
            guard text.hasPrefix("/") else { throw SyntaxProblem("it begins with `/`") }
            if text == "/" { throw SyntaxProblem("`/` changes nothing; leave it out") }
            if text.contains("?") || text.contains("#") { throw SyntaxProblem("a path has no `?` and `#`") }
            if text.contains("*") { throw SyntaxProblem("a prefix is no glob; every path below it has it") }
            if let problem = pathProblem(text) { throw SyntaxProblem(problem) }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }

    private func pathTemplate(_ value: Value) -> ValueTemplate? {
        guard let template = template(value, .path) else { return nil }
        guard case .literal(let bytes)? = template.parts.first else { return template }
        if bytes.first != UInt8(ascii: "/") {
            expected(value, hint: "it begins with `/` or with a variable")
            return nil
        }
        return template
    }

    private func upgrade(_ value: Value) -> String? {
        guard let name = token(value)?.lowercased() else { return nil }
        if name == "h2c" || name == "http2-settings" || name == "tls" || name.hasPrefix("http") {
            fail(value, "`\(name)` would be another HTTP connection that the rules do not see", hint: "such as `websocket`")
            return nil
        }
        return name
    }

    private func redirects(_ value: Value) -> RedirectsDefinition {
        var redirects = RedirectsDefinition()
        guard value.node.entries != nil else {
            switch word(value) {
            case "pass": redirects.mode = .pass
            case "follow": redirects.mode = .follow(.sameOrigin)
            default: redirects.mode = .rewrite
            }
            return redirects
        }
        guard let fields = fields(value) else { return redirects }
        let follow = fields.word("follow")
        redirects.mode = .follow(follow == "any" ? .any : follow == "listed" ? .listed : .sameOrigin)
        redirects.hosts = fields.list("hosts").compactMap { destination($0, takesPort: true) }
        if follow == "listed", fields["hosts"]?.node.items?.isEmpty ?? !fields.has("hosts") {
            fail(fields["follow"] ?? value, "`follow: listed` needs `hosts`, the hosts that may be followed to")
        } else if let hosts = fields.key("hosts"), follow == "same_origin" || follow == "any" {
            fail(hosts, "`hosts` is for `follow: listed`", hint: "remove it, or write `follow: listed`")
        }
        redirects.maximum = fields.integer("max") ?? redirects.maximum
        redirects.bodyBuffer = fields.size("body_buffer") ?? redirects.bodyBuffer
        return redirects
    }

    func block(_ value: Value) -> BlockDefinition? {
        guard value.node.entries != nil else {
            if value.node.isPlain, value.node.text == "true" { return BlockDefinition() }
            expected(value, hint: value.node.text == "false" ? "leave `block` out" : nil)
            return nil
        }
        guard let fields = fields(value) else { return nil }
        var block = BlockDefinition()
        block.status = fields.integer("status")
        block.cacheControl = fields["cache_control"].flatMap(constant)
        return block
    }

    /// A value of a response's header without variables.
    func constant(_ value: Value) -> String? {
        guard let template = template(value, .response) else { return nil }
        if template.parts.contains(where: { if case .literal = $0 { false } else { true } }) {
            fail(value, "no variable may stand here")
        }
        return template.parts.reduce(into: "") { text, part in
            if case .literal(let bytes) = part { text += String(decoding: bytes, as: UTF8.self) }
        }
    }

    func respond(_ value: Value) -> RespondDefinition? {
        guard let fields = fields(value) else { return nil }
        var respond = RespondDefinition()
        respond.status = fields.integer("status") ?? respond.status
        respond.headers = headers(fields, "headers", .respond, isRequest: false) { _ in .response }
        var type: String?
        if let body = fields["body"] {
            if let more = fields.key("file") { fail(more, "`body` is given too", hint: "keep one of the two") }
            if body.node.text == nil {
                expected(body)
            } else {
                respond.body = resolvedBytes(body, in: .response) ?? []
                type = "text/plain; charset=utf-8"
            }
        } else if let file = fields["file"], let path = text(file).map(absolute), let bytes = contents(of: path, for: file) {
            respond.body = bytes
            type = MediaTypes(system: []).contentType(of: path, charset: "utf-8")
        }
        let namesType = respond.headers.contains { $0.name.lowercased() == "content-type" }
        respond.contentType = namesType || respond.body.isEmpty ? nil : type
        if respond.status == 204 || respond.status == 304 || respond.status == 205, !respond.body.isEmpty {
            fail(
                fields["status"] ?? value, "an answer \(respond.status) has no content",
                hint: "remove `body`, or use another status")
        }
        return respond
    }

    func redirect(_ value: Value) -> RedirectDefinition? {
        guard let fields = fields(value) else { return nil }
        let status = fields.integer("status")
        if let status, ![301, 302, 303, 307, 308].contains(status) {
            fail(fields["status"] ?? value, "expected 301, 302, 303, 307 or 308, found `\(status)`")
        }
        guard let to = fields["to"], let template = template(to, .response) else { return nil }
        if let problem = locationProblem(template) {
            fail(to, problem, hint: "such as `https://{request.host}{request.target}`, or a path")
            return nil
        }
        var redirect = RedirectDefinition(to: template)
        redirect.status = status ?? redirect.status
        return redirect
    }

    private func locationProblem(_ template: ValueTemplate) -> String? {
        guard let first = template.parts.first else { return "the target is empty" }
        for case .literal(let bytes) in template.parts {
            if bytes.contains(where: { $0 <= 0x20 || $0 >= 0x7f }) { return "a URL has no spaces and nothing outside of ASCII" }
        }
        guard case .literal(let bytes) = first else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        if text.hasPrefix("//") { return "a target without scheme could lead anywhere" }
        guard text.hasPrefix("/") || text.hasPrefix("http://") || text.hasPrefix("https://") else {
            return "the target is neither an `http` URL nor a path"
        }
        return nil
    }
}
