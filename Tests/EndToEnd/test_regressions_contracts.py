"""Promises of the documents that were once not kept. Each test fails where its fault is."""
import os, re, signal, socket, stat, subprocess, threading

import pytest

from harness import BINARY, Client, Wire, ask, command, eventually, free_port, replace_file, reply

PLAIN = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n"
FOLLOWS = PLAIN + "proxy: {redirects: {follow: any}}\n"


def leads_to(location, status="302 Found"):
    """An origin whose /go redirects to `location()`, and that tells its request's target elsewhere."""
    def serve(request, wire):
        for _ in wire.pieces(request):
            pass
        if request.target == "/go":
            reply(wire, b"", status, {"Location": location()})
        else:
            reply(wire, request.target)
    return serve


# --- Redirects ----------------------------------------------------------------

@pytest.mark.parametrize("location", ["https://169.254.169.254/t", "http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/x"])
def test_a_redirect_that_cannot_be_followed_is_handed_to_the_client(proxy, origin, location):
    one = proxy(FOLLOWS, ORIGIN=origin(leads_to(lambda: location)).port)
    answer = one.ask(target="/go")
    assert answer.status == 302 and answer.get("location") == location and answer.get("authproxy-error") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("listener, bound", [("ADMIN", "127.0.0.1"), ("ADMIN", "0.0.0.0"), ("ADMIN", ""), ("LISTEN", "127.0.0.1")])
