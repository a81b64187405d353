/// Rules, edits, matches, actions and credentials that can not be.
let faultyRules: [Example] = [
    Example(
        #"""
        upstream: demo
        request:
          set: {"Bad Name": a, Connection: b, Content-Length: "3", Via: c, "X:": d}
          remove: ["*", "X-*-Y", Host, TE]
          rename: {Host: A, B: Upgrade}
          append: {Host: a, Expect: b}
          default: {Transfer-Encoding: chunked}
        """#,
        [
            #"3:9: error: request.set."Bad Name": expected a header name, found `Bad Name` (a name has no spaces)"#,
            #"3:24: error: request.set.Connection: `Connection` can not stand here: it belongs to one connection (RFC 9110 section 7.6.1), and the proxy writes it itself"#,
            #"3:39: error: request.set.Content-Length: `Content-Length` can not stand here: the proxy writes it itself, from what it sends"#,
            #"3:60: error: request.set.Via: `Via` can not stand here: the proxy writes it itself, to find loops"#,
            #"3:68: error: request.set."X:": expected a header name, found `X:` (write it without the colon)"#,
            #"4:12: error: request.remove[0]: expected a header name, which may end in `*`, found `*` (name what is to be removed)"#,
            #"4:17: error: request.remove[1]: expected a header name, which may end in `*`, found `X-*-Y` (`*` may stand in `remove` only, at the end)"#,
            #"4:26: error: request.remove[2]: `Host` can not stand here: a request has exactly one; `request.set` may set it"#,
            #"4:32: error: request.remove[3]: `TE` can not stand here: it belongs to one connection (RFC 9110 section 7.6.1), and the proxy writes it itself"#,
            #"5:12: error: request.rename.Host: `Host` can not stand here: a request has exactly one; `request.set` may set it"#,
            #"5:24: error: request.rename.B: `Upgrade` can not stand here: it belongs to one connection; which protocols may be upgraded to is `proxy.upgrades`"#,
            #"6:12: error: request.append.Host: `Host` can not stand here: a request has exactly one; `request.set` may set it"#,
            #"6:21: error: request.append.Expect: `Expect` can not stand here: the proxy writes it itself"#,
            #"7:13: error: request.default.Transfer-Encoding: `Transfer-Encoding` can not stand here: it belongs to one connection (RFC 9110 section 7.6.1), and the proxy writes it itself"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {set: {X-A: a, x_a: b, X.A: c}}
        """#,
        [
            #"2:25: error: request.set.x_a: `x_a` and `X-A` are one name (keep one of the two)"#,
            #"2:33: error: request.set."X.A": `X.A` and `X-A` are one name (keep one of the two)"#,
        ]),
    Example(
        #"""
        upstream: demo
        response: {set: {Authproxy-Error: a, Content-Length: "1"}}
        """#,
        [
            #"2:18: error: response.set.Authproxy-Error: `Authproxy-Error` can not stand here: it tells the proxy's own errors from the upstream's answers"#,
            #"2:38: error: response.set.Content-Length: `Content-Length` can not stand here: the proxy writes it itself, from what it sends"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {cookies: {keep: [a], remove: [b], set: {"c d": e, f: "g;h"}}, query: {set: {"": x}}}
        """#,
        [
            #"2:32: error: request.cookies.remove: `keep` is given too (keep one of the two)"#,
            #"2:51: error: request.cookies.set."c d": expected a token, found `c d` (a name has no spaces)"#,
            #"2:64: error: request.cookies.set.f: a cookie's value has no `;`, `,` and `"` (encode it)"#,
            #"2:87: error: request.query.set."": expected a parameter's name, found nothing"#,
        ]),
    Example(
        #"""
        rules: {name: a}
        upstream: demo
        """#,
        [
            #"1:8: error: rules: expected a list of rules, found a mapping"#
        ]),
    Example(
        #"""
        rules: [a, {name: "", proxy: {}}]
        upstream: demo
        """#,
        [
            #"1:9: error: rules[0]: expected a mapping with `name`, `match`, `request` or `credential`, found `a`"#,
            #"1:19: error: rules[1].name: a name has 1 to 100 bytes, and no control characters"#,
        ]),
    Example(
        #"""
        rules:
          - {name: a, match: {path: /a}}
          - {name: a, match: {path: /b}}
        upstream: demo
        """#,
        [
            #"3:12: error: rules[1].name: the name `a` is taken by the rule on line 2 (names are unique)"#
        ]),
    Example(
        #"""
        rules:
          - {proxy: {}, block: true}
        upstream: demo
        """#,
        [
            #"2:17: error: rules[0].block: a rule has one action, and `proxy` is given on line 2 (write a rule for each)"#
        ]),
    Example(
        #"""
        rules: [{block: true}]
        request: {set: {A: b}}
        credential: x
        upstream: demo
        """#,
        [
            #"2:1: error: `request` can not stand at the top of a file with `rules` (move it into a rule; a rule without an action edits and hands on to the next)"#,
            #"3:1: error: `credential` can not stand at the top of a file with `rules` (move it into a rule; a rule without an action edits and hands on to the next)"#,
        ]),
    Example(
        #"""
        rules: [{proxy: {upstream: ap}}, {match: {}}]
        upstreams: {app: demo}
        """#,
        [
            #"1:28: error: rules[0].proxy.upstream: `ap` is not in `upstreams` (there is `app`)"#,
            #"1:42: error: rules[1].match: `match` is empty (leave it out to match every request)"#,
        ]),
    Example(
        #"""
        rules: [{credential: servce, proxy: {}}]
        credentials: {service: {bearer: x}}
        upstream: demo
        """#,
        [
            #"1:22: error: rules[0].credential: `servce` is not in `credentials` (did you mean `service`?)"#
        ]),
    Example(
        #"""
        credential: x
        upstream: demo
        """#,
        [
            #"1:13: error: credential: `x` is not in `credentials` (there are no `credentials` in this file)"#
        ]),
    Example(
        #"""
        credential: [a, b, a]
        credentials: {a: {bearer: x}, b: {basic: {user: u, password: p}}}
        upstream: demo
        """#,
        [
            #"1:17: error: credential[1]: `a` and `b` both write `Authorization` (keep one of the two)"#,
            #"1:20: error: credential[2]: `a` is named twice"#,
        ]),
    Example(
        #"""
        credentials:
          a: {bearer: Bearer x}
          b: {basic: {user: "a:b", password: ""}}
          c: {header: {name: Host, value: x}}
          d: {basic: {user: x}}
          e: {bearer: x, hosts: ["http://a", "a.*", "*.b:x"]}
          f: {bearer: x, hosts: []}
        upstream: demo
        """#,
        [
            #"2:15: error: credentials.a.bearer: a bearer token stands without the word `Bearer` (it is put before the token)"#,
            #"3:21: error: credentials.b.basic.user: a user of HTTP Basic has no colon in its name"#,
            #"3:38: error: credentials.b.basic.password: the secret is empty"#,
            #"4:22: error: credentials.c.header.name: `Host` can not stand here: a request has exactly one; `request.set` may set it"#,
            #"5:14: error: credentials.d.basic: `password` is missing (it is a secret such as `${env:NAME}` or `${file:PATH}`)"#,
            #"6:26: error: credentials.e.hosts[0]: expected a host such as `api.example.com`, `*.example.org` or `api.example.com:8080`, found `http://a` (write the host alone, without scheme and path)"#,
            #"6:38: error: credentials.e.hosts[1]: expected a host such as `api.example.com`, `*.example.org` or `api.example.com:8080`, found `a.*` (`*` stands only at the front, as `*.example.org`)"#,
            #"6:45: error: credentials.e.hosts[2]: expected a host such as `api.example.com`, `*.example.org` or `api.example.com:8080`, found `*.b:x` (`x` is not a port; ports are 0 to 65535)"#,
            #"7:25: error: credentials.f.hosts: with no host the credential could never be sent"#,
        ]),
    Example(
        #"""
        credential: a
        credentials: {a: {bearer: x, hosts: [api.example.com]}}
        upstream: http://127.0.0.1:3000
        """#,
        [
            #"1:13: error: credential: `a` may never be sent to the upstream `default` (add `127.0.0.1:3000` to its `hosts`, or leave `hosts` out)"#
        ]),
    Example(
        #"""
        credential: a
        credentials: {a: {bearer: x, hosts: ["127.0.0.1:81"]}}
        upstreams: {default: {servers: [http://127.0.0.1, http://127.0.0.2]}}
        """#,
        [
            #"1:13: error: credential: `a` may never be sent to the upstream `default` (add `127.0.0.1:80` and `127.0.0.2:80` to its `hosts`, or leave `hosts` out)"#
        ]),
    Example(
        #"""
        rules:
          - match: {host: [a.example:80, "x*", "https://a", "*.a.*"], path: [v1, "**", /***], method: [get, "a b"]}
            block: true
        """#,
        [
            #"2:20: error: rules[0].match.host[0]: expected a host such as `api.example.com` or `*.example.org`, found `a.example:80` (hosts are matched without port)"#,
            #"2:34: error: rules[0].match.host[1]: expected a host such as `api.example.com` or `*.example.org`, found `x*` (`*` stands only at the front, as `*.example.org`)"#,
            #"2:40: error: rules[0].match.host[2]: expected a host such as `api.example.com` or `*.example.org`, found `https://a` (write the host alone, without scheme and path)"#,
            #"2:53: error: rules[0].match.host[3]: expected a host such as `api.example.com` or `*.example.org`, found `*.a.*` (`*` stands only at the front, as `*.example.org`)"#,
            #"2:70: error: rules[0].match.path[0]: expected a path glob such as `/v1/**`, found `v1` (it begins with `/`)"#,
            #"2:74: error: rules[0].match.path[1]: expected a path glob such as `/v1/**`, found `**` (write `/**`)"#,
            #"2:80: error: rules[0].match.path[2]: `***` has no meaning (`*` is within a segment, `**` across segments)"#,
            #"2:96: error: rules[0].match.method[0]: methods are case-sensitive (write `GET`)"#,
            #"2:101: error: rules[0].match.method[1]: expected a method such as `GET`, found `a b`"#,
        ]),
    Example(
        #"""
        rules:
          - match: {path_regex: ["/a(", "\\1"], extension: [.png, a/b], scheme: htps, client_ip: 10.1}
            block: true
        """#,
        [
            #"2:26: error: rules[0].match.path_regex[0]: not a regular expression: missing ): /a( (the syntax is RE2's, without back-references)"#,
            #"2:33: error: rules[0].match.path_regex[1]: not a regular expression: invalid escape sequence: \1 (the syntax is RE2's, without back-references)"#,
            #"2:53: error: rules[0].match.extension[0]: expected a file name extension such as `png`, found `.png` (write `png`)"#,
            #"2:59: error: rules[0].match.extension[1]: expected a file name extension such as `png`, found `a/b`"#,
            #"2:73: error: rules[0].match.scheme: expected `http` or `https`, found `htps` (did you mean `https`?)"#,
            #"2:90: error: rules[0].match.client_ip: expected an IP address or a range such as `10.0.0.0/8`, found `10.1` (the address can not be read)"#,
        ]),
    Example(
        #"""
        rules:
          - match: {header: {A: {glob: x, regex: y}, B: {}, "c d": e, F: [g]}, query: {}, cookie: [a]}
            block: true
        """#,
        [
            #"2:25: error: rules[0].match.header.A: one of `glob` and `regex` is expected"#,
            #"2:49: error: rules[0].match.header.B: one of `glob` and `regex` is expected"#,
            #"2:53: error: rules[0].match.header."c d": expected a header name, found `c d` (a name has no spaces)"#,
            #"2:66: error: rules[0].match.header.F: expected a mapping with `glob` or `regex`, found a list"#,
            #"2:79: error: rules[0].match.query: `query` is empty"#,
            #"2:91: error: rules[0].match.cookie: expected a mapping from names to values or mappings, found a list"#,
        ]),
    Example(
        #"""
        rules:
          - match: {host: [], url_list: missing.txt, not: {pth: /a}}
            block: true
        """#,
        [
            #"2:19: error: rules[0].match.host: an empty list matches nothing (leave `host` out to match everything)"#,
            #"2:33: error: rules[0].match.url_list: `missing.txt` can not be read: No such file or directory"#,
            #"2:52: error: rules[0].match.not.pth: unknown key `pth` (did you mean `path`?)"#,
        ]),
    Example(
        #"""
        rules:
          - match: {url_list: {file: a.txt, format: easylist}}
            block: true
        """#,
        [
            #"2:30: error: rules[0].match.url_list.file: `a.txt` can not be read: No such file or directory"#,
            #"2:45: error: rules[0].match.url_list.format: expected `url`, `hosts` or `adblock`, found `easylist`"#,
        ]),
    Example(
        #"""
        proxy: {strip_prefix: x, add_prefix: /, preserve_host: maybe, upgrades: [h2c, "a b"], retries: 99}
        upstream: demo
        """#,
        [
            #"1:23: error: proxy.strip_prefix: expected a path such as `/v1`, found `x` (it begins with `/`)"#,
            #"1:38: error: proxy.add_prefix: expected a path such as `/v1`, found `/` (`/` changes nothing; leave it out)"#,
            #"1:56: error: proxy.preserve_host: expected `true` or `false` or `auto`, found `maybe`"#,
            #"1:74: error: proxy.upgrades[0]: `h2c` would be another HTTP connection that the rules do not see (such as `websocket`)"#,
            #"1:79: error: proxy.upgrades[1]: expected a token, found `a b` (a name has no spaces)"#,
            #"1:96: error: proxy.retries: expected a whole number from 0 to 10, found `99`"#,
        ]),
    Example(
        #"""
        proxy: {path: x, strip_prefix: /a, timeouts: {idle: 1s, response: 5}}
        upstream: demo
        """#,
        [
            #"1:15: error: proxy.path: expected a path such as `/v1`, found `x` (it begins with `/` or with a variable)"#,
            #"1:18: error: proxy.strip_prefix: `path` is given too, which replaces the whole path (keep one of the two)"#,
            #"1:47: error: proxy.timeouts.idle: unknown key `idle` (it belongs to an upstream's `timeouts`)"#,
            #"1:67: error: proxy.timeouts.response: expected a duration such as `250ms`, `10s`, `5m` or `1h`, found the bare number `5` (write `5s` if you mean seconds)"#,
        ]),
    Example(
        #"""
        proxy: {strip_prefix: /a/../b, add_prefix: /b*}
        upstream: demo
        """#,
        [
            #"1:23: error: proxy.strip_prefix: expected a path such as `/v1`, found `/a/../b` (a path has no `.` and `..` segments)"#,
            #"1:44: error: proxy.add_prefix: expected a path such as `/v1`, found `/b*` (a prefix is no glob; every path below it has it)"#,
        ]),
    Example(
        #"""
        proxy: {redirects: folow}
        upstream: demo
        """#,
        [
            #"1:20: error: proxy.redirects: expected `pass`, `rewrite` or `follow`, found `folow` (did you mean `follow`?)"#
        ]),
    Example(
        #"""
        proxy: {redirects: {follow: listed}}
        upstream: demo
        """#,
        [
            #"1:29: error: proxy.redirects.follow: `follow: listed` needs `hosts`, the hosts that may be followed to"#
        ]),
    Example(
        #"""
        proxy: {redirects: {follow: any, hosts: [a], max: 0, body_buffer: 1G}}
        upstream: demo
        """#,
        [
            #"1:34: error: proxy.redirects.hosts: `hosts` is for `follow: listed` (remove it, or write `follow: listed`)"#,
            #"1:51: error: proxy.redirects.max: expected a whole number from 1 to 50, found `0`"#,
            #"1:67: error: proxy.redirects.body_buffer: expected a size such as `512B`, `16KiB`, `1MiB` or `2GiB`, found `1G` (write `1GiB`)"#,
        ]),
    Example(
        #"""
        proxy: demo
        upstream: demo
        """#,
        [
            #"1:8: error: proxy: expected a mapping with `upstream`, `strip_prefix`, `add_prefix` or `path`, found `demo`"#
        ]),
    Example(
        #"""
        block: false
        """#,
        [
            #"1:8: error: block: expected `true`, found `false` (leave `block` out)"#
        ]),
    Example(
        #"""
        block: {status: 99, cache_control: "{request.path}"}
        """#,
        [
            #"1:17: error: block.status: expected a whole number from 200 to 599, found `99`"#,
            #"1:36: error: block.cache_control: no variable may stand here"#,
        ]),
    Example(
        #"""
        respond: {status: 204, body: x, file: y, headers: {Content-Length: 3}}
        """#,
        [
            #"1:19: error: respond.status: an answer 204 has no content (remove `body`, or use another status)"#,
            #"1:33: error: respond.file: `body` is given too (keep one of the two)"#,
            #"1:52: error: respond.headers.Content-Length: `Content-Length` can not stand here: the proxy writes it itself, from what it sends"#,
        ]),
    Example(
        #"""
        respond: {status: 700, file: missing.html}
        """#,
        [
            #"1:19: error: respond.status: expected a whole number from 200 to 599, found `700`"#,
            #"1:30: error: respond.file: `missing.html` can not be read: No such file or directory"#,
        ]),
    Example(
        #"""
        redirect: {status: 305}
        """#,
        [
            #"1:11: error: redirect: `to` is missing (it is a text)"#,
            #"1:20: error: redirect.status: expected 301, 302, 303, 307 or 308, found `305`"#,
        ]),
    Example(
        #"""
        redirect: {to: //a}
        """#,
        [
            #"1:16: error: redirect.to: a target without scheme could lead anywhere (such as `https://{request.host}{request.target}`, or a path)"#
        ]),
    Example(
        #"""
        redirect: {to: "a b"}
        """#,
        [
            #"1:16: error: redirect.to: a URL has no spaces and nothing outside of ASCII (such as `https://{request.host}{request.target}`, or a path)"#
        ]),
    Example(
        #"""
        redirect: {to: ftp://a}
        """#,
        [
            #"1:16: error: redirect.to: the target is neither an `http` URL nor a path (such as `https://{request.host}{request.target}`, or a path)"#
        ]),
    Example(
        #"""
        on_missing: ignore
        cache_storage: never
        upstream: demo
        """#,
        [
            #"1:13: error: on_missing: expected `fail` or `pass`, found `ignore`"#,
            #"2:16: error: cache_storage: expected `auto`, `allowed` or `not_allowed`, found `never`"#,
        ]),
    Example(
        #"""
        credential: a
        credentials: {a: {bearer: x, hosts: ["127.0.0.1:80"]}}
        upstreams: {default: {servers: [http://127.0.0.1, http://127.0.0.2]}}
        """#,
        [
            #"1:13: error: credential: `a` may never be sent to the upstream `default` (add `127.0.0.2:80` to its `hosts`, or leave `hosts` out)"#
        ]),
    Example(
        #"""
        rules:
          - {credential: a}
          - {proxy: {upstream: x}}
        credentials: {a: {bearer: x, hosts: [c.test]}}
        upstreams: {x: http://a.test, y: http://b.test}
        """#,
        [
            #"2:18: error: rules[0].credential: `a` may never be sent to the upstream `x` (add `a.test:80` and `b.test:80` to its `hosts`, or leave `hosts` out)"#
        ]),
    Example(
        #"""
        upstream: demo
        request: {set: {A: "$${env:X} {", B: "${env:API_TOKEN} {uuid"}}
        """#,
        [
            #"2:20: error: request.set.A: a { without its }; write {{ for a literal brace"#,
            #"2:38: error: request.set.B: a { without its }; write {{ for a literal brace"#,
        ]),
]
