"""Local files in the place of remote ones: what is found, what is never found, and how it is sent."""
import gzip, hashlib, os, re, signal, socket, subprocess, time
from email.utils import formatdate
from pathlib import Path

import pytest

from certificates import Certificates
from harness import MIB, Gone, eventually, reply

CONFIG = "listen: 127.0.0.1:@LISTEN@\nserve: {dir: @FILES@%s}\n"


def serving(proxy, folder, keys="", **options):
    return proxy(CONFIG % (", " + keys if keys else ""), FILES=folder, **options)


@pytest.fixture
def files(tmp_path):
    """A folder with a secret beside it."""
    root = tmp_path / "public"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("alpha")
    (root / "index.html").write_text("<title>root</title>")
    (root / "sub/index.html").write_text("<title>sub</title>")
    (root / "sub/b.css").write_text("b{}")
    (tmp_path / "secret.txt").write_text("CANARY")
    return root


def send_raw(one, target):
    """Byte for byte, as no library would send it."""
    with one.client() as client:
        client.send("GET %s HTTP/1.1\r\nHost: a.test\r\n\r\n" % target)
        return client.response()


# --- What is found ------------------------------------------------------------

def test_a_file_is_sent_with_its_type_length_and_validators(proxy, files):
    answer = serving(proxy, files).ask(target="/a.txt")
    assert (answer.status, answer.body) == (200, b"alpha")
    assert answer.get("content-type") == "text/plain; charset=utf-8" and answer.get("accept-ranges") == "bytes"
    assert re.fullmatch(r'"[0-9a-f]+-5"', answer.get("etag")) and answer.get("last-modified").endswith("GMT")
    assert answer.get("authproxy-error") is None


@pytest.mark.parametrize("name, type", [
    ("x.html", "text/html; charset=utf-8"), ("x.css", "text/css; charset=utf-8"), ("x.js", "text/javascript; charset=utf-8"),
    ("x.mjs", "text/javascript; charset=utf-8"), ("X.PNG", "image/png"), ("x.svg", "image/svg+xml"), ("x.woff2", "font/woff2"),
    ("x.ttf", "font/ttf"), ("x.json", "application/json"), ("x.wasm", "application/wasm"), ("x.webm", "video/webm"),
    ("x.unheard-of", "application/octet-stream"), ("none", "application/octet-stream"), ("x.tar.gz", "application/gzip")])
def test_types_come_from_the_name(proxy, files, name, type):
    (files / name).write_bytes(b"x")
    assert serving(proxy, files).ask(target="/" + name).get("content-type") == type


def test_a_folder_stands_for_its_index_and_is_asked_for_with_a_slash(proxy, files):
    one = serving(proxy, files)
    assert one.ask(target="/").text == "<title>root</title>" and one.ask(target="/sub/").text == "<title>sub</title>"
    away = one.ask(target="/sub?q=1")
    assert away.status == 307 and away.get("location") == "./sub/?q=1"
    (files / "empty").mkdir()
    assert one.ask(target="/empty/").status == 404 and one.ask(target="/empty").status == 404


def test_the_first_index_that_is_there_counts(proxy, files):
    (files / "sub/home.html").write_text("home")
    one = serving(proxy, files, "index: [home.html, index.html]")
    assert one.ask(target="/sub/").text == "home" and one.ask(target="/").text == "<title>root</title>"
    assert serving(proxy, files, "index: []").ask(target="/").status == 404


def test_one_file_answers_every_path(proxy, files):
    one = proxy("listen: 127.0.0.1:@LISTEN@\nserve: {file: @FILES@/sub/b.css}\n", FILES=files)
    answer = one.ask(target="/whatever/it.png")
    assert (answer.body, answer.get("content-type")) == (b"b{}", "text/css; charset=utf-8")


