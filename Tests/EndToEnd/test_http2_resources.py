"""What HTTP/2 costs: allocations a stream, without those of OpenSSL."""
import subprocess

import pytest

from harness import reply
from http2 import HTTP2
from test_http2_tls import LISTENER, secure2
from test_tls import certificates  # noqa: F401 (fixture)
from test_tls_resources import OWN

# What libnghttp2 allocates by itself, and not by the memory that it is given: counted apart.
APART = """
static int others(void *caller) {
  if (theirs(caller)) return 1;
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libnghttp2")) return 0;
  if (count != &own) atomic_fetch_add_explicit(count + 1, 1, memory_order_relaxed);
  return 1;
}
void *malloc(size_t n) { if (!others("""
OURS = OWN.replace("void *malloc(size_t n) { if (!theirs(", APART)
PLAIN_LISTENER = 'listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]\n'
REST = """
workers: 1
log: {access: false}
upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", protocol: @PROTOCOL@}}
request: {set: {Authorization: Bearer test-token, X-Path: "{request.path}"}, remove: [X-Internal]}
response: {set: {X-Frame-Options: DENY}, remove: [Server]}
"""
FIELDS = [("user-agent", "curl/8"), ("cookie", "a=1"), ("cookie", "b=2"), ("x-internal", "1")]


@pytest.mark.parametrize("body", [None, b"x" * 3000], ids=["get", "post"])
@pytest.mark.parametrize("client, upstream", [("plain", "http/1.1"), ("tls", "http/1.1"), ("plain", "h2c")])
def test_a_warm_stream_allocates_nothing(proxy, origin, origin2, certificates, tmp_path, client, upstream, body):  # noqa: F811
    (tmp_path / "count.c").write_text(OURS)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", tmp_path / "count.so", tmp_path / "count.c"], check=True)
    (tmp_path / "count").write_bytes(bytes(4096))
    count = lambda at=0: int.from_bytes((tmp_path / "count").read_bytes()[at:at + 8], "little")

    def serve(request, wire):
        for _ in wire.pieces(request):
            pass
        reply(wire, b"k" * 1024, headers={"Server": "x"})

    def serve2(stream):
        stream.read()
        stream.reply(b"k" * 1024, fields=[("server", "x")])

    source = origin2(serve2) if upstream == "h2c" else origin(serve)
    one = proxy((LISTENER if client == "tls" else PLAIN_LISTENER) + REST, ORIGIN=source.port, PROTOCOL=upstream, CERTS=certificates.folder,
                env={"LD_PRELOAD": str(tmp_path / "count.so"), "ALLOCATIONS": str(tmp_path / "count")})
    with secure2(one, certificates) if client == "tls" else HTTP2(one.port) as wire:
        def streams(number):
            before = count()
            for _ in range(number):
                assert wire.fetch("POST" if body else "GET", "/x?y", body, FIELDS, authority="a.test", scheme="https" if client == "tls" else "http").status == 200
                wire.frames.clear()
                wire.answers.clear()
                wire.windows = {0: wire.windows[0]}
            return count() - before

        assert count() > 0, "the counter is not in force"
        streams(300)
        library = count(8)
        short, long = streams(300), streams(900)
        library, at_start = count(8) - library, library
    # The control plane works by the clock; one allocation in a stream would show 900 times.
    assert short < 50 and long < 100, "%d allocations for 300 streams, %d for 900" % (short, long)
    assert at_start > 0, "the library's are not counted"
    assert library < 100, "%d allocations of the library's for 1200 streams" % library
