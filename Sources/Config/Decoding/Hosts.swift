internal import Policy
internal import Proxy

extension ConfigurationDecoder {
    /// Runs a syntax of its own on a structural text, and notes what it finds wrong.
    func parsed<T>(_ value: Value, _ parse: (String) throws(SyntaxProblem) -> T) -> T? {
        guard let text = text(value) else { return nil }
        do {
            return try parse(text)
        } catch {
            // The problem may name what a reference stands for; then only the reference is named.
            if isReference(value) {
                expected(value, found: "what `\(quoted(value.node.text ?? ""))` stands for")
            } else if error.isWhole {
                fail(value, error.message, hint: error.hint)
            } else {
                expected(value, hint: error.message + (error.hint.map { "; \($0)" } ?? ""))
            }
            return nil
        }
    }

    func listener(_ value: Value) -> ListenerDefinition? {
        guard value.node.entries != nil else {
            return listenAddress(value).map { ListenerDefinition(address: $0.address, display: $0.display) }
        }
        guard let fields = fields(value, .listener), let address = fields["address"] else { return nil }
        let mode = fields["mode"].flatMap(mode)
        let tls = listenerTLS(fields)
        let takesProxyProtocol = fields.boolean("proxy_protocol") ?? false
        guard let place = listenAddress(address) else { return nil }
        var listener = ListenerDefinition(address: place.address, display: place.display)
        listener.tls = tls
        listener.takesProxyProtocol = takesProxyProtocol
        listener.h2c = fields.boolean("h2c") ?? false
        if case .unix(let path, _) = listener.address {
            listener.address = .unix(path: path, mode: mode)
        } else if let mode = fields["mode"] {
            fail(mode, "`mode` is for unix sockets")
        }
        return listener
    }

    func listenAddress(_ value: Value) -> (address: ListenerDefinition.Address, display: String)? {
        let isShown = !isReference(value)
        let address = parsed(value) { (text) throws(SyntaxProblem) -> ListenerDefinition.Address in
            if text.hasPrefix("unix:") { return .unix(path: try unixPath(text), mode: nil) }
            if text.hasPrefix("fd:") {
                guard let number = decimal(text.dropFirst(3)), (3...1023).contains(number) else {
                    throw SyntaxProblem("inherited descriptors are `fd:3` and up")
                }
                return .inherited(descriptor: Int32(number))
            }
            if let port = decimal(text[...]) {
                throw SyntaxProblem("write `:\(port)` for all addresses, or `127.0.0.1:\(port)`")
            }
            if text.contains("://") { throw SyntaxProblem("write an address without scheme") }
            if text.hasPrefix(":") && !text.hasPrefix("::") || text.hasPrefix("*:") {
                return .tcp(host: "", port: try HostSyntax.port(text.drop { $0 == "*" }.dropFirst()))
            }
            let parsed = try HostSyntax.hostAndPort(text[...])
            guard let port = parsed.port else { throw SyntaxProblem("the port is missing; write `\(parsed.bracketed):8080`") }
            if parsed.host == "localhost" { return .tcp(host: "127.0.0.1", port: port) }
            guard IPAddress.parse(parsed.host) != nil else {
                throw SyntaxProblem("listen on an address, not on a name")
            }
            return .tcp(host: parsed.host, port: port)
        }
        guard let address else { return nil }
        return (address, isShown ? value.node.text ?? "" : shown(address))
    }

