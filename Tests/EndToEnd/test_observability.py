"""What an operator sees: health, metrics, the access log. And what nobody may see: a secret."""
import base64, json, os, re, signal, socket, time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness import ask, eventually, free_port, replace_file, reply

OBSERVED = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
admin: {listen: "127.0.0.1:@ADMIN@", token: "${file:admin-token}"}
log: {format: json}
rules:
  - {name: blocked, match: {path: /blocked}, block: true}
  - {name: api, match: {path: "/api/**"}, request: {set: {X-Env: test}}, proxy: {upstream: default}}
"""


@pytest.fixture
def observed(proxy, origin):
    return proxy(OBSERVED, ORIGIN=origin().port, ADMIN=free_port(), files={"admin-token": "adm1n-canary\n"})


def admin(one, method="GET", target="/", body=None, headers=(), host="localhost"):
    return ask(one.texts["ADMIN"], method, target, body, headers, host=host)


def metrics(one):
    answer = admin(one, target="/metrics")
    assert answer.status == 200 and answer.get("content-type").startswith("text/plain")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def total(families, name, **labels):
    return sum(sample.value for sample in families[name].samples
               if not sample.name.endswith("_created") and labels.items() <= sample.labels.items())


# --- Admin --------------------------------------------------------------------

def test_health_and_readiness_are_answered(observed):
    assert admin(observed, target="/healthz").status == 200
    assert admin(observed, target="/readyz").status == 200


def test_readiness_ends_when_the_proxy_drains(proxy, origin):
    import threading
    arrived, go = threading.Event(), threading.Event()

    def late(request, wire):
        arrived.set()
        go.wait(20)
        reply(wire)

    one = proxy(OBSERVED, ORIGIN=origin(late).port, ADMIN=free_port(), files={"admin-token": "t"})
    with one.client() as client:
        client.request(target="/api/slow")
        assert arrived.wait(10)
        one.signal(signal.SIGTERM)
        eventually(lambda: admin(one, target="/readyz").status == 503, 5)
        assert admin(one, target="/healthz").status == 200
        go.set()
        assert client.response().status == 200
    assert one.exit_status() == 0


def test_health_is_not_served_to_clients_of_the_proxy(observed):
    for target in ("/healthz", "/readyz", "/metrics"):
        assert observed.ask(target=target).get("authproxy-error") == "no_rule"


def test_metrics_count_what_happened(observed):
    for _ in range(5):
        observed.ask(target="/api/x")
    observed.ask("POST", "/api/x", b"abc")
    observed.ask("BREW", "/api/pot")
    observed.ask(target="/blocked")
    observed.ask(target="/unknown")
    observed.ask(target="/bad#fragment")
    families = eventually(lambda: (found := metrics(observed)) and total(found, "authproxy_requests") >= 9 and found)
    assert total(families, "authproxy_requests", rule="api", code="200", method="GET") == 5
    assert total(families, "authproxy_requests", rule="api", method="POST") == 1
    assert total(families, "authproxy_rejected", reason="no_rule") == 1
    assert total(families, "authproxy_rejected", reason="bad_request") == 1
    assert total(families, "authproxy_upstream_requests", upstream="default") == 7
    assert total(families, "authproxy_config_last_reload_successful") == 1
    assert total(families, "authproxy_requests_in_flight") == 0
    assert families["authproxy_request_duration_seconds"].type == "histogram"
    assert "authproxy_build_info" in families and "authproxy_upstream_connections" in families
    assert not any("BREW" in str(sample.labels) for family in families.values() for sample in family.samples)


def test_metrics_tell_a_failed_reload(observed):
    observed.config.write_text("listen: [")
    observed.signal(signal.SIGHUP)
    eventually(lambda: total(metrics(observed), "authproxy_config_last_reload_successful") == 0)


def test_control_over_tcp_needs_the_token(observed):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}):
        assert admin(observed, "POST", "/reload", b"", headers).status in (401, 403)
        assert admin(observed, "GET", "/status", None, headers).status in (401, 403)
    good = {"Authorization": "Bearer adm1n-canary"}
    assert admin(observed, "POST", "/reload", b"", good).status == 200
    assert admin(observed, "GET", "/status", None, good).status == 200
    assert admin(observed, "POST", "/reload", b"", {**good, "Origin": "http://evil.example"}).status == 403, "a browser's page may not"
    assert "adm1n-canary" not in observed.log()


def test_control_under_a_foreign_name_is_refused(observed):
    """A page whose name was bound to this address reaches the port, but under its own name."""
    for target in ("/metrics", "/status"):
        answer = admin(observed, target=target, host="rebound.example", headers={"Authorization": "Bearer adm1n-canary"})
        assert answer.status == 421
    for host in ("127.0.0.1", "127.0.0.1:%d" % observed.texts["ADMIN"], "[::1]", "localhost"):
        assert admin(observed, target="/healthz", host=host).status == 200


# --- Access log ---------------------------------------------------------------

def access(one, path):
    return [record for record in one.records() if record.get("path") == path]


def test_an_access_log_line_has_its_fields(observed):
    observed.ask("POST", "/api/a?token=hidden&b=1", b"12345", {"X-Request-Id": "id-of-client"})
    (record,) = eventually(lambda: access(observed, "/api/a"))
    assert record["method"] == "POST" and record["status"] == 200 and record["host"] == "app.test"
    assert record["client_ip"] == "127.0.0.1" and record["rule"] == "api" and record["upstream"] == "default"
    assert record["upstream_status"] == 200 and record["bytes_in"] == 5 and record["bytes_out"] > 0
    assert record["proto"] == "HTTP/1.1" and record["level"] == "info" and isinstance(record["request_id"], str)
    assert 0 <= record["dur_ms"] < 5000 and 0 <= record["upstream_dur_ms"] <= record["dur_ms"] + 1
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$", record["ts"])
    assert record["query_keys"] == ["token", "b"] or record["query_keys"] == "token,b"
    assert "hidden" not in observed.log()


@pytest.mark.parametrize("target, reason, status", [("/unknown", "no_rule", 404), ("/blocked", "blocked", None), ("/api/a#b", "bad_request", 400)])
def test_a_refusal_is_logged_with_its_reason(observed, target, reason, status):
    answer = observed.ask(target=target)
    assert answer.get("authproxy-error") == reason and status in (None, answer.status)
    record = eventually(lambda: [one for one in observed.records() if one.get("reason") == reason])[0]
    assert record["status"] == answer.status


def test_a_client_that_leaves_is_logged_with_499(proxy, origin):
    import threading
    arrived, gone = threading.Event(), threading.Event()

    def hang(request, wire):
        arrived.set()
        gone.wait(10)
        return "close"

    one = proxy(OBSERVED, ORIGIN=origin(hang).port, ADMIN=free_port(), files={"admin-token": "t"})
    client = one.client()
    client.request(target="/api/hang")
    assert arrived.wait(10)
    client.close(reset=True)  # a client that only ends its own sending still wants its answer
    assert eventually(lambda: access(one, "/api/hang"))[0]["status"] == 499
    gone.set()


def test_control_octets_never_break_a_log_line(observed):
    with observed.client() as client:
        client.send(b'GET /api/"quote%0Aline\xff\xe2\x80\xa8 HTTP/1.1\r\nHost: app.test\r\nUser-Agent: "x"\x1b[31m\\\r\n\r\n')
        client.response()
    eventually(lambda: len([line for line in observed.log().splitlines() if line.startswith("{")]) >= 1)
    for line in observed.log().splitlines():
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line)
        if line.startswith("{"):
            json.loads(line)


def test_no_access_line_when_it_is_off(proxy, origin):
    one = proxy(OBSERVED.replace("{format: json}", "{format: json, access: false}"), ORIGIN=origin().port, ADMIN=free_port(),
                files={"admin-token": "t"})
    one.ask(target="/api/quiet")
    one.signal(signal.SIGTERM)
    one.exit_status()
    assert "/api/quiet" not in one.log()


def test_every_request_is_in_the_log_after_a_drain(observed):
    with observed.client() as client:
        for number in range(500):
            client.ask(target="/api/%d" % number)
    observed.signal(signal.SIGTERM)
    assert observed.exit_status() == 0
    assert {record["path"] for record in observed.records() if "path" in record} >= {"/api/%d" % number for number in range(500)}


def test_a_log_that_nobody_reads_does_not_stop_the_traffic(proxy, origin):
    one = proxy(OBSERVED, ORIGIN=origin().port, ADMIN=free_port(), files={"admin-token": "t"}, run=False)
    end, write = os.pipe()
    one.argv = ["bash", "-c", 'exec "$@" 2>&%d' % write, "bash", *one.argv]
    one.pass_fds = [write]
    one.start()
    os.close(write)
    started = time.monotonic()
    with one.client() as client:
        for number in range(3000):  # far more than a pipe and the buffers hold
            assert client.ask(target="/api/" + "x" * 200).status == 200
    assert time.monotonic() - started < 30
    families = metrics(one)
    assert any("drop" in name and total(families, name) > 0 for name in families), "lines that were dropped are counted"
    os.close(end)


# --- The hunt for a canary ----------------------------------------------------

CANARIES = {"env": "env-c4nary-7f3a", "file": "file-c4nary-91bc", "password": "pass-c4nary-55de", "rotated": "rotated-c4nary-02aa",
            "cookie": "cookie-c4nary-66ee", "query": "query-c4nary-31dd", "admin": "admin-c4nary-88cc"}
HUNTED = """
listen: 127.0.0.1:@LISTEN@
upstreams:
  app: {url: "http://127.0.0.1:@ORIGIN@"}
  dead: {url: "http://127.0.0.1:@DEAD@"}
  demo: demo
