"""HTTP/2 towards upstreams: few connections with many streams, and nothing done twice that could do something twice."""
import signal, socket, struct, threading

import h2.errors
import hpack
import pytest

from harness import PATIENCE, Client, Gone, Wire, connections, eventually, free_port
from http2 import *

CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", protocol: h2c}}
workers: 1
"""


def answers(stream):
    stream.read()
    stream.reply(stream.target)


def test_exchanges_share_a_connection(proxy, origin2):
    gate = threading.Event()

    def waits(stream):
        assert gate.wait(PATIENCE)
        answers(stream)

    there = origin2(waits)
    one = proxy(CONFIG, ORIGIN=there.port)
    clients = [one.client() for _ in range(20)]
    for number, client in enumerate(clients):
        client.request(target="/%d" % number)
    eventually(lambda: len(there.requests) == 20)
    gate.set()
    assert [client.response().text for client in clients] == ["/%d" % number for number in range(20)]
    assert there.connections == 1
    for client in clients:
        client.close()


def test_the_server_s_limit_on_streams_is_respected(proxy, origin2):
    gate, busy, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def waits(stream):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], max(sum(1 for one in connection.streams.values() if one.reset is None) for connection in there.open))
        assert gate.wait(PATIENCE)
        answers(stream)

    there = origin2(waits, settings={MAX_CONCURRENT_STREAMS: 4})
    one = proxy(CONFIG, ORIGIN=there.port)
    assert_greeted = one.client()
    threading.Timer(0.0, lambda: None).start()
    clients = [one.client() for _ in range(12)]
    gate_opener = threading.Timer(0.5, gate.set)
    gate_opener.start()
    for number, client in enumerate(clients):
        client.request(target="/%d" % number)
    assert [client.response().text for client in clients] == ["/%d" % number for number in range(12)]
    for client in clients + [assert_greeted]:
        client.close()


def test_a_refused_stream_is_sent_again(proxy, origin2):
    refused = []

    def refuses(stream):
        if len(refused) < 2:
            refused.append(stream.target)
            return stream.abort(h2.errors.ErrorCodes.REFUSED_STREAM)
        answers(stream)

    one = proxy(CONFIG, ORIGIN=origin2(refuses).port)
    assert one.ask(target="/again").text == "/again" and refused == ["/again"] * 2
    assert one.ask("POST", "/once", b"").text == "/once"


def test_a_server_that_refuses_for_ever_is_given_up(proxy, origin2):
    there = origin2(lambda stream: stream.abort(h2.errors.ErrorCodes.REFUSED_STREAM))
    one = proxy(CONFIG, ORIGIN=there.port)
    assert one.ask().status == 502 and len(there.requests) == 4


def test_a_request_that_may_have_been_carried_out_is_not_sent_again(proxy, origin2):
    there = origin2(lambda stream: stream.abort(h2.errors.ErrorCodes.INTERNAL_ERROR))
    one = proxy(CONFIG, ORIGIN=there.port)
    assert one.ask("POST", "/", b"").status == 502 and len(there.requests) == 1


def test_streams_above_the_last_of_a_goaway_are_sent_again(proxy, origin2):
    first = threading.Event()

    def goes(stream):
        if stream.connection.origin.connections == 1 and stream.target == "/second":
            # The second stream has not been looked at: the last is the first.
            stream.connection.act(lambda machine: None)
            stream.connection.socket.sendall(frame(GOAWAY, 0, 0, struct.pack("!II", 1, NO_ERROR)))
            first.set()
            return
        if stream.target == "/first":
            assert first.wait(PATIENCE)
        answers(stream)

    there = origin2(goes)
    one = proxy(CONFIG, ORIGIN=there.port)
    with one.client() as slow, one.client() as other:
        slow.request(target="/first")
        eventually(lambda: there.requests)
        other.request("POST", target="/second")
        assert other.response().text == "/second" and slow.response().text == "/first"
    assert there.connections == 2


def test_a_connection_that_has_died_is_replaced(proxy, origin2):
    there = origin2(answers)
    one = proxy(CONFIG, ORIGIN=there.port)
    assert one.ask(target="/a").text == "/a"
    for connection in list(there.open):
        connection.close()
    eventually(lambda: not there.open)
    assert one.ask(target="/b").text == "/b" and there.connections == 2


def test_a_reload_leaves_the_old_connections_to_their_streams(proxy, origin2):
    gate = threading.Event()

    def waits(stream):
        if stream.target == "/old":
            assert gate.wait(PATIENCE)
        answers(stream)

    there = origin2(waits)
    one = proxy(CONFIG, ORIGIN=there.port)
    with one.client() as client:
        client.request(target="/old")
        eventually(lambda: there.requests)
        one.write(CONFIG + "response: {set: {X-New: '1'}}\n")
        one.signal(signal.SIGHUP)
        eventually(lambda: one.ask(target="/new").get("x-new") == "1")
        gate.set()
        assert client.response().text == "/old"
    eventually(lambda: len(there.open) == 1)


def test_draining_ends_the_connections(proxy, origin2):
    there = origin2(answers)
    one = proxy(CONFIG, ORIGIN=there.port)
    assert one.ask().status == 200
    one.signal(signal.SIGTERM)
    assert one.exit_status() == 0
    eventually(lambda: not there.open)


@pytest.mark.parametrize("timeout, stage", [("response", "head"), ("response_idle", "content")])
def test_a_server_that_stops_is_a_timeout(proxy, origin2, timeout, stage):
    def stops(stream):
        stream.read()
        if stage == "content":
            stream.head(200, [("content-length", "10")])
            stream.data(b"half")
        threading.Event().wait(PATIENCE)

    config = CONFIG.replace("protocol: h2c", "protocol: h2c, timeouts: {%s: 300ms}" % timeout)
    there = origin2(stops)
    one = proxy(config, ORIGIN=there.port)
    if stage == "head":
        assert one.ask().status == 504
    else:
        with one.client() as client, pytest.raises((Gone, ConnectionError)):
            client.request()
            list(client.pieces(client.head()))
    eventually(lambda: there.requests[0].reset == CANCEL)


def test_an_idle_connection_is_closed_in_time(proxy, origin2):
    there = origin2(answers)
    one = proxy(CONFIG.replace("protocol: h2c", "protocol: h2c, timeouts: {idle: 300ms}"), ORIGIN=there.port)
    assert one.ask().status == 200
    eventually(lambda: not there.open)
    assert one.ask().status == 200 and there.connections == 2


def test_a_slow_client_holds_back_its_stream_and_no_other(proxy, origin2):
    def large(stream):
        stream.read()
        stream.reply(bytes(64 << 20) if stream.target == "/large" else b"ok")

    there = origin2(large)
    one = proxy(CONFIG, ORIGIN=there.port)
    before = one.memory()
    slow = [one.client(receive_buffer=4096) for _ in range(5)]
    for client in slow:
        client.request(target="/large")
        client.head()
    for _ in range(20):
        assert one.ask(target="/small").body == b"ok"
    assert one.memory() - before < 24 * 1024 and there.connections == 1
    for client in slow:
        client.close(reset=True)
    eventually(lambda: all(stream.reset is not None for stream in there.requests if stream.target == "/large"))


def test_a_tunnel_that_the_server_does_not_know_is_a_502(proxy, origin2):
    one = proxy(CONFIG, ORIGIN=origin2(answers).port)
    with one.client() as client:
        client.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        assert client.response().status == 502


# --- Servers that break the protocol -----------------------------------------

class RawServer:
    """Sends any frames it is told to behind its SETTINGS, once a request's head has come."""

    def __init__(self, sent):
        self.sent, self.connections = sent, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for sock in connections(self.listener):
            self.connections += 1
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        try:
            sock.sendall(settings() + settings(flags=ACK))
            buffer = b""
            while True:
                data = sock.recv(65536)
                if not data:
                    return
                buffer += data
                if b"\x01" in buffer[24:] and len(buffer) > 60:
                    sock.sendall(self.sent)
                    buffer = b""
        except OSError:
            pass

    def stop(self):
        self.listener.close()