def test_a_redirect_never_leads_to_a_listener_of_the_proxy_itself(proxy, origin, host, listener, bound):
    source = origin(leads_to(lambda: "http://%s:%d/metrics" % (host, one.texts[listener])))
    one = proxy(FOLLOWS + "admin: {listen: '@BOUND@:@ADMIN@', token: t0ken}\n", ORIGIN=source.port, ADMIN=free_port(), BOUND=bound)
    assert one.ask().text == "/"
    answer = one.ask(target="/go")
    assert answer.status in (302, 502) and "authproxy_" not in answer.text
    assert [request.target for request in source.requests] == ["/", "/go"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_an_upstream_never_leads_to_the_administration(proxy, host):
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://@HOST@:@ADMIN@
admin: {listen: "127.0.0.1:@ADMIN@", token: "${env:TOKEN}"}
request: {set: {Authorization: "Bearer ${env:TOKEN}"}}
""", ADMIN=free_port(), HOST=host, env={"TOKEN": "t0ken"})
    for target in ("/metrics", "/status", "/healthz"):
        answer = one.ask(target=target)
        assert answer.status == 502 and answer.get("authproxy-error") == "upstream_unreachable"


THERE_AND_BACK = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
credentials: {key: {header: {name: X-Api-Key, value: "${env:TOKEN}"}}}
credential: key
request: {set: {X-Bound: "a ${env:TOKEN}", Cookie: "c=managed", X-Plain: plain}, query: {set: {key: "${env:TOKEN}"}}}
proxy: {upstream: default, redirects: {follow: any}}
"""


def test_a_secret_that_was_dropped_on_a_hop_does_not_come_back_on_the_next(proxy, origin):
    away = origin(lambda request, wire: reply(wire, b"", "302 Found", {"Location": home.url + "/back"}))
    home = origin(lambda request, wire: reply(wire, b"", "302 Found", {"Location": away.url + "/away"}) if request.target.startswith("/go") else reply(wire, "end"))
    one = proxy(THERE_AND_BACK, ORIGIN=home.port, env={"TOKEN": "t0ken"})
    assert one.ask(target="/go").text == "end"
    first, last = home.requests
    (middle,) = away.requests
    assert first.target == "/go?key=t0ken" and first.get("x-api-key") == "t0ken" and first.get("x-bound") == "a t0ken" and first.get("cookie") == "c=managed"
    for hop in (middle, last):
        assert "t0ken" not in repr((hop.target, hop.fields)) and "managed" not in repr(hop.fields)
        assert hop.get("x-plain") == "plain"


def test_another_origin_is_not_told_of_the_client(proxy, origin):
    away = origin(lambda request, wire: reply(wire, "away"))
    home = origin(leads_to(lambda: away.url + "/object"))
    one = proxy(FOLLOWS, ORIGIN=home.port)
    assert one.ask(target="/go", host="internal.test").text == "away"
    told = {name.lower() for name, _ in home.requests[0].fields}
    assert {"x-forwarded-for", "x-forwarded-host"} <= told, "the upstream is told"
    (request,) = away.requests
    assert not [name for name, _ in request.fields if name.lower().startswith("x-forwarded") or name.lower() in ("forwarded", "x-real-ip")]
    assert "127.0.0.1" not in repr([field for field in request.fields if field[0].lower() != "host"]) and "internal.test" not in repr(request.fields)
    assert request.get("via"), "loops are still found"


# --- Requests and responses ---------------------------------------------------

@pytest.mark.parametrize("method", ["CONNECT", "connect", "Connect"])
def test_what_follows_a_refused_connect_is_not_taken_for_a_request(proxy, origin, method):
    source = origin()
    one = proxy(PLAIN, ORIGIN=source.port)
    with one.client() as client:
        client.send(method + " a:80 HTTP/1.1\r\nHost: a:80\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = client.response()
        assert answer.status in (400, 405) and answer.get("connection") == "close"
        assert client.ended()
    assert not source.requests


@pytest.mark.parametrize("method", ["TRACE", "trace", "Trace", "tRACE"])
def test_trace_is_refused_in_any_case(proxy, origin, method):
    source = origin()
    answer = proxy(PLAIN, ORIGIN=source.port).ask(method)
    assert answer.status == 405 and answer.get("authproxy-error") == "method_not_allowed" and not source.requests


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_upstream_that_ends_before_its_head_is_not_unreachable(proxy, origin, method):
    source = origin(lambda request, wire: "close")
    answer = proxy(PLAIN, ORIGIN=source.port).ask(method, "/", b"abc" if method == "POST" else None)
    assert answer.status == 502 and answer.get("authproxy-error") == "upstream_protocol_error"
    assert source.requests


@pytest.mark.parametrize("how", ["together", "alone", "behind a request with content"])
def test_an_empty_line_before_a_request_is_ignored(proxy, origin, how):
    source = origin()
    one = proxy(PLAIN + "workers: 1\n", ORIGIN=source.port)
    with one.client() as client:
        if how == "behind a request with content":
            client.send("POST /before HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n")
            assert client.response().status == 200
        elif how == "alone":
            client.send("\r\n")
            for _ in range(3):
                one.ask(target="/other")  # the only worker has seen the line before it answers another client
            source.requests.clear()
        client.send(("\r\n" if how == "together" else "") + "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().json()["target"] == "/behind"
    assert source.requests[-1].target == "/behind"


@pytest.mark.parametrize("coding, status", [("gzip, chunked", 501), ("x-a, gzip ,chunked", 501), ("gzip", 400), ("chunked, gzip", 400), ("chunked, chunked", 400),
                                            ("gzip;q=1, chunked", 400), ("gzip,, chunked", 400), (", chunked", 400)])
def test_a_coding_that_is_not_spoken_is_told_from_a_malformed_one(proxy, origin, coding, status):
    source = origin()
    one = proxy(PLAIN, ORIGIN=source.port)
    with one.client() as client:
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: %s\r\n\r\n0\r\n\r\n" % coding)
        answer = client.response()
        assert answer.status == status and answer.get("authproxy-error") == "bad_request" and client.ended()
    assert not source.requests


# --- Rules --------------------------------------------------------------------

SPELLINGS = [("/caf%c3%a9", "/caf%C3%A9"), ("/%61b", "/ab"), ("/x%2fy", "/x%2Fy"), ("/%7e", "/~"), ("/a[bc]", "/a%5Bbc%5D"), ("/{x}", "/%7Bx%7D"), ("/a|b", "/a%7Cb"),
             ("/café", "/caf%c3%a9")]
DENIES = PLAIN + """
rules:
  - {name: deny, match: {%s}, block: {status: 403}}
  - {name: all, proxy: {upstream: default}}
"""


@pytest.mark.parametrize("spelling, target", SPELLINGS)
def test_a_path_that_is_not_spelled_canonically_denies_all_the_same(proxy, origin, spelling, target):
    one = proxy(DENIES % ("path: '%s'" % spelling), ORIGIN=origin().port)
    assert one.ask(target=target).status == 403
    assert one.ask(target="/other").status == 200


@pytest.mark.parametrize("spelling, target", [pair for pair in SPELLINGS if not set(pair[0]) & set("[]{}|")] + [("/a//b", "/a/b"), ("/a/../b", "/b")])
def test_a_line_of_a_url_list_that_is_not_spelled_canonically_denies_all_the_same(proxy, origin, spelling, target):
    one = proxy(DENIES % "url_list: list.txt", ORIGIN=origin().port, files={"list.txt": spelling + "\n"})
    assert one.ask(target=target).status == 403
    assert one.ask(target="/other").status == 200


@pytest.mark.parametrize("path", ["/a%00", "/a%5Cb", "/a%zz", "/a%2"])
def test_a_path_that_no_request_can_have_is_told_of_when_loaded(tmp_path, path):
    (tmp_path / "config.yaml").write_text("rules: [{name: deny, match: {path: '%s'}, block: true}, {name: all, respond: {status: 204}}]\n" % path)
    done = command("check", "-c", tmp_path / "config.yaml")
    assert re.search(r"config.yaml:1:\d+: (error|warning): rules\[0\].match.path", done.stdout + done.stderr)


# --- Loading ------------------------------------------------------------------

def bomb():
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for before, name in zip("abcdefgh", "bcdefghi"):
        lines.append("%s: &%s [%s]" % (name, name, ",".join(["*" + before] * 9)))
    return "\n".join(lines) + "\n"


def test_an_alias_bomb_is_refused_in_no_time(proxy, origin, tmp_path):
    (tmp_path / "bomb.yaml").write_text(bomb())
    done = subprocess.run([str(BINARY), "check", "-c", str(tmp_path / "bomb.yaml")], capture_output=True, text=True, timeout=4)
    assert done.returncode == 2 and "bomb.yaml" in done.stdout + done.stderr
    one = proxy(PLAIN, ORIGIN=origin().port)
    one.write(bomb())
    assert one.run("reload", "-c", str(one.config)).returncode != 0
    assert one.ask().status == 200


def test_a_secret_that_becomes_a_pipe_holds_nothing_up(proxy, origin):
    one = proxy(PLAIN + "admin: {listen: '127.0.0.1:@ADMIN@'}\nrequest: {set: {Authorization: 'Bearer ${file:token}', X-Other: '${file:other}'}}\n",
                ORIGIN=origin().port, ADMIN=free_port(), files={"token": "first", "other": "1"})
    os.mkfifo(one.folder / "pipe")
    os.replace(one.folder / "pipe", one.folder / "token")

    def sent(name):
        return dict(one.ask().json()["fields"])[name]

    replace_file(one.folder / "other", "2")
    eventually(lambda: sent("X-Other") == "2", 3, "other secrets are still taken up")
    assert sent("Authorization") == "Bearer first"
    assert ask(one.texts["ADMIN"], target="/healthz", host="localhost").status == 200
    assert one.run("status", "-c", str(one.config)).returncode == 0
    one.signal(signal.SIGTERM)
    assert one.exit_status(3) == 0


# --- Operation ----------------------------------------------------------------

def test_the_time_that_a_worker_idled_is_not_the_requests(proxy, origin):
    """Requests that are there when their connection is accepted, after a time in which nothing happened."""
    several = [proxy(PLAIN + "workers: 1\nlog: {format: json}\n", ORIGIN=origin().port) for _ in range(5)]

    def at_once(one):
        with socket.socket() as end:
            end.connect(("127.0.0.1", one.port))
            end.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert Wire(end).head().status == 200

    for one in several:
        at_once(one)
    threading.Event().wait(1.5)  # the idle time is what this is about
    for one in several:
        at_once(one)
    for one in several:
        lines = eventually(lambda: (found := [line for line in one.records() if line.get("msg") == "request"]) and len(found) == 2 and found)
        assert max(max(line["dur_ms"], line["upstream_dur_ms"]) for line in lines) < 1000


def test_a_unix_listener_is_for_its_user_alone_unless_told_otherwise(proxy, origin):
    one = proxy('listen: "unix:@DIR@/front.sock"\nupstream: http://127.0.0.1:@ORIGIN@\n', ORIGIN=origin().port, listen="@DIR@/front.sock")
    assert stat.S_IMODE((one.folder / "front.sock").stat().st_mode) == 0o600


def test_silent_connections_do_not_keep_a_health_check_out(proxy, origin):
    one = proxy(PLAIN + "admin: {listen: '127.0.0.1:@ADMIN@'}\n", ORIGIN=origin().port, ADMIN=free_port())
    silent = [Client(one.texts["ADMIN"]) for _ in range(150)]
    for path in ("/healthz", "/readyz", "/metrics"):
        assert ask(one.texts["ADMIN"], target=path, host="localhost").status == 200
    for client in silent:
        client.close()


def test_a_folder_that_is_not_trusted_for_the_admin_socket_is_told_of(proxy, origin):
    """The folder in /tmp is exchanged in a mount namespace of the proxy's own."""
    one = proxy(PLAIN, ORIGIN=origin().port, run=False)
    del one.env["XDG_RUNTIME_DIR"]
    (one.folder / "open").mkdir()
    (one.folder / "open").chmod(0o777)
    shell = 'own=/tmp/authproxy-$(id -u); [ -d $own ] || mkdir -m 700 $own; mount --bind "$0" $own && exec "$@"'
    user = [] if os.geteuid() == 0 else ["-r"]
    one.argv = ["unshare", "-m", *user, "sh", "-c", shell, str(one.folder / "open"), *one.argv]
    one.start()
    eventually(lambda: any(line["level"] == "warn" and "admin.socket" in line["msg"] for line in one.records()), message=one.log())
    assert not list((one.folder / "open").iterdir())


# --- Commands -----------------------------------------------------------------

@pytest.mark.parametrize("arguments", [("hash",)])
def test_a_command_or_option_of_a_later_version_is_named_as_such(arguments):
    done = command(*arguments)
    assert done.returncode == 2 and "not in this version" in done.stderr


def test_a_check_without_a_file_does_not_say_that_one_is_right(tmp_path):
    done = command("check", cwd=tmp_path)
    assert "config.yaml" in done.stdout + done.stderr and "ok" not in (done.stdout + done.stderr).split()


@pytest.mark.parametrize("url, why", [("x y", "space|absolute|http"), ("http://a/%zz", "escape|%zz"), ("http://a/%00", "NUL|%00")])
def test_explain_says_what_is_wrong_with_a_malformed_target(tmp_path, url, why):
    done = command("explain", "GET", url, cwd=tmp_path)
    assert "bad_request" in done.stdout and re.search(why, done.stdout + done.stderr)
