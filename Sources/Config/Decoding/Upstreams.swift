internal import Policy
internal import Proxy
internal import Transport

/// The upstreams of a file by name, those with errors included: whether a name exists is another question than whether
/// what it names is right.
struct UpstreamTable {
    var definitions: [UpstreamDefinition] = []
    /// Where each was named, for warnings.
    var places: [Value] = []
    var isDeclared = false

    func index(of name: String) -> Int? { definitions.firstIndex { $0.name == name } }
    var names: [String] { definitions.map(\.name) }
}

extension ConfigurationDecoder {
    func upstreams(_ root: Fields) -> UpstreamTable {
        var table = UpstreamTable()
        table.isDeclared = root.has("upstream") || root.has("upstreams")
        if let short = root["upstream"] {
            table.definitions.append(upstream(short, name: "default"))
            table.places.append(root.key("upstream") ?? short)
        }
        for (name, value) in root.entries("upstreams") {
            guard let text = self.name(name) else { continue }
            if text == "default", root.has("upstream") {
                fail(name, "`upstream` is short for this one and is given too", hint: "keep one of the two")
                continue
            }
            if table.index(of: text) != nil { continue }
            table.definitions.append(upstream(value, name: text))
            table.places.append(name)
        }
        if let key = root["upstreams"], key.node.entries?.isEmpty ?? false { fail(key, "`upstreams` is empty") }
        return table
    }

    private func upstream(_ value: Value, name: String) -> UpstreamDefinition {
        var upstream = UpstreamDefinition(name: name, servers: [])
        guard value.node.entries != nil else {
            add(value, to: &upstream)
            return upstream
        }
        guard let fields = fields(value, .upstream) else { return upstream }
        servers(fields, into: &upstream)
        switch fields.word("balance") {
        case "least_requests": upstream.balance = .leastRequests
        case "random": upstream.balance = .random
        default: upstream.balance = .roundRobin
        }
        applicationProtocol(fields, of: &upstream)
        upstream.tls = upstreamTLS(fields, upstream.servers)
        switch fields.word("proxy_protocol") {
        case "v1": upstream.proxyProtocol = .v1
        case "v2": upstream.proxyProtocol = .v2
        default: break
        }
        if let timeouts = fields.fields("timeouts") {
            var values = UpstreamTimeouts()
            values.connect = timeouts.duration("connect") ?? values.connect
            values.response = timeouts.duration("response") ?? values.response
            values.responseIdle = timeouts.duration("response_idle") ?? values.responseIdle
            values.idle = timeouts.duration("idle") ?? values.idle
            upstream.timeouts = values
        }
        if let pool = fields.fields("pool") {
            upstream.pool.maximumConnections = pool.integer("max_connections") ?? upstream.pool.maximumConnections
            upstream.pool.maximumIdle = pool.integer("max_idle") ?? upstream.pool.maximumIdle
        }
        return upstream
    }

    private func applicationProtocol(_ fields: Fields, of upstream: inout UpstreamDefinition) {
        guard let value = fields["protocol"], let word = fields.word("protocol") else { return }
        let isSecure = upstream.servers.contains { $0.scheme == .https }
        let isPlain = upstream.servers.contains { $0.scheme == .http }
        switch word {
        case "http/1.1": upstream.applicationProtocol = .http1
        case "h2":
            upstream.applicationProtocol = .h2
            if isPlain { fail(value, "`h2` is spoken with TLS", hint: "write `h2c` for HTTP/2 without TLS, or an `https` URL") }
        case "h2c":
            upstream.applicationProtocol = .h2c
            if isSecure { fail(value, "`h2c` is HTTP/2 without TLS", hint: "write `h2` for servers with an `https` URL") }
        default: upstream.applicationProtocol = .auto
        }
    }

    private func servers(_ fields: Fields, into upstream: inout UpstreamDefinition) {
        if let url = fields["url"] {
            if let servers = fields.key("servers") { fail(servers, "`url` is given too", hint: "keep one of the two") }
            return add(url, to: &upstream)
        }
        guard let servers = fields["servers"] else {
            return fail(fields.whole, "`url` or `servers` is missing", hint: "such as `url: http://127.0.0.1:3000`")
        }
        let items = fields.list("servers")
        if items.isEmpty, servers.node.items != nil { fail(servers, "`servers` is empty") }
        for item in items {
            guard let server = server(item) else { continue }
            if upstream.servers.contains(server) {
                warn(item, "this server is named twice, so it gets twice as many requests")
            }
            upstream.servers.append(server)
        }
        // One path goes before the request's before a server is chosen.
        if Set(upstream.servers.map(\.basePath)).count > 1 {
            fail(servers, "the servers of an upstream have the same path in their URLs")
        }
    }

    private func add(_ value: Value, to upstream: inout UpstreamDefinition) {
        guard let text = text(value) else { return }
        if text == "demo" {
            upstream.isDemo = true
        } else if let server = server(value) {
            upstream.servers = [server]
        }
    }

    /// A name of the user's choice: an upstream's, a credential's, a rule's.
    func name(_ value: Value) -> String? {
        guard let text = text(value) else { return nil }
        let isClean = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7f || $0 == " " }
        guard !text.isEmpty, text.utf8.count <= 100, isClean, text.first != " ", text.last != " " else {
            fail(value, "a name has 1 to 100 bytes, and no control characters")
            return nil
        }
        return text
    }
}