credentials:
  token: {bearer: "${env:TOKEN}"}
  login: {basic: {user: svc, password: "${file:password}"}}
  key: {header: {name: X-Api-Key, value: "${file:key}"}}
admin: {listen: "127.0.0.1:@ADMIN@", token: "${file:admin}"}
log: {level: debug, format: json}
rules:
  - name: all
    request:
      set: {X-Secret: "${env:TOKEN}"}
      cookies: {set: {session: "${env:COOKIE}"}}
      query: {set: {key: "${env:QUERY}"}}
  - {name: token, match: {path: /token}, credential: token, proxy: {upstream: app}}
  - {name: login, match: {path: /login}, credential: login, proxy: {upstream: app}}
  - {name: key, match: {path: /key}, credential: key, proxy: {upstream: app, redirects: follow}}
  - {name: dead, match: {path: /dead}, credential: [token, key], proxy: {upstream: dead}}
  - {name: demo, match: {path: /demo/**}, credential: [token, key], request: {set: {X-Shown: "${file:key}"}}, proxy: {upstream: demo, strip_prefix: /demo}}
"""


def test_no_secret_is_ever_shown_anywhere(proxy, origin):
    def serve(request, wire):
        for _ in wire.pieces(request):
            pass
        if request.target.startswith("/key") and "again" not in request.target:
            reply(wire, b"", "302 Found", {"Location": "/key?again=1"})
        elif request.target.startswith("/login"):
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")  # malformed
            return "close"
        else:
            reply(wire)

    source = origin(serve)
    one = proxy(HUNTED, ORIGIN=source.port, DEAD=free_port(), ADMIN=free_port(),
                env={"TOKEN": CANARIES["env"], "COOKIE": CANARIES["cookie"], "QUERY": CANARIES["query"]},
                files={"password": CANARIES["password"], "key": CANARIES["file"], "admin": CANARIES["admin"]})
    shown = []

    def note(answer):
        shown.append(answer.head.decode("latin-1") + answer.text)
        return answer

    for target in ("/token", "/login", "/key", "/dead", "/demo/", "/demo/anything?x=y", "/none", "/token?bad#x", "/token/%zz"):
        for headers in ({"Accept": "application/json"}, {"Accept": "text/html"}, {"X-Secret": "guess", "Authorization": "guess"}):
            note(one.ask(target=target, headers=headers))
    assert source.requests and any(CANARIES["env"] in request.head.decode() for request in source.requests), "they are sent, though"
    assert any(CANARIES["file"] in request.head.decode() for request in source.requests)
    replace_file(one.folder / "key", CANARIES["rotated"])
    eventually(lambda: note(one.ask(target="/key")) and CANARIES["rotated"] in source.requests[-1].head.decode())
    replace_file(one.folder / "key", CANARIES["rotated"] + "\nsecond line")
    good = one.config.read_text()
    one.config.write_text(good + "nonsense: [\n")
    one.signal(signal.SIGHUP)
    eventually(lambda: "config.yaml" in one.log())
    for wrong in ("upstreem: x\n", "listen: ${env:TOKEN}\n", "response: {set: {X: '${env:TOKEN}'}}\n"):
        one.config.write_text(good + wrong)
        for arguments in (["check", "-c", str(one.config)], ["reload", "-c", str(one.config)]):
            done = one.run(*arguments)
            assert done.returncode != 0
            shown.append(done.stdout + done.stderr)
    one.config.write_text(good)
    for arguments in (["check"], ["explain", "GET", "http://app.test/key"], ["explain", "GET", "http://app.test/login", "-H", "Cookie: a=b"],
                      ["status"], ["reload"]):
        done = one.run(*arguments, "-c", str(one.config))
        shown.append(done.stdout + done.stderr)
    for target in ("/metrics", "/healthz", "/readyz", "/status"):
        note(admin(one, target=target, headers={"Authorization": "Bearer " + CANARIES["admin"]}))
    one.signal(signal.SIGTERM)
    assert one.exit_status() == 0
    shown.append(one.log())
    everything = "\n".join(shown)
    basic = base64.b64encode(b"svc:" + CANARIES["password"].encode()).decode()
    for name, canary in {**CANARIES, "basic": basic}.items():
        at = everything.find(canary)
        assert at < 0, "%s canary is shown: ...%s" % (name, everything[max(0, at - 200):at + 60])


def test_the_environment_of_a_child_does_not_hold_what_was_read_as_a_secret(proxy, origin):
    port = free_port()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nrequest: {set: {A: '${env:TOKEN}'}}\n", LISTEN=port,
                ORIGIN=origin().port, env={"TOKEN": CANARIES["env"]}, arguments=["--", "env"], run=False).spawn()
    assert one.exit_status() == 0
    assert "AUTHPROXY_URL=" in one.log() and CANARIES["env"] not in one.log()


def test_a_reload_whose_admin_port_is_taken_changes_nothing(observed):
    """The old administration goes on at its port, and so does the rest of the old configuration."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        observed.write(OBSERVED.replace("@ADMIN@", str(port)))
        done = observed.run("reload", check=False)
        assert done.returncode != 0
        assert "admin.listen: can not listen on 127.0.0.1:%d: bind: Address already in use" % port in done.stdout + done.stderr
    assert admin(observed, target="/healthz").status == 200 and observed.ask(target="/api/x").status == 200
