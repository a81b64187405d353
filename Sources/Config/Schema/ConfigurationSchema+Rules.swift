extension ConfigurationSchema {
    static let rule = ObjectSchema(
        "What is done with the requests that match.", plural: "rules",
        [
            KeySchema("name", .text(.name), default: "rule-N", "Seen in logs, metrics and `explain`; unique."),
            KeySchema("match", .object(.match), "Which requests; every key must hold. Absent: all requests."),
        ] + ruleKeys)

    /// The keys of a rule that may also stand at the top of a file without `rules`.
    static let ruleKeys = [
        KeySchema(
            "request", .object(.requestEdits), "Edits of the request: remove, rename, set, append, default, in this order."),
        KeySchema("credential", .oneOrMore(.text(.name)), "Credentials to inject, after all edits."),
        KeySchema(
            "on_missing", .words("fail", "pass"), default: "fail",
            "When a credential's value can not be had: 503, or go without."),
        KeySchema("proxy", .object(.proxy), "Action: pass the request on to an upstream."),
        KeySchema(
            "block", .either([.words("true"), .object(.block)]), "Action: an empty answer of the type that the URL asks for."),
        KeySchema("serve", .object(.serve), "Action: local files."),
        KeySchema("respond", .object(.respond), "Action: a fixed answer."),
        KeySchema("redirect", .object(.redirect), "Action: send the client elsewhere."),
        KeySchema("response", .object(.responseEdits), "Edits of the response; no secret may stand here."),
        KeySchema(
            "cache_storage", .words("auto", "allowed", "not_allowed"), default: "auto",
            "Whether caches in front may store the response; auto: not if a credential made it."),
        KeySchema("html", .object(.html), "What is inserted into HTML pages."),
        .later("authenticate", "client authentication"),
        .later("allow", "client authorization"),
    ]

    static let html = ObjectSchema(
        "What is inserted into HTML pages.",
        [
            KeySchema("inject", .list(.object(.insertion)), required: true, "Texts and where they go, in their order."),
            KeySchema(
                "csp", .words("nonce", "leave"), default: "nonce",
                "nonce: every Content-Security-Policy gets a fresh nonce; leave: what one forbids is not inserted."),
        ])

    static let insertion = ObjectSchema(
        "A text and where it goes.", plural: "texts to insert",
        [
            KeySchema("at", .words("head_start", "head_end", "body_start", "body_end"), required: true, "Where."),
            KeySchema("css", .text(.file), "A style sheet's file, put into the page; read with the configuration."),
            KeySchema("js", .text(.file), "A script's file, put into the page."),
            KeySchema("css_url", .text(.value), "A style sheet by its URL."),
            KeySchema("js_url", .text(.value), "A script by its URL."),
            KeySchema("html", .text(.value), "Markup."),
        ])

    static let match = ObjectSchema(
        "Which requests; every key must hold, a list holds when one entry does.",
        [
            KeySchema(
                "host", .oneOrMore(.text(.host)), "The host; `*.example.org` is any depth below, not example.org itself."),
            KeySchema("path", .oneOrMore(.text(.glob)), "The canonical path: `*` within a segment, `**` across segments."),
            KeySchema("path_regex", .oneOrMore(.text(.regex)), "The whole canonical path must match."),
            KeySchema("extension", .oneOrMore(.text(.extensionName)), "Of the path's last segment, any case."),
            KeySchema("method", .oneOrMore(.text(.method)), "The method."),
            KeySchema("scheme", .oneOrMore(.words("http", "https")), "What the client used."),
            KeySchema(
                "header", .map(names: .headerName, fieldValue),
                "Headers: a text, true (present), false (absent), glob or regex."),
            KeySchema("query", .map(names: .name, fieldValue), "Query parameters, likewise."),
            KeySchema("cookie", .map(names: .name, fieldValue), "Cookies, likewise."),
            KeySchema("client_ip", .oneOrMore(.text(.range)), "The client's address."),
            KeySchema(
                "url_list", .oneOrMore(.either([.text(.file), .object(.urlList)])), "A file with one URL pattern a line."),
            KeySchema("not", .oneOrMore(.object(.match)), "None of these may hold."),
        ])

    private static let fieldValue = Shape.either([.text(.value), .boolean, .object(.fieldMatch)])

    static let fieldMatch = ObjectSchema(
        "How a value is compared; one of the two.",
        [
            KeySchema("glob", .text(.value), "`*` is any run of bytes."),
            KeySchema("regex", .text(.regex), "The whole value must match."),
        ])

    static let urlList = ObjectSchema(
        "A file with one URL pattern a line.",
        [
            KeySchema("file", .text(.file), required: true, "The file; reloaded when it changes."),
            KeySchema(
                "format", .words("url", "hosts", "adblock"), default: "url",
                "url: scheme://host/path, host/path or /path with globs; hosts: as /etc/hosts; adblock: filters of requests."),
        ])

    private static let verbs = [
        KeySchema("remove", .oneOrMore(.text(.headerPattern)), "Names of headers to remove; may end in `*`."),
        KeySchema("rename", .map(names: .headerName, .text(.headerName)), "Old names to new ones."),
        KeySchema("set", .map(names: .headerName, .text(.headerValue)), "Replaces every copy, in any spelling."),
        KeySchema("append", .map(names: .headerName, .text(.headerValue)), "Adds one more."),
        KeySchema("default", .map(names: .headerName, .text(.headerValue)), "Sets what is absent."),
    ]

    static let requestEdits = ObjectSchema(
        "Edits of the request.",
        verbs + [
            KeySchema("query", .object(.queryEdits), "Edits of the query."),
            KeySchema("cookies", .object(.cookieEdits), "Edits of the Cookie header."),
        ])

    static let responseEdits = ObjectSchema("Edits of the response; no secret may stand here.", verbs)

    static let queryEdits = ObjectSchema(
        "Edits of the query.",
        [
            KeySchema("remove", .oneOrMore(.text(.value)), "Names of parameters to remove."),
            KeySchema("set", .map(names: .name, .text(.value)), "Parameters to set."),
        ])

    static let cookieEdits = ObjectSchema(
        "Edits of the Cookie header.",
        [
            KeySchema("keep", .oneOrMore(.text(.token)), "The only cookies that pass."),
            KeySchema("remove", .oneOrMore(.text(.token)), "Cookies that do not pass."),
            KeySchema("set", .map(names: .token, .text(.value)), "Cookies to set."),
        ])

    static let proxy = ObjectSchema(
        "Pass the request on to an upstream.",
        [
            KeySchema("upstream", .text(.name), default: "default", "One of `upstreams`; the only one need not be named."),
            KeySchema("strip_prefix", .text(.pathPrefix), "Taken from the path's front."),
            KeySchema("add_prefix", .text(.pathPrefix), "Put before the path."),
            KeySchema("path", .text(.path), "The path to ask for, with variables."),
            KeySchema(
                "preserve_host", .either([.boolean, .words("auto")]), default: "auto",
                "true: the client's Host; false: the upstream's; auto: the upstream's when its URL is https with a name."),
            KeySchema("upgrades", .oneOrMore(.text(.token)), default: "[websocket]", "Protocols that may become a tunnel."),
            KeySchema("timeouts", .object(.proxyTimeouts), "Override the upstream's."),
            KeySchema(
                "redirects", .either([.words("pass", "rewrite", "follow"), .object(.redirects)]), default: "rewrite",
                "What becomes of the upstream's redirects; follow: within its origin."),
            KeySchema("retries", .integer(0...10), default: "1", "How often a request that is safe to repeat is sent again."),
        ])

    static let proxyTimeouts = ObjectSchema(
        "Override the upstream's timeouts.",
        [
            KeySchema("connect", .anyDuration, "Until a connection is established."),
            KeySchema("response", .anyDuration, "From the last byte of the request to the response's head."),
            KeySchema("response_idle", .anyDuration, "Between bytes of the response."),
        ])

    static let redirects = ObjectSchema(
        "Redirects are followed here, and the client sees the last answer.",
        [
            KeySchema("follow", .words("same_origin", "listed", "any"), default: "same_origin", required: true, "Where to."),
            KeySchema("hosts", .oneOrMore(.text(.destination)), "The hosts that `follow: listed` means."),
            KeySchema("max", .integer(1...50), default: "10", "Hops of one request."),
            KeySchema(
                "body_buffer", .size(0...64 << 20), default: "1MiB", "The largest content that is kept to be sent again."),
        ])

    static let block = ObjectSchema(
        "An empty answer of the type that the URL asks for.",
        [
            KeySchema("status", .integer(200...599), "Default: 200, or 204 where no type fits."),
            KeySchema("cache_control", .text(.headerValue), default: "no-store", "Its Cache-Control."),
        ])

    static let serve = ObjectSchema(
        "Local files in the place of an upstream; one of `file` and `dir`.",
        [
            KeySchema("file", .text(.file), "One file, whatever the path."),
            KeySchema("dir", .text(.file), "A folder: the whole canonical path below it."),
            KeySchema("strip_prefix", .text(.pathPrefix), "Taken from the path's front."),
            KeySchema("flat", .boolean, default: "false", "Only the path's last segment counts."),
            KeySchema("ignore_case", .boolean, default: "false", "Letters of either case lead to a file."),
            KeySchema("index", .oneOrMore(.text(.fileName)), default: "index.html", "The files of a folder that stand for it."),
            KeySchema("spa_fallback", .boolean, default: "false", "The root's index answers for pages that are no file."),
            KeySchema("fallthrough", .boolean, default: "false", "What is no file goes on to the next rule; false: 404."),
            KeySchema("hidden", .boolean, default: "false", "Names that begin with a dot are given out too."),
            KeySchema("cache_control", .text(.headerValue), "Cache-Control of the files."),
            KeySchema("compress", .boolean, default: "true", "Texts encoded: .br, .zst, .gz beside the file, else br or gzip."),
            KeySchema(
                "cors", .words("auto", "all", "none"), default: "auto",
                "Which files pages of other origins may read; auto: fonts, scripts and style sheets."),
            KeySchema("charset", .text(.token), default: "utf-8", "The charset of texts; none: not told."),
        ])

    static let respond = ObjectSchema(
        "A fixed answer.",
        [
            KeySchema("status", .integer(200...599), default: "200", "The status."),
            KeySchema("headers", .map(names: .headerName, .text(.headerValue)), "Its headers."),
            KeySchema("body", .text(.value), "Its content, as a text."),
            KeySchema("file", .text(.file), "Its content, from a file that is read with the configuration."),
        ])

    static let redirect = ObjectSchema(
        "Send the client elsewhere.",
        [
            KeySchema("to", .text(.value), required: true, "The Location, with variables."),
            KeySchema("status", .integer(300...308), default: "308", "301, 302, 303, 307 or 308."),
        ])
}