def field(name, value):
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


OK = b"\x88"
BROKEN = {
    "no :status": frame(HEADERS, 5, 1, field(b"server", b"x")),
    "a :status that is none": frame(HEADERS, 5, 1, field(b":status", b"20x")),
    "101": frame(HEADERS, 5, 1, field(b":status", b"101")),
    "a name in upper case": frame(HEADERS, 5, 1, OK + field(b"X-A", b"1")),
    "CR LF in a value": frame(HEADERS, 5, 1, OK + field(b"x", b"a\r\nb: c")),
    "Transfer-Encoding": frame(HEADERS, 5, 1, OK + field(b"transfer-encoding", b"chunked")),
    "Connection": frame(HEADERS, 5, 1, OK + field(b"connection", b"close")),
    "a request's pseudo-header field": frame(HEADERS, 5, 1, OK + field(b":path", b"/")),
    "DATA before HEADERS": frame(DATA, 1, 1, b"x"),
    "a head that is too large": frame(HEADERS, 4, 1, OK + b"".join(field(b"x", b"y" * 100) for _ in range(155))) + frame(CONTINUATION, 4, 1, b""),
    "an interim response that ends the stream": frame(HEADERS, 5, 1, field(b":status", b"103")),
    "interim responses without end": frame(HEADERS, 4, 1, field(b":status", b"103")) * 40,
    "a push": frame(PUSH_PROMISE, 4, 1, struct.pack("!I", 2) + b"\x82\x86\x84\x01\x01a"),
    "a frame that is too large": frame(HEADERS, 5, 1, bytes(20_000)),
    "garbage": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_server_that_breaks_the_protocol_is_a_502(proxy, fault):
    server = RawServer(BROKEN[fault])
    one = proxy(CONFIG, ORIGIN=server.port)
    assert one.ask("POST", "/", b"").status == 502
    server.stop()


def test_more_or_less_content_than_was_said_is_never_given_an_end(proxy):
    for body in [b"four", b"0123456789abcdef"]:
        server = RawServer(frame(HEADERS, 4, 1, OK + field(b"content-length", b"10")) + frame(DATA, 1, 1, body))
        one = proxy(CONFIG, ORIGIN=server.port)
        with one.client() as client, pytest.raises((Gone, ConnectionError)):
            client.request()
            head = client.head()
            assert head.status == 200 or head.status == 502
            if head.status == 502:
                raise Gone("refused altogether")
            list(client.pieces(head))
        server.stop()


def test_what_one_request_was_sending_is_never_sent_for_another(proxy):
    """Both streams end by faults of the upstream's while the first one's content is being sent; the second is tried again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = proxy('listen: 127.0.0.1:@LISTEN@\nupstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", protocol: h2c}}\nworkers: 1\n',
                    ORIGIN=listener.getsockname()[1])
        with one.client() as warm, one.client() as first, one.client() as second:
            warm.request(target="/warm")
            upstream = Wire(listener.accept()[0])
            heads, content, encoder, decoder = {}, {}, hpack.Encoder(), hpack.Decoder()

            def until(kind, more=lambda stream: True):
                """The stream of the next such frame."""
                while True:
                    head = upstream.take(9)
                    payload, stream = upstream.take(int.from_bytes(head[:3], "big")), int.from_bytes(head[5:], "big")
                    if head[3] == SETTINGS and not head[4] & ACK:
                        upstream.send(settings(flags=ACK))
                    if head[3] == HEADERS:
                        heads[stream] = dict(decoder.decode(payload))
                    if head[3] == DATA:
                        content[stream] = content.get(stream, b"") + payload
                    if head[3] == kind and more(stream):
                        return stream

            upstream.take(24)
            upstream.send(settings({MAX_CONCURRENT_STREAMS: 100}) + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 20)))
            upstream.send(frame(HEADERS, END_HEADERS | END_STREAM, until(HEADERS), encoder.encode([(":status", "204")])))
            assert warm.response().status == 204
            first.send("POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n0123456789")
            streams = [until(HEADERS)]
            until(DATA)
            second.send("PUT /second HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
            streams.append(until(HEADERS))
            # All of this is there when the proxy looks again.
            one.signal(signal.SIGSTOP)
            faulty = b"\x88\x00\x03B d\x01x"  # :status 200, and a field whose name is none
            upstream.send(b"".join(frame(HEADERS, END_HEADERS, stream, faulty) for stream in streams))
            first.send(b"of the first" * 3500)
            one.signal(signal.SIGCONT)
            again = until(HEADERS)
            assert heads[again][":path"] == "/second"
            second.send(b"of the second" * 3000 + bytes(50000 - 39000))
            until(DATA, lambda stream: stream == again and len(content[again]) >= 50000)
            assert content[again].startswith(b"of the second") and b"first" not in content[again]