def test_a_prefix_is_stripped_by_whole_segments(proxy, files):
    one = serving(proxy, files, "strip_prefix: /static")
    assert one.ask(target="/static/a.txt").body == b"alpha" and one.ask(target="/static/").status == 200
    assert one.ask(target="/staticky/a.txt").status == 404 and one.ask(target="/a.txt").body == b"alpha"
    alone = one.ask(target="/static?q=1")  # links of the index are relative to the folder
    assert (alone.status, alone.get("location")) == (307, "./static/?q=1")


def test_flat_looks_at_the_last_segment_alone(proxy, files):
    one = serving(proxy, files, "flat: true")
    assert one.ask(target="/far/away/a.txt").body == b"alpha" and one.ask(target="/sub/b.css").status == 404
    for folder in "/far/away/", "/far/sub", "/sub", "/sub/", "/":
        assert one.ask(target=folder).status == 404, folder


def test_any_letter_case_leads_to_the_file_when_asked(proxy, files):
    (files / "Fonts").mkdir()
    (files / "Fonts/MyFont.TTF").write_text("font")
    assert serving(proxy, files).ask(target="/fonts/myfont.ttf").status == 404
    one = serving(proxy, files, "ignore_case: true")
    assert one.ask(target="/fonts/MYFONT.ttf").body == b"font" and one.ask(target="/SUB/").text == "<title>sub</title>"
    assert one.ask(target="/fonts/other.ttf").status == 404
    (files / "Fonts/Other.ttf").write_text("other")  # the folder is listed again when it has changed
    assert one.ask(target="/fonts/other.ttf").body == b"other"


def test_an_escaped_name_is_the_file_that_it_spells(proxy, files):
    (files / "two words é.txt").write_text("spelled")
    one = serving(proxy, files)
    assert one.ask(target="/two%20words%20%C3%A9.txt").text == "spelled"


def test_a_page_of_an_application_falls_back_to_the_root_index(proxy, files):
    one = serving(proxy, files, "spa_fallback: true")
    assert one.ask(target="/users/7").text == "<title>root</title>"
    assert one.ask(target="/users/a.b", headers={"Accept": "text/html,*/*;q=0.8"}).text == "<title>root</title>"
    refusing = {"Accept": "text/html;q=0, application/json"}
    assert one.ask(target="/users/a.b", headers=refusing).status == 404
    assert one.ask(target="/missing.js", headers={"Accept": "*/*"}).status == 404


def test_what_is_no_file_is_404_with_its_reason(proxy, files):
    answer = serving(proxy, files).ask(target="/missing.txt")
    assert answer.status == 404 and answer.get("authproxy-error") == "not_found"


def test_a_folder_that_is_not_there_yet_is_found_when_it_comes(proxy, tmp_path):
    one = serving(proxy, tmp_path / "later")
    assert one.ask(target="/a.txt").status == 404
    (tmp_path / "later").mkdir()
    (tmp_path / "later/a.txt").write_text("now")
    eventually(lambda: one.ask(target="/a.txt").status == 200)


