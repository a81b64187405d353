"""What rules promise where others have been caught: nothing expands twice, fails open, or is decided on one text and sent as another."""
import pytest

from harness import Client, eventually, reply

PLAIN = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n"


def fields(answer):
    return dict(answer.json()["fields"])


@pytest.mark.parametrize("text", ["{request.host}", "${env:CANARY}", "${file:/etc/hostname}", "{{request.host}", "%7Brequest.host%7D", "{env.CANARY}"])
def test_a_value_with_braces_is_never_expanded_again(proxy, origin, text):
    one = proxy(PLAIN + "request: {set: {X-Copy: 'got {request.header.X-Mine} {request.query}'}}\n", ORIGIN=origin().port, env={"CANARY": "c4nary"})
    told = fields(one.ask(target="/?q=" + text, headers={"X-Mine": text}))
    assert told["X-Copy"] == "got %s q=%s" % (text, text) and "c4nary" not in str(told)


@pytest.mark.parametrize("value", ["admin", "admin\xff", "\xe9admin", "x, admin", "admin\t1"])
def test_odd_octets_do_not_make_a_blocking_match_fail_open(proxy, origin, value):
    one = proxy(PLAIN + """
rules:
  - {name: no, match: {header: {X-Role: {regex: ".*admin.*"}}}, block: {status: 403}}
  - {name: all, proxy: {upstream: default}}
""", ORIGIN=origin().port)
    assert one.ask(headers={"X-Role": value}).status == 403


def test_two_copies_of_a_header_are_not_one_exact_value(proxy, origin):
    one = proxy(PLAIN + """
rules:
  - {name: yes, match: {header: {X-Role: user}}, proxy: {upstream: default}}
""", ORIGIN=origin().port)
    with one.client() as client:
        client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Role: user\r\nX-Role: admin\r\n\r\n")
        assert client.response().get("authproxy-error") == "no_rule"


@pytest.mark.parametrize("target, status", [("/public?/admin", 200), ("/public?x=/admin/", 200), ("/admin", 403), ("/a/../admin/x", 403), ("/%61dmin", 403),
                                            ("//admin", 403), ("/./admin/", 403), ("/admin%2Fx", 200), ("/x/admin", 200), ("/ADMIN", 200)])
def test_a_path_rule_sees_the_canonical_path_and_nothing_else(proxy, origin, target, status):
    one = proxy(PLAIN + """
rules:
  - {name: no, match: {path: /admin/**}, block: {status: 403}}
  - {name: all, proxy: {upstream: default}}
""", ORIGIN=origin().port)
    answer = one.ask(target=target)
    assert answer.status == status
    if status == 200:
        assert answer.json()["target"] == target


@pytest.mark.parametrize("target, sent", [("/v1/a", "/a"), ("/v1", "/"), ("/v1/", "/"), ("/v1//a?x=//y", "/a?x=//y"), ("/v1/..%2Fa", "/..%2Fa"), ("/v1/%2e%2e/v1/b", "/b"),
                                          ("/v1/a%2fb", "/a%2Fb"), ("/v1x/a", None)])
def test_a_stripped_prefix_leaves_a_canonical_path(proxy, origin, target, sent):
    source = origin()
    one = proxy(PLAIN + "rules: [{name: v1, match: {path: /v1/**}, proxy: {upstream: default, strip_prefix: /v1}}]\n", ORIGIN=source.port)
    answer = one.ask(target=target)
    if sent is None:
        assert answer.get("authproxy-error") == "no_rule"
    else:
        assert answer.json()["target"] == sent


def test_a_credential_goes_only_to_its_hosts(proxy, origin):
    allowed, other = origin(name="allowed"), origin(name="other")
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstreams: {allowed: "http://127.0.0.1:@A@", other: "http://127.0.0.1:@B@"}
credentials: {token: {bearer: "${env:TOKEN}", hosts: ["127.0.0.1:@A@"]}}
rules:
  - {name: a, match: {path: /a}, credential: token, proxy: {upstream: allowed}}
  - {name: b, match: {path: /b}, proxy: {upstream: other}}
""", A=allowed.port, B=other.port, env={"TOKEN": "t0ken"})
    assert fields(one.ask(target="/a"))["Authorization"] == "Bearer t0ken"
    assert "Authorization" not in fields(one.ask(target="/b"))


def test_a_credential_for_other_hosts_than_the_upstreams_is_refused_when_loaded(proxy, origin):
    one = proxy(PLAIN + "credentials: {token: {bearer: '${env:TOKEN}', hosts: [elsewhere.test]}}\ncredential: token\n", ORIGIN=origin().port,
                env={"TOKEN": "t0ken"}, run=False).spawn()
    assert one.exit_status() == 2 and "hosts" in one.log() and "t0ken" not in one.log()


def test_what_no_rule_takes_is_never_forwarded(proxy, origin):
    source = origin()
    one = proxy(PLAIN + "rules: [{name: edits, request: {set: {A: b}}}, {name: api, match: {path: /api/**}, proxy: {upstream: default}}]\n", ORIGIN=source.port)
    answer = one.ask(target="/other")
    assert answer.status == 404 and answer.get("authproxy-error") == "no_rule" and not source.requests


def test_a_shared_cache_is_told_not_to_keep_what_a_credential_fetched(proxy, origin):
    def serve(request, wire):
        control = {"/plain": "max-age=60", "/public": "public, max-age=60", "/shared": "s-maxage=60", "/none": None}[request.target]
        reply(wire, headers={"Cache-Control": control} if control else {})

    one = proxy(PLAIN + "credentials: {token: {bearer: t0ken}}\ncredential: token\n", ORIGIN=origin(serve).port)
    private = {target: "private" in ", ".join(one.ask(target=target).all("cache-control")) for target in ("/plain", "/public", "/shared", "/none")}
    assert private == {"/plain": True, "/public": False, "/shared": False, "/none": True}


def test_a_spoofed_forwarded_address_passes_no_address_match(proxy, origin):
    one = proxy(PLAIN + """
rules:
  - {name: inside, match: {client_ip: [10.0.0.0/8]}, proxy: {upstream: default}}
""", ORIGIN=origin().port)
    for headers in ({"X-Forwarded-For": "10.1.2.3"}, {"Forwarded": "for=10.1.2.3"}, {"X-Real-IP": "10.1.2.3"}, {"Client-IP": "10.1.2.3"}):
        assert one.ask(headers=headers).get("authproxy-error") == "no_rule"


def test_a_variable_that_makes_an_illegal_header_is_a_500_and_nothing_is_sent(proxy, origin):
    source = origin()
    one = proxy(PLAIN + "request: {set: {X-Copy: '{request.query}'}}\n", ORIGIN=source.port)
    answer = one.ask(target="/?a=b")
    assert fields(answer)["X-Copy"] == "a=b"
    with one.client() as client:
        client.send("GET /?a=\x01 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status in (400, 500)
    assert len(source.requests) == 1


def test_a_relative_location_is_relative_to_the_path_that_the_upstream_saw(proxy, origin):
    def answer(request, wire):
        if request.target == "/dir/a?q":
            return reply(wire, "", "302 Found", {"Location": "b"})
        return reply(wire, request.target)

    source = origin(answer)
    one = proxy(
        """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - name: api
    match: {path: /v1/**}
    proxy: {upstream: default, strip_prefix: /v1, redirects: {follow: same_origin}}
  - name: rest
    proxy: {upstream: default}
""",
        ORIGIN=source.port,
    )
    assert one.ask("GET", "/v1/dir/a?q").body == b"/dir/b"
