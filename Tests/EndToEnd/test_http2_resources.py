"""What HTTP/2 costs: allocations a stream, without those of OpenSSL."""
import subprocess

import pytest

from harness import reply
from http2 import HTTP2
from test_http2_tls import LISTENER, secure2
from test_tls import certificates  # noqa: F401 (fixture)
from test_tls_resources import OWN

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
    (tmp_path / "count.c").write_text(OWN)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", tmp_path / "count.so", tmp_path / "count.c"], check=True)
    (tmp_path / "count").write_bytes(bytes(4096))
    count = lambda: int.from_bytes((tmp_path / "count").read_bytes()[:8], "little")

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
        short, long = streams(300), streams(900)
    # The control plane works by the clock; one allocation in a stream would show 900 times.
    assert short < 50 and long < 100, "%d allocations for 300 streams, %d for 900" % (short, long)