def test_a_release_that_a_link_is_turned_to_is_served_within_a_second(proxy, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    (tmp_path / "current").symlink_to("one")
    one = serving(proxy, tmp_path / "current")
    assert one.ask(target="/a.txt").text == "one"
    (tmp_path / "next").symlink_to("two")
    os.replace(tmp_path / "next", tmp_path / "current")
    eventually(lambda: one.ask(target="/a.txt").text == "two", 3)


def test_a_folder_of_100000_files_costs_nothing_at_start(proxy, tmp_path):
    root = tmp_path / "many"
    root.mkdir()
    for number in range(100_000):
        (root / ("f%d.TXT" % number)).touch()
    few = serving(proxy, tmp_path, "ignore_case: true")
    one = serving(proxy, root, "ignore_case: true")
    assert one.memory() < few.memory() + 1024, "the folder was read at start"
    assert one.ask(target="/f99999.txt").status == 200


# --- Falling through ----------------------------------------------------------

def local_first(proxy, origin, files, handler=None, extra=""):
    source = origin(handler or (lambda request, wire: reply(wire, "remote")))
    return source, proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - name: local
    match: {method: [GET, HEAD, POST]}
    serve: {dir: @FILES@, fallthrough: true%s}
    response: {set: {X-Rule: local}}
  - name: site
    proxy: {upstream: default}
    request: {set: {Authorization: "Bearer t0ken"}}
    response: {set: {X-Site: "yes"}}
""" % extra, ORIGIN=source.port, FILES=files)


def test_local_first_and_the_network_for_the_rest(proxy, origin, files):
    source, one = local_first(proxy, origin, files)
    with one.client() as client:
        assert client.ask(target="/a.txt").body == b"alpha"
        answer = client.ask(target="/other.txt")
        assert answer.body == b"remote" and answer.get("x-site") == "yes"
        assert client.ask("HEAD", "/a.txt").get("content-length") == "5"
        assert client.ask("POST", "/a.txt", b"x=1").body == b"remote"
    assert [(request.method, request.target) for request in source.requests] == [("GET", "/other.txt"), ("POST", "/a.txt")]
    assert all(request.get("authorization") == "Bearer t0ken" for request in source.requests)


def test_a_file_without_rules_may_fall_through_to_its_upstream(proxy, origin, files):
    source = origin(lambda request, wire: reply(wire, request.get("authorization")))
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
serve: {dir: @FILES@, fallthrough: true}
request: {set: {Authorization: "Bearer ${env:TOKEN}"}}
""", ORIGIN=source.port, FILES=files, env={"TOKEN": "t0ken"})
    assert one.ask(target="/a.txt").body == b"alpha" and one.ask(target="/other.txt").text == "Bearer t0ken"


def test_what_no_rule_takes_after_falling_through_is_404(proxy, files):
    answer = serving(proxy, files, "fallthrough: true").ask(target="/other.txt")
    assert answer.status == 404 and answer.get("authproxy-error") == "not_found"


def test_a_followed_redirect_may_end_at_a_local_file(proxy, origin, files):
    source = origin(lambda request, wire: reply(wire, "", "302 Found", {"Location": "/a.txt"}))
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - match: {path: /a.txt}
    serve: {dir: @FILES@}
  - proxy: {upstream: default, redirects: follow}
