"""HTTP/2 with clients: each stream is an exchange like any other, and none stands in another's way."""
import json, re, signal, socket, subprocess, threading, time

import pytest

from harness import MIB, PATIENCE, Gone, eventually, free_port, reply
from http2 import *

CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstream: "http://127.0.0.1:@ORIGIN@"
request: {set: {Authorization: Bearer T0KEN}}
log: {format: json}
workers: 1
"""


def text_of(origin):
    return origin.requests[-1]


# --- Real clients ------------------------------------------------------------

def test_curl_speaks_http2_to_the_origin_of_http1(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    done = subprocess.run(["curl", "-sS", "-i", "--http2-prior-knowledge", "-d", "x" * 100_000, "http://127.0.0.1:%d/p?q=1" % one.port],
                          capture_output=True, timeout=20)
    head, body = done.stdout.decode().split("\r\n\r\n", 1)
    told = json.loads(body)
    assert head.startswith("HTTP/2 200") and told["method"] == "POST" and told["target"] == "/p?q=1" and told["length"] == 100_000
    assert ["Authorization", "Bearer T0KEN"] in told["fields"] and not any(name.lower() == "transfer-encoding" for name, _ in told["fields"])


def test_h2load_has_all_of_its_requests_answered(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    done = subprocess.run(["h2load", "-n", "600", "-c", "6", "-m", "20", "http://127.0.0.1:%d/" % one.port], capture_output=True, text=True, timeout=60)
    assert "600 succeeded, 0 failed" in done.stdout, done.stdout


def test_nghttp_sees_headers_content_and_trailers(proxy, origin):
    def trailers(request, wire):
        list(wire.pieces(request))
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n")

    one = proxy(CONFIG, ORIGIN=origin(trailers).port)
    done = subprocess.run(["nghttp", "-v", "http://127.0.0.1:%d/" % one.port], capture_output=True, text=True, timeout=20)
    assert "hello" in done.stdout and re.search(r"x-sum: 42", done.stdout)


# --- Exchanges ---------------------------------------------------------------

def test_the_log_and_via_tell_the_version(proxy, origin):
    there = origin()
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        assert client.fetch(path="/logged").status == 200
    assert re.fullmatch(r"2\.0 authproxy-\w+", there.requests[0].get("via"))
    record = eventually(lambda: [line for line in one.records() if line.get("path") == "/logged"])[0]
    assert record["proto"] == "HTTP/2" and record["status"] == 200


def test_streams_are_answered_in_the_order_of_their_origins(proxy, origin):
    gate = threading.Event()

    def first_waits(request, wire):
        if request.target == "/slow":
            assert gate.wait(PATIENCE)
        reply(wire, request.target)

    one = proxy(CONFIG, ORIGIN=origin(first_waits).port)
    with HTTP2(one.port) as client:
        slow, fast = client.ask_on(path="/slow"), [client.ask_on(path="/%d" % number) for number in range(20)]
        assert [client.response(stream).text for stream in fast] == ["/%d" % number for number in range(20)]
        assert client.answer_of(slow).fields is None
        gate.set()
        assert client.response(slow).text == "/slow"


def test_a_body_of_unknown_length_is_chunked_and_one_of_known_length_is_not(proxy, origin):
    there = origin()
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        assert json.loads(client.fetch("POST", body=b"x" * 200_000).body)["length"] == 200_000
        assert there.requests[-1].get("transfer-encoding") == "chunked"
        assert json.loads(client.fetch("POST", body=b"x" * 70_000, fields=[("content-length", "70000")]).body)["length"] == 70_000
        assert there.requests[-1].get("content-length") == "70000" and not there.requests[-1].get("transfer-encoding")
        assert client.fetch("GET", body=b"").status == 200


def test_cookies_that_were_cut_up_are_one_field_again(proxy, origin):
    there = origin()
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        client.fetch(fields=[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")])
    assert there.requests[0].all("cookie") == ["a=1; b=2"]


def test_trailers_go_both_ways(proxy, origin):
    seen = []

    def trailers(request, wire):
        list(wire.pieces(request))
        seen.extend(request.trailers)
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 42\r\nContent-Length: 9\r\n\r\n")

    one = proxy(CONFIG, ORIGIN=origin(trailers).port)
    with HTTP2(one.port) as client:
        stream = client.ask_on("POST", body=None, fields=())
        client.response(stream)
        client.headers(3, request("POST"), end=False)
        client.data(3, b"content", end=False)
        client.headers(3, [("x-check", "7"), ("authorization", "EVIL")])
        answer = client.response(3)
    assert answer.body == b"ok" and answer.trailers == [("x-sum", "42")]
    assert seen == ["x-check: 7"]


def test_interim_responses_come_before_the_final_one(proxy, origin):
    def hints(request, wire):
        wire.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        reply(wire)

    one = proxy(CONFIG, ORIGIN=origin(hints).port)
    with HTTP2(one.port) as client:
        answer = client.fetch()
        assert [dict(fields)[":status"] for fields in answer.interim] == ["103"] and dict(answer.interim[0])["link"] == "</a.css>; rel=preload"
        assert answer.body == b"ok"


@pytest.mark.parametrize("answer, status, length", [
    ("HTTP/1.1 204 No Content\r\n\r\n", 204, None), ("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n", 304, "5"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "0")])
def test_responses_without_content_end_with_their_head(proxy, origin, answer, status, length):
    def bare(request, wire):
        wire.send(answer)

    one = proxy(CONFIG, ORIGIN=origin(bare).port)
    with HTTP2(one.port) as client:
        got = client.fetch()
        assert (got.status, got.get("content-length"), got.body) == (status, length, b"")
        assert not any(one.kind == DATA for one in client.frames)
        assert not {"connection", "transfer-encoding", "keep-alive"} & {name for name, _ in got.fields}


def test_head_has_the_length_and_no_content(proxy, origin):
    def bare(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")

    one = proxy(CONFIG, ORIGIN=origin(bare).port)
    with HTTP2(one.port) as client:
        answer = client.fetch("HEAD")
        assert (answer.status, answer.get("content-length"), answer.body) == (200, "12", b"")


def test_an_origin_that_breaks_off_is_seen_as_a_reset(proxy, origin):
    def broken(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        return "close"

    one = proxy(CONFIG, ORIGIN=origin(broken).port)
    with HTTP2(one.port) as client:
        answer = client.fetch()
        assert answer.status == 200 and not answer.ended and answer.reset == INTERNAL_ERROR
        assert client.goaway is None and client.fetch().reset == INTERNAL_ERROR


def test_a_response_that_comes_early_ends_the_request(proxy, origin):
    def early(request, wire):
        reply(wire, "enough", status="413 Content Too Large")
        return "close"

    one = proxy(CONFIG, ORIGIN=origin(early).port)
    with HTTP2(one.port) as client:
        client.headers(1, request("POST"), end=False)
        client.data(1, b"x" * 1000, end=False)
        answer = client.response(1)
        assert answer.status == 413 and answer.body == b"enough" and answer.ended
        client.until(lambda: answer.reset is not None)
        assert answer.reset == NO_ERROR
        client.data(1, b"late", end=False)  # what was under way is no fault
        client.ping()
        assert client.goaway is None


def test_a_reset_by_the_client_stops_the_origin(proxy, origin):
    gone = threading.Event()

    def endless(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                wire.send("4\r\ndata\r\n")
                threading.Event().wait(0.01)
        except OSError:
            gone.set()
            raise

    one = proxy(CONFIG, ORIGIN=origin(endless).port)
    with HTTP2(one.port) as client:
        stream = client.ask_on()
        client.until(lambda: client.answer_of(stream).body)
        client.reset(stream)
        assert gone.wait(PATIENCE)
        record = eventually(lambda: [line for line in one.records() if line.get("msg") == "request"])[0]
        assert record["status"] == 200


@pytest.mark.parametrize("host, method, status, reason", [
    ("a.test@b.test", "GET", 400, "bad_request"), ("a.test", "TRACE", 405, "method_not_allowed"), ("a.test:b", "GET", 400, "bad_request")])
def test_what_is_refused_over_http1_is_refused_over_http2(proxy, origin, host, method, status, reason):
    there = origin()
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        answer = client.fetch(method, authority=host)
        assert (answer.status, answer.get("authproxy-error")) == (status, reason) and not there.requests
        assert client.fetch().status == 200


def test_connect_is_refused(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        client.headers(1, [(":method", "CONNECT"), (":authority", "a.test:443")], end=False)
        assert client.response(1).status == 405


@pytest.mark.parametrize("fields, status", [
    ([("x-long", "y" * 20_000)], 431), ([("x-%d" % number, "y") for number in range(101)], 431), ([("cookie", "a=%s" % ("y" * 200))] * 100, 431)])
def test_heads_beyond_the_limits_are_told_so(proxy, origin, fields, status):
    there = origin()
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        block = client.encode(request(fields=fields))
        client.send(frame(HEADERS, END_STREAM | (END_HEADERS if len(block) <= 16384 else 0), 1, block[:16384]))
        if len(block) > 16384:
            client.send(frame(CONTINUATION, END_HEADERS, 1, block[16384:]))
        assert client.response(1).status == status and not there.requests
        assert client.response(client.headers(3, request())).status == 200


def test_a_long_target_is_told_so(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        assert client.fetch(path="/" + "a" * 9000).status == 414


def test_a_body_beyond_the_limit_is_told_so(proxy, origin):
    one = proxy(CONFIG + "limits: {body: 64KiB}\n", ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        assert client.fetch("POST", body=None, fields=[("content-length", "0")]).status == 200
        client.headers(3, request("POST", fields=[("content-length", "70000")]), end=False)
        assert client.response(3).status == 413
        client.headers(5, request("POST"), end=False)
        client.data(5, b"x" * 66_000, end=False)
        assert client.response(5).status == 413


def test_a_redirect_is_followed_with_its_content(proxy, origin):
    def redirects(request, wire):
        body = b"".join(wire.pieces(request))
        if request.target == "/from":
            return wire.send("HTTP/1.1 307 Temporary Redirect\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n")
        reply(wire, body)

    one = proxy(CONFIG + "proxy: {redirects: follow}\n", ORIGIN=origin(redirects).port)
    with HTTP2(one.port) as client:
        answer = client.fetch("POST", "/from", body=b"content")
        assert (answer.status, answer.body) == (200, b"content")


# --- Flow control ------------------------------------------------------------

def test_a_stream_that_is_not_read_stops_no_other_and_grows_no_memory(proxy, origin):
    sent = []

    def large(request, wire):
        size = 64 * MIB if request.target == "/large" else 3 * MIB
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // 65536):
            wire.send(bytes(65536))
            if request.target == "/large":
                sent.append(65536)

    one = proxy(CONFIG, ORIGIN=origin(large).port)
    with HTTP2(one.port) as client:
        client.open_window(0, 1 << 30)
        before = one.memory()
        client.opens = False
        stalled = [client.ask_on(path="/large") for _ in range(10)]
        client.until(lambda: all(len(client.answer_of(stream).body) == 65535 for stream in stalled))
        other = client.ask_on(path="/other")
        client.open_window(other, 4 * MIB)
        assert len(client.response(other).body) == 3 * MIB
        assert all(len(client.answer_of(stream).body) == 65535 for stream in stalled)
        assert one.memory() - before < 16 * 1024
        client.open_window(stalled[0], 100_000)
        client.until(lambda: len(client.answer_of(stalled[0]).body) == 165_535)


def test_an_upload_that_the_origin_does_not_read_is_held_back_by_its_window(proxy, origin):
    gate = threading.Event()

    def waits(request, wire):
        if request.target == "/held":
            assert gate.wait(PATIENCE)
        length = sum(len(piece) for piece in wire.pieces(request))
        reply(wire, str(length))

    one = proxy(CONFIG, ORIGIN=origin(waits).port)
    with HTTP2(one.port) as client:
        client.headers(1, request("POST", "/held"), end=False)
        sent = 0
        while room := min(16384, client.window(1), client.window(0)):
            client.data(1, bytes(room), end=False)
            sent += room
            if client.window(1) == 0:
                client.ping()
            assert sent < 32 * MIB, "the proxy takes what nobody reads"
        # Another stream is not held back.
        client.headers(3, request("POST", "/free"), end=False)
        client.data(3, bytes(MIB))
        assert client.response(3).text == str(MIB)
        gate.set()
        client.data(1, b"end")
        assert client.response(1).text == str(sent + 3)


def test_an_upload_that_is_taken_as_it_comes_gets_a_larger_window(proxy, origin):
    """A window is what may be under way within a round trip. One that has grown while it was alone holds half of the connection's, and
    one beside others an eighth: the rest is for those that are read."""
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire, str(sum(map(len, wire.pieces(request)))))).port)
    with HTTP2(one.port) as client:
        client.ping()
        sent = {1: 0, 3: 0}

        def send(stream):
            client.data(stream, bytes(65536), end=False)
            client.ping()
            sent[stream] += 65536
            return client.window(stream)

        for stream, most in ((1, MIB), (3, MIB // 4)):
            client.headers(stream, request("POST"), end=False)
            # At once, unless the origin is slow at times; no faster then than PINGs are taken for ever.
            eventually(lambda: send(stream) >= most - 65536 or time.sleep(0.05), 30)
            assert max(send(stream) for _ in range(40)) <= most
        for stream in sent:
            client.data(stream, b"end")
            assert client.response(stream).text == str(sent[stream] + 3)


def test_uploads_that_nobody_reads_share_a_bound(proxy, origin):
    """128 streams of 64 KiB are more than a connection may hold; a stream that has to wait for the others is not late."""
    gate, taken = threading.Event(), []

    def waits(request, wire):
        if request.target == "/held":
            assert gate.wait(60)
        length = 0
        for piece in wire.pieces(request):
            length += len(piece)
            if request.target == "/free":
                taken.append(len(piece))
        reply(wire, str(length))

    one = proxy("""
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstreams:
  narrow: {url: "http://127.0.0.1:@ORIGIN@", pool: {max_connections: 1}, timeouts: {connect: 30s}}
  wide: "http://127.0.0.1:@ORIGIN@"
