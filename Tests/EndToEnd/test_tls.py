"""TLS to clients and upstreams over HTTP/1.1, with curl, openssl and Python's ssl as the other side."""
import json, os, shutil, signal, socket, ssl, struct, subprocess, threading, time

import pytest

from certificates import EC, Certificates
from harness import Client, Gone, Origin, ask, command, connections, echo, eventually, free_port, reply

LISTENER = """
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls:
      certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]
"""
ORIGIN = "upstream: http://127.0.0.1:@ORIGIN@\n"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def secure(one, name="a.test", context=None, certificates=None, **options):
    """A client of the proxy over TLS."""
    client = Client(one.listen, **options)
    client.socket = (context or certificates.client()).wrap_socket(client.socket, server_hostname=name)
    return client


def openssl(one, *arguments, text=b""):
    return subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % one.port, *arguments], input=text, capture_output=True, timeout=20)


def subject(output):
    return next((line for line in output.decode().splitlines() if line.startswith("subject=")), "")


# --- Clients ------------------------------------------------------------------

def test_curl_is_served_and_the_upstream_learns_the_scheme(proxy, origin, certificates):
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin().port)
    for version in ("--tlsv1.2 --tls-max 1.2", "--tlsv1.3"):
        done = subprocess.run(["curl", "-sS", "--cacert", certificates / "ca.pem", *version.split(), "--connect-to", "a.test:443:127.0.0.1:%d" % one.port,
                               "https://a.test/x?y"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["target"] == "/x?y" and ["X-Forwarded-Proto", "https"] in told["fields"]


@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 1 << 20, 9 << 20])
def test_content_of_any_size_goes_through_both_ways(proxy, origin, certificates, size):
    def serve(request, wire):
        body = b"".join(wire.pieces(request))
        reply(wire, body)
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin(serve).port)
    with secure(one, certificates=certificates) as client:
        body = os.urandom(size)
        for _ in range(2):
            client.request("POST", "/", None, {"Transfer-Encoding": "chunked"}, host="a.test")
            client.send((b"%x\r\n" % size + body + b"\r\n" if size else b"") + b"0\r\n\r\n")
            assert client.response().body == body


def test_requests_in_single_bytes_and_pipelined_requests_are_read(proxy, origin, certificates):
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin().port)
    with secure(one, certificates=certificates) as client:
        for byte in b"GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n":
            client.send(bytes([byte]))
        assert client.response().json()["target"] == "/slow"
        client.send("".join("GET /%d HTTP/1.1\r\nHost: a.test\r\n\r\n" % number for number in range(200)))
        assert [client.response().json()["target"] for _ in range(200)] == ["/%d" % number for number in range(200)]


def test_a_reader_that_stops_stops_the_origin(proxy, origin, certificates):
    sent = [0]

    def flood(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 30))
        while True:
            wire.send(b"x" * 65536)
            sent[0] += 65536
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin(flood).port)
    with secure(one, certificates=certificates) as client:
        client.request(host="a.test")
        client.head()
        last = -1

        def stalled():
            nonlocal last
            before, last = last, sent[0]
            time.sleep(0.2)
            return before == last == sent[0] > 0
        eventually(stalled)
        assert sent[0] < 32 << 20 and one.memory() < 100 * 1024


def test_the_certificate_is_chosen_by_name_and_kind(proxy, certificates):
    one = proxy("""
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls:
      certificates:
        - {cert: @CERTS@/server.pem, key: @CERTS@/server.key}
        - {cert: @CERTS@/rsa.pem, key: @CERTS@/rsa.key}
        - {cert: @CERTS@/wild.pem, key: @CERTS@/wild.key}
        - {cert: @CERTS@/one.pem, key: @CERTS@/one.key}
upstream: demo
""", CERTS=certificates.folder)
    ecdsa, rsa = ["-sigalgs", "ecdsa_secp256r1_sha256"], ["-sigalgs", "rsa_pss_rsae_sha256:rsa_pkcs1_sha256"]
    for version in ("-tls1_2", "-tls1_3"):
        assert subject(openssl(one, version, "-servername", "a.test", *ecdsa).stdout) == "subject=CN = server"
        assert subject(openssl(one, version, "-servername", "a.test", *rsa).stdout) == "subject=CN = rsa"
        assert subject(openssl(one, version, "-servername", "x.w.test").stdout) == "subject=CN = wild"
        assert subject(openssl(one, version, "-servername", "ONE.w.test").stdout) == "subject=CN = one"
        assert subject(openssl(one, version, "-servername", "x.x.w.test").stdout) == "subject=CN = server"
        assert subject(openssl(one, version, "-noservername").stdout) == "subject=CN = server"