""", ORIGIN=source.port, FILES=files)
    answer = one.ask(target="/moved")
    assert (answer.status, answer.body) == (200, b"alpha")


# --- What is never found ------------------------------------------------------

@pytest.mark.parametrize("target", ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/sub/%2e%2e/%2e%2e/secret.txt", "/..%5csecret.txt",
                                    "/%2e%2e%2fsecret.txt", "/sub/..%2f..%2fsecret.txt", "/..;/secret.txt", "//../secret.txt",
                                    "/%252e%252e/secret.txt", "/.%2e/secret.txt", "/sub%2fb.css", "/sub%2Fb.css", "/a.txt%00.png", "/%c0%ae%c0%ae/secret.txt"])
def test_no_spelling_leads_out_of_the_folder(proxy, files, target):
    for keys in ("", "merge_slashes"):
        config = CONFIG % "" + ("canonical: {merge_slashes: false}\n" if keys else "")
        answer = send_raw(proxy(config, FILES=files), target)
        assert answer.status in (400, 404) and b"CANARY" not in answer.body, answer


def test_links_lead_around_in_the_folder_and_never_out_of_it(proxy, files, tmp_path):
    (files / "inside").symlink_to("a.txt")
    (files / "outside").symlink_to("../secret.txt")
    (files / "absolute").symlink_to(tmp_path / "secret.txt")
    (files / "up").symlink_to("..")
    (files / "self").symlink_to("/proc/self/environ")
    (files / "hard").mkdir()
    one = serving(proxy, files)
    assert one.ask(target="/inside").body == b"alpha"
    for target in ("/outside", "/absolute", "/up/secret.txt", "/self", "/up/public/a.txt"):
        answer = one.ask(target=target)
        assert answer.status == 404 and b"CANARY" not in answer.body


def test_devices_fifos_sockets_and_folders_are_no_files(proxy, files):
    os.mkfifo(files / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(files / "socket"))
    try:
        os.mknod(files / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pass
    one = serving(proxy, files)
    for name in ("fifo", "socket", "zero"):
        assert one.ask(target="/" + name).status == 404, name
    assert one.ask(target="/a.txt").status == 200
    listener.close()


def test_hidden_files_are_shown_only_when_asked(proxy, files):
    (files / ".env").write_text("CANARY")
    (files / ".git").mkdir()
    (files / ".git/config").write_text("CANARY")
    (files / ".well-known").mkdir()
    (files / ".well-known/security.txt").write_text("contact")
    one = serving(proxy, files)
    for target in ("/.env", "/%2eenv", "/.git/config", "/sub/../.env"):
        assert send_raw(one, target).status == 404
    assert one.ask(target="/.well-known/security.txt").text == "contact"
    assert serving(proxy, files, "hidden: true").ask(target="/.env").text == "CANARY"


def test_a_redirect_to_a_folder_never_leads_to_another_host(proxy, files):
    (files / "evil.test").mkdir()
    (files / "evil.test/index.html").write_text("x")
    (files / "javascript:x").mkdir()
    (files / "javascript:x/index.html").write_text("x")
    one = proxy(CONFIG % "" + "canonical: {merge_slashes: false}\n", FILES=files)
    assert send_raw(one, "//evil.test").status == 404
    assert send_raw(one, "/javascript:x").get("location") == "./javascript:x/"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
def test_other_methods_are_405_and_say_what_is_allowed(proxy, files, method):
    one = serving(proxy, files)
    with one.client() as client:
        answer = client.ask(method, "/a.txt", b"body" if method != "OPTIONS" else None)
        assert (answer.status, answer.get("allow"), answer.get("authproxy-error")) == (405, "GET, HEAD", "method_not_allowed")
        assert client.ask(target="/a.txt").status == 200, "the connection goes on"


# --- How it is sent -----------------------------------------------------------

@pytest.mark.parametrize("size", [0, 1, 1024, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 65536, 65537, 3 * MIB + 7])
def test_files_of_every_size_arrive_whole(proxy, files, size):
    content = os.urandom(size)
    (files / "f.bin").write_bytes(content)
    one = serving(proxy, files)
    with one.client() as client:
        for _ in range(3):
            answer = client.ask(target="/f.bin")
            assert answer.get("content-length") == str(size) and answer.body == content
        client.send("GET /f.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n")  # pipelined
        assert client.response().body == content and client.response().body == b"alpha"
        client.send("GET /f.bin HTTP/1.0\r\nHost: a\r\n\r\n")
        assert client.response().body == content and client.ended()


def test_a_slow_reader_gets_everything_at_constant_memory(proxy, files):
    path = files / "big.bin"
    with open(path, "wb") as out:
        for _ in range(96):
            out.write(os.urandom(MIB))
    one = serving(proxy, files)
    one.ask(target="/a.txt")
    before = one.memory()
    with one.client(receive_buffer=4096, timeout=60) as client:
        client.request(target="/big.bin")
        head, digest = client.head(), hashlib.sha256()
        time.sleep(0.2)  # the sockets between are full by now
        for piece in client.pieces(head):
            digest.update(piece)
        assert client.ask(target="/a.txt").body == b"alpha"
    assert digest.digest() == hashlib.sha256(path.read_bytes()).digest()
    assert one.memory() < before + 2048


def test_a_client_that_goes_away_leaves_no_file_open(proxy, files):
    (files / "big.bin").write_bytes(bytes(64 * MIB))
    one = serving(proxy, files)
    count = lambda: sum(os.readlink(entry).endswith("big.bin") for entry in Path("/proc/%d/fd" % one.pid).iterdir() if entry.is_symlink())
    clients = [one.client(receive_buffer=4096) for _ in range(5)]
    for client in clients:
        client.request(target="/big.bin")
        client.head()
    eventually(lambda: count() == 5)
    for client in clients:
        client.close(reset=True)
    eventually(lambda: count() == 0)


def test_a_file_that_shrinks_while_it_is_sent_ends_the_connection(proxy, files):
    path = files / "big.bin"
    path.write_bytes(bytes(64 * MIB))
    one = serving(proxy, files)
    with one.client(receive_buffer=4096) as client:
        client.request(target="/big.bin")
        head = client.head()
        os.truncate(path, 32 * MIB)
        with pytest.raises((Gone, OSError)):
            got = sum(map(len, client.pieces(head)))
            raise AssertionError("padded or shortened to %d" % got)


def test_a_file_that_grows_while_it_is_sent_is_what_it_was(proxy, files):
    path = files / "big.bin"
    path.write_bytes(b"a" * (8 * MIB))
    one = serving(proxy, files)
    with one.client(receive_buffer=4096) as client:
        client.request(target="/big.bin")
        head = client.head()
        with open(path, "ab") as out:
            out.write(b"b" * MIB)
        assert b"".join(client.pieces(head)) == b"a" * (8 * MIB)
        assert client.ask(target="/a.txt").status == 200


def test_a_file_that_is_replaced_while_it_is_sent_stays_what_it_was(proxy, files):
    path = files / "big.bin"
    path.write_bytes(b"a" * (8 * MIB))
    one = serving(proxy, files)
    with one.client(receive_buffer=4096) as client:
        client.request(target="/big.bin")
        head = client.head()
        (files / "new").write_bytes(b"c" * (8 * MIB))
        os.replace(files / "new", path)
        assert b"".join(client.pieces(head)) == b"a" * (8 * MIB)
        assert client.ask(target="/big.bin").body == b"c" * (8 * MIB)


def test_the_request_content_of_a_get_is_thrown_away(proxy, files):
    with serving(proxy, files).client() as client:
        assert client.ask("GET", "/a.txt", b"x" * 5000).body == b"alpha" and client.ask(target="/a.txt").body == b"alpha"


def test_response_edits_and_cache_storage_apply_to_files(proxy, files):
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
rules:
  - serve: {dir: @FILES@, cache_control: "public, max-age=60"}
    response: {set: {X-Frame-Options: DENY, Content-Type: "text/x-mine"}, remove: [Accept-Ranges], append: {Vary: Cookie}}
""", FILES=files)
    answer = one.ask(target="/a.txt")
    assert answer.get("x-frame-options") == "DENY" and answer.all("content-type") == ["text/x-mine"] and answer.get("accept-ranges") is None
    assert answer.get("cache-control") == "public, max-age=60" and answer.all("vary") == ["Accept-Encoding", "Cookie"]
    kept = proxy("listen: 127.0.0.1:@LISTEN@\nserve: {dir: @FILES@, cache_control: public}\ncache_storage: not_allowed\n", FILES=files)
    assert kept.ask(target="/a.txt").all("cache-control") == ["no-store"]


