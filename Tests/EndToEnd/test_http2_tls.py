"""HTTP/2 by ALPN, on both sides: what the handshake settles is what is spoken."""
import contextlib, json, ssl, subprocess, threading

import pytest

from certificates import Certificates
from chromium import Browser
from harness import PATIENCE, Client, Gone, Origin, echo, eventually, reply
from http2 import *

LISTENER = """
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls: {certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]}
"""
PLAIN = "upstream: http://127.0.0.1:@ORIGIN@\n"
SECURE = "upstreams: {default: {url: 'https://localhost:@ORIGIN@', protocol: @PROTOCOL@, tls: {ca: @CERTS@/ca.pem}}}\n"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def secure2(one, certificates, name="a.test", protocols=("h2",)):
    """A client of HTTP/2 over TLS."""
    client = HTTP2(one.listen, greet=False)
    context = certificates.client()
    context.set_alpn_protocols(list(protocols))
    client.socket = context.wrap_socket(client.socket, server_hostname=name)
    assert client.socket.selected_alpn_protocol() == "h2"
    client.send(PREFACE + settings())
    return client


class SecureOrigin(Origin):
    """HTTP/1.1 over TLS; `protocols` are those of ALPN."""

    def __init__(self, certificates, protocols=(), handler=echo):
        self.context = certificates.server("server")
        if protocols:
            self.context.set_alpn_protocols(list(protocols))
        super().__init__(handler)

    def attend(self, sock):
        try:
            sock = self.context.wrap_socket(sock, server_side=True)
        except OSError:
            return sock.close()
        super().attend(sock)


def answers(stream):
    body = stream.read()
    stream.reply(json.dumps({"version": "2", "target": stream.target, "authority": stream.pseudo[":authority"], "scheme": stream.pseudo[":scheme"], "length": len(body)}))


@pytest.mark.parametrize("option, version", [("--http2", "2"), ("--http1.1", "1.1")])
def test_curl_gets_what_it_asks_for(proxy, origin, certificates, option, version):
    one = proxy(LISTENER + PLAIN, CERTS=certificates.folder, ORIGIN=origin().port)
    done = subprocess.run(["curl", "-sS", option, "--cacert", certificates / "ca.pem", "-w", "\n%{http_version}", "--connect-to", "a.test:443:127.0.0.1:%d" % one.port,
                           "-d", "x" * 100_000, "https://a.test/x?y"], capture_output=True, text=True, timeout=20)
    told, spoken = done.stdout.rsplit("\n", 1)
    fields = dict(json.loads(told)["fields"])
    assert spoken == version and fields["X-Forwarded-Proto"] == "https" and fields["Via"].startswith("2.0" if version == "2" else "1.1")


def test_large_content_goes_both_ways_through_tls(proxy, origin, certificates):
    def mirror(request, wire):
        reply(wire, b"".join(wire.pieces(request)))

    one = proxy(LISTENER + PLAIN, CERTS=certificates.folder, ORIGIN=origin(mirror).port)
    content = bytes(range(256)) * 20_000
    with secure2(one, certificates) as client:
        for _ in range(2):
            assert client.fetch("POST", authority="a.test", scheme="https", body=content).body == content


@pytest.mark.parametrize("protocols, wanted", [("[h2]", ["h2"]), ("[http/1.1]", ["http/1.1"]), ("[http/1.1, h2]", ["http/1.1"])])
def test_the_listener_s_protocols_are_what_is_offered(proxy, origin, certificates, protocols, wanted):
    one = proxy(LISTENER.rstrip() + "\n    protocols: %s\n" % protocols + PLAIN, CERTS=certificates.folder, ORIGIN=origin().port)
    context = certificates.client()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with Client(one.listen) as client:
        client.socket = context.wrap_socket(client.socket, server_hostname="a.test")
        assert [client.socket.selected_alpn_protocol()] == wanted


def test_http2_is_not_spoken_where_it_was_not_settled(proxy, origin, certificates):
    one = proxy(LISTENER + PLAIN, CERTS=certificates.folder, ORIGIN=origin().port)
    with Client(one.listen) as client:
        client.socket = certificates.client().wrap_socket(client.socket, server_hostname="a.test")
        client.send(PREFACE)
        assert client.response().status == 505


def test_a_host_that_the_certificate_is_not_for_is_misdirected(proxy, origin, certificates):
    one = proxy(LISTENER + PLAIN, CERTS=certificates.folder, ORIGIN=origin().port)
    with secure2(one, certificates) as client:
        assert client.fetch(authority="other.test", scheme="https").status == 421
        assert client.fetch(authority="b.test", scheme="https").status == 200


class Farewell:
    """TLS whose farewell (close_notify) does not wait for the other side's, in the place of a socket."""

    def __init__(self, sock, context):
        self.socket, self.incoming, self.outgoing = sock, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="a.test")
        self.settimeout, self.close = sock.settimeout, sock.close
        self.run(self.tls.do_handshake)

    def run(self, step, *arguments):
        while True:
            try:
                result = step(*arguments)
                self.socket.sendall(self.outgoing.read())
                return result
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                if data := self.socket.recv(65536):
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()

    def sendall(self, data):
        self.run(self.tls.write, data)

    def recv(self, count):
        try:
            return self.run(self.tls.read, count)
        except ssl.SSLZeroReturnError:
            return b""

    def finish(self):
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        self.socket.sendall(self.outgoing.read())


