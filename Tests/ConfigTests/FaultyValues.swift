/// Values of the wrong form, and references that can not be replaced.
let faultyValues: [Example] = [
    Example(
        #"""
        upstream: demo
        timeouts: {header: 10, body_idle: 10sec, keepalive: 1d, tunnel_idle: 1.5s, shutdown: 0s, write_idle: 999h}
        """#,
        [
            #"2:20: error: timeouts.header: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found the bare number `10` (write `10s` if you mean seconds)"#,
            #"2:35: error: timeouts.body_idle: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found `10sec` (did you mean `10s`?)"#,
            #"2:53: error: timeouts.keepalive: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found `1d` (did you mean `24h`?)"#,
            #"2:70: error: timeouts.tunnel_idle: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found `1.5s`"#,
            #"2:86: error: timeouts.shutdown: a duration from `1ms` to `168h` is expected, found `0s`"#,
            #"2:102: error: timeouts.write_idle: a duration from `1ms` to `168h` is expected, found `999h`"#,
        ]),
    Example(
        #"""
        upstream: demo
        limits: {header_bytes: 64k, uri_bytes: 8192, body: 1 GB}
        """#,
        [
            #"2:24: error: limits.header_bytes: expected a size such as `512B`, `16KiB`, `1MiB` or `2GiB`, found `64k` (write `64KiB`)"#,
            #"2:40: error: limits.uri_bytes: expected a size such as `512B`, `16KiB`, `1MiB` or `2GiB`, found the bare number `8192` (write `8192B` for bytes, or `KiB`, `MiB` or `GiB`)"#,
            #"2:52: error: limits.body: expected `none` or a size such as `512B`, `16KiB`, `1MiB` or `2GiB`, found `1 GB` (write `1GiB`)"#,
        ]),
    Example(
        #"""
        upstream: demo
        limits: {header_bytes: 10B, header_count: "50", connections: many, body: 99999999999999GiB}
        """#,
        [
            #"2:24: error: limits.header_bytes: a size from `1KiB` to `1MiB` is expected, found `10B`"#,
            #"2:43: error: limits.header_count: expected a whole number from 8 to 1000, found the text `50` (write it without quotes)"#,
            #"2:62: error: limits.connections: expected a whole number from 1 to 1000000, found `many`"#,
            #"2:74: error: limits.body: expected `none` or a size such as `512B`, `16KiB`, `1MiB` or `2GiB`, found `99999999999999GiB`"#,
        ]),
    Example(
        #"""
        upstream: demo
        workers: 0
        instance: a b
        """#,
        [
            #"2:10: error: workers: expected `auto` or a whole number from 1 to 1024, found `0`"#,
            #"3:11: error: instance: expected `auto` or a token, found `a b` (at most 64 letters, digits, `-`, `_` and `.`)"#,
        ]),
    Example(
        #"""
        upstream: demo
        workers: "${env:STAGE}"
        timeouts: {header: "${env:STAGE}"}
        """#,
        [
            #"2:10: error: workers: expected `auto` or a whole number from 1 to 1024, found `${env:STAGE}`"#,
            #"3:20: error: timeouts.header: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found `${env:STAGE}`"#,
        ]),
    Example(
        #"""
        upstream: demo
        canonical: {merge_slashes: yes, encoded_slash: resolve, dot_segments: true, header_names: stric, keep: ["a b"]}
        """#,
        [
            #"2:28: error: canonical.merge_slashes: expected `true` or `false`, found `yes` (write `true`)"#,
            #"2:48: error: canonical.encoded_slash: expected `keep` or `reject`, found `resolve`"#,
            #"2:71: error: canonical.dot_segments: expected `resolve` or `reject`, found `true`"#,
            #"2:91: error: canonical.header_names: expected `strict` or `any`, found `stric` (did you mean `strict`?)"#,
            #"2:105: error: canonical.keep[0]: expected a header name, found `a b` (a name has no spaces)"#,
        ]),
    Example(
        #"""
        upstream: demo
        log: {level: verbose, format: yaml, access: "true", file: [a]}
        """#,
        [
            #"2:14: error: log.level: expected `error`, `warn`, `info` or `debug`, found `verbose` (did you mean `debug`?)"#,
            #"2:31: error: log.format: expected `auto`, `text` or `json`, found `yaml`"#,
            #"2:45: error: log.access: expected `true` or `false`, found the text `true` (write `true` without quotes)"#,
            #"2:59: error: log.file: expected `stderr` or `stdout` or a file's path, found a list"#,
        ]),
    Example(
        #"""
        upstream: demo
        admin: {listen: unix:/run/a, token: "", socket: {}}
        """#,
        [
            #"2:17: error: admin.listen: expected a TCP address such as `127.0.0.1:9901`, found `unix:/run/a` (the unix socket is `socket`)"#,
            #"2:37: error: admin.token: the secret is empty"#,
            #"2:49: error: admin.socket: expected a file's path, found a mapping"#,
        ]),
    Example(
        #"""
        listen: 8080
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `8080` (write `:8080` for all addresses, or `127.0.0.1:8080`)"#
        ]),
    Example(
        #"""
        listen: localhost
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `localhost` (the port is missing; write `localhost:8080`)"#
        ]),
    Example(
        #"""
        listen: example.com:80
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `example.com:80` (listen on an address, not on a name)"#
        ]),
    Example(
        #"""
        listen: ::1:80
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `::1:80` (an IPv6 address stands in brackets; write `[::1:80]`)"#
        ]),
    Example(
        #"""
        listen: "[::g]:80"
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `[::g]:80` (`::g` is not an IPv6 address)"#
        ]),
    Example(
        #"""
        listen: 127.0.0.1:65536
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `127.0.0.1:65536` (`65536` is not a port; ports are 0 to 65535)"#
        ]),
    Example(
        #"""
        listen: 256.0.0.1:80
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `256.0.0.1:80` (`256.0.0.1` is not an IPv4 address; write it as `127.0.0.1`)"#
        ]),
    Example(
        #"""
        listen: fd:1
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `fd:1` (inherited descriptors are `fd:3` and up)"#
        ]),
    Example(
        #"""
        listen: http://127.0.0.1:80
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `http://127.0.0.1:80` (write an address without scheme)"#
        ]),
    Example(
        #"""
        listen: "unix:"
        upstream: demo
        """#,
        [
            #"1:9: error: listen: expected an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`, found `unix:` (the socket's path is missing)"#
        ]),
    Example(
        #"""
        listeners: ["127.0.0.1:80", "127.0.0.2:80", "[::1]:80", "0.0.0.0:80", "[::]:81", "0.0.0.0:81", ":0", ":0"]
        upstream: demo
        admin: {listen: ":80"}
        """#,
        [
            #"1:57: error: listeners[3]: `0.0.0.0:80` is listened on already (by `127.0.0.1:80`)"#,
            #"1:82: error: listeners[5]: `0.0.0.0:81` is listened on already (by `[::]:81`)"#,
            #"3:17: error: admin.listen: `:80` is listened on already (the administration needs a port of its own)"#,
        ]),
    Example(
        #"""
        listeners: [{address: "unix:/a"}, {address: "unix:/a", mode: "0660"}]
        upstream: demo
        """#,
        [#"1:35: error: listeners[1]: `unix:/a` is listened on already"#]),
    Example(
        #"""
        listeners: ["fd:3", "fd:03", "unix:/run/a"]
        upstream: demo
        admin: {socket: /run/a}
        """#,
        [
            #"1:21: error: listeners[1]: `fd:03` is listened on already (by `fd:3`)"#,
            #"3:17: error: admin.socket: `/run/a` is listened on already"#,
        ]),
    Example(
        #"""
        listen: 127.0.0.1:8080
        upstream: demo
        admin: {listen: "127.0.0.1:8080"}
        """#,
        [
            #"3:17: error: admin.listen: `127.0.0.1:8080` is listened on already (the administration needs a port of its own)"#
        ]),
    Example(
        #"""
        listeners: [":80", ":80", {address: ":81", mode: "0660"}, {address: "unix:/a", mode: 999}, {mode: "0600"}]
        upstream: demo
        """#,
        [
            #"1:20: error: listeners[1]: `:80` is listened on already"#,
            #"1:50: error: listeners[2].mode: `mode` is for unix sockets"#,
            #"1:86: error: listeners[3].mode: expected a mode in octal such as `0660`, found `999`"#,
            #"1:92: error: listeners[4]: `address` is missing (it is an address such as `127.0.0.1:8080`, `[::1]:8080`, `:8080`, `unix:/path` or `fd:3`)"#,
        ]),
    Example(
        #"""
        trusted_proxies: [10.0.0.1/8, 10.0.0.0/33, ten, "::1/129"]
        upstream: demo
        """#,
        [
            #"1:19: error: trusted_proxies[0]: `10.0.0.1/8` has bits set behind its prefix (a single address has no `/`)"#,
            #"1:31: error: trusted_proxies[1]: expected an IP address or a range such as `10.0.0.0/8`, found `10.0.0.0/33` (the number behind `/` counts bits: 0 to 32, or 0 to 128 for IPv6)"#,
            #"1:44: error: trusted_proxies[2]: expected an IP address or a range such as `10.0.0.0/8`, found `ten` (the address can not be read)"#,
            #"1:49: error: trusted_proxies[3]: expected an IP address or a range such as `10.0.0.0/8`, found `::1/129` (the number behind `/` counts bits: 0 to 32, or 0 to 128 for IPv6)"#,
        ]),
    Example(
        #"""
        upstream: 127.0.0.1:3000
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `127.0.0.1:3000` (did you mean `http://127.0.0.1:3000`?)"#
        ]),
    Example(
        #"""
        upstream: ftp://a
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `ftp://a` (the scheme must be `http` or `https`)"#
        ]),
    Example(
        #"""
        upstream: http://user:pw@a/
        """#,
        [
            #"1:11: error: upstream: user and password can not stand in a URL (use `credentials` with `basic`)"#
        ]),
    Example(
        #"""
        upstream: http://a/b?c=d
        """#,
        [
            #"1:11: error: upstream: an upstream's URL has no query and no fragment"#
        ]),
    Example(
        #"""
        upstream: http://a:0
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://a:0` (nothing can be reached at port 0)"#
        ]),
    Example(
        #"""
        upstream: http://
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://` (the host is missing)"#
        ]),
    Example(
        #"""
        upstream: http://a_b..c
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://a_b..c` (`a_b..c` is not a host name)"#
        ]),
    Example(
        #"""
        upstream: http://127.1
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://127.1` (`127.1` is not an IPv4 address; write it as `127.0.0.1`)"#
        ]),
    Example(
        #"""
        upstream: http://a.b.
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://a.b.` (the host `a.b.` ends in a dot; write it without)"#
        ]),
    Example(
        #"""
        upstream: http://bücher.example
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://bücher.example` (the host `bücher.example` is not ASCII; write its `xn--` form)"#
        ]),
    Example(
        #"""
        upstream: http://a/x/../y
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://a/x/../y` (a path has no `.` and `..` segments)"#
        ]),
    Example(
        #"""
        upstream: /run/app.sock
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `/run/app.sock` (write `unix:/run/app.sock` for a unix socket)"#
        ]),
    Example(
        #"""
        upstream: http://::1
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `http://::1` (an IPv6 address stands in brackets; write `[::1]`)"#
        ]),
    Example(
        #"""
        upstreams: {default: {servers: []}}
        """#,
        [
            #"1:32: error: upstreams.default.servers: `servers` is empty"#
        ]),
    Example(
        #"""
        upstreams: {default: {url: http://a, servers: [http://b]}}
        """#,
        [
            #"1:38: error: upstreams.default.servers: `url` is given too (keep one of the two)"#
        ]),
    Example(
        #"""
        upstreams: {default: {pool: {max_idle: 1}}}
        """#,
        [
            #"1:22: error: upstreams.default: `url` or `servers` is missing (such as `url: http://127.0.0.1:3000`)"#
        ]),
    Example(
        #"""
        upstreams: {default: {servers: [http://a/x, http://b], balance: hash}}
        """#,
        [
            #"1:32: error: upstreams.default.servers: the servers of an upstream have the same path in their URLs"#,
            #"1:65: error: upstreams.default.balance: `hash` is not in this version (balancing by hash comes later)"#,
        ]),
    Example(
        #"""
        upstreams: {default: {servers: [demo]}}
        """#,
        [
            #"1:33: error: upstreams.default.servers[0]: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found `demo` (`demo` stands alone, as `upstream: demo`)"#
        ]),
    Example(
        #"""
        upstream: ${env:STAGE}
        """#,
        [
            #"1:11: error: upstream: expected a URL such as `http://127.0.0.1:3000`, `https://app.internal`, `unix:/path` or `demo`, found what `${env:STAGE}` stands for"#
        ]),
    Example(
        #"""
        upstream: ${env:MISSING}
        """#,
        [
            #"1:11: error: upstream: the environment variable `MISSING` is not set (set it, or give a default: `${env:MISSING:-default}`)"#
        ]),
    Example(
        #"""
        upstream: ${env:1X}
        """#,
        [
            #"1:11: error: upstream: `${env:1X}` names no environment variable (write `${env:NAME}` or `${env:NAME:-default}`)"#
        ]),
    Example(
        #"""
        upstream: ${STAGE}
        """#,
        [
            #"1:11: error: upstream: unknown reference `${STAGE}` (write `${env:STAGE}`, or `$${` for the text `${`)"#
        ]),
    Example(
        #"""
        upstream: ${env:STAGE
        """#,
        [
            #"1:11: error: upstream: `${` is not closed (write `${env:NAME}`, or `$${` for the text `${`)"#
        ]),
    Example(
        #"""
        upstream: ${file:missing.txt}
        """#,
        [
            #"1:11: error: upstream: the file `missing.txt` can not be read: No such file or directory (relative paths begin in the configuration's folder)"#
        ]),
    Example(
        #"""
        upstream: demo
        request:
          set:
            A: "${env:LINES}"
            B: "two\nlines"
            C: "{frobnicate}"
            D: "{request.path"
            E: "nul\0"
            F: [a]
            G:
        """#,
        [
            #"4:9: error: request.set.A: what `${env:LINES}` stands for holds a line break (a value is one line of text)"#,
            #"5:8: error: request.set.B: the value holds a line break (a value is one line of text)"#,
            #"6:9: error: request.set.C: unknown variable {frobnicate}; write {{ for a literal brace"#,
            #"7:8: error: request.set.D: a { without its }; write {{ for a literal brace"#,
            #"8:8: error: request.set.E: the value holds a NUL (a value is one line of text)"#,
            #"9:8: error: request.set.F: expected a header value, found a list"#,
            #"10:7: error: request.set.G: expected a header value, found nothing (write `""` for an empty text)"#,
        ]),
    Example(
        #"""
        upstream: demo
        request:
          set:
            Authorization: Bearer ${env:MISSING}
            Cookie: ${env:EMPTY}
            X-A: ${env:MISSING:-}
        """#,
        [
            #"4:27: error: request.set.Authorization: the environment variable `MISSING` is not set (set it, or give a default: `${env:MISSING:-default}`)"#,
            #"5:13: error: request.set.Cookie: what `${env:EMPTY}` stands for is empty"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {set: {X-A: "${env:API_TOKEN}"}}
        response: {set: {X-B: "${env:API_TOKEN}", X-C: "${file:key}"}}
        """#,
        [
            #"3:24: error: response.set.X-B: `API_TOKEN` is used as a secret elsewhere in this file; it may not stand where clients see it (use another variable)"#,
            #"3:49: error: response.set.X-C: `${file:key}` may be a secret; it may not stand where clients see it"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {query: {set: {a: "${env:API_TOKEN}"}}}
        rules:
          - respond: {body: "x ${env:API_TOKEN}", headers: {A: "${env:API_TOKEN}"}}
        """#,
        [
            #"2:1: error: `request` can not stand at the top of a file with `rules` (move it into a rule; a rule without an action edits and hands on to the next)"#
        ]),
    Example(
        #"""
        upstream: demo
        credentials: {a: {bearer: "${env:API_TOKEN}"}}
        rules:
          - redirect: {to: "https://a/?${env:API_TOKEN}"}
        """#,
        [
            #"4:32: error: rules[0].redirect.to: `API_TOKEN` is used as a secret elsewhere in this file; it may not stand where clients see it (use another variable)"#
        ]),
]
