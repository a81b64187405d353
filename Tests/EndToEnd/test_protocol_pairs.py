"""Clients and origins of HTTP/1.1 and HTTP/2 in every pairing: the same request means the same, whatever carries it."""
import hashlib, json, threading

import pytest

from harness import MIB, PATIENCE, Gone, eventually, reply
from http2 import *

CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", protocol: @PROTOCOL@}}
request: {set: {Authorization: Bearer T0KEN}, remove: [X-Secret]}
response: {set: {X-Edited: "1"}}
timeouts: {body_idle: 5s}
workers: 1
"""


class Told:
    """A request as the origin saw it, over either protocol."""

    def __init__(self, one):
        self.method, self.target, self.body, self.trailers = one.method, one.target, one.body, [tuple(line.split(": ", 1)) if isinstance(line, str) else line for line in one.trailers]
        self.fields = [(name.lower(), value) for name, value in one.fields]
        self.host = one.pseudo[":authority"] if hasattr(one, "pseudo") else one.get("host")

    def get(self, name):
        return dict(self.fields).get(name)


class Got:
    """A response as the client saw it, over either protocol."""

    def __init__(self, status, fields, body, trailers, interim):
        self.status, self.body, self.interim = status, body, interim
        self.fields = [(name.lower(), value) for name, value in fields if not name.startswith(":")]
        self.trailers = [(name.lower(), value) for name, value in trailers]

    def get(self, name):
        return dict(self.fields).get(name)


class Pair:
    """A proxy between a client and an origin that speak what the test is run for."""

    def __init__(self, client, upstream, proxy, origin, origin2):
        self.client, self.upstream, self.start, self.origin, self.origin2 = client, upstream, proxy, origin, origin2
        self.told = []

    def run(self, answer, config=CONFIG, settings=None):
        """`answer(side)` answers each request; see Side."""
        def over1(request, wire):
            side = Side1(request, wire, self)
            return answer(side)

        def over2(stream):
            answer(Side2(stream, self))

        self.there = self.origin2(over2, settings=settings) if self.upstream == "H2" else self.origin(over1)
        self.proxy = self.start(config, ORIGIN=self.there.port, PROTOCOL="h2c" if self.upstream == "H2" else "http/1.1")
        return self

    def ask(self, method="GET", target="/", body=None, fields=(), trailers=(), host="app.test"):
        return self.ask1(method, target, body, fields, trailers, host) if self.client == "H1" else self.ask2(method, target, body, fields, trailers, host)

    def ask1(self, method, target, body, fields, trailers, host):
        with self.proxy.client() as client:
            lines = ["%s %s HTTP/1.1" % (method, target), "Host: " + host, "TE: trailers", "Connection: TE"] + ["%s: %s" % pair for pair in fields]
            has_length = any(name.lower() == "content-length" for name, _ in fields)
            if body is not None and not has_length:
                lines.append("Transfer-Encoding: chunked")
            client.send("\r\n".join(lines) + "\r\n\r\n")
            if body is not None:
                if has_length:
                    client.send(body)
                else:
                    if body:
                        client.send(b"%x\r\n%s\r\n" % (len(body), body))
                    client.send("0\r\n" + "".join("%s: %s\r\n" % pair for pair in trailers) + "\r\n")
            answer = client.response(method)
            return Got(answer.status, answer.fields, answer.body, [line.split(": ", 1) for line in answer.trailers], [one.status for one in answer.interim])

    def ask2(self, method, target, body, fields, trailers, host):
        with HTTP2(self.proxy.port) as client:
            stream = client.headers(1, request(method, target, host, fields=[(name.lower(), value) for name, value in fields]), end=body is None)
            if body is not None:
                client.data(stream, body, end=not trailers)
                if trailers:
                    client.headers(stream, trailers)
            answer = client.response(stream)
            assert answer.ended, "reset with %s" % answer.reset
            return Got(answer.status, answer.fields, answer.body, answer.trailers or [], [int(dict(one)[":status"]) for one in answer.interim])


class Side1:
    """The origin's side of one exchange over HTTP/1.1."""

    def __init__(self, request, wire, pair):
        self.request, self.wire, self.pair = request, wire, pair

    def read(self):
        if self.request.get("expect"):
            self.wire.send("HTTP/1.1 100 Continue\r\n\r\n")
        self.request.body = b"".join(self.wire.pieces(self.request)) if self.request.get("content-length") or self.request.get("transfer-encoding") else b""
        self.pair.told.append(Told(self.request))
        return self.request.body

    def interim(self, status, fields):
        self.wire.send("HTTP/1.1 %d x\r\n%s\r\n" % (status, "".join("%s: %s\r\n" % pair for pair in fields)))

    def reply(self, body=b"ok", status=200, fields=()):
        body = body.encode() if isinstance(body, str) else body
        length = "" if status in (204, 304) else "Content-Length: %d\r\n" % len(body)
        content = b"" if self.request.method == "HEAD" or status in (204, 304) else body
        self.wire.send(("HTTP/1.1 %d x\r\n%s%s\r\n" % (status, length, "".join("%s: %s\r\n" % pair for pair in fields))).encode() + content)

    def stream(self, pieces, trailers=()):
        self.wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            self.wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wire.send("0\r\n" + "".join("%s: %s\r\n" % pair for pair in trailers) + "\r\n")

    def hang_up(self):
        return "close"

    def is_abandoned(self):
        try:
            self.wire.socket.settimeout(PATIENCE)
            while True:
                self.wire.buffer.clear()
                self.wire.more()
        except (Gone, ConnectionError):
            return True