def test_a_client_that_has_said_its_farewell_gets_what_it_has_asked_for(proxy, origin, certificates):
    gate = threading.Event()

    def waits(request, wire):
        assert gate.wait(PATIENCE)
        reply(wire, bytes(20_000))

    one = proxy(LISTENER + PLAIN, CERTS=certificates.folder, ORIGIN=(source := origin(waits)).port)
    context = certificates.client()
    context.set_alpn_protocols(["h2"])
    with HTTP2(one.listen, greet=False) as client:
        client.socket = Farewell(client.socket, context)
        client.send(PREFACE + settings())
        client.headers(1, request(authority="a.test", scheme="https"))
        eventually(lambda: source.requests)
        client.socket.finish()
        client.until(lambda: client.goaway)
        gate.set()
        assert len(client.response(1).body) == 20_000
        with pytest.raises(Gone):
            client.read()


# --- Upstreams ---------------------------------------------------------------

@pytest.mark.parametrize("protocol", ["auto", "h2"])
def test_an_upstream_that_speaks_http2_is_spoken_to_so(proxy, origin2, certificates, protocol):
    there = origin2(answers, tls=(certificates / "server.pem", certificates / "server.key"))
    one = proxy("workers: 1\nlisten: 127.0.0.1:@LISTEN@\n" + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL=protocol)
    told = one.ask("POST", "/p", b"x" * 300_000).json()
    assert told == {"version": "2", "target": "/p", "authority": "localhost:%d" % there.port, "scheme": "https", "length": 300_000}
    assert [one.ask(target="/%d" % number).json()["target"] for number in range(5)] == ["/%d" % number for number in range(5)]
    assert there.connections == 1


@pytest.mark.parametrize("protocol, offered", [("auto", []), ("auto", ["http/1.1"]), ("http/1.1", ["h2", "http/1.1"])])
def test_an_upstream_that_speaks_http1_is_spoken_to_so(proxy, certificates, protocol, offered):
    there = SecureOrigin(certificates, offered)
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL=protocol)
    assert one.ask(target="/p").json()["target"] == "/p"
    there.stop()


def test_an_upgrade_goes_over_http1_to_a_server_that_speaks_both(proxy, certificates):
    from test_http2 import tunnel_to

    def tunnels(request, wire):
        tunnel_to(wire, request)
        while True:
            if not wire.buffer:
                wire.more()
            wire.send(wire.take(len(wire.buffer)))

    there = SecureOrigin(certificates, ["http/1.1"], tunnels)
    there.context.set_alpn_protocols(["h2", "http/1.1"])
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL="auto")
    with one.client() as client:
        client.send("GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        assert client.head().status == 101
        client.send(b"bytes")
        assert client.take(5) == b"bytes"
    there.stop()


def test_an_upstream_that_does_not_speak_the_http2_that_is_demanded_is_a_502(proxy, certificates):
    there = SecureOrigin(certificates)
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL="h2")
    assert one.ask().status == 502 and not there.requests
    there.stop()


def test_http2_over_tls_on_both_sides(proxy, origin2, certificates):
    gate = threading.Event()

    def waits(stream):
        if stream.target == "/slow":
            assert gate.wait(10)
        answers(stream)

    there = origin2(waits, tls=(certificates / "server.pem", certificates / "server.key"))
    one = proxy("workers: 1\n" + LISTENER + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL="auto")
    with secure2(one, certificates) as client:
        slow = client.ask_on(path="/slow", authority="a.test", scheme="https")
        for _ in range(20):
            assert json.loads(client.fetch("POST", "/fast", b"x" * 20_000, authority="a.test", scheme="https").body)["length"] == 20_000
        gate.set()
        assert json.loads(client.response(slow).body)["target"] == "/slow"
    assert there.connections == 1


def test_many_first_requests_share_what_one_of_them_finds_out(proxy, origin2, certificates):
    there = origin2(answers, tls=(certificates / "server.pem", certificates / "server.key"))
    one = proxy("workers: 1\nlisten: 127.0.0.1:@LISTEN@\n" + SECURE, CERTS=certificates.folder, ORIGIN=there.port, PROTOCOL="h2")
    clients = [one.client() for _ in range(20)]
    for client in clients:
        client.request(target="/many")
    assert all(client.response().json()["target"] == "/many" for client in clients) and there.connections == 1
    for client in clients:
        client.close()


# --- A browser ---------------------------------------------------------------

def test_chromium_speaks_http2_and_tunnels_its_websocket(proxy, certificates):
    one = proxy(LISTENER + "upstream: demo\nlog: {format: json}\n", CERTS=certificates.folder)
    browser = Browser("--ignore-certificate-errors", "--host-resolver-rules=MAP a.test 127.0.0.1")
    try:
        browser.go("https://a.test:%d/" % one.port)
        assert browser.script("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
        said = browser.script("""new Promise((done, failed) => {
            const socket = new WebSocket('wss://' + location.host + '/websocket')
            socket.onopen = () => socket.send('hello')
            socket.onmessage = event => done(event.data)
            socket.onerror = () => failed(new Error('no socket'))
        })""")
        assert "hello" in said
    finally:
        browser.close()
    records = eventually(lambda: [line for line in one.records() if line.get("path") == "/websocket"])
    assert records[0]["proto"] in ("HTTP/2", "HTTP/1.1")
