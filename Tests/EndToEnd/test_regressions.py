"""Faults of the data path that were found once and must not come back. Each test fails where its fault is."""
import fcntl, os, signal, socket, struct, subprocess, threading, time
from pathlib import Path

import pytest

from harness import MIB, Gone, eventually, free_port, reply

CONFIG = """
listen: 127.0.0.1:@LISTEN@
upstream: {url: "http://127.0.0.1:@ORIGIN@", timeouts: {connect: 2s}}
workers: 1
"""
UPGRADE = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" \
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


def passes(seconds):
    """Lets a deadline of the proxy go by: time itself is what these tests are about."""
    threading.Event().wait(seconds)


def unread(wire):
    """How many octets the other end of a connection on loopback has not read yet, as sock_diag(7) tells; 0 when it is gone."""
    (here, port), (there, peer) = wire.socket.getsockname(), wire.socket.getpeername()
    identity = struct.pack("!HH4s12x4s12x", peer, port, socket.inet_aton(there), socket.inet_aton(here)) + struct.pack("=III", 0, ~0 & 0xffffffff, ~0 & 0xffffffff)
    query = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0xfff) + identity
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as kernel:
        kernel.send(struct.pack("=IHHII", 16 + len(query), 20, 1, 1, 0) + query)
        answer = kernel.recv(4096)
    return struct.unpack_from("=I", answer, 16 + 4 + 48 + 4)[0] if struct.unpack_from("=H", answer, 4)[0] == 20 else 0


def unsent(wire):
    """How many octets are still on this side of the connection (SIOCOUTQNSD); those that only await an acknowledgement are not."""
    return struct.unpack("i", fcntl.ioctl(wire.socket, 0x894B, bytes(4)))[0]


def taken(wire):
    """Waits until the other end has read all that was sent to it."""
    eventually(lambda: unsent(wire) == 0 and unread(wire) == 0, message="the peer reads")


class Stopped:
    """Within it the proxy stands still, as a busy one does; what happens meanwhile it finds all at once."""

    def __init__(self, one):
        self.one = one

    def __enter__(self):
        self.one.signal(signal.SIGSTOP)
        eventually(lambda: Path("/proc/%d/stat" % self.one.pid).read_text().rpartition(")")[2].split()[0] == "T")

    def __exit__(self, *_):
        self.one.signal(signal.SIGCONT)


# --- Pooled connections -------------------------------------------------------

def test_a_response_head_in_two_reads_leaves_nothing_to_the_next_client(proxy, origin):
    def halves(request, wire):
        text = "HTTP/1.1 200 OK\r\nX-For: %s\r\nContent-Length: 2\r\n\r\n%s" % (request.target, request.target[-2:])
        wire.send(text[:20])
        taken(wire)
        wire.send(text[20:])

    source = origin(halves)
    one = proxy(CONFIG, ORIGIN=source.port)
    for number in range(10, 15):
        answer = one.ask(target="/%d" % number)
        assert answer.get("x-for") == "/%d" % number and answer.text == "%d" % number
    assert source.connections == 1, "the connection is used again"


@pytest.mark.parametrize("rest", [200_000, 131_072, 65_536])
def test_octets_behind_a_large_response_are_not_the_answer_to_the_next_client(proxy, origin, rest):
    def serve(request, wire):
        if request.target == "/small":
            return reply(wire, "good")
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (4 * MIB + rest))
        wire.send(b"a" * 4 * MIB)
        taken(wire)
        with Stopped(one):
            wire.send(b"a" * rest + b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned")

    one = proxy(CONFIG, ORIGIN=origin(serve).port)
    for _ in range(3):
        assert len(one.ask(target="/large").body) == 4 * MIB + rest
        assert one.ask(target="/small").text == "good"


def test_an_idle_connection_to_one_server_makes_room_for_another_server(proxy, origin):
    a, b = origin(name="a"), origin(name="b")
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstreams:
  default: {servers: ["http://127.0.0.1:@A@", "http://127.0.0.1:@B@"], pool: {max_connections: 1}}
workers: 1
""", A=a.port, B=b.port)
    with one.client(timeout=3) as client:
        answers = [client.ask() for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 6
    assert {answer.json()["origin"] for answer in answers} == {"a", "b"}


def test_requests_that_wait_for_an_address_keep_to_the_pools_limit(proxy, origin):
    go = threading.Event()

    def held(request, wire):
        go.wait(20)
        reply(wire)

    source = origin(held)
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
workers: 1
upstreams: {named: {url: "http://localhost:@ORIGIN@", pool: {max_connections: 2}}}
rules:
  - {name: sync, match: {path: /sync}, respond: {status: 204}}
  - {name: all, proxy: {upstream: named}}
""", ORIGIN=source.port)
    clients = [one.client() for _ in range(30)]
    try:
        with Stopped(one):
            for client in clients:
                client.request()
        eventually(lambda: len(source.requests) >= 2)
        assert one.ask(target="/sync").status == 204  # a turn of the loop after the address came
        go.set()
        assert [client.response().status for client in clients] == [200] * 30
    finally:
        for client in clients:
            client.close()
    assert source.connections <= 2


