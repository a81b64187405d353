"""Where connections come from and go to: unix sockets, IPv6, several servers, names whose address changes."""
import os, signal, socket, stat

import pytest

from harness import PATIENCE, Client, Origin, eventually, free_port, reply

PLAIN = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n"


def test_a_unix_listener_serves_with_its_mode(proxy, origin):
    one = proxy('listeners: [{address: "unix:@DIR@/front.sock", mode: "0660"}]\nupstream: http://127.0.0.1:@ORIGIN@\n', ORIGIN=origin().port,
                listen="@DIR@/front.sock")
    assert one.ask(target="/unix").json()["target"] == "/unix"
    mode = (one.folder / "front.sock").stat().st_mode
    assert stat.S_ISSOCK(mode) and mode & 0o777 == 0o660
    one.signal(signal.SIGTERM)
    assert one.exit_status() == 0
    assert not (one.folder / "front.sock").exists(), "the socket is removed at the end"


def test_a_stale_unix_socket_of_a_dead_process_is_replaced(proxy, origin):
    one = proxy('listen: "unix:@DIR@/front.sock"\nupstream: http://127.0.0.1:@ORIGIN@\n', ORIGIN=origin().port, listen="@DIR@/front.sock")
    os.kill(one.pid, signal.SIGKILL)
    one.exit_status()
    one.start()
    assert one.ask(target="/again").status == 200


def test_a_unix_upstream_is_spoken_to(proxy, origin, tmp_path):
    path = "/tmp/origin-%d-%d.sock" % (os.getpid(), free_port())
    try:
        source = origin(host="unix:" + path)
        one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: unix:%s\n" % path)
        with one.client() as client:
            told = [client.ask("POST", "/u", b"abc", host="app.test").json() for _ in range(5)]
        assert all(one["length"] == 3 for one in told) and dict(told[0]["fields"])["Host"] == "app.test"
        assert source.connections == 1
    finally:
        os.unlink(path)


def test_ipv6_on_both_sides(proxy, origin):
    source = origin(host="::1")
    one = proxy('listen: "[::1]:@LISTEN@"\nupstream: http://[::1]:@ORIGIN@\nproxy: {upstream: default, preserve_host: false}\n', ORIGIN=source.port,
                listen=("::1", (port := free_port())), LISTEN=port)
    told = one.ask(target="/six").json()
    fields = dict(told["fields"])
    assert fields["Host"] == "[::1]:%d" % source.port
    assert fields["X-Forwarded-For"] == "::1"


def test_a_listener_without_host_serves_both_families(proxy, origin):
    one = proxy('listen: ":@LISTEN@"\nupstream: http://127.0.0.1:@ORIGIN@\n', ORIGIN=origin().port)
    for host in ("127.0.0.1", "::1"):
        with Client((host, one.port)) as client:
            assert dict(client.ask().json()["fields"])["X-Forwarded-For"] == host


def test_several_listeners_serve_the_same_rules(proxy, origin):
    second = free_port()
    one = proxy("listeners: [{address: '127.0.0.1:@LISTEN@'}, {address: '127.0.0.1:@SECOND@'}]\nupstream: http://127.0.0.1:@ORIGIN@\n",
                ORIGIN=origin().port, SECOND=second)
    with Client(second) as client:
        assert client.ask().status == 200
    assert one.ask().status == 200


# --- Several servers ----------------------------------------------------------

BALANCED = """
listen: 127.0.0.1:@LISTEN@
workers: 1
upstreams:
  default: {servers: ["http://127.0.0.1:@A@", "http://127.0.0.1:@B@", "http://127.0.0.1:@C@"], balance: @BALANCE@}
"""


def three(origin):
    return [origin(name=name) for name in "abc"]


def spread(one, count):
    with one.client() as client:
        names = [client.ask().json()["origin"] for _ in range(count)]
    return {name: names.count(name) for name in "abc"}


def test_round_robin_gives_each_server_its_turn(proxy, origin):
    a, b, c = three(origin)
    one = proxy(BALANCED, A=a.port, B=b.port, C=c.port, BALANCE="round_robin")
    assert spread(one, 30) == {"a": 10, "b": 10, "c": 10}


def test_random_reaches_every_server(proxy, origin):
    a, b, c = three(origin)
    one = proxy(BALANCED, A=a.port, B=b.port, C=c.port, BALANCE="random")
    assert min(spread(one, 300).values()) > 50


def test_least_requests_avoids_the_busy_server(proxy, origin):
    import threading
    go = threading.Event()

    def busy(request, wire):
        if request.target == "/hold":
            go.wait(20)
        reply(wire, '{"origin": "%s"}' % wire.origin.name)

    a, b, c = [origin(busy, name=name) for name in "abc"]
    one = proxy(BALANCED, A=a.port, B=b.port, C=c.port, BALANCE="least_requests")
    held = [one.client() for _ in range(2)]
    for client in held:
        client.request(target="/hold")
    eventually(lambda: sum(len(source.requests) for source in (a, b, c)) == 2)
    free = [source.name for source in (a, b, c) if not source.requests]
    assert len(free) == 1
    assert spread(one, 10) == {name: 10 if name in free else 0 for name in "abc"}
    go.set()
    for client in held:
        client.response()
        client.close()


@pytest.mark.parametrize("balance", ["round_robin", "least_requests", "random"])
def test_a_dead_server_is_gone_round(proxy, origin, balance):
    a, b, _ = three(origin)
    one = proxy(BALANCED, A=a.port, B=b.port, C=free_port(), BALANCE=balance)
    with one.client() as client:
        for _ in range(30):
            assert client.ask().status == 200


# --- Names --------------------------------------------------------------------

@pytest.mark.timeout(90)
def test_a_name_whose_address_changed_is_resolved_again(proxy, origin):
    """/etc/hosts is exchanged in a mount namespace of the proxy's own."""
    port = free_port()
    first = origin(host="127.0.0.2", port=port, name="first")
    second = origin(host="127.0.0.3", port=port, name="second")
    shell = 'mount --bind "$0" /etc/hosts && exec "$@"'
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://moving.test:%d\n" % port, files={"hosts": "127.0.0.2 moving.test\n"}, run=False)
    user = [] if os.geteuid() == 0 else ["-r"]
    one.argv = ["unshare", "-m", *user, "sh", "-c", shell, str(one.folder / "hosts"), *one.argv]
    one.start()
    assert one.ask().json()["origin"] == "first"
    (one.folder / "hosts").write_text("127.0.0.3 moving.test\n")  # in place: the mount shows this very file
    first.stop()

    def moved():
        answer = one.ask()
        return answer.status == 200 and answer.json()["origin"] == "second"

    eventually(moved, 60, "the new address is used")


def test_a_name_that_cannot_be_resolved_is_a_502_and_heals(proxy, origin):
    source = origin()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://moving.test:%d\n" % source.port, files={"hosts": "127.0.0.1 localhost\n"}, run=False)
    user = [] if os.geteuid() == 0 else ["-r"]
    one.argv = ["unshare", "-m", *user, "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(one.folder / "hosts"), *one.argv]
    one.start()
    answer = one.ask()
    assert answer.status == 502 and answer.get("authproxy-error") == "upstream_unreachable"
    (one.folder / "hosts").write_text("127.0.0.1 moving.test\n")
    eventually(lambda: one.ask().status == 200, 60)
