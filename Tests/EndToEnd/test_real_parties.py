"""Programs that people really use, on both sides of the proxy."""
import base64, contextlib, gzip, hashlib, http.client, json, os, re, shutil, signal, subprocess, sys, threading
from pathlib import Path

import pytest
from websockets.sync.client import connect
from websockets.sync.server import serve

from harness import MIB, Client, ask, eventually, free_port

INJECT = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
request:
  set: {Authorization: "Bearer ${env:TOKEN}", X-Env: test}
  remove: [X-Internal]
"""
TOKEN = {"TOKEN": "token-for-tests"}


def curl(*arguments, check=True, **options):
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *map(str, arguments)], capture_output=True, timeout=90, **options)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout


# --- curl ---------------------------------------------------------------------

def test_curl_sees_the_answer_and_the_origin_the_token(proxy, origin):
    one = proxy(INJECT, ORIGIN=origin().port, env=TOKEN)
    told = json.loads(curl("-H", "Authorization: Bearer forged", "-H", "X-Internal: 1", "-H", "x_env: forged",
                           "http://127.0.0.1:%d/a?b=c" % one.port))
    fields = [(name.lower(), value) for name, value in told["fields"]]
    assert [value for name, value in fields if name == "authorization"] == ["Bearer token-for-tests"]
    assert [value for name, value in fields if name in ("x-env", "x_env")] == ["test"]
    assert "x-internal" not in dict(fields)
    assert told["target"] == "/a?b=c"


def test_curl_uploads_a_file_of_unknown_length(proxy, origin, tmp_path):
    one = proxy(INJECT, ORIGIN=origin().port, env=TOKEN)
    content = os.urandom(3 * MIB + 17)
    (tmp_path / "up").write_bytes(content)
    told = json.loads(curl("-T", "-", "http://127.0.0.1:%d/up" % one.port, stdin=open(tmp_path / "up", "rb")))
    assert told["method"] == "PUT" and told["length"] == len(content)
    assert told["sha256"] == hashlib.sha256(content).hexdigest()


def test_curl_waits_for_100_continue_and_gets_it(proxy, origin, tmp_path):
    one = proxy(INJECT, ORIGIN=origin().port, env=TOKEN)
    (tmp_path / "up").write_bytes(b"x" * (2 * MIB))
    out = curl("-v", "--expect100-timeout", "30", "-H", "Expect: 100-continue", "--data-binary", "@%s" % (tmp_path / "up"),
               "-w", "\n%{time_total}", "http://127.0.0.1:%d/up" % one.port).decode()
    body, _, seconds = out.rpartition("\n")
    assert json.loads(body)["length"] == 2 * MIB
    assert float(seconds) < 10, "curl sat out its own time limit"


def test_curl_reuses_one_connection_for_many_requests(proxy, origin):
    one = proxy(INJECT, ORIGIN=origin().port, env=TOKEN)
    out = curl("-w", "%{num_connects}\n", "-o", "/dev/null", "http://127.0.0.1:%d/[1-20]" % one.port).decode()
    assert sum(map(int, out.split())) == 1


# --- WebSocket ----------------------------------------------------------------

@pytest.fixture
def websocket_origin():
    seen = []

    def attend(connection):
        seen.append(connection.request.headers)
        for message in connection:
            connection.send(message)

    server = serve(attend, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.socket.getsockname()[1], seen
    server.shutdown()


def test_websocket_echoes_text_and_binary_with_the_token_on_its_handshake(proxy, websocket_origin):
    port, seen = websocket_origin
    one = proxy(INJECT, ORIGIN=port, env=TOKEN)
    with connect("ws://127.0.0.1:%d/chat" % one.port, compression="deflate") as socket:
        for message in ["hello", "", "ü" * 1000, b"\x00\xff" * 70_000]:
            socket.send(message)
            assert socket.recv(10) == message
        pong = socket.ping()
        assert pong.wait(10)
    assert seen[0]["Authorization"] == "Bearer token-for-tests"


def test_two_hundred_websockets_at_once(proxy, websocket_origin):
    port, _ = websocket_origin
    one = proxy(INJECT.replace("upstream: http://127.0.0.1:@ORIGIN@", 'upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", '
                                                                      'pool: {max_connections: 1000}}}'), ORIGIN=port, env=TOKEN)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect("ws://127.0.0.1:%d/%d" % (one.port, number))) for number in range(200)]
        for number, socket in enumerate(sockets):
            socket.send("message %d" % number)
        assert [socket.recv(10) for socket in sockets] == ["message %d" % number for number in range(200)]


# --- httpbin under gunicorn ---------------------------------------------------

@pytest.fixture(scope="module")
def httpbin(tmp_path_factory):
    port, folder = free_port(), tmp_path_factory.mktemp("httpbin")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "gunicorn", "--workers", "1", "--threads", "8", "--keep-alive", "30", "--bind",
                                    "127.0.0.1:%d" % port, "--worker-tmp-dir", str(folder), "--no-control-socket", "httpbin:app"],
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True)

    def answers():
        assert process.poll() is None, (folder / "log").read_text()
        try:
            return ask(port, target="/status/200").status == 200
        except OSError:
            return False

    eventually(answers, 30, "httpbin serves")
    yield port
    process.terminate()
    process.wait(10)


@pytest.fixture
def through(proxy, httpbin):
    return proxy(INJECT, ORIGIN=httpbin, env=TOKEN)


def test_httpbin_sees_the_headers(through):
    told = through.ask(target="/headers", headers={"Authorization": "Basic Zm9yZ2Vk", "X-Mine": "kept"}).json()["headers"]
    assert told["Authorization"] == "Bearer token-for-tests"
    assert told["X-Env"] == "test" and told["X-Mine"] == "kept"


def test_httpbin_bearer_lets_in_only_with_the_injected_token(through, httpbin):
    assert ask(httpbin, target="/bearer").status == 401
    assert through.ask(target="/bearer").json() == {"authenticated": True, "token": "token-for-tests"}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_httpbin_gets_each_method_with_its_content(through, method):
    body = None if method == "GET" else b'{"number": 7}'
    told = through.ask(method, "/anything/x?y=1", body, {"Content-Type": "application/json"}).json()
    assert told["method"] == method and told["args"] == {"y": "1"}
    assert told["json"] == (None if body is None else {"number": 7})


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206, 400, 401, 402, 404, 405, 410, 418, 429, 500, 501, 503])
def test_httpbin_status_passes(through, status):
    answer = through.ask(target="/status/%d" % status)
    assert answer.status == status and answer.get("authproxy-error") is None


@pytest.mark.parametrize("target", ["/redirect-to?url=/get", "/relative-redirect/1", "/absolute-redirect/1"])
def test_httpbin_redirects_lead_back_through_the_proxy(through, target):
    host = "127.0.0.1:%d" % through.port
    answer = through.ask(target=target, host=host)
    assert answer.status == 302
    location = answer.get("location")
    assert location.startswith("/") or location.startswith("http://" + host + "/"), location
    last = json.loads(curl("-L", "http://%s%s" % (host, target)))
    assert last["headers"]["Authorization"] == "Bearer token-for-tests"


def test_httpbin_redirects_are_followed_when_asked_for(proxy, httpbin):
    one = proxy(INJECT + "proxy: {upstream: default, redirects: follow}\n", ORIGIN=httpbin, env=TOKEN)
    answer = one.ask(target="/redirect/5")
    assert answer.status == 200 and answer.json()["headers"]["Authorization"] == "Bearer token-for-tests"


def test_httpbin_cookies_are_set_and_sent_back(through, tmp_path):
    base = "http://127.0.0.1:%d" % through.port
    told = json.loads(curl("-L", "-c", tmp_path / "jar", "-b", tmp_path / "jar", base + "/cookies/set?flavour=oat&size=large"))
    assert told["cookies"] == {"flavour": "oat", "size": "large"}


def test_httpbin_streams_lines(through):
    answer = through.ask(target="/stream/50")
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == list(range(50))


@pytest.mark.parametrize("size", [1, 1023, 65536, 100_000])
def test_httpbin_stream_of_bytes_is_whole(through, httpbin, size):
    target = "/stream-bytes/%d?seed=5" % size
    assert through.ask(target=target).body == ask(httpbin, target=target).body
    assert len(through.ask(target=target).body) == size


@pytest.mark.parametrize("coding", ["gzip", "deflate", "brotli"])
def test_httpbin_coded_content_passes_untouched(through, httpbin, coding):
    answer = through.ask(target="/" + coding)
    assert answer.get("content-encoding") == {"brotli": "br"}.get(coding, coding)
    if coding == "gzip":
        assert json.loads(gzip.decompress(answer.body))["gzipped"] is True


def test_httpbin_takes_a_multipart_upload(through, tmp_path):
    content = os.urandom(2 * MIB)
    (tmp_path / "f.bin").write_bytes(content)
    told = json.loads(curl("-F", "file=@%s" % (tmp_path / "f.bin"), "http://127.0.0.1:%d/post" % through.port))
    assert base64.b64decode(told["files"]["file"].partition(",")[2]) == content


def test_httpbin_head_ranges_and_validators(through):
    with through.client() as client:
        head = client.ask("HEAD", "/bytes/1000?seed=1")
        assert head.get("content-length") == "1000" and head.body == b""
        part = client.ask(target="/range/1000", headers={"Range": "bytes=10-19"})
        assert part.status == 206 and len(part.body) == 10 and part.get("content-range") == "bytes 10-19/1000"
        assert client.ask(target="/etag/abc", headers={"If-None-Match": "abc"}).status == 304
        assert client.ask(target="/get").status == 200


def test_httpbin_drips_slowly_and_arrives_whole(through):
    assert len(through.ask(target="/drip?duration=1&numbytes=10&delay=0").body) == 10


def test_python_http_client_keeps_its_connection(through):
    connection = http.client.HTTPConnection("127.0.0.1", through.port, timeout=10)
    for number in range(30):
        connection.request("POST", "/post", body=b"n=%d" % number, headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert json.loads(connection.getresponse().read())["form"] == {"n": str(number)}
    connection.close()


# --- nginx as the origin ------------------------------------------------------

@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    files = folder / "files"
    files.mkdir()
    content = os.urandom(MIB) * 64
    (files / "64m").write_bytes(content)
    (files / "index.html").write_text("<title>origin</title>")
    scratch = "".join("%s_temp_path %s/%s; " % (kind, folder, kind) for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text("""