def test_those_who_wait_for_a_connection_are_told_at_once_that_the_server_is_gone(proxy, origin):
    path, gone = "/tmp/origin-%d-%d.sock" % (os.getpid(), free_port()), threading.Event()

    def leave(request, wire):
        gone.wait(20)
        return "close"

    source = origin(leave, host="unix:" + path)
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstreams: {default: {url: "unix:@PATH@", pool: {max_connections: 1}}}
workers: 1
""", PATH=path)
    clients = [one.client(timeout=4) for _ in range(8)]
    for client in clients:
        client.request()
        taken(client)
    eventually(lambda: source.requests)
    os.unlink(path)
    source.listener.close()
    gone.set()
    assert [client.response().status for client in clients] == [502] * 8
    for client in clients:
        client.close()


def test_a_retry_of_a_request_with_empty_chunked_content_is_sent_to_its_end(proxy, origin):
    def stale(request, wire):
        for _ in wire.pieces(request):
            pass
        if request.target == "/first":
            return reply(wire, "first")
        if len(source.requests) == 2:
            return "close"  # on the pooled connection, without an answer
        reply(wire, request.method)

    source = origin(stale)
    one = proxy(CONFIG, ORIGIN=source.port)
    with one.client(timeout=4) as client:
        assert client.ask(target="/first").text == "first"
        client.send("DELETE /second HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert client.response().text == "DELETE"
    assert [request.method for request in source.requests] == ["GET", "DELETE", "DELETE"] and source.connections == 2


# --- Tunnels ------------------------------------------------------------------

def test_a_tunnel_in_which_only_the_origin_speaks_outlives_its_idle_time(proxy, origin):
    stop = threading.Event()

    def ticks(request, wire):
        wire.send(SWITCHING)
        while not stop.wait(0.1):
            wire.send("tick")

    one = proxy(CONFIG + "timeouts: {tunnel_idle: 1s}\n", ORIGIN=origin(ticks).port)
    with one.client() as client:
        client.send(UPGRADE)
        assert client.response().status == 101
        began = time.monotonic()
        while time.monotonic() - began < 2.5:
            assert client.take(4) == b"tick"
    stop.set()


def test_a_tunnel_carries_on_to_an_origin_that_has_said_all(proxy, origin):
    received, ended = [], threading.Event()

    def half(request, wire):
        wire.send(SWITCHING + "bye")
        wire.socket.shutdown(socket.SHUT_WR)
        while data := wire.socket.recv(1 << 16):
            received.append(len(data))
        ended.set()
        return "close"

    one = proxy(CONFIG, ORIGIN=origin(half).port)
    with one.client() as client:
        client.send(UPGRADE)
        assert client.response().status == 101 and client.take(3) == b"bye"
        assert client.ended(), "the end of the origin's half is passed on"
        client.socket.settimeout(10)
        client.send(b"x" * 1_000_000)
        client.socket.shutdown(socket.SHUT_WR)
        assert ended.wait(5)
    assert sum(received) == 1_000_000


# --- Slow clients and half-closed ones ----------------------------------------

SIZES = range(5_000_000, 6_000_000, 190_000)  # where in a response the proxy's buffers are full is not known


def given_to_slow_readers(proxy, origin, timeouts):
    """Clients that still have to take the last part of responses of which the proxy has taken all: [(client, octets left)]."""
    sent = {}

    def serve(request, wire):
        size = int(request.target[1:])
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size)
        sent[size] = wire

    one, readers = proxy(CONFIG + "timeouts: {%s}\n" % timeouts, ORIGIN=origin(serve).port), []
    for size in SIZES:
        client = one.client(receive_buffer=8192)
        client.request(target="/%d" % size)
        assert client.head().status == 200
        left = size - len(client.buffer)
        client.buffer.clear()
        while size not in sent or unsent(sent[size]) or unread(sent[size]):
            left -= len(client.socket.recv(20_000))
        assert left > 0
        readers.append((client, left))
    return one, readers


def cut_short(readers):
    """How many octets each client missed."""
    missed = []
    for client, left in readers:
        while left and (data := client.socket.recv(1 << 18)):
            left -= len(data)
        missed.append(left)
    return missed


def test_the_time_between_requests_does_not_run_while_a_response_is_taken(proxy, origin):
    one, readers = given_to_slow_readers(proxy, origin, "keepalive: 1s, write_idle: 20s")
    passes(1.5)
    assert cut_short(readers) == [0] * len(readers)
    for client, _ in readers:
        client.close()


def test_a_drain_ends_with_the_last_octet_that_a_slow_client_takes(proxy, origin):
    one, readers = given_to_slow_readers(proxy, origin, "shutdown: 20s")
    one.signal(signal.SIGTERM)
    eventually(lambda: not one.listens(), 5, "the drain has begun")
    assert cut_short(readers) == [0] * len(readers)
    assert one.exit_status(4) == 0
    for client, _ in readers:
        client.close()


def still(wire):
    """Waits until nothing moves any more: the proxy holds what it can."""
    seen = []

    def unmoved():
        seen.append((unsent(wire), unread(wire)))
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    eventually(unmoved)


def test_a_client_that_half_closes_gets_the_whole_of_a_large_response(proxy, origin):
    sizes, held = (250_000, 300_000, 350_000, 400_000, 450_000, 600_000, 1_000_000), []

    def serve(request, wire):
        size = int(request.target[1:])
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size)
        held.append(wire)

    one, got = proxy(CONFIG, ORIGIN=origin(serve).port), {}
    for size in sizes:
        with one.client(receive_buffer=4096, segment=536) as client:
            client.request(target="/%d" % size, headers={"Connection": "close"})
            client.socket.shutdown(socket.SHUT_WR)
            still(eventually(lambda: held and held.pop()))
            assert client.head().status == 200
            got[size] = len(client.buffer)
            while data := client.socket.recv(4000):
                got[size] += len(data)
                time.sleep(0.0005)  # the pace of a slow reader: the proxy is woken for a part of what it holds
    assert got == {size: size for size in sizes}


def test_requests_that_were_sent_before_a_half_close_are_all_answered(proxy, origin):
    """Each takes 1,024 octets, so that every read ends between two of them."""
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire, request.target)).port)
    with one.client() as client:
        with Stopped(one):
            for number in range(200):
                request = "GET /%03d HTTP/1.1\r\nHost: a\r\nX-Long: @\r\n\r\n" % number
                client.send(request.replace("@", "x" * (1025 - len(request))))
            client.socket.shutdown(socket.SHUT_WR)
        assert [client.response().text for _ in range(200)] == ["/%03d" % number for number in range(200)]
        assert client.ended()


def test_a_client_is_not_blamed_for_content_that_the_origin_does_not_take(proxy, origin):
    go = threading.Event()

    def late(request, wire):
        go.wait(20)
        reply(wire, "%d" % sum(len(piece) for piece in wire.pieces(request)))

    source = origin(late)
    source.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    one = proxy(CONFIG + "timeouts: {body_idle: 1s, write_idle: 20s}\n", ORIGIN=source.port)
    with one.client() as client:
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (12 * MIB))
        sender = threading.Thread(target=lambda: client.send(b"q" * 12 * MIB))
        sender.start()
        passes(2)
        go.set()
        answer = client.response()
        sender.join(10)
        assert answer.status == 200 and answer.text == "%d" % (12 * MIB)


def test_a_request_behind_content_that_was_answered_early_is_not_forgotten(proxy, origin):
    one = proxy(CONFIG, ORIGIN=free_port())
    with one.client(timeout=4) as client:
        client.send("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 502
        assert client.response().status == 502


def test_a_response_without_length_that_is_cut_is_not_given_an_end(proxy, origin):
    """The reset is met while the content of the request is passed on, so that the writing side hears of it first."""
    begun, cut, done = threading.Event(), threading.Event(), threading.Event()

    def reset(request, wire):
        wire.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"a" * 1000)
        begun.set()
        cut.wait(20)
        wire.close(reset=True)
        done.set()
        return "close"

    one = proxy(CONFIG, ORIGIN=origin(reset).port)
    for _ in range(5):
        with one.client() as client:
            client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            assert begun.wait(10)
            assert client.head().get("transfer-encoding") == "chunked"
            client.until(b"a" * 1000)
            with Stopped(one):
                client.send(b"2000\r\n" + b"u" * 8192 + b"\r\n")
                cut.set()
                assert done.wait(10)
            with pytest.raises((Gone, OSError)):
                client.until(b"0\r\n\r\n")
        for event in (begun, cut, done):
            event.clear()


# --- Resources ----------------------------------------------------------------

def test_slow_readers_of_large_responses_leave_descriptors_for_others(proxy, origin):
    def large(request, wire):
        if request.target == "/small":
            return reply(wire, "small")
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (40 * MIB))
        for _ in range(40):
            wire.send(block)

    block = b"a" * MIB
    one = proxy(CONFIG, ORIGIN=origin(large).port, wrapper=["prlimit", "--nofile=256"])
    readers = []
    try:
        for _ in range(90):
            readers.append(one.client(receive_buffer=4096))
            readers[-1].request(target="/large")
        for reader in readers:
            assert reader.head().status == 200
            assert len(reader.take(2000)) == 2000
        assert len(os.listdir("/proc/%d/fd" % one.pid)) < 250
        assert one.ask(target="/small").text == "small"
    finally:
        for reader in readers:
            reader.close(reset=True)
    eventually(lambda: len(os.listdir("/proc/%d/fd" % one.pid)) < 60, message="all is given back")
    assert one.ask(target="/small").text == "small"


SLOW_NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!real) real = dlsym(RTLD_NEXT, "getaddrinfo");
  if (!name || strcmp(name, "slow.example")) return real(name, service, hints, found);
  close(creat(getenv("ASKED"), 0600));
  while (access(getenv("GATE"), F_OK)) usleep(1000);
  close(creat(getenv("TOLD"), 0600));
  return EAI_AGAIN;
}
"""


