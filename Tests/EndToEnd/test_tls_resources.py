"""What TLS costs: allocations and system calls a request, memory of idle connections; and that it costs nothing where it is not used."""
import re, signal, subprocess

import pytest

from test_resources import COUNTER, DATA
from test_tls import LISTENER, UPSTREAM, certificates, secure, secure_origin  # noqa: F401 (fixtures)

# OpenSSL allocates for each record that it makes or reads: what it asks for is not ours to count.
THEIRS = """
static int theirs(void *caller) {
  Dl_info info;
  return dladdr(caller, &info) && info.dli_fname && (strstr(info.dli_fname, "libcrypto") || strstr(info.dli_fname, "libssl"));
}
"""
OWN = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <string.h>\n" + COUNTER.replace(
    "void *malloc(size_t n) { one();", THEIRS + "void *malloc(size_t n) { if (!theirs(__builtin_return_address(0))) one();")


def serve(request, wire):
    for _ in wire.pieces(request):
        pass
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + b"k" * 1024)


def both_sides(proxy, source, certificates, **options):
    config = LISTENER + UPSTREAM + "workers: 1\nlog: {access: false}\nrequest: {set: {Authorization: Bearer test-token}}\n"
    return proxy(config, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=source.port, **options)


@pytest.mark.parametrize("body", [None, b"x" * 3000])
def test_a_warm_request_over_tls_allocates_nothing_of_our_own(proxy, secure_origin, certificates, tmp_path, body):
    (tmp_path / "count.c").write_text(OWN)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", tmp_path / "count.so", tmp_path / "count.c"], check=True)
    (tmp_path / "count").write_bytes(bytes(4096))
    count = lambda: int.from_bytes((tmp_path / "count").read_bytes()[:8], "little")
    one = both_sides(proxy, secure_origin(serve), certificates, env={"LD_PRELOAD": str(tmp_path / "count.so"), "ALLOCATIONS": str(tmp_path / "count")})
    with secure(one, certificates=certificates) as client:
        def requests(number):
            before = count()
            for _ in range(number):
                assert client.ask("POST" if body else "GET", "/x", body, host="a.test").status == 200
            return count() - before

        assert count() > 0, "the counter is not in force"
        requests(1000)
        short, long = requests(1000), requests(3000)
    # The control plane looks at the certificates' files by the clock; one allocation in a request would show 3,000 times.
    assert short < 50 and long < 150, "%d allocations for 1,000 requests, %d for 3,000" % (short, long)


def test_a_warm_request_over_tls_costs_four_data_system_calls(proxy, secure_origin, certificates, tmp_path):
    one = both_sides(proxy, secure_origin(serve), certificates)
    with secure(one, certificates=certificates) as client:
        for _ in range(200):
            client.ask(host="a.test")
        tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-o", tmp_path / "calls", "-p", str(one.pid)], stderr=subprocess.PIPE, text=True)
        assert "attached" in tracer.stderr.readline()
        for _ in range(2000):
            client.ask(host="a.test")
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=10)
    calls = {name: int(number) for name, number in re.findall(r"^(\w+)\s+(\d+)$", (tmp_path / "calls").read_text(), re.M)}
    assert sum(number for name, number in calls.items() if name in DATA) / 2000 <= 4.2, calls


def test_an_idle_tls_connection_holds_no_buffers(proxy, origin, certificates):
    """Less than one record's read buffer: what is left is OpenSSL's state, which is what peers have too."""
    one = proxy(LISTENER + "workers: 1\nupstream: http://127.0.0.1:@ORIGIN@\n", CERTS=certificates.folder, ORIGIN=origin(serve).port)
    context = certificates.client()

    def served():
        client = secure(one, context=context)
        assert client.ask(host="a.test").status == 200
        return client

    for client in [served() for _ in range(50)]:
        client.close()
    before = one.memory()
    clients = [served() for _ in range(400)]
    grown = (one.memory() - before) / 400
    for client in clients:
        client.close()
    assert grown < 16, "%.1f KiB a connection" % grown


def test_without_tls_openssl_is_not_set_up(proxy, origin, certificates, tmp_path):
    """Its configuration is the first thing that OpenSSL reads."""
    plain = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n"
    for config, is_read in ((plain, False), (LISTENER + "upstream: demo\n", True)):
        trace = tmp_path / str(is_read)
        one = proxy(config, CERTS=certificates.folder, ORIGIN=origin(serve).port, wrapper=("strace", "-f", "-o", trace, "-e", "trace=openat"))
        with one.client() as client:
            client.request()
        assert ("openssl.cnf" in trace.read_text()) == is_read