def test_a_host_that_the_certificate_is_not_for_is_misdirected(proxy, origin, certificates):
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin().port)
    with secure(one, certificates=certificates) as client:
        assert client.ask(host="a.test").status == 200
        answer = client.ask(host="elsewhere.test")
        assert answer.status == 421 and answer.get("authproxy-error") == "misdirected"
        assert client.ask(host="b.test:8443").status == 200
        assert client.ask(host="127.0.0.1").status == 200
        client.request(host="")
        assert client.response().status == 400
    with secure(one, "127.0.0.1", certificates=certificates) as client:  # an address is no server name: nothing was promised
        assert client.ask(host="elsewhere.test").status == 200


def test_sessions_are_resumed_by_any_worker(proxy, certificates):
    one = proxy(LISTENER + "workers: 4\nupstream: demo\nadmin: {listen: '127.0.0.1:@ADMIN@'}\n", CERTS=certificates.folder, ADMIN=free_port())
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = certificates.client()
        context.minimum_version = context.maximum_version = version
        session, resumed = None, []
        for _ in range(12):
            client = Client(one.listen)
            client.socket = context.wrap_socket(client.socket, server_hostname="a.test", session=session)
            assert client.ask(host="a.test").status == 200
            session = client.socket.session
            resumed.append(client.socket.session_reused)
            client.close()
        assert resumed == [False] + [True] * 11
    metrics = ask(one.texts["ADMIN"], target="/metrics", host="127.0.0.1").text
    assert 'authproxy_client_handshakes_total{result="resumed"} 22' in metrics and 'authproxy_client_handshakes_total{result="full"} 2' in metrics


@pytest.mark.parametrize("arguments", [["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"],
                                       ["-tls1_2", "-curves", "P-521"], ["-tls1_3", "-curves", "P-521"], ["-alpn", "spdy/1"]])
def test_what_is_weak_or_unknown_is_refused(proxy, certificates, arguments):
    one = proxy(LISTENER + "upstream: demo\n", CERTS=certificates.folder)
    done = openssl(one, "-servername", "a.test", *arguments)
    assert done.returncode != 0 and b"alert" in done.stderr
    assert openssl(one, "-servername", "a.test").returncode == 0


@pytest.mark.timeout(600)
def test_testssl_has_no_finding_above_low(proxy, certificates, tmp_path):
    """Protocols, ciphers, forward secrecy, the server's defaults and known vulnerabilities."""
    extensions = "\n".join([
        "subjectAltName=DNS:localhost", "basicConstraints=CA:FALSE", "keyUsage=digitalSignature", "extendedKeyUsage=serverAuth",
        "crlDistributionPoints=URI:http://127.0.0.1/ca.crl"])
    for name, key in (("ec", EC), ("rsa", ["rsa:2048"])):
        Certificates.issue_by(certificates / "ca", tmp_path / name, "/CN=localhost", extensions, key, days=200)
    one = proxy("""
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls: {certificates: [{cert: @CERTS@/ec.pem, key: @CERTS@/ec.key}, {cert: @CERTS@/rsa.pem, key: @CERTS@/rsa.key}]}
upstream: demo
""", CERTS=tmp_path)
    report = tmp_path / "report.json"
    done = subprocess.run(
        ["testssl", "--quiet", "--color", "0", "--warnings", "batch", "--add-ca", certificates / "ca.pem", "--ip", "127.0.0.1", "--jsonfile", report,
         "--protocols", "--std", "--pfs", "--server-preference", "--server-defaults", "--vulnerable", "https://localhost:%d" % one.port],
        capture_output=True, text=True, cwd=tmp_path, timeout=500)
    findings = {(each["id"], each["severity"], each["finding"]) for each in json.loads(report.read_text())}
    assert " Done 20" in done.stdout, done.stdout[-1000:]
    assert {("heartbleed", "OK"), ("TLS1_2", "OK"), ("TLS1_3", "OK"), ("ALPN_HTTP2", "OK"), ("cert_trust <cert#2>", "OK")} <= {each[:2] for each in findings}
    # Of its own client: that has often gone before it has read the ticket, with any server (resumption has tests of its own), and has no GOST.
    own = {("sessionresumption_ticket", "WARN"), ("engine_problem", "WARN")}
    assert not [each for each in findings if each[1] not in ("OK", "INFO", "LOW") and each[:2] not in own]