rules:
  - {name: held, match: {path: /held}, proxy: {upstream: narrow}}
  - {name: free, proxy: {upstream: wide}}
timeouts: {body_idle: 3s}
workers: 1
""", ORIGIN=origin(waits).port)
    with HTTP2(one.port) as client:
        client.ping()
        first = client.headers(1, request("POST", "/held"))  # has the one connection
        free = client.headers(3, request("POST", "/free"), end=False)
        client.data(free, b"x", end=False)
        before, sent = one.memory(), dict.fromkeys(range(5, 255, 2), 0)

        def send(stream):
            """As much as the windows allow, without waiting."""
            while room := min(16384, client.window(stream), client.window(0)):
                client.data(stream, bytes(room), end=False)
                sent[stream] += room

        for stream in sent:
            client.headers(stream, request("POST", "/held"), end=False)
        for stream in list(sent)[:15]:  # of few slow streams a sibling feels nothing
            send(stream)
            client.ping()
            client.data(free, bytes(65536), end=False)
        eventually(lambda: sum(taken) == 1 + 15 * 65536)
        client.ping()
        turns = 0
        while client.window(0) and sum(sent.values()) <= 2 * MIB:
            client.data(free, b"x", end=False)  # late only by what follows
            turns += 1
            for stream in sent:
                send(stream)
            client.ping()
        assert 2 * MIB - 16384 - turns <= sum(sent.values()) <= 2 * MIB, "%d octets held" % sum(sent.values())
        assert one.memory() - before < 6 * 1024
        time.sleep(3.5)  # past body_idle: there is nothing to wait for
        client.ping()
        assert client.answer_of(free).reset is None and not client.answer_of(free).ended
        gate.set()
        assert client.response(first).text == "0"
        for stream in sent:
            client.data(stream, bytes(65536))
        client.data(free, b"end")
        for stream in sent:
            answer = client.response(stream)
            assert (answer.status, answer.text) == (200, str(sent[stream] + 65536))
        assert client.response(free).text == str(1 + 15 * 65536 + turns + 3)


def test_content_of_streams_that_were_refused_is_given_back(proxy, origin):
    """What was under way when a stream was reset, and padding, take no room from the uploads that go on."""
    gate = threading.Event()

    def waits(request, wire):
        assert gate.wait(60)
        reply(wire, str(sum(len(piece) for piece in wire.pieces(request))))

    one = proxy("""
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstream: "http://127.0.0.1:@ORIGIN@"
rules:
  - {match: {path: /early}, respond: {status: 403}}
  - {proxy: {upstream: default}}