worker_processes 1; pid %(folder)s/pid; error_log %(folder)s/error.log; daemon off; %(user)s
events { worker_connections 512; }
http { %(scratch)s access_log off; default_type application/octet-stream; gzip on; gzip_proxied any; gzip_types *; gzip_min_length 1;
  client_max_body_size 0; keepalive_requests 100000;
  server { listen 127.0.0.1:%(port)d; root %(files)s;
    if ($http_authorization != "Bearer token-for-tests") { return 403; }
    location = /connection { return 200 "$connection $connection_requests"; }
    location = /moved { return 301 /index.html; } } }
""" % {"folder": folder, "scratch": scratch, "port": port, "files": files, "user": "user root;" if os.geteuid() == 0 else ""})
    process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"],
                               stdin=subprocess.DEVNULL, start_new_session=True)

    def answers():
        assert process.poll() is None, (folder / "error.log").read_text()
        try:
            return ask(port).status == 403
        except OSError:
            return False

    eventually(answers, 15, "nginx serves")
    yield port, hashlib.sha256(content).hexdigest()
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def test_nginx_file_of_64_mib_arrives_whole(proxy, nginx):
    port, digest = nginx
    one = proxy(INJECT, ORIGIN=port, env=TOKEN)
    with one.client() as client:
        for _ in range(2):
            client.request(target="/64m")
            head, got = client.head(), hashlib.sha256()
            assert head.status == 200 and head.get("content-length") == str(64 * MIB)
            for piece in client.pieces(head):
                got.update(piece)
            assert got.hexdigest() == digest


def test_nginx_gzip_and_ranges_pass(proxy, nginx):
    one = proxy(INJECT, ORIGIN=nginx[0], env=TOKEN)
    answer = one.ask(target="/index.html", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.body) == b"<title>origin</title>"
    assert one.ask(target="/64m", headers={"Range": "bytes=-5"}).status == 206


def test_nginx_serves_many_requests_on_few_connections(proxy, nginx):
    one = proxy("workers: 1\n" + INJECT, ORIGIN=nginx[0], env=TOKEN)
    seen = []
    for _ in range(5):
        with one.client() as client:
            seen += [client.ask(target="/connection").text.split() for _ in range(20)]
    assert len({connection for connection, _ in seen}) <= 2
    assert max(int(count) for _, count in seen) >= 50


def test_nginx_absolute_redirect_is_mapped_to_the_proxy(proxy, nginx):
    one = proxy(INJECT, ORIGIN=nginx[0], env=TOKEN)
    answer = one.ask(target="/moved", host="127.0.0.1:%d" % one.port)
    assert answer.status == 301 and answer.get("location") == "http://127.0.0.1:%d/index.html" % one.port