def test_a_minimum_version_holds(proxy, certificates):
    one = proxy(LISTENER + '      min_version: "1.3"\nupstream: demo\n', CERTS=certificates.folder)
    assert openssl(one, "-tls1_2").returncode != 0
    assert openssl(one, "-tls1_3").returncode == 0


def test_renegotiation_and_compression_are_refused(proxy, certificates):
    one = proxy(LISTENER + "upstream: demo\n", CERTS=certificates.folder)
    done = openssl(one, "-tls1_2", "-servername", "a.test", "-comp", text=b"R\n")
    assert b"Compression: NONE" in done.stdout
    assert b"RENEGOTIATING" in done.stderr and b"no renegotiation" in done.stderr and done.returncode != 0


def test_a_handshake_has_a_deadline(proxy, certificates):
    one = proxy(LISTENER + "timeouts: {header: 300ms}\nupstream: demo\n", CERTS=certificates.folder)
    for begun in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
        with one.client() as client:
            client.send(begun)
            began = time.monotonic()
            assert client.ended() and time.monotonic() - began < 5
    context = certificates.client()
    with secure(one, context=context) as client:  # then the head has one
        client.send("GET / HTTP/1.1\r\n")
        assert client.response().status == 408


def test_garbage_instead_of_a_handshake_ends_the_connection_and_nothing_else(proxy, certificates):
    one = proxy(LISTENER + "timeouts: {header: 1s}\nupstream: demo\n", CERTS=certificates.folder)
    for text in (b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", os.urandom(3000), b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x80\x2e\x01\x00\x02", b"\x15\x03\x01\x00\x02\x02\x28"):
        with one.client() as client:
            try:
                client.send(text)
            except OSError:
                pass
            assert client_ends(client)
    with secure(one, certificates=certificates) as client:
        assert client.ask(host="a.test").status == 200


@pytest.mark.parametrize("visit", ["a byte", "no farewell", "a bad record", "an upstream without proof"])
def test_what_one_session_received_is_nothing_to_the_next(proxy, secure_origin, certificates, visit):
    source, foreign = secure_origin(), secure_origin(certificate="foreign")
    one = proxy("""
listeners:
  - 127.0.0.1:@LISTEN@
  - {address: "127.0.0.1:@SECURE@", tls: {certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]}}
upstreams:
  good: {url: "https://localhost:@ORIGIN@", tls: {ca: @CERTS@/ca.pem}, pool: {max_idle: 0}}
  bad: {url: "https://localhost:@FOREIGN@", tls: {ca: @CERTS@/ca.pem}}
rules:
  - {match: {path: /bad}, proxy: {upstream: bad}}
  - {match: {path: /none}, respond: {status: 204}}
  - proxy: {upstream: good}
workers: 1
""", CERTS=certificates.folder, ORIGIN=source.port, FOREIGN=foreign.port, SECURE=(port := free_port()))
    for number in range(3):
        if visit == "an upstream without proof":
            assert one.ask(target="/bad").status == 502
        else:
            with Client(("127.0.0.1", port)) as client:
                if visit == "no farewell":
                    plain = client.socket
                    client.socket = certificates.client().wrap_socket(plain, server_hostname="a.test")
                    assert client.ask(target="/none", host="a.test").status == 204
                    client.socket = socket.socket(fileno=client.socket.detach())
                else:
                    client.send(b"\x16" if visit == "a byte" else b"\x17\x03\x03\x00\x05hello" + b"x" * 40000)
                client.socket.shutdown(socket.SHUT_WR)
                assert client_ends(client)
        assert one.ask(target="/%d" % number).status == 200


