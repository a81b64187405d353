/// Keys that are unknown, of a later version, missing or too many.
let faultyKeys: [Example] = [
    Example(
        #"""
        listen: 127.0.0.1:1
        upstrem: http://127.0.0.1:2
        requests:
          set: {X-A: b}
        """#,
        [
            #"2:1: error: unknown key `upstrem` (did you mean `upstream`?)"#,
            #"3:1: error: unknown key `requests` (did you mean `request`?)"#,
        ]),
    Example(
        #"""
        upstream: demo
        listner: :80
        trustedProxies: []
        Log: {}
        headers: {A: b}
        """#,
        [
            #"2:1: error: unknown key `listner` (did you mean `listen`?)"#,
            #"3:1: error: unknown key `trustedProxies` (did you mean `trusted_proxies`?)"#,
            #"4:1: error: unknown key `Log` (did you mean `log`?)"#,
            #"5:1: error: unknown key `headers` (did you mean `request.set`?)"#,
        ]),
    Example(
        #"""
        upstream: demo
        match: {path: /x}
        """#,
        [
            #"2:1: error: unknown key `match` (a file without `rules` is one rule for every request; write `rules:` with a list of rules)"#
        ]),
    Example(
        #"""
        upstream: demo
        strip_prefix: /x
        """#,
        [
            #"2:1: error: unknown key `strip_prefix` (it belongs to `proxy`)"#
        ]),
    Example(
        #"""
        upstream: demo
        proxy: {upstrem: demo, follow: any, rewrites: x}
        """#,
        [
            #"2:9: error: proxy.upstrem: unknown key `upstrem` (did you mean `upstream`?)"#,
            #"2:24: error: proxy.follow: unknown key `follow` (it belongs to `proxy.redirects`)"#,
            #"2:37: error: proxy.rewrites: unknown key `rewrites` (did you mean `retries`?)"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {headers: {A: b}, add: {A: b}, delete: [A]}
        """#,
        [
            #"2:11: error: request.headers: unknown key `headers` (did you mean `set`?)"#,
            #"2:28: error: request.add: unknown key `add` (did you mean `append`?)"#,
            #"2:41: error: request.delete: unknown key `delete` (did you mean `remove`?)"#,
        ]),
    Example(
        #"""
        rules:
          - match: {hosts: [a], paths: [/a], methods: [GET], headers: {A: b}}
            upstream: demo
        """#,
        [
            #"2:13: error: rules[0].match.hosts: unknown key `hosts` (did you mean `host`?)"#,
            #"2:25: error: rules[0].match.paths: unknown key `paths` (did you mean `path`?)"#,
            #"2:38: error: rules[0].match.methods: unknown key `methods` (did you mean `method`?)"#,
            #"2:54: error: rules[0].match.headers: unknown key `headers` (did you mean `header`?)"#,
            #"3:5: error: rules[0].upstream: unknown key `upstream` (it belongs to the top of the file)"#,
        ]),
    Example(
        #"""
        upstream: demo
        html:
          csp: none
          inject:
            - {at: head, css: missing.css}
            - {at: body_end}
            - {at: body_end, html: x, js: missing.js}
            - {css_url: "/a b"}
            - {at: body_end, html: "${file:x}"}
        """#,
        [
            #"3:8: error: html.csp: expected `nonce` or `leave`, found `none` (did you mean `nonce`?)"#,
            #"5:12: error: html.inject[0].at: expected `head_start`, `head_end`, `body_start` or `body_end`, found `head`"#,
            #"5:23: error: html.inject[0].css: `missing.css` can not be read: No such file or directory"#,
            #"6:7: error: html.inject[1]: nothing to insert (give one of `css`, `js`, `css_url`, `js_url` or `html`)"#,
            #"7:31: error: html.inject[2].js: `html` is given too (write an entry for each)"#,
            #"8:7: error: html.inject[3]: `at` is missing (it is `head_start`, `head_end`, `body_start` or `body_end`)"#,
            #"8:17: error: html.inject[3].css_url: a URL has no white space (such as `/assets/brand.css`, served by this proxy or by the site)"#,
            #"9:29: error: html.inject[4].html: `${file:x}` may be a secret; it may not stand where clients see it"#,
        ]),
    Example(
        #"""
        upstream: demo
        frobnicate: 1
        """#,
        [
            #"2:1: error: unknown key `frobnicate` (known here: `listen`, `listeners`, `trusted_proxies`, `upstream`, `upstreams`, `credentials`, `rules`, `request`, `credential`, `on_missing`, `proxy`, `block`, `serve`, `respond`, `redirect`, `response`, `cache_storage`, `html`, `limits`, `timeouts`, `canonical`, `workers`, `instance`, `admin` and `log`)"#
        ]),
    Example(
        #"""
        upstream: demo
        timeouts: {idle: 1s}
        """#,
        [
            #"2:12: error: timeouts.idle: unknown key `idle` (it belongs to an upstream's `timeouts`)"#
        ]),
    Example(
        #"""
        upstreams:
          default: {uri: http://a, health: {path: /}, tls: {}, proxy_protocol: v2, protocol: h2c}
        """#,
        [
            #"2:12: error: upstreams.default: `url` or `servers` is missing (such as `url: http://127.0.0.1:3000`)"#,
            #"2:13: error: upstreams.default.uri: unknown key `uri` (did you mean `url`?)"#,
            #"2:28: error: upstreams.default.health: `health` is not in this version (health checking comes later)"#,
        ]),
    Example(
        #"""
        listeners:
          - address: :8443
            tls: {certificates: []}
            protocols: [h2, http/1.1]
            proxy_protocol: true
            h2c: maybe
        upstream: demo
        """#,
        [
            #"2:5: error: listeners[0]: `proxy_protocol` is taken from `trusted_proxies` only, and there are none (add `trusted_proxies` with the addresses of the proxies in front)"#,
            #"3:25: error: listeners[0].tls.certificates: `certificates` is empty"#,
            #"6:10: error: listeners[0].h2c: expected `true` or `false`, found `maybe`"#,
        ]),
    Example(
        #"""
        upstream: demo
        authenticators: {a: {basic: {htpasswd: users}}}
        authenticate: a
        allow: {users: [b]}
        """#,
        [
            #"2:1: error: `authenticators` is not in this version (client authentication comes later)"#,
            #"3:1: error: `authenticate` is not in this version (client authentication comes later)"#,
            #"4:1: error: `allow` is not in this version (client authorization comes later)"#,
        ]),
    Example(
        #"""
        listeners: [{address: ":80", protocols: [h2]}]
        upstreams:
          a: {url: http://a, protocol: h2}
          b: {url: https://b, protocol: h2c}
          c: {url: http://c, protocol: h3}
        proxy: {upstream: a}
        """#,
        [
            #"1:41: error: listeners[0].protocols: `h2` is spoken with TLS (write `h2c: true` for HTTP/2 without TLS)"#,
            #"3:32: error: upstreams.a.protocol: `h2` is spoken with TLS (write `h2c` for HTTP/2 without TLS, or an `https` URL)"#,
            #"4:33: error: upstreams.b.protocol: `h2c` is HTTP/2 without TLS (write `h2` for servers with an `https` URL)"#,
            #"5:32: error: upstreams.c.protocol: expected `auto`, `http/1.1`, `h2` or `h2c`, found `h3`"#,
        ]),
    Example(
        #"""
        upstream: demo
        limits: {h2_streams: 0}
        """#,
        [
            #"2:22: error: limits.h2_streams: expected a whole number from 1 to 10000, found `0`"#
        ]),
    Example(
        #"""
        credentials:
          a: {oauth2: {token_url: x}}
          b: {exec: x}
          c: {tokn: x}
          d: {}
          e: {bearer: x, header: {name: A, value: b}}
        upstream: demo
        """#,
        [
            #"2:7: error: credentials.a.oauth2: `oauth2` is not in this version (OAuth 2.0 comes later)"#,
            #"3:7: error: credentials.b.exec: `exec` is not in this version (reading credentials from programs comes later)"#,
            #"4:7: error: credentials.c.tokn: unknown key `tokn` (known here: `bearer`, `basic`, `header` and `hosts`)"#,
            #"5:6: error: credentials.d: a credential has one of `bearer`, `basic` and `header`"#,
            #"6:18: error: credentials.e.header: a credential has one kind, and `bearer` is given on line 6"#,
        ]),
    Example(
        #"""
        upstream: demo
        request: {set: {A: "{client.cert.subject}", B: "{client.user}", C: "{client.claim.sub}"}}
        """#,
        [
            #"2:48: error: request.set.B: `{client.user}` is not in this version (client authentication comes later)"#,
            #"2:68: error: request.set.C: `{client.claim.sub}` is not in this version (client authentication comes later)"#,
        ]),
    Example(
        #"""
        listen: :80
        """#,
        [
            #"1:1: error: `upstream` is missing (add `upstream: http://127.0.0.1:3000`, or `upstream: demo` to see what would be sent)"#
        ]),
    Example(
        #"""
        rules: [{proxy: {}}]
        """#,
        [
            #"1:10: error: `upstream` is missing (add `upstream: http://127.0.0.1:3000`, or `upstream: demo` to see what would be sent)"#
        ]),
    Example(
        #"""
        request:
        upstream: demo
        log: ~
        """#,
        [
            #"1:9: error: request: expected a mapping with `remove`, `rename`, `set` or `append`, found nothing (leave the key out for its default)"#,
            #"3:6: error: log: expected a mapping with `level`, `format`, `access` or `file`, found nothing (leave the key out for its default)"#,
        ]),
    Example(
        #"""
        listen: :80
        listeners: [":81"]
        upstream: demo
        upstreams: {default: demo}
        """#,
        [
            #"2:1: error: listeners: `listen` is given too (keep one of the two)"#,
            #"4:13: error: upstreams.default: `upstream` is short for this one and is given too (keep one of the two)"#,
        ]),
    Example(
        #"""
        listeners: []
        upstreams: {}
        """#,
        [
            #"1:12: error: `listeners` is empty"#,
            #"2:12: error: `upstreams` is empty"#,
        ]),
    Example(
        #"""
        upstreams: {a: demo, b: demo}
        """#,
        [
            #"1:13: error: upstreams: which upstream? there are several and none is called `default` (add `proxy: {upstream: ...}` with `a` or `b`, or `rules`)"#
        ]),
    Example(
        #"""
        upstreams: {a: demo, b: demo}
        rules: [{proxy: {}}]
        """#,
        [
            #"2:17: error: rules[0].proxy: which upstream? there are several and none is called `default` (`upstream` is `a` or `b`)"#
        ]),
]