workers: 1
""", ORIGIN=origin(waits).port)
    with HTTP2(one.port) as client:
        client.ping()
        for stream in range(3, 83, 2):
            client.headers(stream, request("POST", "/early"), end=False)
            client.until(lambda: client.answer_of(stream).reset is not None)
            for _ in range(4):
                client.send(frame(DATA, 0, stream, bytes(16000)))
                client.windows[0] -= 16000
            client.ping()
        assert client.window(0) > 2 * MIB - 128 * 1024, "%d octets are left" % client.window(0)
        gate.set()
        client.headers(101, request("POST", "/"), end=False)
        client.send(frame(DATA, PADDED, 101, b"\xff" + bytes(10 + 255)))
        client.send(frame(DATA, END_STREAM, 101, b"x"))
        assert client.response(101).text == "11"


# --- Tunnels -----------------------------------------------------------------

def tunnel_to(wire, request):
    import base64, hashlib
    key = request.get("sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    wire.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept)


def connect_fields(path="/ws", protocol="websocket"):
    return [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"), (":path", path), (":authority", "app.test"), ("sec-websocket-version", "13")]


def test_an_extended_connect_is_an_upgrade_at_the_origin(proxy, origin):
    def echo_socket(request, wire):
        assert request.method == "GET" and request.get("upgrade") == "websocket" and request.get("connection").lower() == "upgrade"
        tunnel_to(wire, request)
        while True:
            if not wire.buffer:
                wire.more()
            wire.send(wire.take(len(wire.buffer)))

    one = proxy(CONFIG, ORIGIN=origin(echo_socket).port)
    with HTTP2(one.port) as client:
        client.headers(1, connect_fields(), end=False)
        client.data(1, b"early", end=False)
        client.until(lambda: client.answer_of(1).body == b"early")
        answer = client.answer_of(1)
        assert answer.status == 200 and not {"upgrade", "connection", "sec-websocket-accept"} & {name for name, _ in answer.fields}
        client.data(1, b"x" * 300_000, end=False)
        client.until(lambda: len(answer.body) == 300_005)
        client.data(1, b"", end=True)
        client.until(lambda: answer.ended or answer.reset is not None)


def test_a_tunnel_that_the_origin_does_not_open_is_none(proxy, origin):
    def plain(request, wire):
        reply(wire)

    one = proxy(CONFIG, ORIGIN=origin(plain).port)
    with HTTP2(one.port) as client:
        client.headers(1, connect_fields(), end=False)
        assert client.response(1).status == 502


def test_a_tunnel_with_the_wrong_accept_is_none(proxy, origin):
    def wrong(request, wire):
        wire.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n\r\n")

    one = proxy(CONFIG, ORIGIN=origin(wrong).port)
    with HTTP2(one.port) as client:
        client.headers(1, connect_fields(), end=False)
        assert client.response(1).status == 502


def test_a_refusal_of_the_origin_s_is_passed_on(proxy, origin):
    def refuses(request, wire):
        reply(wire, "no", status="403 Forbidden")

    one = proxy(CONFIG, ORIGIN=origin(refuses).port)
    with HTTP2(one.port) as client:
        client.headers(1, connect_fields(), end=False)
        answer = client.response(1)
        assert (answer.status, answer.body) == (403, b"no")


@pytest.mark.parametrize("rules", ["", "rules: [{name: own, respond: {status: 200, body: hello}}]"])
def test_protocols_that_are_not_let_through_are_not_tunnelled(proxy, origin, rules):
    there = origin()
    config = CONFIG if not rules else re.sub("request:.*\n", rules + "\n", CONFIG)
    one = proxy(config, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        client.headers(1, connect_fields(protocol="connect-udp" if not rules else "websocket"), end=False)
        assert client.response(1).status == 501 and not there.requests


# --- Deadlines ---------------------------------------------------------------

def quick(**deadlines):
    return CONFIG + "timeouts: {%s}\n" % ", ".join("%s: %s" % pair for pair in deadlines.items())


def test_a_preface_that_does_not_come_ends_the_connection(proxy, origin):
    one = proxy(quick(header="300ms"), ORIGIN=origin().port)
    with HTTP2(one.port, greet=False) as client:
        client.send(PREFACE)
        client.try_send = lambda data: None
        assert client.outcome() in [("goaway", NO_ERROR), ("closed", None)]


def test_a_header_block_that_does_not_end_ends_the_connection(proxy, origin):
    one = proxy(quick(header="300ms"), ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        client.ping()
        client.send(frame(HEADERS, 0, 1, client.encode(request())))
        assert client.outcome() in [("goaway", NO_ERROR), ("closed", None)]


def test_content_that_does_not_come_ends_the_request(proxy, origin):
    one = proxy(quick(body_idle="300ms"), ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        client.headers(1, request("POST"), end=False)
        client.data(1, b"x", end=False)
        assert client.response(1).status == 408
        assert client.response(client.headers(3, request())).status == 200


def test_a_client_that_has_finished_sending_gets_what_it_has_asked_for(proxy, origin):
    """As `nc -N` leaves it: what is complete is answered, what is not is cancelled, and the connection ends."""
    gate, cut = threading.Event(), threading.Event()

    def serve(request, wire):
        try:
            for _ in wire.pieces(request):
                pass
        except Gone:
            cut.set()
            raise
        assert gate.wait(PATIENCE)
        reply(wire, bytes(20_000))

    one = proxy(CONFIG, ORIGIN=(source := origin(serve)).port)
    with HTTP2(one.port) as client:
        client.headers(1, request())
        client.headers(3, request("POST", "/up"), end=False)
        client.data(3, b"whole")
        client.headers(5, request("POST", "/cut"), end=False)
        client.data(5, b"half", end=False)
        eventually(lambda: len(source.requests) == 3)
        client.socket.shutdown(socket.SHUT_WR)
        assert cut.wait(PATIENCE) and client.outcome(5) is not None
        gate.set()
        assert [len(client.response(stream).body) for stream in (1, 3)] == [20_000, 20_000]
        assert client.answer_of(5).fields is None and client.goaway.code == NO_ERROR
        with pytest.raises(Gone):
            client.read()


def test_a_client_that_sends_all_at_once_and_its_end_is_answered(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire)).port)
    for end in (frame(GOAWAY, 0, 0, bytes(8)), b""):
        with HTTP2(one.port, greet=False) as client:
            client.send(PREFACE + settings() + frame(HEADERS, 5, 1, client.encode(request())) + end)
            client.socket.shutdown(socket.SHUT_WR)
            assert client.response(1).body == b"ok"
            with pytest.raises(Gone):
                while True:
                    client.read()


def test_a_client_that_has_finished_sending_gets_all_of_what_it_reads_slowly(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire, bytes(6 * MIB))).port)
    with HTTP2(one.port, initial={INITIAL_WINDOW_SIZE: 1 << 25}, opens=False, receive_buffer=65536) as client:
        client.open_window(0, 1 << 25)
        client.headers(1, request())
        client.until(lambda: client.answer_of(1).body)
        client.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.5)  # the proxy's output stands still
        assert len(client.response(1).body) == 6 * MIB
        with pytest.raises(Gone):
            while True:
                client.read()


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_client_that_has_gone_stops_its_origins(proxy, origin, reset):
    gone = threading.Event()

    def waits(request, wire):
        try:
            wire.take(1)
        finally:
            gone.set()

    one = proxy(CONFIG, ORIGIN=(source := origin(waits)).port)
    client = HTTP2(one.port)
    client.ping().headers(1, request())
    eventually(lambda: source.requests)
    client.close(reset)
    assert gone.wait(PATIENCE)
    with HTTP2(one.port) as other:
        other.ping()


def test_an_idle_connection_is_ended_with_goaway(proxy, origin):
    one = proxy(quick(keepalive="300ms"), ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        assert client.fetch().status == 200
        assert client.outcome() == ("goaway", NO_ERROR)


def test_a_stream_whose_client_takes_next_to_nothing_is_ended(proxy, origin):
    def large(request, wire):
        reply(wire, bytes(MIB) if request.target == "/large" else b"ok")

    one = proxy(quick(write_idle="500ms"), ORIGIN=origin(large).port)
    with HTTP2(one.port, opens=False, initial={INITIAL_WINDOW_SIZE: 10}) as client:
        stream = client.ask_on(path="/large")
        client.until(lambda: client.answer_of(stream).body)
        stop = threading.Event()

        def trickle():
            while not stop.wait(0.05):
                client.try_send(frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", 1)))

        threading.Thread(target=trickle, daemon=True).start()
        assert client.response(stream).reset == CANCEL
        stop.set()
        other = client.ask_on(path="/small")
        assert client.response(other).body == b"ok"


def test_an_origin_that_does_not_answer_is_a_timeout(proxy, origin):
    def silent(request, wire):
        list(wire.pieces(request))
        wire.more()

    one = proxy(re.sub("upstream: (.*)", r"upstream: {url: \1, timeouts: {response: 300ms}}", CONFIG), ORIGIN=origin(silent).port)
    with HTTP2(one.port) as client:
        assert client.fetch().status == 504


# --- The end of the proxy, and its reload ------------------------------------

def test_draining_announces_the_end_and_lets_streams_finish(proxy, origin):
    gate = threading.Event()

    def waits(request, wire):
        assert gate.wait(PATIENCE)
        reply(wire)

    there = origin(waits)
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client:
        running = client.ask_on()
        eventually(lambda: there.requests)
        one.signal(signal.SIGTERM)
        client.until(lambda: client.goaway)
        assert client.goaway.code == NO_ERROR and client.goaway.last == 0x7fffffff
        client.until(lambda: client.goaway.last == 1)
        gate.set()
        assert client.response(running).body == b"ok"
        assert client.outcome()[0] == "goaway"
        with pytest.raises((Gone, OSError)):
            client.until(lambda: False)
    assert one.exit_status() == 0


def test_clients_that_say_nothing_hold_no_drain_up(proxy, origin):
    """An answer to the announcement is waited for a second, and as long for the client's end: not the five of a proxy that stays."""
    one = proxy(CONFIG, ORIGIN=origin().port)
    with HTTP2(one.port) as silent, HTTP2(one.port) as lingering, one.client() as half:
        silent.fetch()
        # Ended by a fault, and read on: the client has not closed.
        lingering.send(frame(PING, 0, 1, bytes(8)))
        assert lingering.outcome()[0] == "goaway"
        half.send("GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\nmore")
        assert half.response().status == 200
        began = time.monotonic()
        one.signal(signal.SIGTERM)
        assert one.exit_status() == 0
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("number, header", [(signal.SIGHUP, "1s"), (signal.SIGTERM, "60s")])
def test_a_header_block_that_does_not_end_has_its_deadline_behind_a_goaway_too(proxy, origin, number, header):
    one = proxy(CONFIG + "timeouts: {header: %s, shutdown: 60s}\n" % header, ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        client.fetch()
        client.send(frame(HEADERS, END_STREAM, 3, client.encode(request())))
        client.try_send = lambda data: None  # in the middle of a block an answer to PING would be a fault
        one.signal(number)
        with pytest.raises((Gone, ConnectionError)):
            client.until(lambda: False)
    if number == signal.SIGTERM:
        assert one.exit_status() == 0


def test_a_stop_behind_a_reload_waits_for_no_header_block(proxy, origin):
    one = proxy(CONFIG + "timeouts: {header: 60s, shutdown: 60s}\n", ORIGIN=origin().port)
    with HTTP2(one.port) as client:
        client.fetch()
        client.send(frame(HEADERS, END_STREAM, 3, client.encode(request())))
        client.try_send = lambda data: None
        one.signal(signal.SIGHUP)
        client.until(lambda: client.goaway and client.goaway.last != 0x7fffffff)
        one.signal(signal.SIGTERM)
        assert one.exit_status() == 0


@pytest.mark.parametrize("trailers", [False, True])
def test_a_request_that_is_held_over_a_reload_begins_under_the_new_configuration(proxy, origin, trailers):
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire, request.get("authorization"))).port)
    with HTTP2(one.port) as client:
        client.headers(1, request("POST", fields=[("content-length", "0")]), end=False)
        client.ping()
        assert not one.reload_to(CONFIG.replace("T0KEN", "NEW"))
        client.headers(1, [("x-end", "1")]) if trailers else client.send(frame(DATA, END_STREAM, 1))
        assert client.response(1).text == "Bearer NEW"


