internal import HTTP
internal import Policy
internal import Proxy

extension ConfigurationDecoder {
    func listeners(_ root: Fields) -> [ListenerDefinition] {
        if let listen = root["listen"] {
            if let more = root.key("listeners") { fail(more, "`listen` is given too", hint: "keep one of the two") }
            return listenAddress(listen).map { [ListenerDefinition(address: $0.address, display: $0.display)] } ?? []
        }
        guard root["listeners"] != nil else {
            return [ListenerDefinition(address: .tcp(host: "127.0.0.1", port: 8080), display: "127.0.0.1:8080")]
        }
        var found: [ListenerDefinition] = []
        let items = root.list("listeners")
        if items.isEmpty, let key = root["listeners"], key.node.items != nil { fail(key, "`listeners` is empty") }
        for item in items {
            guard let listener = listener(item) else { continue }
            if let other = found.first(where: listener.overlaps) {
                let isSame = other.display == listener.display
                fail(item, "`\(listener.display)` is listened on already", hint: isSame ? nil : "by `\(other.display)`")
            }
            found.append(listener)
        }
        return found
    }

    func limits(_ fields: Fields?) -> Limits {
        var limits = Limits()
        guard let fields else { return limits }
        limits.head.headerBytes = fields.size("header_bytes") ?? limits.head.headerBytes
        limits.head.headerCount = fields.integer("header_count") ?? limits.head.headerCount
        limits.head.uriBytes = fields.size("uri_bytes") ?? limits.head.uriBytes
        if let body = fields["body"], !isWord(body, "none") { limits.body = size(body).map { UInt64($0) } }
        limits.connections = fields.integer("connections") ?? limits.connections
        limits.streams = fields.integer("h2_streams") ?? limits.streams
        if limits.head.uriBytes > limits.head.headerBytes, let uri = fields["uri_bytes"] {
            warn(uri, "`uri_bytes` is larger than `header_bytes`, which bounds the whole head")
        }
        return limits
    }

    func timeouts(_ fields: Fields?) -> Timeouts {
        var timeouts = Timeouts()
        guard let fields else { return timeouts }
        timeouts.header = fields.duration("header") ?? timeouts.header
        timeouts.bodyIdle = fields.duration("body_idle") ?? timeouts.bodyIdle
        timeouts.writeIdle = fields.duration("write_idle") ?? timeouts.writeIdle
        timeouts.keepalive = fields.duration("keepalive") ?? timeouts.keepalive
        timeouts.tunnelIdle = fields.duration("tunnel_idle") ?? timeouts.tunnelIdle
        timeouts.shutdown = fields.duration("shutdown") ?? timeouts.shutdown
        return timeouts
    }

    func canonical(_ fields: Fields?) -> CanonicalSettings {
        var settings = CanonicalSettings()
        guard let fields else { return settings }
        if fields.word("encoded_slash") == "reject" { settings.encodedSlash = .reject }
        settings.mergeSlashes = fields.boolean("merge_slashes") ?? settings.mergeSlashes
        if fields.word("dot_segments") == "reject" { settings.dotSegments = .reject }
        if fields.word("header_names") == "any" { settings.headerNames = .any }
        settings.keep = fields.list("keep").compactMap { token($0) }
        return settings
    }

    func admin(_ fields: Fields?, beside listeners: [ListenerDefinition]) -> AdminDefinition {
        var admin = AdminDefinition()
        guard let fields else { return admin }
        if let listen = fields["listen"], let address = listenAddress(listen) {
            let definition = ListenerDefinition(address: address.address, display: address.display)
            if listeners.contains(where: definition.overlaps) {
                fail(listen, "`\(address.display)` is listened on already", hint: "the administration needs a port of its own")
            } else if case .tcp = address.address {
                admin.listen = definition
            } else {
                expected(listen, "a TCP address such as `127.0.0.1:9901`", hint: "the unix socket is `socket`")
            }
        }
        admin.token = fields["token"].flatMap(secret)
        if let socket = fields["socket"] {
            admin.socket = parsed(socket) { (text) throws(SyntaxProblem) -> String in
                let path = absolute(text)
                guard path.utf8.count <= 107 else { throw SyntaxProblem("a unix socket's path has at most 107 bytes") }
                let isTaken = listeners.contains { if case .unix(path, _) = $0.address { true } else { false } }
                if isTaken { throw SyntaxProblem("`\(path)` is listened on already", isWhole: true) }
                return path
            }
        }
        return admin
    }

    func log(_ fields: Fields?) -> LogDefinition {
        var log = LogDefinition()
        guard let fields else { return log }
        switch fields.word("level") {
        case "error": log.level = .error
        case "warn": log.level = .warn
        case "debug": log.level = .debug
        default: log.level = .info
        }
        switch fields.word("format") {
        case "text": log.format = .text
        case "json": log.format = .json
        default: log.format = .auto
        }
        log.access = fields.boolean("access") ?? log.access
        if let file = fields["file"], let text = text(file) {
            switch text {
            case "stderr": log.destination = .stderr
            case "stdout": log.destination = .stdout
            default: log.destination = .file(absolute(text))
            }
        }
        return log
    }

    func workers(_ value: Value?) -> Int? {
        guard let value, !isWord(value, "auto") else { return nil }
        return integer(value)
    }

    func instance(_ value: Value?) -> String? {
        guard let value, !isWord(value, "auto") else { return nil }
        return parsed(value) { (text) throws(SyntaxProblem) -> String in
            guard text.utf8.count <= 64, isToken(text), !text.contains("*") else {
                throw SyntaxProblem("at most 64 letters, digits, `-`, `_` and `.`")
            }
            return text
        }
    }

    /// A header or cookie name, or another token (RFC 9110 section 5.6.2).
    func token(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        guard isToken(text), text.utf8.count <= 256 else {
            expected(value, hint: tokenHint(text))
            return nil
        }
        return text
    }

    func tokenHint(_ text: String) -> String? {
        if text.hasSuffix(":") { return "write it without the colon" }
        if text.contains(" ") { return "a name has no spaces" }
        return text.isEmpty ? nil : "letters, digits and `-` are safe"
    }
}