class Side2:
    """The same over HTTP/2."""

    def __init__(self, stream, pair):
        self.request, self.pair = stream, pair

    def read(self):
        body = self.request.read()
        self.pair.told.append(Told(self.request))
        return body

    def interim(self, status, fields):
        self.request.head(status, [(name.lower(), value) for name, value in fields])

    def reply(self, body=b"ok", status=200, fields=()):
        body = body.encode() if isinstance(body, str) else body
        fields = [(name.lower(), value) for name, value in fields]
        if status in (204, 304):
            self.request.head(status, fields, end=True)
        elif self.request.method == "HEAD":
            self.request.head(status, [("content-length", str(len(body))), *fields], end=True)
        else:
            self.request.reply(body, status, fields)

    def stream(self, pieces, trailers=()):
        self.request.head(200)
        for piece in pieces:
            self.request.data(piece)
        self.request.end([(name.lower(), value) for name, value in trailers])

    def hang_up(self):
        self.request.abort()

    def is_abandoned(self):
        eventually(lambda: self.request.reset is not None)
        return True


@pytest.fixture(params=["H1H1", "H1H2", "H2H1", "H2H2"])
def pair(request, proxy, origin, origin2):
    return Pair(request.param[:2], request.param[2:], proxy, origin, origin2)


def simple(side):
    side.read()
    side.reply()


def test_a_request_is_canonical_edited_and_answered(pair):
    pair.run(simple)
    got = pair.ask("GET", "/a/../b//c?q=%41", fields=[("X-Secret", "s"), ("Authorization", "EVIL"), ("X_Env", "x"), ("Cookie", "a=1")])
    told = pair.told[0]
    assert (got.status, got.body, got.get("x-edited")) == (200, b"ok", "1")
    assert (told.method, told.target, told.host) == ("GET", "/b/c?q=%41", "app.test")
    assert told.get("authorization") == "Bearer T0KEN" and told.get("cookie") == "a=1"
    assert not {"x-secret", "x_env", "connection" if pair.upstream == "H2" else "x"} & {name for name, _ in told.fields}
    assert told.get("via").startswith("1.1 authproxy" if pair.client == "H1" else "2.0 authproxy") and told.get("x-forwarded-for") == "127.0.0.1"
    assert told.get("te") == ("trailers" if pair.client == "H1" else None)


