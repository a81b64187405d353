/// Every key that a configuration may have: the one table that decoding, messages, suggestions and editors go by.
public enum ConfigurationSchema {
    static func object(_ name: ObjectName) -> ObjectSchema {
        switch name {
        case .configuration: configuration
        case .listener: listener
        case .listenerTLS: listenerTLS
        case .certificate: certificate
        case .upstreamTLS: upstreamTLS
        case .upstream: upstream
        case .upstreamTimeouts: upstreamTimeouts
        case .pool: pool
        case .credential: credential
        case .basicCredential: basicCredential
        case .headerCredential: headerCredential
        case .rule: rule
        case .match: match
        case .fieldMatch: fieldMatch
        case .urlList: urlList
        case .requestEdits: requestEdits
        case .responseEdits: responseEdits
        case .queryEdits: queryEdits
        case .cookieEdits: cookieEdits
        case .proxy: proxy
        case .proxyTimeouts: proxyTimeouts
        case .redirects: redirects
        case .block: block
        case .serve: serve
        case .respond: respond
        case .redirect: redirect
        case .html: html
        case .insertion: insertion
        case .limits: limits
        case .timeouts: timeouts
        case .canonical: canonical
        case .admin: admin
        case .log: log
        }
    }

    static let configuration = ObjectSchema(
        "The configuration of authproxy.",
        [
            KeySchema("listen", .text(.address), default: "127.0.0.1:8080", "Where clients connect; short for one listener."),
            KeySchema("listeners", .list(.either([.text(.address), .object(.listener)])), "Where clients connect."),
            KeySchema(
                "trusted_proxies", .oneOrMore(.text(.range)), default: "[]",
                "The peers whose Forwarded and X-Forwarded-* fields are believed."),
            KeySchema(
                "upstream", .either([.text(.url), .object(.upstream)]),
                "Where requests go; short for `upstreams: {default: ...}`. `demo` is the built-in origin that shows the request."
            ),
            KeySchema(
                "upstreams", .map(names: .name, .either([.text(.url), .object(.upstream)])), "Where requests go, by name."),
            KeySchema("credentials", .map(names: .name, .object(.credential)), "What rules inject, by name."),
            .later("authenticators", "client authentication", harmless: ["{}"]),
            KeySchema(
                "rules", .list(.object(.rule)), "What is done with which request; the first match with an action decides."),
        ] + ruleKeys + [
            KeySchema("limits", .object(.limits), "Bounds on what clients may send."),
            KeySchema("timeouts", .object(.timeouts), "How long the client's side may take."),
            KeySchema("canonical", .object(.canonical), "How a request is brought into its one reading."),
            KeySchema(
                "workers", .either([.words("auto"), .integer(1...1024)]), default: "auto",
                "Event-loop threads; auto: one per core."),
            KeySchema(
                "instance", .either([.words("auto"), .text(.token)]), default: "auto",
                "The pseudonym in Via and CDN-Loop; auto: random per process."),
            KeySchema("admin", .object(.admin), "Health, metrics, reload and status."),
            KeySchema("log", .object(.log), "What is logged, and where."),
        ])

    static let listener = ObjectSchema(
        "An address where clients connect.", plural: "addresses or listeners",
        [
            KeySchema("address", .text(.address), required: true, "`host:port`, `[v6]:port`, `:port`, `unix:/path` or `fd:3`."),
            KeySchema("mode", .text(.mode), "Permissions of a unix socket, in octal."),
            KeySchema("tls", .object(.listenerTLS), "TLS to clients; absent: plaintext."),
            KeySchema(
                "protocols", .oneOrMore(.words("h2", "http/1.1")), default: "[h2, http/1.1]",
                "What is spoken, in the order of preference."),
            KeySchema(
                "h2c", .boolean, default: "false", "Whether clients may speak HTTP/2 without TLS, by prior knowledge."),
            KeySchema(
                "proxy_protocol", .boolean, default: "false",
                "Whether each connection begins with the PROXY protocol (version 1 or 2); only `trusted_proxies` may connect then."),
        ])