def test_the_log_tells_the_octets_that_were_sent(proxy, files):
    (files / "big.bin").write_bytes(bytes(MIB))
    one = serving(proxy, files)
    for target in ("/a.txt", "/big.bin"):
        one.ask(target=target)
    records = eventually(lambda: [each for each in one.records() if each.get("path") in ("/a.txt", "/big.bin")][1:] and one.records())
    sizes = {each["path"]: each["bytes_out"] for each in records if "path" in each}
    assert sizes == {"/a.txt": 5, "/big.bin": MIB}


def old(path):
    """As if it had been written a while ago: only what has been left alone is kept. The time of change can not be set, but be waited for."""
    eventually(lambda: time.time() - path.stat().st_ctime > 2.1)


@pytest.mark.parametrize("name, size, wanted", [("small.bin", 1024, 3), ("large.bin", 20000, 6)])
def test_system_calls_of_a_file_are_counted(proxy, files, tmp_path, name, size, wanted):
    (files / name).write_bytes(bytes(size))
    one = proxy(CONFIG % "" + "log: {access: false}\n", FILES=files)
    old(files / name)
    with one.client() as client:
        for _ in range(100):
            client.ask(target="/" + name)
        tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-o", tmp_path / "calls", "-p", str(one.pid)],
                                  stderr=subprocess.PIPE, text=True)
        assert "attached" in tracer.stderr.readline()
        for _ in range(1000):
            client.ask(target="/" + name)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=10)
    calls = {call: int(number) for call, number in re.findall(r"^(\w+)\s+(\d+)$", (tmp_path / "calls").read_text(), re.M)}
    mine = sum(number for call, number in calls.items() if call not in ("total", "epoll_wait", "epoll_pwait")) / 1000
    assert mine <= wanted + 0.1, calls


