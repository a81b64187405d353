"""Content of any size and any pace: flushed as it arrives, held back when nobody reads, never gathered in memory."""
import hashlib, os, socket, threading, time

import pytest

from harness import MIB, Client, Gone, eventually, reply

PLAIN = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
request: {set: {X-Env: test}}
workers: 1
"""
# AUTHPROXY_SOAK=1 runs the transfers with ten times the size.
LARGE = (10 if os.environ.get("AUTHPROXY_SOAK") else 1) << 30
BLOCK = bytes(range(256)) * 4096


def digest_of(size):
    digest = hashlib.sha256()
    for _ in range(size // len(BLOCK)):
        digest.update(BLOCK)
    return digest.hexdigest()


# --- Server-sent events -------------------------------------------------------

def test_each_server_sent_event_is_flushed_before_the_next_is_made(proxy, origin):
    seen = threading.Semaphore(0)

    def events(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(50):
            event = b"data: %d\n\n" % number
            wire.send(b"%x\r\n%s\r\n" % (len(event), event))
            assert seen.acquire(timeout=10)
        wire.send("0\r\n\r\n")

    one = proxy(PLAIN, ORIGIN=origin(events).port)
    with one.client() as client:
        client.request(target="/events", headers={"Accept": "text/event-stream"})
        head = client.head()
        assert head.get("content-type") == "text/event-stream"
        collected = b""
        for piece in client.pieces(head):
            collected += piece
            seen.release()
        assert collected == b"".join(b"data: %d\n\n" % number for number in range(50))


def test_an_event_stream_without_length_ends_with_the_origin(proxy, origin):
    def events(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        return "close"

    one = proxy(PLAIN, ORIGIN=origin(events).port)
    with one.client() as client:
        assert client.ask(target="/events").body == b"data: 1\n\n"


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_client_that_leaves_stops_the_stream_at_the_origin(proxy, origin, how):
    """A reset is seen at once; an orderly end could be a half-close, so it is seen with the next event that nobody takes."""
    gone = threading.Event()

    def events(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n")
        wire.socket.settimeout(30 if how == "reset" else 0.1)
        try:
            while True:
                try:
                    wire.more()
                except TimeoutError:
                    wire.send("8\r\ndata: 2\n\r\n")
        except (Gone, OSError):
            gone.set()
            raise

    one = proxy(PLAIN, ORIGIN=origin(events).port)
    client = one.client()
    client.request(target="/events")
    client.until(b"data: 1")
    client.close(reset=how == "reset")
    assert gone.wait(10), "the origin still sends to nobody"


# --- Size ---------------------------------------------------------------------

def flood(request, wire):
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE)
    for _ in range(LARGE // len(BLOCK)):
        wire.send(BLOCK)


def consume(request, wire):
    digest, length = hashlib.sha256(), 0
    for piece in wire.pieces(request):
        digest.update(piece)
        length += len(piece)
    reply(wire, "%d %s" % (length, digest.hexdigest()))


@pytest.mark.timeout(1200)
def test_a_download_of_one_gibibyte_leaves_memory_flat(proxy, origin):
    one = proxy(PLAIN, ORIGIN=origin(flood).port)
    with one.client(timeout=60) as client:
        client.request(target="/warm")
        head, digest, length, before = client.head(), hashlib.sha256(), 0, None
        for piece in client.pieces(head):
            digest.update(piece)
            length += len(piece)
            if before is None and length > 64 * MIB:
                before = one.memory()
        assert length == LARGE and digest.hexdigest() == digest_of(LARGE)
    assert one.memory("VmHWM") - before < 4096, "grew from %d KiB to %d KiB" % (before, one.memory("VmHWM"))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_upload_of_one_gibibyte_leaves_memory_flat(proxy, origin, framing):
    one = proxy(PLAIN, ORIGIN=origin(consume).port)
    with one.client(timeout=60) as client:
        if framing == "length":
            client.send("PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % LARGE)
        else:
            client.send("PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        before = None
        for number in range(LARGE // len(BLOCK)):
            client.send(BLOCK if framing == "length" else b"%x\r\n" % len(BLOCK) + BLOCK + b"\r\n")
            if number == 64:
                before = one.memory()
        if framing == "chunked":
            client.send("0\r\n\r\n")
        assert client.response().text == "%d %s" % (LARGE, digest_of(LARGE))
    assert one.memory("VmHWM") - before < 4096, "grew from %d KiB to %d KiB" % (before, one.memory("VmHWM"))


def test_content_of_every_size_around_a_buffer_arrives_whole(proxy, origin):
    def sized(request, wire):
        body = b"".join(wire.pieces(request))
        reply(wire, body)

    one = proxy(PLAIN, ORIGIN=origin(sized).port)
    with one.client() as client:
        for base in (0, 1 << 10, 1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 17):
            for size in {max(base + delta, 0) for delta in (-1, 0, 1)}:
                body = os.urandom(size)
                assert client.ask("POST", "/", body).body == body, size


# --- Pace ---------------------------------------------------------------------

def test_a_client_that_does_not_read_holds_back_the_origin(proxy, origin):
    sent = [0]

    def endless(request, wire):
        wire.socket.settimeout(30)
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (512 * MIB))
        while sent[0] < 512 * MIB:
            sent[0] += wire.socket.send(BLOCK)

    one = proxy(PLAIN, ORIGIN=origin(endless).port)
    client = one.client(receive_buffer=4096)
    before = one.memory()
    client.request(target="/")
    client.until(b"\r\n\r\n")
    assert stalls(sent) < 32 * MIB
    assert one.memory() - before < 4096
    total = len(client.buffer)
    while total < 64 * MIB:  # it goes on once the client reads
        total += len(client.socket.recv(MIB))
    client.close()


def test_an_origin_that_does_not_read_holds_back_the_client(proxy, origin):
    release = threading.Event()

    def stubborn(request, wire):
        release.wait(30)
        reply(wire, str(sum(map(len, wire.pieces(request)))))

    one = proxy(PLAIN, ORIGIN=origin(stubborn).port)
    client = one.client()
    before = one.memory()
    size, sent = 96 * MIB, [0]
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)

    def upload():
        while sent[0] < size:
            sent[0] += client.socket.send(BLOCK[:size - sent[0]])

    client.socket.settimeout(30)
    sender = threading.Thread(target=upload, daemon=True)
    sender.start()
    assert stalls(sent) < 32 * MIB
    assert one.memory() - before < 4096
    release.set()
    sender.join(30)
    assert client.response().text == str(size)


def stalls(counter):
    """What was sent once nothing more has been taken for half a second."""
    last, since = -1, time.monotonic()

    def still():
        nonlocal last, since
        if counter[0] != last:
            last, since = counter[0], time.monotonic()
        return last > 0 and time.monotonic() - since > 0.5

    eventually(still, 20, "the sender stalls; sent %d" % counter[0])
    return last


def test_a_slow_client_does_not_slow_the_others(proxy, origin):
    def serve(request, wire):
        if request.target == "/large":
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (256 * MIB))
            for _ in range(256):
                wire.send(BLOCK)
        else:
            reply(wire)

    one = proxy(PLAIN, ORIGIN=origin(serve).port)
    sleepers = [one.client(receive_buffer=4096) for _ in range(20)]
    for client in sleepers:
        client.request(target="/large")
        client.until(b"\r\n\r\n")
    started = time.monotonic()
    with one.client() as client:
        for _ in range(200):
            assert client.ask().text == "ok"
    assert time.monotonic() - started < 5
    for client in sleepers:
        client.close(reset=True)


def test_a_response_that_arrives_octet_by_octet_is_understood(proxy, origin):
    wanted = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n"

    def drip(request, wire):
        for octet in wanted:
            wire.send(octet)

    one = proxy(PLAIN, ORIGIN=origin(drip).port)
    with one.client() as client:
        answer = client.ask(headers={"TE": "trailers", "Connection": "TE"})
        assert answer.text == "hello" and [line.lower() for line in answer.trailers] == ["x-sum: 5"]


def test_a_request_that_arrives_octet_by_octet_is_understood(proxy, origin):
    one = proxy(PLAIN, ORIGIN=origin().port)
    with one.client() as client:
        for octet in "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n":
            client.send(octet)
        assert client.response().json()["length"] == 5


# --- Order --------------------------------------------------------------------

def test_an_early_response_reaches_a_client_that_still_uploads(proxy, origin):
    def refuse(request, wire):
        reply(wire, "too much", "413 Content Too Large", {"Connection": "close"})
        return "close"

    one = proxy(PLAIN, ORIGIN=origin(refuse).port)
    with one.client() as client:
        client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (64 * MIB))
        client.send(b"x" * 10)
        assert client.response().status == 413


def test_an_early_response_is_not_lost_while_the_client_writes_on(proxy, origin):
    def hasty(request, wire):
        wire.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
        for _ in wire.pieces(request):
            pass

    one = proxy(PLAIN, ORIGIN=origin(hasty).port)
    with one.client() as client:
        client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (8 * MIB))
        answer = client.response()
        assert answer.status == 401 and answer.text == "no"


def test_fifty_pipelined_requests_are_answered_in_order(proxy, origin):
    def number(request, wire):
        reply(wire, request.target)

    one = proxy(PLAIN, ORIGIN=origin(number).port)
    with one.client() as client:
        client.send("".join("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(50)))
        assert [client.response().text for _ in range(50)] == ["/%d" % number for number in range(50)]


def test_pipelined_posts_keep_their_contents_apart(proxy, origin):
    def back(request, wire):
        reply(wire, b"".join(wire.pieces(request)))

    one = proxy(PLAIN, ORIGIN=origin(back).port)
    with one.client() as client:
        client.send("".join("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
                            for text in ("one", "", "GET / HTTP/1.1\r\n\r\n", "four")))
        assert [client.response().text for _ in range(4)] == ["one", "", "GET / HTTP/1.1\r\n\r\n", "four"]


def test_a_client_that_half_closes_still_gets_its_answer(proxy, origin):
    def late(request, wire):
        for _ in wire.pieces(request):
            pass
        arrived.set()
        go.wait(10)
        reply(wire, "late")

    arrived, go = threading.Event(), threading.Event()
    one = proxy(PLAIN, ORIGIN=origin(late).port)
    with one.client() as client:
        client.request("POST", "/", b"body")
        client.socket.shutdown(socket.SHUT_WR)
        assert arrived.wait(10)
        go.set()
        assert client.response().text == "late"
        assert client.ended()


@pytest.mark.parametrize("keep", [False, True])
def test_an_http_1_0_client_is_served_without_chunks(proxy, origin, keep):
    def chunked(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")

    one = proxy(PLAIN, ORIGIN=origin(chunked).port)
    with one.client() as client:
        client.send("GET / HTTP/1.0\r\nHost: a\r\n%s\r\n" % ("Connection: keep-alive\r\n" if keep else ""))
        answer = client.response()
        assert answer.get("transfer-encoding") is None and answer.text == "hello"
        assert client.ended()


def test_an_http_1_0_client_may_keep_its_connection(proxy, origin):
    one = proxy(PLAIN, ORIGIN=origin(lambda request, wire: reply(wire)).port)
    with one.client() as client:
        for _ in range(3):
            client.send("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
            answer = client.response()
            assert answer.text == "ok" and answer.get("connection", "").lower() == "keep-alive"


def test_interim_responses_reach_the_client_before_the_final_one(proxy, origin):
    go = threading.Event()

    def hints(request, wire):
        wire.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        assert go.wait(10)
        reply(wire, "page")

    one = proxy(PLAIN, ORIGIN=origin(hints).port)
    with one.client() as client:
        client.request()
        hint = client.head()
        assert hint.status == 103 and hint.get("link") == "</a.css>; rel=preload"
        go.set()
        assert client.response().text == "page"


def test_a_stale_pooled_connection_does_not_fail_a_get(proxy, origin):
    def once(request, wire):
        reply(wire, request.target)
        return "close"  # without saying so

    source = origin(once)
    one = proxy(PLAIN, ORIGIN=source.port)
    with one.client() as client:
        assert [client.ask(target="/%d" % number).text for number in range(20)] == ["/%d" % number for number in range(20)]