    static let listenerTLS = ObjectSchema(
        "TLS to clients.",
        [
            KeySchema(
                "certificates", .list(.object(.certificate)), required: true,
                "Chosen by the name that the client asks for; the first is the default. Reloaded when the files change."),
            KeySchema("client_ca", .text(.file), "PEM: the authorities that sign clients' certificates."),
            KeySchema("client_crl", .text(.file), "PEM: the revocation lists of these authorities, one for each."),
            KeySchema(
                "client_auth", .words("none", "request", "require"), default: "require with `client_ca`, else none",
                "Whether clients show a certificate. One that is shown must be valid in any case."),
            KeySchema("min_version", .words("1.2", "1.3"), default: "1.2", "The oldest version of TLS that is spoken."),
        ])

    static let certificate = ObjectSchema(
        "A certificate and its key.", plural: "certificates",
        [
            KeySchema("cert", .text(.file), required: true, "PEM: the certificate, its intermediates behind it."),
            KeySchema("key", .text(.file), required: true, "PEM: its private key, without a password."),
        ])

    static let upstreamTLS = ObjectSchema(
        "TLS to the servers of an upstream.",
        [
            KeySchema("ca", .text(.file), default: "the system's", "PEM: the authorities that sign the servers' certificates."),
            KeySchema("cert", .text(.file), "PEM: the certificate that is shown to the servers."),
            KeySchema("key", .text(.file), "PEM: its private key, without a password."),
            KeySchema("server_name", .text(.host), default: "the URL's host", "The name that the servers' certificates must have."),
            KeySchema("insecure_skip_verify", .boolean, default: "false", "Whether any certificate will do: for tests only."),
        ])

    static let upstream = ObjectSchema(
        "One or more servers that requests are sent to.", plural: "URLs or upstreams",
        [
            KeySchema("url", .text(.url), "The only server."),
            KeySchema("servers", .list(.text(.url)), "The servers, among which `balance` chooses."),
            KeySchema(
                "balance",
                .word([
                    Word(name: "round_robin"), Word(name: "least_requests"), Word(name: "random"),
                    Word(name: "hash", later: "balancing by hash"),
                ]), default: "round_robin", "How a server is chosen."),
            KeySchema(
                "protocol",
                .word([
                    Word(name: "auto"), Word(name: "http/1.1"), Word(name: "h2"), Word(name: "h2c"),
                ]), default: "auto", "What is spoken to the servers."),
            KeySchema("timeouts", .object(.upstreamTimeouts), "How long the servers may take."),
            KeySchema("pool", .object(.pool), "Bounds on the connections to the servers, per worker."),
            KeySchema("tls", .object(.upstreamTLS), "TLS to servers with an `https` URL."),
            KeySchema(
                "proxy_protocol", .words("none", "v1", "v2"), default: "none",
                "Whether each connection tells the server of the client by the PROXY protocol."),
            .later("health", "health checking"),
        ])

    static let upstreamTimeouts = ObjectSchema(
        "How long the servers of an upstream may take.",
        [
            KeySchema("connect", .anyDuration, default: "5s", "Until a connection is established."),
            KeySchema("response", .anyDuration, default: "60s", "From the last byte of the request to the response's head."),
            KeySchema("response_idle", .anyDuration, default: "5m", "Between bytes of the response."),
            KeySchema("idle", .anyDuration, default: "90s", "How long an idle connection is kept for the next request."),
        ])

    static let pool = ObjectSchema(
        "Bounds on the connections to the servers, per worker.",
        [
            KeySchema("max_connections", .integer(1...65_535), default: "256", "Connections to one server, used and idle."),
            KeySchema("max_idle", .integer(0...65_535), default: "64", "Idle connections that are kept."),
        ])