def test_a_small_file_that_changes_is_never_sent_from_memory(proxy, files):
    path = files / "a.txt"
    one = serving(proxy, files)
    old(path)
    with one.client() as client:
        for _ in range(3):
            assert client.ask(target="/a.txt").body == b"alpha"
        with open(path, "r+") as out:  # in place, of the same length
            out.write("omega")
        assert client.ask(target="/a.txt").body == b"omega"
        stamp = path.stat().st_mtime_ns
        old(path)
        client.ask(target="/a.txt")
        with open(path, "r+") as out:
            out.write("gamma")
        os.utime(path, ns=(stamp, stamp))  # and with the old time of modification
        assert client.ask(target="/a.txt").body == b"gamma"
        old(path)
        client.ask(target="/a.txt")
        (files / "new").write_text("delta")
        os.replace(files / "new", path)
        assert client.ask(target="/a.txt").body == b"delta"
        old(path)
        client.ask(target="/a.txt")
        path.chmod(0)
        assert os.geteuid() == 0 or client.ask(target="/a.txt").status == 404
        path.unlink()
        assert client.ask(target="/a.txt").status == 404
        path.symlink_to("../secret.txt")
        assert client.ask(target="/a.txt").status == 404


# --- Codings ------------------------------------------------------------------

TEXT = "".join("body { margin: %dpx }\n" % number for number in range(2000))


def decoded(answer):
    coding = answer.get("content-encoding")
    if coding == "gzip":
        return gzip.decompress(answer.body)
    if coding in ("br", "zstd"):
        program = {"br": ["brotli", "-dc"], "zstd": ["zstd", "-dc"]}[coding]
        return subprocess.run(program, input=answer.body, capture_output=True, check=True).stdout
    return answer.body


@pytest.mark.parametrize("accepted, coding", [
    ("gzip", "gzip"), ("br", "br"), ("gzip, deflate, br, zstd", "br"), ("gzip;q=1, br;q=0.5", "gzip"), ("*", "br"), ("x-gzip", "gzip"),
    ("", None), ("identity", None), ("gzip;q=0", None), ("br;q=0, *;q=0.1", "gzip"), ("identity;q=1, gzip;q=0.5", None), ("deflate", None),
    ("GZIP", "gzip"), ("br;q=nonsense", None)])
def test_texts_are_encoded_as_the_client_likes_best(proxy, files, accepted, coding):
    (files / "big.css").write_text(TEXT)
    one = serving(proxy, files)
    with one.client() as client:
        answer = client.ask(target="/big.css", headers={"Accept-Encoding": accepted})
        assert answer.get("content-encoding") == coding and decoded(answer) == TEXT.encode()
        assert answer.get("vary") == "Accept-Encoding"
        plain = client.ask(target="/big.css")
        assert plain.text == TEXT and plain.get("vary") == "Accept-Encoding"
        assert coding is None or answer.get("etag") != plain.get("etag") and answer.get("etag").startswith("W/")
        head = client.ask("HEAD", "/big.css", headers={"Accept-Encoding": accepted})
        assert head.get("content-encoding") == coding and head.get("etag") == answer.get("etag")


