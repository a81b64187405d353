/// Configurations that load, with a word about them.
let warned: [Example] = [
    Example(
        #"""
        rules:
          - {name: a, request: {set: {A: b}}}
        """#,
        [
            #"1:1: warning: rules: no rule has an action, so every request gets 404"#
        ]),
    Example(
        #"""
        rules:
          - {name: all, proxy: {}}
          - {name: late, block: true}
        upstream: demo
        """#,
        [
            #"3:5: warning: rules[1]: never reached: the rule `all` above takes every request"#
        ]),
    Example(
        #"""
        rules:
          - block: true
            credential: a
            request: {set: {A: b}}
        credentials: {a: {bearer: x}, b: {bearer: "{request.host}"}}
        upstreams: {x: demo}
        """#,
        [
            #"3:17: warning: rules[0].credential: not sent: the rule's action is `block`, which sends nothing to an upstream"#,
            #"4:5: warning: rules[0].request: without effect: the rule's action is `block`, which sends nothing to an upstream"#,
            #"5:31: warning: credentials.b: no rule uses the credential `b`"#,
            #"5:43: warning: credentials.b.bearer: variables are not replaced in credentials; this is sent as it stands"#,
            #"6:13: warning: upstreams.x: no rule sends anything to the upstream `x`"#,
        ]),
    Example(
        #"""
        rules:
          - match: {path_regex: ["^/a/.*", /b/], path: ["/a?b", //a, /a/../b, "/a b"], method: TRACE}
            block: true
        """#,
        [
            #"2:26: warning: rules[0].match.path_regex[0]: the whole path must match: the leading `^` says nothing"#,
            #"2:36: warning: rules[0].match.path_regex[1]: the whole path must match: without `.*` at its end this matches no longer path (end it in `.*`, or in `$` if that is what you mean)"#,
            #"2:49: warning: rules[0].match.path[0]: a path has no `?` and `#`, so this never matches (the query is `match.query`)"#,
            #"2:88: warning: rules[0].match.method: `TRACE` is always refused, so this never matches"#,
        ]),
    Example(
        #"""
        upstreams: {default: {servers: [http://a, http://a]}}
        """#,
        [
            #"1:43: warning: upstreams.default.servers[1]: this server is named twice, so it gets twice as many requests"#
        ]),
    Example(
        #"""
        upstream: demo
        limits: {uri_bytes: 64KiB}
        """#,
        [
            #"2:21: warning: limits.uri_bytes: `uri_bytes` is larger than `header_bytes`, which bounds the whole head"#
        ]),
    Example(
        #"""
        upstream: demo
        request: {rename: {X_A: X-A}}
        """#,
        [
            #"2:25: warning: request.rename.X_A: `X_A` and `X-A` count as one name"#
        ]),
]