    static let credential = ObjectSchema(
        "A credential of exactly one kind, and where it may be sent.", plural: "credentials",
        [
            KeySchema("bearer", .text(.secret), "`Authorization: Bearer` with this token."),
            KeySchema("basic", .object(.basicCredential), "`Authorization: Basic` with this user and password."),
            KeySchema("header", .object(.headerCredential), "A header of your choice."),
            KeySchema(
                "hosts", .oneOrMore(.text(.destination)),
                "Where it may be sent; default: the servers of the upstreams of the rules that use it. No port: any port."),
            .later("file", "reading credentials from structured files"),
            .later("exec", "reading credentials from programs"),
            .later("oauth2", "OAuth 2.0"),
            .later("aws_sigv4", "signing for AWS"),
            .later("jwt", "making JSON Web Tokens"),
            .later("hmac", "signing with HMAC"),
            .later("http_signature", "signing by HTTP message signatures"),
            .later("digest", "HTTP Digest"),
        ])

    static let basicCredential = ObjectSchema(
        "User and password for HTTP Basic.",
        [
            KeySchema("user", .text(.secret), required: true, "The user; no colon."),
            KeySchema("password", .text(.secret), required: true, "The password."),
        ])

    static let headerCredential = ObjectSchema(
        "A header that holds the credential.",
        [
            KeySchema("name", .text(.headerName), required: true, "The header's name."),
            KeySchema("value", .text(.secret), required: true, "The header's value."),
        ])

    static let limits = ObjectSchema(
        "Bounds on what clients may send.",
        [
            KeySchema("header_bytes", .size(1024...1 << 20), default: "16KiB", "A request's head."),
            KeySchema("header_count", .integer(8...1000), default: "100", "Fields of a request."),
            KeySchema("uri_bytes", .size(64...1 << 20), default: "8KiB", "The request target."),
            KeySchema("body", .either([.words("none"), .size(0...1 << 50)]), default: "none", "A request's content."),
            KeySchema("connections", .integer(1...1_000_000), default: "65536", "Connections of clients at a time."),
            KeySchema("h2_streams", .integer(1...10_000), default: "128", "Streams at a time on a connection of HTTP/2."),
        ])

    static let timeouts = ObjectSchema(
        "How long the client's side may take.",
        [
            KeySchema("header", .anyDuration, default: "10s", "For the whole head of a request."),
            KeySchema("body_idle", .anyDuration, default: "30s", "Between bytes of a request's content."),
            KeySchema("write_idle", .anyDuration, default: "30s", "Until a client takes more of a response."),
            KeySchema("keepalive", .anyDuration, default: "75s", "Between requests of a connection."),
            KeySchema("tunnel_idle", .anyDuration, default: "1h", "Between bytes of a tunnel, such as a WebSocket."),
            KeySchema("shutdown", .anyDuration, default: "30s", "For the running requests when the proxy stops."),
        ])

    static let canonical = ObjectSchema(
        "How a request is brought into its one reading.",
        [
            KeySchema("encoded_slash", .words("keep", "reject"), default: "keep", "What becomes of `%2F` in a path."),
            KeySchema("merge_slashes", .boolean, default: "true", "Whether `//` in a path becomes `/`."),
            KeySchema(
                "dot_segments", .words("resolve", "reject"), default: "resolve", "What becomes of `.` and `..` in a path."),
            KeySchema(
                "header_names", .words("strict", "any"), default: "strict",
                "strict: a client's header name with anything but letters, digits and `-` is dropped."),
            KeySchema("keep", .oneOrMore(.text(.headerName)), default: "[]", "Header names that strict lets through."),
        ])

    static let admin = ObjectSchema(
        "Health, metrics, reload and status.",
        [
            KeySchema("listen", .text(.address), "Where health and metrics are served; off when absent."),
            KeySchema("token", .text(.secret), "What reload and status over TCP ask for."),
            KeySchema(
                "socket", .text(.file),
                "The unix socket for reload and status; default: in $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR."),
        ])

    static let log = ObjectSchema(
        "What is logged, and where.",
        [
            KeySchema("level", .words("error", "warn", "info", "debug"), default: "info", "The least severe that is logged."),
            KeySchema("format", .words("auto", "text", "json"), default: "auto", "auto: text on a terminal, else JSON lines."),
            KeySchema("access", .boolean, default: "true", "Whether each request is logged."),
            KeySchema("file", .either([.words("stderr", "stdout"), .text(.file)]), default: "stderr", "Where the log goes."),
        ])
}
