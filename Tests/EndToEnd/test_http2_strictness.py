"""What RFC 9113 and RFC 7541 say a server must not put up with: each row breaks one rule, and is answered as the rule says."""
import os, struct

import pytest

from harness import eventually
from http2 import *

CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
rules: [{name: all, respond: {status: 200, body: "hello"}}]
workers: 1
"""


@pytest.fixture(scope="module")
def server():
    from harness import Proxy
    one = Proxy(CONFIG)
    one.start()
    yield one
    status, log = one.stop(), one.log()
    assert status == 0, log[-2000:]
    one.remove()


def literal(name, value, never=False):
    """A field without Huffman coding and without the table (RFC 7541 section 6.2.2)."""
    return bytes([0x10 if never else 0]) + bytes([len(name)]) + name + bytes([len(value)]) + value


GET = bytes([0x82, 0x86, 0x84]) + b"\x01\x08app.test"  # :method GET, :scheme http, :path /, :authority
POST = bytes([0x83, 0x86, 0x84]) + b"\x01\x08app.test"


def opened(stream=1, block=POST, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def closed(stream=1):
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, GET)


# Section of RFC 9113, what is sent after the preface, and the code of the connection error.
CONNECTION_ERRORS = {
    "4.2 a DATA frame larger than SETTINGS_MAX_FRAME_SIZE": (opened() + frame(DATA, 0, 1, bytes(16385)), {FRAME_SIZE_ERROR}),
    "4.2 a HEADERS frame larger than SETTINGS_MAX_FRAME_SIZE": (frame(HEADERS, 5, 1, GET + bytes(16385)), {FRAME_SIZE_ERROR}),
    "4.3 a header block that can not be decoded": (frame(HEADERS, 5, 1, b"\x82\x86\x84\x41\x8a"), {COMPRESSION_ERROR}),
    "4.3 another stream's HEADERS within a header block": (opened(flags=0) + frame(HEADERS, 5, 3, GET), {PROTOCOL_ERROR}),
    "4.3 PING within a header block": (opened(flags=0) + frame(PING, 0, 0, bytes(8)), {PROTOCOL_ERROR}),
    "4.3 another stream's CONTINUATION within a header block": (opened(flags=0) + frame(CONTINUATION, 4, 3, b""), {PROTOCOL_ERROR}),
    "4.3 an unknown frame within a header block": (opened(flags=0) + frame(0x16, 0, 1, b""), {PROTOCOL_ERROR}),
    "5.1 DATA on an idle stream": (frame(DATA, 1, 1, b"x"), {PROTOCOL_ERROR}),
    "5.1 RST_STREAM on an idle stream": (frame(RST_STREAM, 0, 1, bytes(4)), {PROTOCOL_ERROR}),
    "5.1 WINDOW_UPDATE on an idle stream": (frame(WINDOW_UPDATE, 0, 1, struct.pack("!I", 9)), {PROTOCOL_ERROR}),
    "5.1 CONTINUATION on an idle stream": (frame(CONTINUATION, 4, 1, GET), {PROTOCOL_ERROR}),
    "5.1 CONTINUATION behind a complete header block": (closed() + frame(CONTINUATION, 4, 1, b""), {PROTOCOL_ERROR, STREAM_CLOSED}),
    "5.1.1 a stream with an even number": (closed(2), {PROTOCOL_ERROR}),
    "5.1.1 a stream with a number that is lower than one before": (closed(5) + closed(3), {PROTOCOL_ERROR, STREAM_CLOSED}),
    "6.1 DATA on stream 0": (frame(DATA, 0, 0, b"x"), {PROTOCOL_ERROR}),
    "6.1 DATA with more padding than payload": (opened() + frame(DATA, PADDED, 1, b"\x06test"), {PROTOCOL_ERROR}),
    "6.2 HEADERS on stream 0": (frame(HEADERS, 5, 0, GET), {PROTOCOL_ERROR}),
    "6.2 HEADERS with more padding than payload": (frame(HEADERS, 5 | PADDED, 1, b"\xff" + GET), {PROTOCOL_ERROR}),
    "6.3 PRIORITY on stream 0": (frame(PRIORITY, 0, 0, bytes(4) + b"\x01"), {PROTOCOL_ERROR}),
    "6.4 RST_STREAM on stream 0": (frame(RST_STREAM, 0, 0, bytes(4)), {PROTOCOL_ERROR}),
    "6.4 RST_STREAM of another length than 4": (opened() + frame(RST_STREAM, 0, 1, bytes(3)), {FRAME_SIZE_ERROR}),
    "6.5 SETTINGS with ACK and a payload": (frame(SETTINGS, ACK, 0, bytes(6)), {FRAME_SIZE_ERROR}),
    "6.5 SETTINGS on a stream": (frame(SETTINGS, 0, 1, bytes(6)), {PROTOCOL_ERROR}),
    "6.5 SETTINGS of a length that is no multiple of 6": (frame(SETTINGS, 0, 0, bytes(5)), {FRAME_SIZE_ERROR}),
    "6.5.2 SETTINGS_ENABLE_PUSH other than 0 and 1": (settings({ENABLE_PUSH: 2}), {PROTOCOL_ERROR}),
    "6.5.2 SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1": (settings({INITIAL_WINDOW_SIZE: 1 << 31}), {FLOW_CONTROL_ERROR}),
    "6.5.2 SETTINGS_MAX_FRAME_SIZE below 2^14": (settings({MAX_FRAME_SIZE: 16383}), {PROTOCOL_ERROR}),
    "6.5.2 SETTINGS_MAX_FRAME_SIZE above 2^24-1": (settings({MAX_FRAME_SIZE: 1 << 24}), {PROTOCOL_ERROR}),
    "6.6 PUSH_PROMISE by a client": (opened() + frame(PUSH_PROMISE, 4, 1, struct.pack("!I", 2) + GET), {PROTOCOL_ERROR}),
    "6.7 PING on a stream": (frame(PING, 0, 1, bytes(8)), {PROTOCOL_ERROR}),
    "6.7 PING of another length than 8": (frame(PING, 0, 0, bytes(6)), {FRAME_SIZE_ERROR}),
    "6.8 GOAWAY on a stream": (frame(GOAWAY, 0, 1, bytes(8)), {PROTOCOL_ERROR}),
    "6.9 WINDOW_UPDATE by 0 for the connection": (frame(WINDOW_UPDATE, 0, 0, bytes(4)), {PROTOCOL_ERROR}),
    "6.9 WINDOW_UPDATE of another length than 4": (frame(WINDOW_UPDATE, 0, 0, bytes(3)), {FRAME_SIZE_ERROR}),
    "6.9.1 the connection's window above 2^31-1": (frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 0x7fffffff)) * 2, {FLOW_CONTROL_ERROR}),
    "6.10 CONTINUATION on stream 0": (opened(flags=0) + frame(CONTINUATION, 4, 0, b""), {PROTOCOL_ERROR}),
    "6.10 DATA between HEADERS and CONTINUATION": (opened(flags=0) + frame(DATA, 0, 1, b"x"), {PROTOCOL_ERROR}),
    "7541 2.3.3 an index beyond both tables": (frame(HEADERS, 5, 1, GET + b"\xff\x20"), {COMPRESSION_ERROR}),
    "7541 6.1 index 0": (frame(HEADERS, 5, 1, GET + b"\x80"), {COMPRESSION_ERROR}),
    "7541 4.2 a table size update behind a field": (frame(HEADERS, 5, 1, GET + b"\x20"), {COMPRESSION_ERROR}),
    "7541 6.3 a table size above SETTINGS_HEADER_TABLE_SIZE": (frame(HEADERS, 5, 1, b"\x3f\xe1\x5f" + GET), {COMPRESSION_ERROR}),
    "7541 5.2 Huffman padding longer than 7 bits": (frame(HEADERS, 5, 1, GET + b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff"), {COMPRESSION_ERROR}),
    "7541 5.2 Huffman padding that is not all ones": (frame(HEADERS, 5, 1, GET + b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90"), {COMPRESSION_ERROR}),
    "7541 5.2 the Huffman code of EOS": (frame(HEADERS, 5, 1, GET + b"\x00\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f"), {COMPRESSION_ERROR}),
}


@pytest.mark.parametrize("rule", CONNECTION_ERRORS)
def test_ends_the_connection(server, rule):
    sent, codes = CONNECTION_ERRORS[rule]
    with HTTP2(server.port) as client:
        client.ping().send(sent)
        how, code = client.outcome()
        assert how == "closed" or how == "goaway" and code in codes


def test_lets_go_of_a_client_that_has_gone(proxy):
    """However its connection was ended, and whatever it had sent behind its fault."""
    server = proxy(CONFIG)

    def descriptors():
        return len(os.listdir("/proc/%d/fd" % server.pid))

    with HTTP2(server.port) as client:
        client.ping()
        without = descriptors() - 1
    for rule, (sent, _) in CONNECTION_ERRORS.items():
        eventually(lambda: descriptors() <= without, 3, rule)
        with HTTP2(server.port) as client:
            client.ping().send(sent)
            client.outcome()
        eventually(lambda: descriptors() <= without, 3, rule)


# What ends the stream alone: RST_STREAM with one of the codes, or the connection's end by the stricter reading.
STREAM_ERRORS = {
    "5.1 DATA on a half-closed stream": (closed() + frame(DATA, 1, 1, b"x"), {STREAM_CLOSED}),
    "5.1 HEADERS on a half-closed stream": (closed() + closed(), {STREAM_CLOSED}),
    "5.1 DATA on a stream that was reset": (opened() + frame(RST_STREAM, 0, 1, bytes([0, 0, 0, 8])) + frame(DATA, 1, 1, b"x"), {STREAM_CLOSED}),
    "5.1 HEADERS on a stream that was reset": (opened() + frame(RST_STREAM, 0, 1, bytes([0, 0, 0, 8])) + closed(), {STREAM_CLOSED}),
    "5.3.1 a stream that depends on itself, by HEADERS": (frame(HEADERS, 5 | PRIORITISED, 1, struct.pack("!IB", 1, 9) + GET), {PROTOCOL_ERROR}),
    "5.3.1 a stream that depends on itself, by PRIORITY": (opened() + frame(PRIORITY, 0, 1, struct.pack("!IB", 1, 9)), {PROTOCOL_ERROR}),
    "5.3.1 an idle stream that depends on itself, by PRIORITY": (frame(PRIORITY, 0, 1, struct.pack("!IB", 1 << 31 | 1, 9)), {PROTOCOL_ERROR}),
    "6.3 PRIORITY of another length than 5": (opened() + frame(PRIORITY, 0, 1, bytes(4)), {FRAME_SIZE_ERROR}),
    "6.9 WINDOW_UPDATE by 0 for a stream": (opened() + frame(WINDOW_UPDATE, 0, 1, bytes(4)), {PROTOCOL_ERROR}),
    "6.9.1 a stream's window above 2^31-1": (opened() + frame(WINDOW_UPDATE, 0, 1, struct.pack("!I", 0x7fffffff)) * 2, {FLOW_CONTROL_ERROR}),
    "8.1 trailers without END_STREAM": (opened() + frame(HEADERS, END_HEADERS, 1, literal(b"x-t", b"1")), {PROTOCOL_ERROR}),
    "8.1 pseudo-header fields in trailers": (opened() + frame(HEADERS, 5, 1, literal(b":path", b"/")), {PROTOCOL_ERROR}),
    "8.2.1 a name in upper case": (frame(HEADERS, 5, 1, GET + literal(b"X-Test", b"1")), {PROTOCOL_ERROR}),
    "8.2.1 a name with a space": (frame(HEADERS, 5, 1, GET + literal(b"x test", b"1")), {PROTOCOL_ERROR}),
    "8.2.1 a name with a colon": (frame(HEADERS, 5, 1, GET + literal(b"x:test", b"1")), {PROTOCOL_ERROR}),
    "8.2.1 an empty name": (frame(HEADERS, 5, 1, GET + literal(b"", b"1")), {PROTOCOL_ERROR}),
    "8.2.1 CR in a value": (frame(HEADERS, 5, 1, GET + literal(b"x", b"a\rb")), {PROTOCOL_ERROR}),
    "8.2.1 LF in a value": (frame(HEADERS, 5, 1, GET + literal(b"x", b"a\nb")), {PROTOCOL_ERROR}),
    "8.2.1 NUL in a value": (frame(HEADERS, 5, 1, GET + literal(b"x", b"a\0b")), {PROTOCOL_ERROR}),
    "8.2.1 a space before a value": (frame(HEADERS, 5, 1, GET + literal(b"x", b" a")), {PROTOCOL_ERROR}),
    "8.2.1 a tab behind a value": (frame(HEADERS, 5, 1, GET + literal(b"x", b"a\t")), {PROTOCOL_ERROR}),
    "8.2.2 Connection": (frame(HEADERS, 5, 1, GET + literal(b"connection", b"keep-alive")), {PROTOCOL_ERROR}),
    "8.2.2 Keep-Alive": (frame(HEADERS, 5, 1, GET + literal(b"keep-alive", b"timeout=5")), {PROTOCOL_ERROR}),
    "8.2.2 Proxy-Connection": (frame(HEADERS, 5, 1, GET + literal(b"proxy-connection", b"keep-alive")), {PROTOCOL_ERROR}),
    "8.2.2 Transfer-Encoding": (frame(HEADERS, 4, 1, POST + literal(b"transfer-encoding", b"chunked")), {PROTOCOL_ERROR}),
    "8.2.2 Upgrade": (frame(HEADERS, 5, 1, GET + literal(b"upgrade", b"h2c")), {PROTOCOL_ERROR}),
    "8.2.2 TE other than trailers": (frame(HEADERS, 5, 1, GET + literal(b"te", b"trailers, deflate;q=0.5")), {PROTOCOL_ERROR}),
    "8.3 an unknown pseudo-header field": (frame(HEADERS, 5, 1, GET + literal(b":test", b"1")), {PROTOCOL_ERROR}),
    "8.3 a response's pseudo-header field": (frame(HEADERS, 5, 1, GET + b"\x88"), {PROTOCOL_ERROR}),
    "8.3 a pseudo-header field behind another field": (frame(HEADERS, 5, 1, literal(b"x", b"1") + GET), {PROTOCOL_ERROR}),
    "8.3.1 no :method": (frame(HEADERS, 5, 1, b"\x86\x84\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 no :scheme": (frame(HEADERS, 5, 1, b"\x82\x84\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 no :path": (frame(HEADERS, 5, 1, b"\x82\x86\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 an empty :path": (frame(HEADERS, 5, 1, b"\x82\x86\x04\x00\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 :path without a slash": (frame(HEADERS, 5, 1, b"\x82\x86\x04\x01x\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 an absolute :path": (frame(HEADERS, 5, 1, b"\x82\x86\x04\x0dhttp://e.test\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 a space in :path": (frame(HEADERS, 5, 1, b"\x82\x86\x04\x04/a b\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 `*` of another method than OPTIONS": (frame(HEADERS, 5, 1, b"\x82\x86\x04\x01*\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 :method twice": (frame(HEADERS, 5, 1, b"\x82" + GET), {PROTOCOL_ERROR}),
    "8.3.1 :scheme twice": (frame(HEADERS, 5, 1, b"\x86" + GET), {PROTOCOL_ERROR}),
    "8.3.1 :path twice": (frame(HEADERS, 5, 1, b"\x84" + GET), {PROTOCOL_ERROR}),
    "8.3.1 :authority twice": (frame(HEADERS, 5, 1, GET + b"\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 an empty :authority": (frame(HEADERS, 5, 1, b"\x82\x86\x84\x01\x00"), {PROTOCOL_ERROR}),
    "8.3.1 a Host that is not :authority": (frame(HEADERS, 5, 1, GET + literal(b"host", b"other.test")), {PROTOCOL_ERROR}),
    "8.3.1 a :method that is no token": (frame(HEADERS, 5, 1, b"\x02\x03G T\x86\x84\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.3.1 a :scheme that is none of ours": (frame(HEADERS, 5, 1, b"\x82\x06\x03ftp\x84\x01\x08app.test"), {PROTOCOL_ERROR}),
    "8.1.1 content-length and less DATA": (opened(block=POST + literal(b"content-length", b"9")) + frame(DATA, 1, 1, b"x"), {PROTOCOL_ERROR}),
    "8.1.1 content-length and more DATA": (opened(block=POST + literal(b"content-length", b"1")) + frame(DATA, 1, 1, b"xy"), {PROTOCOL_ERROR}),
    "8.1.1 content-length and more DATA in several frames":
        (opened(block=POST + literal(b"content-length", b"1")) + frame(DATA, 0, 1, b"x") + frame(DATA, 1, 1, b"y"), {PROTOCOL_ERROR}),
    "8.1.1 content-length and no DATA": (frame(HEADERS, 5, 1, POST + literal(b"content-length", b"9")), {PROTOCOL_ERROR}),
    "8.1.1 two values of content-length": (opened(block=POST + literal(b"content-length", b"1") + literal(b"content-length", b"2")), {PROTOCOL_ERROR}),
    "8.1.1 a content-length that is no number": (opened(block=POST + literal(b"content-length", b"+1")), {PROTOCOL_ERROR}),
    "8441 4 :protocol of another method than CONNECT": (frame(HEADERS, 4, 1, GET + literal(b":protocol", b"websocket")), {PROTOCOL_ERROR}),
    "8441 4 CONNECT with :protocol and no :path": (frame(HEADERS, 4, 1, literal(b":method", b"CONNECT") + b"\x86\x01\x08app.test"
                                                         + literal(b":protocol", b"websocket")), {PROTOCOL_ERROR}),
    "8.5 CONNECT with :path": (frame(HEADERS, 4, 1, literal(b":method", b"CONNECT") + b"\x86\x84\x01\x08app.test"), {PROTOCOL_ERROR}),
}


@pytest.mark.parametrize("rule", STREAM_ERRORS)
def test_ends_the_stream(proxy_of_silent_origin, rule):
    sent, codes = STREAM_ERRORS[rule]
    with HTTP2(proxy_of_silent_origin.port) as client:
        client.ping().send(sent)
        how, code = client.outcome(1)
        assert how == "closed" or code in codes, (how, code)
        if how == "reset":  # the connection lives on
            assert client.ping() and client.goaway is None


@pytest.fixture(scope="module")
def proxy_of_silent_origin():
    """Streams stay open: the origin answers nobody."""
    import threading
    from harness import Origin, Proxy
    silence = threading.Event()
    origin = Origin(lambda request, wire: silence.wait())
    one = Proxy('listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]\nupstream: "http://127.0.0.1:@ORIGIN@"\nworkers: 1\n', ORIGIN=origin.port)
    one.start()
    yield one
    silence.set()
    log = one.log()
    assert one.stop() in (0, 3), log[-1000:]
    one.remove()
    origin.stop()


def test_content_behind_a_content_length_of_0_reaches_nobody(proxy, origin):
    """RFC 9113 section 8.1.1, whether it comes with the head or later: a request that can still turn out malformed is not sent on. Once
    its end has come it can not, and what then follows is STREAM_CLOSED."""
    one = proxy('listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]\nupstream: "http://127.0.0.1:@ORIGIN@"\nworkers: 1\n'
                "timeouts: {body_idle: 1s}\n", ORIGIN=(source := origin()).port)
    empty = POST + literal(b"content-length", b"0")
    with HTTP2(one.port) as client:
        client.ping().send(opened(1, empty) + frame(DATA, 1, 1, b"x"))
        assert client.outcome(1) == ("reset", PROTOCOL_ERROR)
        client.send(opened(3, empty))
        client.ping().send(frame(DATA, 0, 3, b"x"))
        assert client.outcome(3) == ("reset", PROTOCOL_ERROR)
        assert client.answer_of(1).fields is None and client.answer_of(3).fields is None and not source.requests
        client.send(opened(5, empty))
        client.ping().send(frame(DATA, 0, 5, b"") + frame(DATA, 1, 5, b""))
        assert client.response(5).status == 200
        client.send(opened(7, empty) + frame(HEADERS, END_HEADERS | END_STREAM, 7, literal(b"x-t", b"1")))
        assert client.response(7).status == 200
        assert client.response(client.headers(9, request("POST", fields=[("content-length", "0")]))).status == 200
        client.send(opened(11, empty))
        client.ping().reset(11)
        client.send(opened(13, empty))
        assert client.response(13).status == 408
        client.send(opened(15, empty + literal(b"expect", b"100-continue")))
        client.until(lambda: client.answer_of(15).interim)
        assert client.answer_of(15).interim == [[(":status", "100")]] and len(source.requests) == 3
        client.send(frame(DATA, END_STREAM, 15, b""))
        assert client.response(15).status == 200
        assert len(source.requests) == 4
        late = eventually(lambda: [record for record in one.records() if record.get("status") == 408])[0]
        assert (late["method"], late["host"], late["path"]) == ("POST", "app.test", "/"), late
        client.send(frame(DATA, 0, 9, b"x"))
        assert client.outcome() == ("goaway", STREAM_CLOSED)


# What must be put up with.
HARMLESS = {
    "4.1 a frame of an unknown type": frame(0x16, 0xff, 0, bytes(8)),
    "4.1 an unknown flag of PING": frame(PING, 0x16, 0, bytes(8)),
    "4.1 the reserved bit of a stream's number": frame(PING, 0, 1 << 31, bytes(8)),
    "5.1 PRIORITY on an idle stream": frame(PRIORITY, 0, 9, bytes(4) + b"\x09"),
    "5.3.1 PRIORITY by which a stream depends on another": frame(PRIORITY, 0, 9, struct.pack("!IB", 7, 9)),
    "6.5.2 an unknown setting": settings({0xff: 1}),
    "6.5.3 several values of one setting": frame(SETTINGS, 0, 0, struct.pack("!HIHI", MAX_FRAME_SIZE, 1 << 14, MAX_FRAME_SIZE, 1 << 15)),
    "6.9 WINDOW_UPDATE of the connection": frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1)),
    "5.5 an empty DATA frame": opened(101) + frame(DATA, 0, 101, b"") + frame(DATA, 1, 101, b""),
}


@pytest.mark.parametrize("rule", HARMLESS)
def test_is_put_up_with(server, rule):
    with HTTP2(server.port) as client:
        client.ping().send(HARMLESS[rule])
        client.next_stream = 201
        answer = client.fetch()
        assert (answer.status, answer.body, answer.reset) == (200, b"hello", None) and client.goaway is None


def test_a_client_that_ends_gets_what_it_has_asked_for(server):
    with HTTP2(server.port) as client:
        stream = client.ask_on()
        client.send(frame(GOAWAY, 0, 0, bytes(8)))
        assert client.response(stream).body == b"hello"
        assert client.outcome() in [("goaway", NO_ERROR), ("closed", None)]


def test_the_first_frame_is_settings(server):
    with HTTP2(server.port) as client:
        first = client.read()
        assert first.kind == SETTINGS and not first.flags & ACK
        assert client.peer[MAX_CONCURRENT_STREAMS] == 128 and client.peer[ENABLE_CONNECT_PROTOCOL] == 1
        client.until(lambda: any(one.kind == SETTINGS and one.flags & ACK for one in client.frames))


@pytest.mark.parametrize("preface", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", PREFACE + frame(PING, 0, 0, bytes(8)), b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"])
def test_a_wrong_preface_ends_the_connection(server, preface):
    with HTTP2(server.port, greet=False) as client:
        client.send(preface)
        how, code = client.outcome()
        assert how == "closed" or code == PROTOCOL_ERROR


def test_a_preface_in_pieces_is_a_preface(server):
    with HTTP2(server.port, greet=False) as client:
        for octet in PREFACE + settings():
            client.send(bytes([octet]))
        assert client.fetch().status == 200


def test_http1_is_spoken_on_the_same_listener(server):
    assert server.ask().body == b"hello"
    with server.client() as client:
        client.request()
        assert client.response().status == 200
        client.send(PREFACE)  # too late: what may begin a connection does not go on with one
        assert client.response().status == 505


def test_the_connection_s_streams_are_bounded(proxy_of_silent_origin):
    with HTTP2(proxy_of_silent_origin.port) as client:
        client.ping()
        for number in range(129):
            client.ask_on()
        how, code = client.outcome(257)
        assert (how, code) in [("reset", REFUSED_STREAM), ("goaway", PROTOCOL_ERROR), ("reset", PROTOCOL_ERROR)]


def test_padded_frames_are_read_without_their_padding(server):
    with HTTP2(server.port) as client:
        client.send(frame(HEADERS, END_HEADERS | PADDED, 1, b"\x05" + POST + bytes(5)) + frame(DATA, END_STREAM | PADDED, 1, b"\x03abc" + bytes(3)))
        assert client.response(1).status == 200


def test_a_header_block_may_be_continued(server):
    with HTTP2(server.port) as client:
        client.send(frame(HEADERS, END_STREAM, 1, GET[:2]) + frame(CONTINUATION, 0, 1, GET[2:6]) + frame(CONTINUATION, END_HEADERS, 1, GET[6:]))
        assert client.response(1).status == 200


def test_never_indexed_and_dynamic_fields_are_decoded(server):
    with HTTP2(server.port) as client:
        block = GET + literal(b"x-never", b"1", never=True) + b"\x40\x05x-dyn\x01v"
        client.send(frame(HEADERS, 5, 1, block))
        assert client.response(1).status == 200
        client.send(frame(HEADERS, 5, 3, b"\x20\x3f\xe1\x1f" + GET))  # the table emptied, then 4096 again
        assert client.response(3).status == 200
        client.send(frame(HEADERS, 5, 5, GET + b"\xbe"))  # which x-dyn is not in any more
        assert client.outcome() in [("goaway", COMPRESSION_ERROR), ("closed", None)]
