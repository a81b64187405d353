"""Ranges and validators beside nginx and Caddy: the same files, the same requests, the same answers wherever the RFC leaves no choice."""
import os, re, shutil, signal, subprocess

import pytest

from harness import ask, eventually, free_port

SIZE = 10_000
CONTENT = bytes(number * 7 % 251 for number in range(SIZE))
WHEN = 1_700_000_000
BEFORE, SAME, AFTER = "Tue, 14 Nov 2023 22:13:19 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:13:21 GMT"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("peers") / "files"
    root.mkdir()
    for name, content in (("f.bin", CONTENT), ("empty.bin", b""), ("one.bin", b"x")):
        (root / name).write_bytes(content)
        os.utime(root / name, (WHEN, WHEN))
    return root


def started(argv, port, env=None):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, **(env or {})})

    def answers():
        assert process.poll() is None, argv
        try:
            return ask(port, target="/one.bin").status == 200
        except OSError:
            return False

    eventually(answers, 20, "the peer serves")
    return process


@pytest.fixture(scope="module")
def nginx(folder):
    port, scratch = free_port(), folder.parent
    temporary = "".join("%s_temp_path %s/%s; " % (kind, scratch, kind) for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (scratch / "nginx.conf").write_text("""
worker_processes 1; pid %(scratch)s/pid; error_log %(scratch)s/error.log; daemon off; %(user)s
events { worker_connections 128; }
http { %(temporary)s access_log off; sendfile on; default_type application/octet-stream;
  server { listen 127.0.0.1:%(port)d; root %(folder)s; } }
""" % {"scratch": scratch, "port": port, "folder": folder, "temporary": temporary, "user": "user root;" if os.geteuid() == 0 else ""})
    process = started([shutil.which("nginx") or "/usr/sbin/nginx", "-p", scratch, "-c", scratch / "nginx.conf"], port)
    yield port
    process.send_signal(signal.SIGTERM)
    process.wait(10)


@pytest.fixture(scope="module")
def caddy(folder):
    port, scratch = free_port(), folder.parent
    (scratch / "Caddyfile").write_text("""{
  admin off
  auto_https off
}
http://127.0.0.1:%d, http://app.test:%d {
  bind 127.0.0.1
  root * %s
  file_server
}
""" % (port, port, folder))
    process = started(["caddy", "run", "--config", str(scratch / "Caddyfile"), "--adapter", "caddyfile"], port,
                      {"HOME": str(scratch), "XDG_CONFIG_HOME": str(scratch), "XDG_DATA_HOME": str(scratch)})
    yield port
    process.send_signal(signal.SIGTERM)
    process.wait(10)


@pytest.fixture
def ours(proxy, folder):
    return proxy("listen: 127.0.0.1:@LISTEN@\nserve: {dir: @FILES@}\n", FILES=folder).port


def parts(answer):
    """(Content-Range, bytes) of each part of an answer."""
    type = answer.get("content-type") or ""
    if not type.startswith("multipart/byteranges"):
        return [(answer.get("content-range"), answer.body)]
    boundary = re.search("boundary=(.*)", type)[1].strip('"').encode()
    assert answer.body.endswith(b"\r\n--" + boundary + b"--\r\n")
    found = []
    for part in re.split(rb"(?:^|\r\n)--" + boundary + rb"(?:--)?\r\n", answer.body)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        found.append((re.search(rb"(?i)content-range: *([^\r\n]*)", head)[1].decode(), content))
    return found


def told(port, method="GET", target="/f.bin", headers=()):
    """What an answer says, in terms that servers have in common."""
    answer = ask(port, method, target, headers=headers)
    content = parts(answer) if answer.status in (200, 206) and method == "GET" else None
    return {"status": answer.status, "parts": content, "modified": answer.get("last-modified") if answer.status in (200, 206, 304) else None,
            "unsatisfied": answer.get("content-range") if answer.status == 416 else None,
            "length": answer.get("content-length") if method == "HEAD" and answer.status == 200 else None,
            "ranges": answer.get("accept-ranges") if answer.status == 200 else None}


# Where nginx and Caddy do the same, so do we.
BOTH = [
    "bytes=0-0", "bytes=0-99", "bytes=9999-", "bytes=9990-20000", "bytes=-1", "bytes=-10000", "bytes=-20000", "bytes=5000-", "bytes=10000-",
    "bytes=10000-10001", "bytes=0-9,100-109", "bytes=0-0,-1", "bytes=100-109,0-9", "bytes=20000-,0-4",
]


@pytest.mark.parametrize("range", BOTH)
def test_ranges_are_as_nginx_and_caddy_have_them(ours, nginx, caddy, range):
    headers = {"Range": range}
    assert told(ours, headers=headers) == told(nginx, headers=headers) == told(caddy, headers=headers)


# Where they differ we do what the RFC says, and at least one of them does the same.
@pytest.mark.parametrize("target, range, status, why", [
    ("/f.bin", "bytes=-0", 416, "14.1.2: a suffix of nothing is not satisfiable"),
    ("/f.bin", "lines=1-2", 200, "14.2: an unknown unit is ignored"),
    ("/f.bin", "bytes=8-3", 200, "14.1.1: a range that ends before it begins is invalid, 14.2: and ignored"),
    ("/f.bin", "bytes=a-b", 200, "the same"),
    ("/f.bin", "bytes=", 200, "the same"),
    ("/f.bin", "BYTES=0-4", 206, "14.1: unit names know no case"),
    ("/f.bin", "bytes=0-99999999999999999999999", 206, "a number beyond all bounds is the end"),
    ("/f.bin", "bytes= 0-4 , 10-14", 206, "5.6.1: white space around list elements"),
    ("/f.bin", "bytes=0-4,,10-14", 206, "5.6.1.2: empty elements"),
    ("/empty.bin", "bytes=0-", 416, "14.1.2"),
    ("/empty.bin", "bytes=-5", 200, "14.1.2: all of nothing, which no Content-Range can say"),
    ("/f.bin", "bytes=0-4999,2000-7999", 206, "15.3.7.2: what overlaps may be joined"),
    ("/f.bin", ",".join("%d-%d" % (2 * number, 2 * number) for number in range(200)), 200, "14.2: too many"),
])
def test_ranges_that_servers_read_in_different_ways(ours, target, range, status, why):
    answer = ask(ours, target=target, headers={"Range": range})
    assert answer.status == status, why
    if status == 206 and answer.get("content-range"):
        first, last = map(int, re.search(r"(\d+)-(\d+)/10000", answer.get("content-range")).groups())
        assert answer.body == CONTENT[first:last + 1]


def test_what_overlaps_or_touches_is_sent_once(ours):
    joined = ask(ours, headers={"Range": "bytes=0-4999,2000-7999"}, target="/f.bin")
    assert (joined.get("content-range"), joined.body) == ("bytes 0-7999/10000", CONTENT[:8000])
    touching = ask(ours, headers={"Range": "bytes=10-19,0-9,30-39"}, target="/f.bin")
    assert parts(touching) == [("bytes 0-19/10000", CONTENT[:20]), ("bytes 30-39/10000", CONTENT[30:40])]
    assert int(touching.get("content-length")) == len(touching.body)


CONDITIONS = [
    {"If-Modified-Since": SAME}, {"If-Modified-Since": BEFORE}, {"If-None-Match": '"other"'}, {"If-None-Match": "*"},
    {"If-None-Match": '"other"', "If-Modified-Since": SAME}, {"If-None-Match": "@TAG@"}, {"If-None-Match": 'W/"x", @TAG@'}, {"If-None-Match": "W/@TAG@"},
    {"If-Match": "@TAG@"}, {"If-Match": "*"}, {"If-Match": '"other"'}, {"If-Match": "W/@TAG@"},
    {"If-Unmodified-Since": SAME}, {"If-Unmodified-Since": BEFORE}, {"If-Unmodified-Since": AFTER}, {"If-Match": "@TAG@", "If-None-Match": "@TAG@"},
    {"If-Range": "@TAG@", "Range": "bytes=0-4"}, {"If-Range": '"other"', "Range": "bytes=0-4"}, {"If-Range": SAME, "Range": "bytes=0-4"},
    {"If-Range": BEFORE, "Range": "bytes=0-4"}, {"If-Range": "@TAG@"}, {"If-None-Match": "@TAG@", "Range": "bytes=0-4"},
    {"If-Match": '"other"', "Range": "bytes=0-4"}, {"If-Modified-Since": "nonsense"}, {"If-Unmodified-Since": "nonsense"},
]


@pytest.mark.parametrize("headers", CONDITIONS, ids=lambda one: " ".join("%s:%s" % pair for pair in one.items()))
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_conditions_are_judged_as_nginx_and_caddy_judge_them(ours, nginx, caddy, method, headers):
    if method == "HEAD" and "Range" in headers:
        return  # RFC 9110 section 14.2: for GET alone; nginx and Caddy also give parts of a HEAD's nothing
    answers = {}
    for name, port in (("ours", ours), ("nginx", nginx), ("caddy", caddy)):
        tag = ask(port, target="/f.bin").get("etag")
        answers[name] = told(port, method, headers={key: value.replace("@TAG@", tag) for key, value in headers.items()})
    assert answers["ours"] in (answers["nginx"], answers["caddy"])
    if answers["nginx"] == answers["caddy"]:
        assert answers["ours"] == answers["nginx"]


def test_a_date_in_any_of_the_three_forms_is_read(ours):
    for date in (SAME, "Tuesday, 14-Nov-23 22:13:20 GMT", "Tue Nov 14 22:13:20 2023"):
        assert ask(ours, target="/f.bin", headers={"If-Modified-Since": date}).status == 304


def test_what_a_cache_needs_stands_in_a_304(ours):
    whole = ask(ours, target="/f.bin")
    answer = ask(ours, target="/f.bin", headers={"If-None-Match": whole.get("etag")})
    assert answer.status == 304 and answer.body == b"" and answer.get("content-length") is None
    assert [answer.get(name) for name in ("etag", "last-modified", "date")] == [whole.get("etag"), whole.get("last-modified"), answer.get("date")]


def test_ranges_are_for_get(ours):
    answer = ask(ours, "HEAD", "/f.bin", headers={"Range": "bytes=0-4"})
    assert answer.status == 200 and answer.get("content-length") == str(SIZE)


def test_two_range_fields_are_ignored(ours):
    from harness import Client
    with Client(ours) as client:
        client.send("GET /f.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\nRange: bytes=3-4\r\n\r\n")
        assert client.response().status == 200


def test_a_nominated_range_is_none(ours):
    answer = ask(ours, target="/f.bin", headers={"Connection": "Range", "Range": "bytes=0-4"})
    assert answer.status == 200


def test_a_curl_download_goes_on_where_it_was_cut(ours, tmp_path):
    target = tmp_path / "got"
    target.write_bytes(CONTENT[:3000])
    done = subprocess.run(["curl", "-sS", "-C", "-", "-o", target, "http://127.0.0.1:%d/f.bin" % ours], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == CONTENT