@pytest.mark.parametrize("length", [None, 0, 1, 100_000, 3 * MIB])
@pytest.mark.parametrize("declared", [True, False])
def test_content_goes_both_ways(pair, length, declared):
    def mirror(side):
        side.reply(hashlib.sha256(side.read()).hexdigest())

    pair.run(mirror)
    body = None if length is None else bytes(range(256)) * (length // 256) + b"x" * (length % 256)
    fields = [("Content-Length", str(length))] if declared and length is not None else []
    got = pair.ask("POST", "/p", body, fields)
    assert got.body.decode() == hashlib.sha256(body or b"").hexdigest()
    if declared and length is not None:
        assert pair.told[0].get("content-length") == str(length)


def test_large_responses_arrive_whole(pair):
    content = bytes(range(256)) * (8 * MIB // 256)

    def large(side):
        side.read()
        side.reply(content)

    assert pair.run(large).ask().body == content


def test_a_stream_without_length_and_its_trailers(pair):
    def streams(side):
        side.read()
        side.stream([b"a" * 10, b"b" * 70_000, b"c"], [("X-Sum", "42"), ("Content-Type", "no")])

    got = pair.run(streams).ask()
    assert got.body == b"a" * 10 + b"b" * 70_000 + b"c" and got.trailers == [("x-sum", "42")]


def test_request_trailers_pass_the_filter(pair):
    pair.run(simple)
    assert pair.ask("POST", "/", b"content", trailers=[("x-check", "7"), ("authorization", "EVIL")]).status == 200
    assert [(name.lower(), value) for name, value in pair.told[0].trailers] == [("x-check", "7")] and pair.told[0].body == b"content"


def test_interim_responses_are_relayed(pair):
    def hints(side):
        side.read()
        side.interim(103, [("Link", "</a.css>; rel=preload")])
        side.reply()

    got = pair.run(hints).ask()
    assert got.interim == [103] and got.body == b"ok"


@pytest.mark.parametrize("method, status", [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 404)])
def test_responses_with_and_without_content(pair, method, status):
    def answers(side):
        side.read()
        side.reply(b"twelve bytes", status)

    got = pair.run(answers).ask(method)
    assert got.status == status and got.body == (b"twelve bytes" if status == 404 else b"")
    if method == "HEAD":
        assert got.get("content-length") == "12"


def test_events_are_passed_on_as_they_come(pair):
    seen = threading.Semaphore(0)

    def events(side):
        side.read()

        def one_by_one():
            for number in range(20):
                yield b"data: %d\n\n" % number
                assert seen.acquire(timeout=PATIENCE)

        side.stream(one_by_one())

    pair.run(events)
    if pair.client == "H1":
        with pair.proxy.client() as client:
            client.request()
            head, collected = client.head(), b""
            for piece in client.pieces(head):
                collected += piece
                seen.release()
    else:
        with HTTP2(pair.proxy.port) as client:
            stream, count = client.ask_on(), 0
            while not client.answer_of(stream).ended:
                client.read()
                while client.answer_of(stream).body.count(b"\n\n") > count:
                    count += 1
                    seen.release()
            collected = client.answer_of(stream).body
    assert collected == b"".join(b"data: %d\n\n" % number for number in range(20))


def test_a_response_that_comes_early_is_not_lost(pair):
    def early(side):
        side.reply("enough", status=413)
        return side.hang_up() if pair.upstream == "H1" else None

    pair.run(early)
    if pair.client == "H1":
        with pair.proxy.client() as client:
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
            answer = client.response()
            assert (answer.status, answer.body) == (413, b"enough")
    else:
        with HTTP2(pair.proxy.port) as client:
            client.headers(1, request("POST"), end=False)
            client.data(1, b"x", end=False)
            answer = client.response(1)
            assert (answer.status, answer.body, answer.ended) == (413, b"enough", True)


def test_a_client_that_leaves_stops_the_origin(pair):
    left = threading.Event()

    def waits(side):
        if side.is_abandoned():
            left.set()

    pair.run(waits)
    if pair.client == "H1":
        client = pair.proxy.client()
        client.request()
        eventually(lambda: pair.there.requests)
        client.close(reset=True)
    else:
        client = HTTP2(pair.proxy.port)
        client.ask_on()
        eventually(lambda: pair.there.requests)
        client.reset(1)
    assert left.wait(PATIENCE)
    client.close()


def test_an_origin_that_breaks_off_before_its_head_is_a_502(pair):
    def breaks(side):
        side.read()
        return side.hang_up()

    assert pair.run(breaks).ask("POST", "/", b"x").status == 502


def test_an_origin_that_breaks_off_in_its_content_is_seen_to(pair):
    def breaks(side):
        side.read()
        if pair.upstream == "H1":
            side.wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        else:
            side.request.head(200, [("content-length", "100")])
            side.request.data(b"half")
        return side.hang_up()

    pair.run(breaks)
    if pair.client == "H1":
        with pair.proxy.client() as client:
            client.request()
            head = client.head()
            with pytest.raises((Gone, ConnectionError)):
                list(client.pieces(head))
    else:
        with HTTP2(pair.proxy.port) as client:
            answer = client.fetch()
            assert not answer.ended and answer.reset == INTERNAL_ERROR


def test_a_redirect_is_followed_with_its_content(pair):
    def redirects(side):
        body = side.read()
        if side.request.target == "/from":
            return side.reply(b"", 307, [("Location", "/to")])
        side.reply(body + b" at " + side.request.target.encode())

    pair.run(redirects, CONFIG + "proxy: {redirects: follow}\n")
    assert pair.ask("POST", "/from", b"content").body == b"content at /to"


@pytest.mark.parametrize("fields, status", [([("X-Long", "y" * 20_000)], 431), ([("X-%d" % number, "y") for number in range(101)], 431)])
def test_heads_beyond_the_limits_are_refused(pair, fields, status):
    pair.run(simple)
    if pair.client == "H1":
        assert pair.ask(fields=fields).status == status
    else:
        with HTTP2(pair.proxy.port) as client:
            block = client.encode(request(fields=[(name.lower(), value) for name, value in fields]))
            client.send(frame(HEADERS, END_STREAM | (END_HEADERS if len(block) <= 16384 else 0), 1, block[:16384]))
            if len(block) > 16384:
                client.send(frame(CONTINUATION, END_HEADERS, 1, block[16384:]))
            assert client.response(1).status == status
    assert not pair.told


def test_a_body_beyond_the_limit_is_refused(pair):
    pair.run(simple, CONFIG + "limits: {body: 64KiB}\n")
    assert pair.ask("POST", "/", b"x" * 60_000).status == 200
    assert pair.ask("POST", "/", b"x" * 70_000, [("Content-Length", "70000")] if pair.client == "H2" else []).status == 413


WEBSOCKET = {3: 100, 8: 1}  # SETTINGS_ENABLE_CONNECT_PROTOCOL


def test_a_tunnel_carries_bytes_both_ways(pair):
    from test_http2 import connect_fields, tunnel_to

    def echoes(side):
        if pair.upstream == "H1":
            tunnel_to(side.wire, side.request)
            while True:
                if not side.wire.buffer:
                    side.wire.more()
                side.wire.send(side.wire.take(len(side.wire.buffer)))
        assert side.request.method == "CONNECT" and side.request.pseudo[":protocol"] == "websocket" and not side.request.get("sec-websocket-key")
        side.request.head(200)
        for piece in side.request.pieces():
            side.request.data(piece)
        side.request.end()

    pair.run(echoes, settings=WEBSOCKET)
    if pair.client == "H1":
        with pair.proxy.client() as client:
            client.send("GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            head = client.head()
            assert head.status == 101 and head.get("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
            client.send(b"x" * 200_000)
            assert client.take(200_000) == b"x" * 200_000
    else:
        with HTTP2(pair.proxy.port) as client:
            client.headers(1, connect_fields(), end=False)
            client.data(1, b"x" * 200_000, end=False)
            client.until(lambda: len(client.answer_of(1).body) == 200_000)
            assert client.answer_of(1).status == 200