def test_a_reload_lets_streams_finish_and_sends_new_ones_elsewhere(proxy, origin):
    gate = threading.Event()

    def waits(request, wire):
        if request.target == "/old":
            assert gate.wait(PATIENCE)
        reply(wire, request.get("authorization"))

    there = origin(waits)
    one = proxy(CONFIG, ORIGIN=there.port)
    with HTTP2(one.port) as client, HTTP2(one.port) as fresh:
        running = client.ask_on(path="/old")
        eventually(lambda: there.requests)
        one.write(CONFIG.replace("T0KEN", "NEW"))
        one.signal(signal.SIGHUP)
        client.until(lambda: client.goaway and client.goaway.last == 1)
        gate.set()
        assert client.response(running).text == "Bearer T0KEN"
    with HTTP2(one.port) as client:
        assert client.fetch(path="/new").text == "Bearer NEW"


def test_an_idle_connection_owns_little(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    clients = [HTTP2(one.port) for _ in range(20)]
    for client in clients:
        assert client.fetch().status == 200
    before = one.memory("RssAnon")
    more = [HTTP2(one.port) for _ in range(200)]
    for client in more:
        client.ping()
    each = (one.memory("RssAnon") - before) / len(more)
    for client in clients + more:
        client.close()
    assert each < 24, "%.1f KiB each" % each


@pytest.mark.parametrize("news", [signal.SIGTERM, signal.SIGHUP])
def test_a_download_whose_client_pauses_outlives_a_drain_and_a_reload(proxy, origin, news):
    size = 8 * MIB
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire, bytes(size))).port)
    with HTTP2(one.port, opens=False, initial={INITIAL_WINDOW_SIZE: 0x7fffffff}, receive_buffer=65536) as client, HTTP2(one.port) as silent:
        client.open_window(0, 0x7fffffff - 65535)
        stream = client.ask_on(path="/large")
        client.until(lambda: client.answer_of(stream).body)
        silent.ping()
        one.signal(news)
        # A client that does not answer the announcement is believed after a second: by then the pausing one has had its time.
        silent.try_send = lambda data: None
        silent.until(lambda: silent.goaway and silent.goaway.last != 0x7fffffff)
        answer = client.response(stream)
        assert answer.ended and len(answer.body) == size


@pytest.mark.parametrize("answer", ["Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"])
def test_an_end_that_the_client_s_window_holds_back_has_a_deadline(proxy, origin, answer):
    one = proxy(quick(write_idle="300ms"), ORIGIN=origin(lambda request, wire: wire.send("HTTP/1.1 200 OK\r\n" + answer)).port)
    with HTTP2(one.port, opens=False, initial={INITIAL_WINDOW_SIZE: 5 if "hello" in answer else 0}) as client:
        stream = client.ask_on(fields=[("te", "trailers")])
        got = client.response(stream)
        assert got.reset == CANCEL or got.ended