    private func shown(_ address: ListenerDefinition.Address) -> String {
        switch address {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path, _): "unix:\(path)"
        case .inherited(let descriptor): "fd:\(descriptor)"
        }
    }

    /// The path of `unix:/path`; `sun_path` holds 107 bytes and a NUL.
    private func unixPath(_ text: String) throws(SyntaxProblem) -> String {
        let path = String(text.dropFirst(5))
        if path.isEmpty { throw SyntaxProblem("the socket's path is missing") }
        let whole = absolute(path)
        if whole.utf8.count > 107 || whole.utf8.contains(0) {
            throw SyntaxProblem("a unix socket's path has at most 107 bytes, this one has \(whole.utf8.count)")
        }
        return whole
    }

    private func mode(_ value: Value) -> UInt32? {
        guard let text = text(value) else { return nil }
        let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text.hasPrefix("0") ? text.dropFirst() : text[...]
        guard digits.utf8.count == 3, let mode = UInt32(digits, radix: 8) else {
            expected(value)
            return nil
        }
        return mode
    }

    /// `http://host[:port][/base]`, the same with `https`, or `unix:/path`.
    func server(_ value: Value) -> ServerDefinition? {
        parsed(value) { (text) throws(SyntaxProblem) -> ServerDefinition in
            if text.hasPrefix("unix:") {
                let path = try unixPath(text)
                return ServerDefinition(scheme: .http, address: .unix(path: path), authority: "localhost", basePath: "")
            }
            let lowered = text.lowercased()
            let scheme = lowered.hasPrefix("https://") ? Scheme.https : .http
            guard scheme == .https || lowered.hasPrefix("http://") else {
                if text.contains("://") { throw SyntaxProblem("the scheme must be `http` or `https`") }
                if text == "demo" { throw SyntaxProblem("`demo` stands alone, as `upstream: demo`") }
                if text.hasPrefix("/") { throw SyntaxProblem("write `unix:\(text)` for a unix socket") }
                throw SyntaxProblem("did you mean `http://\(quoted(text))`?")
            }
            return try server(scheme, rest: text.dropFirst(scheme == .https ? 8 : 7))
        }
    }

    private func server(_ scheme: Scheme, rest: Substring) throws(SyntaxProblem) -> ServerDefinition {
        if rest.contains("?") || rest.contains("#") {
            throw SyntaxProblem("an upstream's URL has no query and no fragment", isWhole: true)
        }
        let authority = rest.prefix { $0 != "/" }
        if authority.contains("@") {
            throw SyntaxProblem(
                "user and password can not stand in a URL", hint: "use `credentials` with `basic`", isWhole: true)
        }
        let parsed = try HostSyntax.hostAndPort(authority)
        if parsed.port == 0 { throw SyntaxProblem("nothing can be reached at port 0") }
        let port = parsed.port ?? scheme.defaultPort
        let base = try basePath(rest[authority.endIndex...])
        return ServerDefinition(
            scheme: scheme, address: .tcp(host: parsed.host, port: port),
            authority: port == scheme.defaultPort ? parsed.bracketed : "\(parsed.bracketed):\(port)", basePath: base)
    }

    /// Canonical as request paths are: it is put before them.
    private func basePath(_ text: Substring) throws(SyntaxProblem) -> String {
        var path = text
        while path.hasSuffix("/") { path = path.dropLast() }
        if let problem = pathProblem(String(path)) { throw SyntaxProblem(problem) }
        return String(path)
    }

    /// What keeps a configured path from being canonical.
    func pathProblem(_ path: String) -> String? {
        let bytes = Array(path.utf8)
        for (index, byte) in bytes.enumerated() {
            if byte <= 0x20 || byte >= 0x7f { return "spaces and bytes outside of ASCII are percent-encoded in a path" }
            if byte == UInt8(ascii: "\\") { return "a backslash can not stand in a path" }
            guard byte == UInt8(ascii: "%") else { continue }
            let digits = bytes[(index + 1)...].prefix(2)
            guard digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                return "`%` is followed by two hexadecimal digits"
            }
            if code == 0 || code == UInt8(ascii: "\\") { return "`%00` and `%5C` are refused in paths" }
        }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        if segments.contains(".") || segments.contains("..") { return "a path has no `.` and `..` segments" }
        if mergesSlashes && path.contains("//") { return "a path has no `//`" }
        return nil
    }

    /// `api.example.com`, `*.example.org`, `*`, and a port where one may stand.
    func destination(_ value: Value, takesPort: Bool) -> DestinationPattern? {
        parsed(value) { (text) throws(SyntaxProblem) -> DestinationPattern in
            if text.contains("://") || text.contains("/") {
                throw SyntaxProblem("write the host alone, without scheme and path")
            }
            if text == "*" { return DestinationPattern(host: .any, port: nil) }
            let isWild = text.hasPrefix("*.")
            if !isWild && text.contains("*") || isWild && text.dropFirst(2).contains("*") {
                throw SyntaxProblem("`*` stands only at the front, as `*.example.org`")
            }
            let parsed = try HostSyntax.hostAndPort(isWild ? text.dropFirst(2) : text[...])
            if parsed.port != nil && !takesPort { throw SyntaxProblem("hosts are matched without port") }
            if isWild && parsed.isV6 { throw SyntaxProblem("`*.` stands before a name") }
            let host: HostPattern = isWild ? .subdomains(of: parsed.host) : .exact(parsed.bracketed)
            return DestinationPattern(host: host, port: parsed.port)
        }
    }

    func range(_ value: Value) -> AddressRange? {
        parsed(value) { (text) throws(SyntaxProblem) -> AddressRange in
            do throws(AddressRangeError) {
                return try AddressRange.parse(text)
            } catch {
                switch error {
                case .malformedAddress: throw SyntaxProblem("the address can not be read")
                case .malformedPrefix: throw SyntaxProblem("the number behind `/` counts bits: 0 to 32, or 0 to 128 for IPv6")
                case .hostBitsSet:
                    throw SyntaxProblem(
                        "`\(quoted(text))` has bits set behind its prefix", hint: "a single address has no `/`", isWhole: true)
                }
            }
        }
    }
}