def test_an_encoded_text_is_validated_and_never_sent_in_part(proxy, files):
    (files / "big.css").write_text(TEXT)
    one = serving(proxy, files)
    wants = {"Accept-Encoding": "gzip"}
    tag = one.ask(target="/big.css", headers=wants).get("etag")
    assert one.ask(target="/big.css", headers={**wants, "If-None-Match": tag}).status == 304
    assert one.ask(target="/big.css", headers={"If-None-Match": tag}).status == 200, "another representation"
    part = one.ask(target="/big.css", headers={**wants, "Range": "bytes=0-9"})
    assert (part.status, part.get("content-encoding"), part.text) == (206, None, TEXT[:10])
    whole = one.ask(target="/big.css", headers={**wants, "Range": "bytes=0-9", "If-Range": tag})
    assert whole.status == 200, "the client has parts of another representation"


def test_images_and_short_texts_are_sent_as_they_are(proxy, files):
    (files / "x.png").write_bytes(bytes(5000))
    one = serving(proxy, files)
    image = one.ask(target="/x.png", headers={"Accept-Encoding": "gzip, br"})
    assert image.get("content-encoding") is None and image.get("vary") is None and len(image.body) == 5000
    assert one.ask(target="/a.txt", headers={"Accept-Encoding": "gzip, br"}).get("content-encoding") is None
    (files / "big.css").write_text(TEXT)
    off = serving(proxy, files, "compress: false").ask(target="/big.css", headers={"Accept-Encoding": "gzip"})
    assert off.get("content-encoding") is None and off.get("vary") is None


def test_a_file_that_lies_encoded_beside_it_is_sent_instead(proxy, files):
    (files / "app.js").write_text("plain")
    for suffix, content in ((".gz", gzip.compress(b"zipped" * 9)), (".br", b"brotli-bytes"), (".zst", b"zstd-bytes")):
        (files / ("app.js" + suffix)).write_bytes(content)
    one = serving(proxy, files)
    answer = one.ask(target="/app.js", headers={"Accept-Encoding": "gzip, br, zstd"})
    assert (answer.body, answer.get("content-encoding"), answer.get("content-type")) == (b"brotli-bytes", "br", "text/javascript; charset=utf-8")
    assert not answer.get("etag").startswith("W/") and answer.get("vary") == "Accept-Encoding"
    assert one.ask(target="/app.js", headers={"Accept-Encoding": "zstd, gzip"}).body == b"zstd-bytes"
    part = one.ask(target="/app.js", headers={"Accept-Encoding": "br", "Range": "bytes=0-5"})
    assert (part.status, part.body, part.get("content-range")) == (206, b"brotli", "bytes 0-5/12")
    assert one.ask(target="/app.js").text == "plain" and one.ask(target="/app.js.gz").get("content-encoding") is None


def test_an_encoded_file_that_is_older_than_its_file_is_not_taken(proxy, files):
    (files / "app.js").write_text("new")
    (files / "app.js.gz").write_bytes(gzip.compress(b"old"))
    os.utime(files / "app.js.gz", (1_000_000_000, 1_000_000_000))
    assert serving(proxy, files).ask(target="/app.js", headers={"Accept-Encoding": "gzip"}).text == "new"