def client_ends(client):
    """True when the proxy ends the connection, whatever it says before."""
    try:
        while client.socket.recv(65536):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_response_that_ends_with_the_connection_ends_with_a_farewell(proxy, origin, certificates):
    def serve(request, wire):
        wire.send("HTTP/1.1 200 OK\r\n\r\nto the end")
        return "close"
    one = proxy(LISTENER + ORIGIN, CERTS=certificates.folder, ORIGIN=origin(serve).port)
    context = certificates.client()
    client = Client(one.listen)
    client.socket = context.wrap_socket(client.socket, server_hostname="a.test", suppress_ragged_eofs=False)
    answer = client.ask(host="a.test", version="1.0")
    assert answer.body == b"to the end"  # a ragged end would raise


def test_plain_http_is_told_that_https_is_spoken_here(proxy, certificates):
    one = proxy(LISTENER + "upstream: demo\n", CERTS=certificates.folder)
    answer = one.ask(host="a.test")
    assert answer.status == 400 and answer.get("authproxy-error") == "bad_request" and "https" in answer.text


# --- Certificates that change -------------------------------------------------

def test_new_certificates_are_shown_within_a_second_without_a_failed_request(proxy, origin, certificates, tmp_path):
    for name in ("server.pem", "server.key"):
        shutil.copy(certificates / name, tmp_path / name)
    one = proxy(LISTENER + ORIGIN, CERTS=tmp_path, ORIGIN=origin().port)
    failures, served, stop = [], [0], threading.Event()

    def load(keeps):
        client = None
        while not stop.is_set():
            try:
                client = client or secure(one, certificates=certificates)
                assert client.ask(host="a.test").status == 200
                served[0] += 1
                if not keeps:
                    client.close()
                    client = None
            except Exception as error:
                failures.append(repr(error))
                client = None

    threads = [threading.Thread(target=load, args=(keeps,)) for keeps in (True, True, False, False)]
    for thread in threads:
        thread.start()
    shown = lambda: subject(openssl(one, "-servername", "a.test").stdout)
    eventually(lambda: served[0] > 20)
    try:
        for name in ("renewed", "server", "renewed"):
            for part in ("pem", "key"):  # one after the other: what does not fit together is never shown
                shutil.copy(certificates / ("%s.%s" % (name, part)), tmp_path / ("new." + part))
                os.replace(tmp_path / ("new." + part), tmp_path / ("server." + part))
            eventually(lambda: shown() == "subject=CN = " + name, 15, name)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures and served[0] > 100
    (tmp_path / "server.pem").write_text("nonsense")
    eventually(lambda: any("last good certificates are kept" in line["msg"] for line in one.records()))
    assert shown() == "subject=CN = renewed"


# --- Client certificates ------------------------------------------------------

CLIENTS = LISTENER + "      client_ca: @CERTS@/ca.pem\n      client_auth: @AUTH@\n"
WITH_SUBJECT = ORIGIN + 'request: {set: {X-Subject: "{client.cert.subject}", X-Names: "{client.cert.san}"}}\n'


def attempt(one, context, headers=()):
    """The answer, or why there is none."""
    try:
        with secure(one, context=context) as client:
            return client.ask(host="a.test", headers=headers)
    except (OSError, Gone) as error:
        return repr(error)


@pytest.mark.parametrize("auth, nobody, stranger", [("none", 200, 200), ("request", 200, None), ("require", None, None)])
def test_client_certificates(proxy, origin, certificates, auth, nobody, stranger):
    one = proxy(CLIENTS + WITH_SUBJECT, CERTS=certificates.folder, AUTH=auth, ORIGIN=origin().port)
    status = lambda answer: getattr(answer, "status", None)
    assert status(attempt(one, certificates.client())) == nobody
    assert status(attempt(one, certificates.client("stranger"))) == stranger
    assert status(attempt(one, certificates.client("expired"))) == stranger
    answer = attempt(one, certificates.client("alice"), {"X-Subject": "CN=root", "X_Names": "DNS:root"})
    fields = dict(answer.json()["fields"])
    assert "root" not in str(fields)
    if auth == "none":
        assert "X-Subject" not in fields
    else:
        assert fields["X-Subject"] == "CN=alice,O=Example" and fields["X-Names"] == "DNS:alice.test,email:alice@a.test"


