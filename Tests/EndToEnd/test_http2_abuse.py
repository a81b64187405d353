"""What a peer of HTTP/2 can do to cost much and bring nothing: each is bounded, ended with ENHANCE_YOUR_CALM, and counted."""
import re, struct, threading

import pytest

from harness import MIB, PATIENCE, ask, eventually, free_port, reply
from http2 import *

GET = bytes([0x82, 0x86, 0x84]) + b"\x01\x08app.test"
CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstream: "http://127.0.0.1:@ORIGIN@"
admin: {listen: "127.0.0.1:@ADMIN@"}
workers: 1
"""


@pytest.fixture
def server(proxy, origin):
    gate = threading.Event()

    def handler(request, wire):
        if request.target.startswith("/wait"):
            gate.wait(PATIENCE)
        reply(wire)

    yield proxy(CONFIG, ORIGIN=origin(handler).port, ADMIN=free_port())
    gate.set()


def counted(one, kind):
    text = ask(one.texts["ADMIN"], target="/metrics", host="127.0.0.1").text
    return int(re.search(r'authproxy_http2_abuse_total\{kind="%s"\} (\d+)' % kind, text)[1])


def is_calmed(one, client, kind):
    """The connection ends with ENHANCE_YOUR_CALM, it is counted, and others are served."""
    how, code = client.outcome()
    assert (how, code) == ("goaway", ENHANCE_YOUR_CALM)
    assert counted(one, kind) == 1
    with HTTP2(one.port) as other:
        assert other.fetch().body == b"ok"


def flood(client, frames, times):
    """Sends until the proxy has had enough."""
    for _ in range(times):
        try:
            client.send(frames)
        except OSError:
            return


def test_rapid_reset(server):
    """CVE-2023-44487: streams that are opened and reset at once."""
    with HTTP2(server.port) as client:
        for number in range(1, 2001, 2):
            client.try_send(frame(HEADERS, 5, number, client.encode(request(path="/wait"))) + frame(RST_STREAM, 0, number, struct.pack("!I", CANCEL)))
        is_calmed(server, client, "resets")


def test_rapid_reset_without_an_error(server):
    with HTTP2(server.port) as client:
        for number in range(1, 2001, 2):
            client.try_send(frame(HEADERS, 5, number, client.encode(request(path="/wait"))) + frame(RST_STREAM, 0, number, bytes(4)))
        is_calmed(server, client, "resets")


@pytest.mark.parametrize("fault", [
    lambda number: frame(WINDOW_UPDATE, 0, number, bytes(4)),
    lambda number: frame(WINDOW_UPDATE, 0, number, struct.pack("!I", 0x7fffffff)),
    lambda number: frame(HEADERS, END_HEADERS, number, b"\x10\x01x\x01y"),
    lambda number: frame(PRIORITY, 0, number, bytes(4)),
], ids=["window update by 0", "window overflow", "unfinished trailers", "priority of a wrong length"])
def test_made_you_reset(server, fault):
    """CVE-2025-8671: the client breaks a rule, so that the reset is ours."""
    with HTTP2(server.port) as client:
        for number in range(1, 1001, 2):
            client.try_send(frame(HEADERS, END_HEADERS, number, client.encode(request("POST", path="/wait"))) + fault(number))
        how, code = client.outcome()
        assert how == "closed" or code in (ENHANCE_YOUR_CALM, PROTOCOL_ERROR, FRAME_SIZE_ERROR, FLOW_CONTROL_ERROR)
        if code == ENHANCE_YOUR_CALM:
            # PRIORITY frames are counted too; which bound is met first depends on how much is read at a time.
            assert counted(server, "resets") + counted(server, "control_frames") == 1
    assert server.ask().body == b"ok"


def test_malformed_requests(server):
    with HTTP2(server.port) as client:
        for number in range(1, 2001, 2):
            client.try_send(frame(HEADERS, 5, number, client.encode(request(fields=[("host", "other.test")]))))
        is_calmed(server, client, "resets")


def test_requests_that_are_answered_are_no_abuse(server):
    """Also when the client then cancels now and then."""
    with HTTP2(server.port) as client:
        for round in range(400):
            assert client.fetch().body == b"ok"
            if round % 2:
                stream = client.ask_on(path="/wait")
                client.reset(stream)
        assert client.fetch().body == b"ok" and client.goaway is None
    assert counted(server, "resets") == 0


def test_continuation_flood(server):
    """CVE-2024-28182."""
    with HTTP2(server.port) as client:
        client.send(frame(HEADERS, END_STREAM, 1, client.encode(request())))
        flood(client, frame(CONTINUATION, 0, 1, b"\x10\x01x\x01y"), 100)
        is_calmed(server, client, "continuations")


def test_empty_continuation_flood(server):
    with HTTP2(server.port) as client:
        client.send(frame(HEADERS, END_STREAM, 1, client.encode(request())))
        flood(client, frame(CONTINUATION, 0, 1, b""), 100)
        is_calmed(server, client, "continuations")


def test_hpack_bomb(server):
    """One octet of the block stands for a field of 4000: what is dropped counts too."""
    with HTTP2(server.port) as client:
        client.send(frame(HEADERS, 5, 1, GET + b"\x40\x06x-bomb\x7f\xa1\x1e" + b"y" * 4000))
        assert client.response(1).status == 200
        client.send(frame(HEADERS, 5, 3, GET + b"\xbe" * 16000))
        is_calmed(server, client, "header_fields")


def test_cookie_crumbs_are_counted(server):
    with HTTP2(server.port) as client:
        crumb = b"\x10\x06cookie\x00"
        block = client.encode(request()) + crumb * 1700
        client.send(frame(HEADERS, 5, 1, block[:16384]))
        assert client.response(1).status == 431


def test_settings_flood(server):
    with HTTP2(server.port) as client:
        flood(client, settings(), 2000)
        is_calmed(server, client, "control_frames")


def test_ping_flood(server):
    with HTTP2(server.port) as client:
        flood(client, frame(PING, 0, 0, bytes(8)), 2000)
        is_calmed(server, client, "control_frames")


def test_priority_flood(server):
    with HTTP2(server.port) as client:
        for number in range(1, 4001, 2):
            client.try_send(frame(PRIORITY, 0, number, bytes(4) + b"\x07"))
        is_calmed(server, client, "control_frames")


def test_flood_of_unknown_frames(server):
    with HTTP2(server.port) as client:
        flood(client, frame(0x42, 0, 0, b"x"), 2000)
        is_calmed(server, client, "control_frames")


@pytest.mark.parametrize("empty", [frame(DATA, 0, 1, b""), frame(DATA, PADDED, 1, b"\x05" + bytes(5))], ids=["empty", "padding alone"])
def test_empty_data_flood(server, empty):
    with HTTP2(server.port) as client:
        client.headers(1, request("POST", path="/wait"), end=False)
        flood(client, empty, 2000)
        is_calmed(server, client, "empty_frames")


def test_window_update_flood(server):
    with HTTP2(server.port) as client:
        flood(client, frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1)), 5000)
        is_calmed(server, client, "window_updates")


def test_frames_for_streams_that_have_ended_are_bounded(server):
    with HTTP2(server.port) as client:
        assert client.fetch().status == 200
        flood(client, frame(DATA, 0, 1, b"x"), 2000)
        assert client.outcome() in [("goaway", STREAM_CLOSED), ("goaway", ENHANCE_YOUR_CALM), ("closed", None)]


def test_many_streams_with_tiny_windows_hold_little(proxy, origin):
    """Slow reads (CVE-2019-9511): what is kept for a stream is bounded, and it is not kept for ever."""
    def large(request, wire):
        reply(wire, bytes(4 * MIB))

    one = proxy(CONFIG + "timeouts: {write_idle: 1s}\n", ORIGIN=origin(large).port, ADMIN=free_port())
    before = one.memory()
    clients = [HTTP2(one.port, opens=False, initial={INITIAL_WINDOW_SIZE: 1}) for _ in range(3)]
    for client in clients:
        streams = [client.ask_on(path="/large") for _ in range(40)]
        client.until(lambda: all(client.answer_of(stream).body for stream in streams))
    assert one.memory() - before < 60 * 1024
    for client in clients:
        client.until(lambda: all(client.answer_of(stream).reset == CANCEL for stream in streams))
        client.close()


def test_a_peer_that_does_not_read_its_acknowledgements(server):
    with HTTP2(server.port, receive_buffer=4096) as client:
        client.socket.settimeout(3)
        flood(client, frame(PING, 0, 0, bytes(8)) * 100, 10_000)
        assert eventually(lambda: counted(server, "control_frames") + counted(server, "unread_acknowledgements") == 1)