def test_a_large_text_is_encoded_for_a_slow_reader_at_constant_memory(proxy, files):
    line = "".join("%08x" % (number * 2654435761 % 2**32) for number in range(1 << 16)) + "\n"
    content = (line * 24).encode()
    (files / "big.txt").write_bytes(content)
    one = serving(proxy, files)
    one.ask(target="/big.txt", headers={"Accept-Encoding": "gzip"})
    before = one.memory()
    with one.client(receive_buffer=4096, timeout=60) as client:
        client.request(target="/big.txt", headers={"Accept-Encoding": "gzip"})
        answer = client.head()
        body = b"".join(client.pieces(answer))
        assert gzip.decompress(body) == content
    assert one.memory() < before + 3072


# --- Other origins ------------------------------------------------------------

def test_fonts_scripts_and_styles_may_be_read_by_other_origins(proxy, files):
    for name in ("f.woff2", "m.js", "s.css", "d.json", "i.png"):
        (files / name).write_bytes(b"x")
    allowed = lambda one: {name for name in ("f.woff2", "m.js", "s.css", "d.json", "i.png")
                           if one.ask(target="/" + name).get("access-control-allow-origin") == "*"}
    assert allowed(serving(proxy, files)) == {"f.woff2", "m.js", "s.css"}
    assert allowed(serving(proxy, files, "cors: all")) == {"f.woff2", "m.js", "s.css", "d.json", "i.png"}
    assert allowed(serving(proxy, files, "cors: none")) == set()


# --- Where the kernel can not send the file -----------------------------------

SECURE = """
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls:
      certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]
serve: {dir: @FILES@}
"""


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_files_go_through_tls_and_http2(proxy, files, tmp_path, version):
    certificates = Certificates(tmp_path)
    content = os.urandom(3 * MIB + 7)
    (files / "big.bin").write_bytes(content)
    (files / "big.css").write_text(TEXT)
    one = proxy(SECURE, CERTS=tmp_path, FILES=files)

    def fetch(path, *more):
        out = tmp_path / "out"
        done = subprocess.run(["curl", "-sS", version, "--cacert", certificates / "ca.pem", "-o", out, "-w", "%{http_code}", *more,
                               "https://localhost:%d%s" % (one.port, path)], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stdout, out.read_bytes()

    assert fetch("/big.bin") == ("200", content) and fetch("/a.txt") == ("200", b"alpha")
    assert fetch("/big.bin", "-r", "1000000-1999999") == ("206", content[1000000:2000000])
    status, parts = fetch("/big.bin", "-r", "0-99999,200000-299999")
    assert status == "206" and content[:100000] in parts and content[200000:300000] in parts
    assert fetch("/big.css", "--compressed") == ("200", TEXT.encode())
    assert fetch("/missing")[0] == "404" and fetch("/a.txt", "-X", "DELETE")[0] == "405"


def test_many_streams_of_one_connection_get_their_files(proxy, files):
    (files / "big.bin").write_bytes(bytes(MIB))
    one = proxy("listeners: [{address: '127.0.0.1:@LISTEN@', h2c: true}]\nserve: {dir: @FILES@}\n", FILES=files)
    done = subprocess.run(["h2load", "-n", "200", "-c", "2", "-m", "20", "http://127.0.0.1:%d/big.bin" % one.port], capture_output=True, text=True, timeout=60)
    assert "200 succeeded, 0 failed" in done.stdout and "%d" % (200 * MIB) in done.stdout, done.stdout


# --- explain ------------------------------------------------------------------

def test_explain_tells_which_file_would_be_served(proxy, origin, files):
    _, one = local_first(proxy, origin, files)
    shown = lambda target: one.run("explain", "GET", target, "-c", str(one.config)).stdout
    assert "serve %s/a.txt (text/plain, 5 bytes)" % files in shown("/a.txt")
    gone = shown("/gone.txt")
    assert "there is no file %s/gone.txt" % files in gone and "action    proxy" in gone and "✓ site" in gone
    alone = serving(proxy, files)
    assert "404: there is no file" in alone.run("explain", "GET", "/gone.txt", "-c", str(alone.config)).stdout