def test_a_revoked_client_is_refused(proxy, origin, certificates):
    one = proxy(CLIENTS.replace("client_auth", "client_crl: @CERTS@/ca.crl\n      client_auth") + WITH_SUBJECT, CERTS=certificates.folder, AUTH="require",
                ORIGIN=origin().port)
    assert attempt(one, certificates.client("alice")).status == 200
    assert isinstance(attempt(one, certificates.client("revoked")), str)


# --- Upstreams ----------------------------------------------------------------

UPSTREAM = "upstreams: {default: {url: 'https://@HOST@:@ORIGIN@', tls: {ca: @CERTS@/ca.pem@MORE@}}}\n"


@pytest.fixture
def secure_origin(certificates):
    """Starts origins that speak TLS: secure_origin(handler, certificate, ...)."""
    started = []

    def start(handler=echo, certificate="server", **options):
        one = SecureOrigin(certificates.server(certificate, **options), handler)
        started.append(one)
        return one
    yield start
    for one in started:
        one.stop()


class SecureOrigin(Origin):
    def __init__(self, context, handler):
        self.context, self.handshakes, self.resumed, self.names, self.ragged = context, 0, 0, [], 0
        context.sni_callback = lambda sock, name, _: self.names.append(name)
        super().__init__(handler)

    def attend(self, sock):
        try:
            sock = self.context.wrap_socket(sock, server_side=True)
        except (OSError, ssl.SSLError):
            sock.close()
            return
        with self.lock:
            self.handshakes += 1
            self.resumed += sock.session_reused
        super().attend(sock)


def test_an_upstream_over_tls_is_verified_and_asked_by_its_name(proxy, secure_origin, certificates):
    source = secure_origin()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nworkers: 1\n" + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=source.port)
    told = one.ask(target="/x").json()
    assert told["target"] == "/x" and ["Host", "localhost:%d" % source.port] in told["fields"]
    for _ in range(5):
        assert one.ask().status == 200
    assert source.names == ["localhost"] and source.connections == 1


@pytest.mark.parametrize("host, certificate, more, why", [
    ("127.0.0.1", "wild", "", "IP address mismatch"), ("localhost", "wild", "", "hostname mismatch"), ("localhost", "foreign", "", "unable to get local issuer"),
    ("localhost", "stale", "", "expired"), ("localhost", "server", ", server_name: other.test", "hostname mismatch")])
def test_an_upstream_that_can_not_prove_who_it_is_gets_nothing(proxy, secure_origin, certificates, host, certificate, more, why):
    source = secure_origin(certificate=certificate)
    one = proxy("listen: 127.0.0.1:@LISTEN@\nrequest: {set: {Authorization: Bearer s3cret}}\n" + UPSTREAM, HOST=host, MORE=more, CERTS=certificates.folder, ORIGIN=source.port)
    answer = one.ask(method="POST", body=b"hello")
    assert answer.status == 502 and answer.get("authproxy-error") == "upstream_tls"
    assert not source.requests
    eventually(lambda: why in one.log(), message=one.log())
    eventually(lambda: any(line.get("reason") == "upstream_tls" for line in one.records()))


def test_without_a_ca_the_systems_authorities_count(proxy, secure_origin, certificates):
    source = secure_origin()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: https://localhost:@ORIGIN@\n", ORIGIN=source.port)
    assert one.ask().get("authproxy-error") == "upstream_tls"
    one.stop()
    trusting = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: https://localhost:@ORIGIN@\n", ORIGIN=source.port, env={"SSL_CERT_FILE": str(certificates / "ca.pem")})
    assert trusting.ask().status == 200


def test_verification_can_be_switched_off_and_that_is_warned_of(proxy, secure_origin, certificates):
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE=", insecure_skip_verify: true", CERTS=certificates.folder,
                ORIGIN=secure_origin(certificate="foreign").port)
    assert one.ask().status == 200
    eventually(lambda: any(line["level"] == "warn" and "not verified" in line["msg"] for line in one.records()))


def test_a_certificate_of_ours_is_shown(proxy, secure_origin, certificates):
    source = secure_origin(demands=True)
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=source.port)
    assert one.ask().get("authproxy-error") == "upstream_tls"
    one.stop()
    more = ", cert: %s, key: %s" % (certificates / "alice.pem", certificates / "alice.key")
    shown = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE=more, CERTS=certificates.folder, ORIGIN=source.port)
    assert shown.ask().status == 200