def test_a_name_that_fails_after_its_configuration_is_gone_does_no_harm(proxy, origin, tmp_path):
    (tmp_path / "names.c").write_text(SLOW_NAMES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "names.so", tmp_path / "names.c"], check=True)
    paths = {name: str(tmp_path / name) for name in ("ASKED", "GATE", "TOLD")}
    text = """
listen: 127.0.0.1:@LISTEN@
workers: 1
log: {level: @LEVEL@}
upstreams: {app: {url: "http://127.0.0.1:@ORIGIN@"}, slow: {url: "http://slow.example", timeouts: {connect: 300ms}}}
rules:
  - {name: slow, match: {path: /slow}, proxy: {upstream: slow}}
  - {name: all, request: {set: {X-Level: @LEVEL@}}, proxy: {upstream: app}}
"""
    source = origin(lambda request, wire: reply(wire, request.get("x-level")))
    one = proxy(text, ORIGIN=source.port, LEVEL="info", env={"LD_PRELOAD": str(tmp_path / "names.so"), **paths})
    assert one.ask(target="/slow").status in (502, 503, 504)
    eventually(lambda: os.path.exists(paths["ASKED"]))
    one.texts["LEVEL"] = "debug"
    one.write(text)
    one.signal(signal.SIGHUP)
    eventually(lambda: one.ask().text == "debug", message="the new configuration is in force")
    for _ in range(20):
        one.ask()
    Path(paths["GATE"]).touch()
    eventually(lambda: os.path.exists(paths["TOLD"]))
    for _ in range(20):
        assert one.ask().text == "debug"
    assert one.process.poll() is None
