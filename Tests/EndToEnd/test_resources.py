"""Bounds: time for a slow peer, number of connections, allocations and system calls a request, memory of idle connections."""
import os, re, resource, signal, socket, subprocess, threading, time

import pytest

from harness import Client, Gone, eventually, free_port, reply

CONFIG = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
workers: 1
request: {set: {Authorization: Bearer test-token, X-Env: test}, remove: [X-Internal]}
"""


# --- Time ---------------------------------------------------------------------

def drip(client, data, every=0.05):
    """Octet by octet until the peer answers or leaves."""
    client.socket.setblocking(False)
    try:
        for octet in data:
            client.socket.send(bytes([octet]))
            time.sleep(every)  # the pace of the attack
            try:
                if client.socket.recv(1, socket.MSG_PEEK) is not None:
                    break
            except BlockingIOError:
                continue
    except OSError:
        pass
    client.socket.settimeout(10)


def test_a_head_that_drips_is_ended_with_408(proxy, origin):
    source = origin()
    one = proxy(CONFIG + "timeouts: {header: 1s}\n", ORIGIN=source.port)
    with one.client() as client:
        began = time.monotonic()
        drip(client, b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-Slow: y\r\n" * 100)
        answer = client.response()
        assert answer.status == 408 and answer.get("authproxy-error") == "request_timeout"
        assert 0.8 < time.monotonic() - began < 4
        assert client.ended()
    assert not source.requests


def test_a_connection_that_says_nothing_is_closed(proxy, origin):
    one = proxy(CONFIG + "timeouts: {header: 1s, keepalive: 1s}\n", ORIGIN=origin().port)
    with one.client() as client:
        try:
            answer = client.response()
            assert answer.status == 408
        except Gone:
            pass
        assert client.ended()


def test_a_body_that_stops_is_ended_with_408(proxy, origin):
    one = proxy(CONFIG + "timeouts: {body_idle: 1s}\n", ORIGIN=origin().port)
    with one.client() as client:
        began = time.monotonic()
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        answer = client.response()
        assert answer.status == 408 and answer.get("authproxy-error") == "request_timeout"
        assert 0.8 < time.monotonic() - began < 4
        assert client.ended()


def test_an_idle_connection_is_closed_after_its_time(proxy, origin):
    one = proxy(CONFIG + "timeouts: {keepalive: 1s}\n", ORIGIN=origin().port)
    with one.client() as client:
        client.ask()
        began = time.monotonic()
        assert client.ended(5) and time.monotonic() - began > 0.8


def test_a_client_that_reads_nothing_is_given_up(proxy, origin):
    def endless(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            while True:
                wire.send(b"x" * 65536)
        except OSError:
            gone.set()
            raise

    gone = threading.Event()
    one = proxy(CONFIG + "timeouts: {write_idle: 1s}\n", ORIGIN=origin(endless).port)
    client = one.client(receive_buffer=4096)
    client.request()
    assert gone.wait(10)
    client.close()


def test_an_origin_that_does_not_answer_is_a_504(proxy, origin):
    hold = threading.Event()
    one = proxy(CONFIG.replace("upstream: http://127.0.0.1:@ORIGIN@", 'upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", timeouts: {response: 1s}}}'),
                ORIGIN=origin(lambda request, wire: hold.wait(20)).port)
    answer = one.ask()
    assert answer.status == 504 and answer.get("authproxy-error") == "upstream_timeout"
    hold.set()


def test_an_origin_that_stops_in_the_middle_ends_the_response_visibly(proxy, origin):
    hold = threading.Event()

    def stops(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        hold.wait(20)

    one = proxy(CONFIG.replace("upstream: http://127.0.0.1:@ORIGIN@", 'upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", timeouts: {response_idle: 1s}}}'),
                ORIGIN=origin(stops).port)
    with one.client() as client, pytest.raises(Gone):
        client.ask()
    hold.set()


def test_an_idle_tunnel_is_closed_after_its_time(proxy, origin):
    def switch(request, wire):
        wire.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while True:
            wire.send(wire.take(1))

    one = proxy(CONFIG + "timeouts: {tunnel_idle: 1s}\n", ORIGIN=origin(switch).port)
    with one.client() as client:
        assert client.ask(headers={"Connection": "Upgrade", "Upgrade": "websocket"}).status == 101
        client.send("x")
        assert client.take(1) == b"x"
        assert client.ended(5)


# --- Number -------------------------------------------------------------------

def test_connections_beyond_the_limit_are_shed_with_503(proxy, origin):
    one = proxy(CONFIG + "limits: {connections: 8}\n", ORIGIN=origin().port)
    eventually(lambda: one.ask().status == 200)
    held = [one.client() for _ in range(8)]
    try:
        def shed():
            with one.client() as client:
                answer = client.ask()
                return answer.status == 503 and answer.get("authproxy-error") == "overloaded"

        for client in held:
            assert client.ask().status == 200
        eventually(shed)
        held.pop().close()
        eventually(lambda: one.ask().status == 200, 5, "a place that became free is given away")
    finally:
        for client in held:
            client.close()


def test_many_more_requests_than_upstream_connections_all_succeed(proxy, origin):
    source = origin(lambda request, wire: reply(wire))
    one = proxy(CONFIG.replace("upstream: http://127.0.0.1:@ORIGIN@", 'upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", pool: {max_connections: 4}}}'),
                ORIGIN=source.port)
    clients = [one.client() for _ in range(64)]
    for _ in range(5):
        for client in clients:
            client.request()
        assert [client.response().status for client in clients] == [200] * 64
    assert source.connections <= 4
    for client in clients:
        client.close()


def test_idle_connections_cost_next_to_no_memory(proxy, origin):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    one = proxy(CONFIG, ORIGIN=origin(lambda request, wire: reply(wire)).port)
    clients = []

    def more(count):
        for _ in range(count):
            clients.append(one.client())
            assert clients[-1].ask().status == 200
        return one.memory()

    before, after = more(200), more(2000)
    assert after - before < 2 * 1024, "%d KiB for 2,000 idle connections" % (after - before)
    for client in clients:
        client.close()


def test_memory_comes_back_to_rest_after_a_crowd(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin().port)
    body = os.urandom(200_000)

    def crowd():
        def visit():
            for _ in range(5):
                assert one.ask("POST", "/", body).status == 200

        threads = [threading.Thread(target=visit) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return one.memory()

    first = crowd()
    assert max(crowd() for _ in range(4)) - first < 3 * 1024


# --- Work per request ---------------------------------------------------------

COUNTER = r"""
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stddef.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
/* Counts every allocation of the process in a file that the test reads. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static _Atomic unsigned long own, *count = &own;
__attribute__((constructor)) static void start(void) {
  int file = open(getenv("ALLOCATIONS"), O_RDWR);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) count = page;
  close(file);
}
static void one(void) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }
void *malloc(size_t n) { one(); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { one(); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { one(); return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { one(); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { one(); return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { one(); *p = __libc_memalign(a, n); return *p ? 0 : ENOMEM; }
"""
RULES = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
workers: 1
log: {access: @ACCESS@, format: json}
credentials: {token: {bearer: "${env:TOKEN}"}}
rules:
  - {name: host, match: {host: "*.example.org", header: {X-A: {glob: "x*"}}}, request: {set: {X-B: "1"}}}
  - {name: agent, match: {header: {User-Agent: {regex: "curl/.*"}}, cookie: {beta: true}, query: {debug: "1"}}, request: {set: {X-C: "1"}}}
  - name: all
    match: {path: [/api/**, /v1/**]}
    credential: token
    request: {set: {X-Env: test, X-Path: "{request.path}", X-Ip: "{client.ip}"}, append: {X-Tag: a}, default: {Accept-Language: en},
              remove: [X-Internal, "X-Debug-*"], query: {remove: [utm_source]}, cookies: {remove: [tracker]}}
    response: {set: {X-Frame-Options: DENY}, remove: [Server]}
    proxy: {upstream: default, strip_prefix: /api}
"""
REQUESTS = {
    "get": ("GET", "/api/a/b%20c/d?x=1&utm_source=mail", None, {"User-Agent": "curl/8", "Cookie": "tracker=1; session=2", "X-Internal": "1"}),
    "post": ("POST", "/api/upload", b"x" * 3000, {"Content-Type": "text/plain"}),
    "no rule": ("GET", "/elsewhere", None, {}),
}


@pytest.mark.parametrize("access", ["false", "true"])
@pytest.mark.parametrize("kind", list(REQUESTS))
def test_a_warm_request_allocates_nothing(proxy, origin, tmp_path, kind, access):
    (tmp_path / "count.c").write_text(COUNTER)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", tmp_path / "count.so", tmp_path / "count.c"], check=True)
    (tmp_path / "count").write_bytes(bytes(4096))

    def count():
        return int.from_bytes((tmp_path / "count").read_bytes()[:8], "little")

    def serve(request, wire):
        for _ in wire.pieces(request):
            pass
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\nServer: x\r\n\r\n" + b"k" * 1024)

    one = proxy(RULES, ORIGIN=origin(serve).port, ACCESS=access,
                env={"TOKEN": "t", "LD_PRELOAD": str(tmp_path / "count.so"), "ALLOCATIONS": str(tmp_path / "count")})
    with one.client() as client:
        def requests(number):
            before = count()
            for _ in range(number):
                client.ask(*REQUESTS[kind])
            return count() - before

        assert count() > 0, "the counter is not in force"
        requests(1000)
        short, long = requests(1000), requests(3000)
    # What happens by the clock (timers, log flushes) may allocate now and then; one allocation in a request would show 3,000 times.
    assert max(short, long) <= 30, "%d allocations for 1,000 requests, %d for 3,000" % (short, long)


DATA = {"recvfrom", "recvmsg", "read", "readv", "sendto", "sendmsg", "write", "writev", "splice", "sendfile"}


def test_a_warm_request_costs_four_data_system_calls(proxy, origin, tmp_path):
    def serve(request, wire):
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + b"k" * 1024)

    one = proxy(CONFIG + "log: {access: false}\n", ORIGIN=origin(serve).port)
    with one.client() as client:
        for _ in range(200):
            client.ask()
        tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-o", tmp_path / "calls", "-p", str(one.pid)],
                                  stderr=subprocess.PIPE, text=True)
        assert "attached" in tracer.stderr.readline()
        for _ in range(2000):
            client.ask()
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=10)
    calls = {name: int(number) for name, number in re.findall(r"^(\w+)\s+(\d+)$", (tmp_path / "calls").read_text(), re.M)}
    data = sum(number for name, number in calls.items() if name in DATA) / 2000
    others = sum(number for name, number in calls.items() if name not in DATA and name not in ("total", "epoll_wait", "epoll_pwait")) / 2000
    assert data <= 4.2, calls
    assert others <= 0.1, calls


@pytest.mark.parametrize("count", [10, 1000, 10000])
def test_the_last_of_many_rules_is_found_and_the_file_loads_quickly(proxy, origin, count):
    rules = "".join("  - {name: r%d, match: {host: h%d.example.com, path: /p%d/**}, request: {set: {X-Rule: r%d}}, proxy: {upstream: default}}\n"
                    % (number, number, number, number) for number in range(count))
    began = time.monotonic()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nworkers: 1\nrules:\n" + rules, ORIGIN=origin().port)
    assert time.monotonic() - began < 10
    last = count - 1
    told = one.ask(target="/p%d/x" % last, host="h%d.example.com" % last).json()
    assert dict(told["fields"])["X-Rule"] == "r%d" % last
    assert one.ask(target="/p0/x", host="h%d.example.com" % last).get("authproxy-error") == "no_rule"


def cost_with_rules(proxy, origin, count):
    """Hundredths of a second of CPU for 20,000 requests that the last of `count` rules answers; the best of three."""
    rules = "".join("  - {name: h%d, match: {host: h%d.example.com}, proxy: {upstream: default}}\n"
                    "  - {name: e%d, match: {path: /exact/%d}, proxy: {upstream: default}}\n"
                    "  - {name: p%d, match: {path: /prefix%d/**}, proxy: {upstream: default}}\n" % ((number,) * 6) for number in range(count // 3))
    rules += "  - {name: all, match: {path: /}, respond: {status: 204}}\n"
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nworkers: 1\nlog: {access: false}\nrules:\n" + rules,
                ORIGIN=origin().port)
    batch = "GET / HTTP/1.1\r\nHost: app.test\r\n\r\n" * 100

    def user():
        fields = open("/proc/%d/stat" % one.pid).read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    with one.client() as client:
        def requests(times):
            before = user()
            for _ in range(times):
                client.send(batch)
                for _ in range(100):
                    client.until(b"\r\n\r\n")
            return user() - before

        requests(20)
        return min(requests(200) for _ in range(3))


def test_ten_thousand_rules_cost_no_more_than_ten(proxy, origin):
    few, many = cost_with_rules(proxy, origin, 10), cost_with_rules(proxy, origin, 10_000)
    assert many <= few * 2 + 10, "%d and %d hundredths of a second for 20,000 requests" % (few, many)