def test_a_new_certificate_of_ours_is_shown_by_new_connections(proxy, secure_origin, certificates, tmp_path):
    def serve(request, wire):
        reply(wire, dict(pair for part in wire.socket.getpeercert()["subject"] for pair in part)["commonName"])

    def install(name):
        for part in ("pem", "key"):
            shutil.copy(certificates / ("%s.%s" % (name, part)), tmp_path / ("new." + part))
            os.replace(tmp_path / ("new." + part), tmp_path / ("our." + part))

    install("alice")
    more = ", cert: %s, key: %s" % (tmp_path / "our.pem", tmp_path / "our.key")
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE=more, CERTS=certificates.folder, ORIGIN=secure_origin(serve, demands=True).port)
    assert one.ask().text == "alice"
    install("revoked")  # by a list that this origin does not have
    eventually(lambda: one.ask().text == "revoked")


def test_upstream_sessions_are_resumed(proxy, secure_origin, certificates):
    def serve(request, wire):
        reply(wire, "ok", headers={"Connection": "close"})
        return "close"
    source = secure_origin(serve)
    one = proxy("listen: 127.0.0.1:@LISTEN@\nworkers: 1\n" + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=source.port)
    for _ in range(6):
        assert one.ask().status == 200
    assert source.handshakes == 6 and source.resumed == 5


@pytest.mark.parametrize("ragged", [False, True])
def test_a_response_cut_off_is_no_whole_response(proxy, secure_origin, certificates, ragged):
    """Content that ends with the connection ends with close_notify; without it somebody may have cut it off."""
    def serve(request, wire):
        wire.send("HTTP/1.1 200 OK\r\n\r\n" + "x" * 1000)
        if ragged:
            os.close(os.dup2(os.open("/dev/null", os.O_RDONLY), wire.socket.fileno()))
        else:
            wire.socket.unwrap()
        return "close"
    one = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=secure_origin(serve).port)
    with one.client() as client:
        client.request()
        if ragged:
            with pytest.raises((Gone, OSError)):
                client.response()
        else:
            assert client.response().body == b"x" * 1000


def test_a_server_that_speaks_plainly_is_an_error(proxy, certificates):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def speak():
            sock, _ = listener.accept()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            sock.recv(1000)
            sock.close()
        threading.Thread(target=speak, daemon=True).start()
        one = proxy("listen: 127.0.0.1:@LISTEN@\n" + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=listener.getsockname()[1])
        answer = one.ask()
    assert answer.status == 502 and answer.get("authproxy-error") == "upstream_tls"


def test_a_redirect_to_https_is_followed_by_the_systems_authorities(proxy, origin, secure_origin, certificates):
    target = secure_origin()
    source = origin(lambda request, wire: reply(wire, "", "302 Found", {"Location": "https://localhost:%d/there" % target.port}))
    config = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nrequest: {set: {Authorization: Bearer s3cret, X-Plain: p}}\nproxy: {redirects: {follow: any}}\n"
    one = proxy(config, ORIGIN=source.port, env={"SSL_CERT_FILE": str(certificates / "ca.pem")})
    told = one.ask(headers={"Cookie": "a=1"}).json()
    fields = dict(told["fields"])
    assert told["target"] == "/there" and fields["Host"] == "localhost:%d" % target.port and fields["X-Plain"] == "p"
    assert "s3cret" not in str(told) and "Cookie" not in fields
    distrusting = proxy(config, ORIGIN=source.port)
    assert distrusting.ask().get("authproxy-error") == "upstream_tls"


def test_both_sides_speak_tls_and_large_content_goes_through(proxy, secure_origin, certificates):
    def serve(request, wire):
        body = b"".join(wire.pieces(request))
        reply(wire, body)
    one = proxy(LISTENER + UPSTREAM, HOST="localhost", MORE="", CERTS=certificates.folder, ORIGIN=secure_origin(serve).port)
    body = os.urandom(5 << 20)
    with secure(one, certificates=certificates) as client:
        assert client.ask("PUT", "/", body, host="a.test").body == body


# --- The PROXY protocol -------------------------------------------------------

PROXIED = "listeners: [{address: '127.0.0.1:@LISTEN@', proxy_protocol: true}]\ntrusted_proxies: [@TRUSTED@]\n" + ORIGIN


def v2(source, port):
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H4s4sHH", 12, socket.inet_aton(source), socket.inet_aton("127.0.0.1"), port, 443)


@pytest.mark.parametrize("header", [b"PROXY TCP4 192.0.2.7 127.0.0.1 51234 443\r\n", v2("192.0.2.7", 51234)])
@pytest.mark.parametrize("pieces", [1, 200])
def test_the_proxy_protocol_tells_the_client(proxy, origin, header, pieces):
    one = proxy(PROXIED + 'request: {set: {X-Client: "{client.ip}:{client.port}"}}\n', TRUSTED="127.0.0.1", ORIGIN=origin().port, listen=None)
    with one.client() as client:
        text = header + b"GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 10.9.8.7\r\n\r\n"
        step = max(1, len(text) // pieces)
        for position in range(0, len(text), step):
            client.send(text[position:position + step])
        fields = dict(client.response().json()["fields"])
        assert fields["X-Client"] == "192.0.2.7:51234" and fields["X-Forwarded-For"] == "192.0.2.7"
        assert dict(client.ask().json()["fields"])["X-Client"] == "192.0.2.7:51234"


def test_the_proxy_protocol_is_taken_from_trusted_peers_only(proxy, origin):
    one = proxy(PROXIED, TRUSTED="192.0.2.0/24", ORIGIN=origin().port)
    with one.client() as client:
        client.send(b"PROXY TCP4 192.0.2.7 127.0.0.1 51234 443\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        assert client_ends(client)
    eventually(lambda: any("trusted_proxies" in line["msg"] for line in one.records()))


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", b"PROXY TCP4 1.2.3.4\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0"])
def test_a_connection_without_the_header_is_closed(proxy, origin, text):
    source = origin()
    one = proxy(PROXIED, TRUSTED="127.0.0.1", ORIGIN=source.port)
    with one.client() as client:
        client.send(text)
        assert client_ends(client)
    assert not source.requests


def test_the_proxy_protocol_comes_before_tls(proxy, origin, certificates):
    one = proxy(LISTENER + "    proxy_protocol: true\ntrusted_proxies: [127.0.0.1]\n" + ORIGIN, CERTS=certificates.folder, ORIGIN=origin().port)
    client = Client(one.listen)
    client.send(v2("192.0.2.9", 7))
    client.socket = certificates.client().wrap_socket(client.socket, server_hostname="a.test")
    assert dict(client.ask(host="a.test").json()["fields"])["X-Forwarded-For"] == "192.0.2.9"
    client.close()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_upstream_is_told_whose_connection_it_is(proxy, version):
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve(sock):
            text = b""
            while b"\r\n\r\n" not in text[16:]:
                text += sock.recv(4096)
            seen.append((sock, text))
            while True:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                if not sock.recv(4096):
                    return

        def accept():
            for sock in connections(listener):
                threading.Thread(target=serve, args=(sock,), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        one = proxy("listen: 127.0.0.1:@LISTEN@\nworkers: 1\nupstreams: {default: {url: 'http://127.0.0.1:@ORIGIN@', proxy_protocol: @V@}}\n", V=version,
                    ORIGIN=listener.getsockname()[1])
        with one.client() as first, one.client() as second:
            for client in (first, second, first, second):
                assert client.ask().text == "ok"
            ports = [client.socket.getsockname()[1] for client in (first, second)]
        assert len(seen) == 2  # each client has connections of its own, which it keeps using
        for (_, text), port in zip(seen, ports):
            if version == "v1":
                assert text.startswith(b"PROXY TCP4 127.0.0.1 127.0.0.1 %d %d\r\nGET / " % (port, one.port))
            else:
                assert text.startswith(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01" + struct.pack(">HH", port, one.port) + b"GET / ")


# --- Other listeners and the command line -------------------------------------

def test_a_unix_socket_and_an_inherited_one_speak_tls(proxy, certificates):
    listener = socket.create_server(("127.0.0.1", 0))
    descriptor = os.dup(listener.fileno())
    try:
        one = proxy("""
listeners:
  - {address: "unix:@DIR@/s", tls: {certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]}}
  - {address: "fd:@FD@", tls: {certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]}}
upstream: demo
""", CERTS=certificates.folder, FD=descriptor, listen="@DIR@/s", pass_fds=(descriptor,))
    finally:
        os.close(descriptor)
    for address in (one.listen, listener.getsockname()[1]):
        client = Client(address)
        client.socket = certificates.client().wrap_socket(client.socket, server_hostname="a.test")
        assert client.ask(host="a.test").status == 200
        client.close()
    listener.close()


def test_run_tls_makes_an_authority_once(proxy, tmp_path):
    state = tmp_path / "state"
    env = {"XDG_STATE_HOME": str(state)}
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: demo\n", env=env, arguments=("--tls",))
    folder = state / "authproxy"
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "ca.key").stat().st_mode & 0o777 == 0o600
    assert "ca.pem" in one.log() and "update-ca-certificates" in one.log()
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    for name in ("localhost", "127.0.0.1"):
        with secure(one, name, context) as client:
            assert client.ask(host=name).status == 200
    text = subprocess.run(["openssl", "x509", "-in", folder / "ca.pem", "-noout", "-text"], capture_output=True, text=True).stdout
    assert "Name Constraints: critical" in text and "Permitted:" in text and "DNS:localhost" in text and "pathlen:0" in text
    names = subprocess.run(["openssl", "x509", "-in", folder / "localhost.pem", "-noout", "-ext", "subjectAltName"], capture_output=True, text=True).stdout
    assert "DNS:localhost, DNS:*.localhost, IP Address:127.0.0.1" in names
    before = (folder / "ca.pem").read_bytes(), (folder / "localhost.pem").read_bytes()
    one.stop()
    again = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: demo\n", env=env, arguments=("--tls",))
    assert before == ((folder / "ca.pem").read_bytes(), (folder / "localhost.pem").read_bytes())
    assert "authority" not in again.log()


def test_the_local_authority_vouches_for_nothing_else(tmp_path, proxy):
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: demo\n", env={"XDG_STATE_HOME": str(tmp_path)}, arguments=("--tls",))
    folder = tmp_path / "authproxy"
    Certificates.issue_by(folder / "ca", tmp_path / "evil", "/CN=evil", "subjectAltName=DNS:bank.test")
    verdict = subprocess.run(["openssl", "verify", "-CAfile", folder / "ca.pem", tmp_path / "evil.pem"], capture_output=True, text=True)
    assert verdict.returncode != 0 and "permitted subtree violation" in verdict.stdout + verdict.stderr
    assert one.process.poll() is None


def test_faulty_certificates_are_told_by_place(certificates, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("""listeners:
  - address: 127.0.0.1:1
    tls:
      certificates:
        - {cert: %(c)s/server.pem, key: %(c)s/rsa.key}
        - {cert: nowhere.pem, key: %(c)s/rsa.key}
        - {cert: %(c)s/locked.pem, key: %(c)s/locked.key}
      client_auth: require
upstream: {url: https://a.test, tls: {cert: %(c)s/alice.pem}}
""" % {"c": certificates.folder})
    done = command("check", "-c", config)
    text = done.stdout + done.stderr
    assert done.returncode == 2
    for part in ("c.yaml:5:", "the key is not the certificate's", "c.yaml:6:", "No such file", "c.yaml:7:", "the key is encrypted", "c.yaml:8:", "client_ca", "c.yaml:9:",
                 "`key` is missing"):
        assert part in text, (part, text)
    os.chmod(certificates / "alice.key", 0o644)
    config.write_text("upstream: {url: https://a.test, tls: {cert: %(c)s/alice.pem, key: %(c)s/alice.key}}\n" % {"c": certificates.folder})
    done = command("check", "-c", config)
    os.chmod(certificates / "alice.key", 0o600)
    assert done.returncode == 0 and "others can read this private key" in done.stdout + done.stderr


def test_draining_says_farewell_to_idle_connections(proxy, certificates):
    one = proxy(LISTENER + "upstream: demo\n", CERTS=certificates.folder)
    client = Client(one.listen)
    client.socket = certificates.client().wrap_socket(client.socket, server_hostname="a.test", suppress_ragged_eofs=False)
    assert client.ask(host="a.test").status == 200
    one.signal(signal.SIGTERM)
    assert client.socket.recv(1) == b""  # a ragged end would raise
    assert one.exit_status() == 0
