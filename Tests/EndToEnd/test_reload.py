"""Changes while traffic runs: a new configuration, a new secret. Nothing is dropped, nothing half applied."""
import contextlib, os, re, signal, threading
from pathlib import Path

import pytest
from websockets.sync.client import connect
from websockets.sync.server import serve

from harness import Client, Gone, eventually, free_port, replace_file, reply
from http2 import HTTP2

CONFIG = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
request: {set: {X-Version: "@VERSION@"}}
workers: 2
"""
FILE = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
request: {set: {Authorization: "Bearer ${file:@SECRET@}"}}
"""


def version(request, wire):
    for _ in wire.pieces(request):
        pass
    reply(wire, request.get("x-version", ""))


def at_version(one, number):
    one.texts["VERSION"] = number
    one.write(CONFIG)


def reload_by_signal(one):
    one.signal(signal.SIGHUP)


def reload_by_command(one):
    done = one.run("reload", "-c", str(one.config))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("reload", [reload_by_signal, reload_by_command])
def test_twenty_reloads_under_load_fail_no_request(proxy, origin, reload):
    one = proxy(CONFIG, ORIGIN=origin(version).port, VERSION=0)
    stop, failures, answered, highest = threading.Event(), [], [0] * 6, [0]

    def load(number):
        client = None
        try:
            while not stop.is_set():
                client = client or one.client()
                answer = client.ask("POST", "/", b"x" * 2000)
                if answer.status != 200:
                    failures.append(repr(answer))
                highest[0] = max(highest[0], int(answer.text))
                answered[number] += 1
                if (answer.get("connection") or "").lower() == "close" or number % 2 and answered[number] % 50 == 0:
                    client.close()
                    client = None
        except (OSError, Gone) as error:
            failures.append("%s after %d" % (error, answered[number]))

    threads = [threading.Thread(target=load, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1, 21):
            at_version(one, number)
            reload(one)
            eventually(lambda: highest[0] >= number or failures, 10, "version %d in force: %s" % (number, one.log()[-500:]))
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
    assert not failures and min(answered) > 20
    assert one.ask(target="/").text == "20"


def test_running_requests_and_tunnels_outlive_a_reload(proxy, origin):
    go, started = threading.Event(), threading.Event()

    def slow(request, wire):
        if request.target == "/slow":
            wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            started.set()
            go.wait(20)
            wire.send("3\r\ntwo\r\n0\r\n\r\n")
        elif request.get("upgrade"):
            wire.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            while True:
                wire.send(wire.take(4))
        else:
            version(request, wire)

    one = proxy(CONFIG, ORIGIN=origin(slow).port, VERSION=1)
    with one.client() as running, one.client() as tunnel:
        running.request(target="/slow")
        assert started.wait(10)
        tunnel.request(target="/ws", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        assert tunnel.response().status == 101
        at_version(one, 2)
        one.signal(signal.SIGHUP)
        eventually(lambda: one.ask().text == "2")
        tunnel.send(b"ping")
        assert tunnel.take(4) == b"ping"
        go.set()
        assert running.response().text == "onetwo"


@pytest.mark.parametrize("bad", ["listen: [\n", "upstrem: http://127.0.0.1:1\n", "listen: 127.0.0.1:@LISTEN@\nupstream: 7\n", ""])
def test_a_bad_file_changes_nothing_and_says_why(proxy, origin, bad):
    one = proxy(CONFIG, ORIGIN=origin(version).port, VERSION=1)
    one.write(bad)
    one.signal(signal.SIGHUP)
    eventually(lambda: "config.yaml" in one.log(), 10, "the log says why")
    assert one.ask().text == "1"
    done = one.run("reload", "-c", str(one.config))
    assert done.returncode != 0 and "config.yaml" in done.stdout + done.stderr
    assert one.ask().text == "1"
    at_version(one, 2)
    one.signal(signal.SIGHUP)
    eventually(lambda: one.ask().text == "2", 10, "a good file takes effect afterwards")


def test_watch_takes_up_a_changed_file_by_itself(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin(version).port, VERSION=1, arguments=["--watch"])
    assert one.ask().text == "1"
    at_version(one, 2)
    eventually(lambda: one.ask().text == "2")
    one.config.write_text(one.fill(CONFIG.replace("@VERSION@", "3")))  # written in place
    eventually(lambda: one.ask().text == "3")


def test_a_reload_may_move_the_listener(proxy, origin):
    source = origin(version)
    one = proxy(CONFIG, ORIGIN=source.port, VERSION=1)
    old = one.port
    with one.client() as client:
        assert client.ask().text == "1"
        one.texts["LISTEN"] = one.listen = free_port()
        at_version(one, 2)
        one.signal(signal.SIGHUP)
        eventually(one.listens)
        assert one.ask().text == "2"

        def refused():
            try:
                Client(old, 1).close()
                return False
            except ConnectionRefusedError:
                return True

        eventually(refused, 10, "the old address is given up")


# --- Secrets ------------------------------------------------------------------

def authorization(request, wire):
    reply(wire, request.get("authorization", "none"))


def test_a_secret_file_replaced_by_rename_is_in_force_within_a_second(proxy, origin):
    one = proxy(FILE, ORIGIN=origin(authorization).port, SECRET="token", files={"token": "first\n"})
    with one.client() as client:
        assert client.ask().text == "Bearer first"
        for number in range(5):
            replace_file(one.folder / "token", "value-%d\n" % number)
            eventually(lambda: client.ask().text == "Bearer value-%d" % number, 1.0)
    assert "value-" not in one.log()


def test_a_secret_file_written_in_place_is_in_force_within_a_second(proxy, origin):
    one = proxy(FILE, ORIGIN=origin(authorization).port, SECRET="token", files={"token": "first\n"})
    with one.client() as client:
        assert client.ask().text == "Bearer first"
        (one.folder / "token").write_text("second\n")
        eventually(lambda: client.ask().text == "Bearer second", 1.0)


def publish(volume, name, files):
    """What Kubernetes does: a new folder, then one rename of the `..data` symlink."""
    folder = volume / name
    folder.mkdir()
    for key, text in files.items():
        (folder / key).write_text(text)
        if not (volume / key).is_symlink():
            (volume / key).symlink_to("..data/" + key)
    (volume / "..data_tmp").symlink_to(name)
    os.replace(volume / "..data_tmp", volume / "..data")


def test_a_kubernetes_secret_volume_is_in_force_within_a_second_of_its_swap(proxy, origin):
    one = proxy(FILE, ORIGIN=origin(authorization).port, SECRET="volume/token", run=False)
    volume = one.folder / "volume"
    volume.mkdir()
    publish(volume, "..2025_01", {"token": "first"})
    one.start()
    with one.client() as client:
        assert client.ask().text == "Bearer first"
        for number in range(2, 6):
            publish(volume, "..2025_%02d" % number, {"token": "swap-%d" % number})
            eventually(lambda: client.ask().text == "Bearer swap-%d" % number, 1.0)


def test_the_last_good_value_stays_when_the_file_is_gone_or_illegal(proxy, origin):
    one = proxy(FILE, ORIGIN=origin(authorization).port, SECRET="token", files={"token": "first\n"})
    path = one.folder / "token"
    with one.client() as client:
        assert client.ask().text == "Bearer first"
        logged = len(one.log())
        path.unlink()
        eventually(lambda: "token" in one.log()[logged:], 10, "the loss is logged")
        assert client.ask().text == "Bearer first"
        path.write_text("again")
        eventually(lambda: client.ask().text == "Bearer again", 2.0)
        logged = len(one.log())
        replace_file(path, "two\nlines")
        eventually(lambda: "token" in one.log()[logged:], 10, "the illegal value is logged")
        assert client.ask().text == "Bearer again"
        replace_file(path, "good")
        eventually(lambda: client.ask().text == "Bearer good", 2.0)
    assert "two" not in one.log()[logged:].replace("two lines", "") or "lines" not in one.log()[logged:]


def test_rotation_under_load_sends_only_old_or_new_and_never_anything_between(proxy, origin):
    one = proxy(FILE, ORIGIN=origin(authorization).port, SECRET="token", files={"token": "0" * 2000})
    stop, seen, failures = threading.Event(), set(), []

    def load():
        try:
            with one.client() as client:
                while not stop.is_set():
                    seen.add(client.ask().text)
        except (OSError, Gone) as error:
            failures.append(error)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: seen or failures)
        for digit in "123456789":
            replace_file(one.folder / "token", digit * 2000)
            eventually(lambda: "Bearer " + digit * 2000 in seen or failures, 2.0)
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
    assert not failures and seen == {"Bearer " + digit * 2000 for digit in "0123456789"}


def test_a_changed_url_list_takes_effect_without_a_reload(proxy, origin):
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - {name: blocked, match: {url_list: blocked.txt}, block: {status: 403}}
  - {name: all, proxy: {upstream: default}}
""", ORIGIN=origin(version).port, files={"blocked.txt": "/ads/**\n"})
    assert one.ask(target="/ads/1.js").status == 403 and one.ask(target="/pixel").status == 200
    replace_file(one.folder / "blocked.txt", "/pixel\n")
    eventually(lambda: one.ask(target="/pixel").status == 403 and one.ask(target="/ads/1.js").status == 200)


def other_hosts(one, config):
    """The same port at another address: both can not be open at once."""
    one.write(config.replace("127.0.0.1:@", "0.0.0.0:@"))
    reload_by_command(one)
    assert one.ask().status == 200
    one.write(config)
    reload_by_command(one)


def test_a_listener_s_address_changes_on_its_port_under_load(proxy, origin):
    one = proxy(CONFIG, ORIGIN=origin(version).port, VERSION=1)
    stop, failures, answered = threading.Event(), [], [0]

    def load():
        try:
            while not stop.is_set():
                with one.client() as client:
                    assert client.ask(headers={"Connection": "close"}).status == 200
                answered[0] += 1
        except (Gone, OSError, AssertionError) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        before = answered[0]
        eventually(lambda: failures or answered[0] > before + 20)
        other_hosts(one, CONFIG)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


def test_the_administration_s_address_changes_on_its_port(proxy, origin):
    config = CONFIG + 'admin: {listen: "127.0.0.1:@ADMIN@"}\n'
    one = proxy(config, ORIGIN=origin(version).port, VERSION=1, ADMIN=free_port())
    other_hosts(one, config)
    with Client(int(one.texts["ADMIN"])) as admin:
        assert admin.ask(target="/healthz", host="localhost").status == 200


def test_a_redirect_that_is_followed_after_a_reload_leaves_no_connection_behind(proxy, origin):
    """The pool of the redirect's origin is the old configuration's, and goes with it."""
    came, go = threading.Event(), threading.Event()
    there = origin(lambda request, wire: reply(wire, "there"), host="127.0.0.2")

    def redirects(request, wire):
        came.set()
        assert go.wait(10)
        reply(wire, "", "302 Found", {"Location": "http://127.0.0.2:%d/" % there.port})

    config = """
listen: 127.0.0.1:@LISTEN@
upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", timeouts: {idle: 60s}}}
rules: [{name: all, proxy: {upstream: default, redirects: {follow: any}}}]
workers: 1
"""
    one = proxy(config, ORIGIN=origin(redirects).port)
    with one.client() as client:
        client.request()
        assert came.wait(10)
        assert not one.reload_to(config)
        go.set()
        assert client.response().text == "there"
    eventually(lambda: not there.open)
    assert one.ask().text == "there"


def test_listeners_that_ask_for_any_port_get_one_each_and_keep_it(proxy):
    config = "listeners: ['127.0.0.1:@LISTEN@', '127.0.0.1:0', {address: '127.0.0.1:0', h2c: true}]\nupstream: demo\n"
    one = proxy(config)
    told = eventually(lambda: [line for line in one.log().splitlines() if "listening on" in line])[0]
    ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", told)]
    assert len(set(ports)) == 3
    for _ in range(2):
        for port, speaks in zip(ports[1:], (False, True)):
            with Client(port) as client:
                assert client.ask().status == 200
            with HTTP2(port) as client, contextlib.nullcontext() if speaks else pytest.raises((Gone, ConnectionError)):
                assert client.fetch().status == 200
        assert not one.reload_to(config + "log: {level: debug}\n")


def test_a_listener_that_leaves_by_one_of_two_reloads_at_once_is_gone(proxy):
    with_socket = "listeners: ['127.0.0.1:@LISTEN@', 'unix:@DIR@/s']\nupstream: demo\n"
    one = proxy(with_socket)
    for _ in range(3):
        one.write(with_socket.replace(", 'unix:@DIR@/s'", ""))
        doors = [Client(str(one.runtime / ("authproxy-%d.sock" % one.pid))) for _ in range(2)]
        for door in doors:
            door.request("POST", "/reload", host="localhost")
        assert [door.response().status for door in doors] == [200, 200]
        eventually(lambda: not (one.folder / "s").exists())
        assert not one.reload_to(with_socket)
        with Client(str(one.folder / "s")) as client:
            assert client.ask().status == 200


def test_a_unix_listener_s_mode_changes_with_a_reload(proxy, origin):
    config = "listeners: [{address: 'unix:@DIR@/s', mode: '0660'}]\nupstream: http://127.0.0.1:@ORIGIN@\n"
    one = proxy(config, ORIGIN=origin().port, listen="@DIR@/s")
    assert (one.folder / "s").stat().st_mode & 0o777 == 0o660
    one.write(config.replace(", mode: '0660'", ""))
    reload_by_command(one)
    assert (one.folder / "s").stat().st_mode & 0o777 == 0o600 and one.ask().status == 200
    # A mode that can not be had is no mode that is in force.
    (one.folder / "s").rename(one.folder / "hidden")
    for stranger in (lambda path: None, lambda path: path.touch(0o600)):
        stranger(one.folder / "s")
        assert "the mode of %s can not be changed" % (one.folder / "s") in one.reload_to(config)
    assert (one.folder / "s").stat().st_mode & 0o777 == 0o600
    (one.folder / "hidden").rename(one.folder / "s")
    reload_by_command(one)
    assert (one.folder / "s").stat().st_mode & 0o777 == 0o660 and one.ask().status == 200


LISTED = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
admin: {listen: "127.0.0.1:@ADMIN@"}
rules:
  - {name: blocked, match: {url_list: {file: list.txt, format: adblock}}, block: {status: 403}}
  - {name: all, request: {set: {X-Version: "${file:secret}"}}, proxy: {upstream: default}}
workers: 8
"""


def long_list(last):
    return "".join("||ads%d.tracker%d.example^\n/banner%d/*$image\n" % (n, n % 977, n) for n in range(25_000)) + last + "\n"


def of_list(one, what):
    return [line for line in one.log().splitlines() if "list.txt" in line and what in line]


def is_in_force(one):
    return any("new content of" in line for line in of_list(one, "is in force"))


def test_a_long_url_list_is_compiled_while_everything_else_goes_on(proxy, origin):
    one = proxy(LISTED, ORIGIN=origin(version).port, ADMIN=free_port(), files={"list.txt": "/old\n", "secret": "1\n"})
    replace_file(one.folder / "list.txt", long_list("/new"))
    eventually(lambda: of_list(one, "is being compiled"))
    with Client(int(one.texts["ADMIN"])) as admin:
        assert admin.ask(target="/healthz", host="localhost").status == 200
    replace_file(one.folder / "secret", "2\n")
    eventually(lambda: one.ask(target="/").text == "2")
    assert not of_list(one, "is in force"), "all of this while the list was being compiled"
    assert one.ask(target="/old").status == 403 and one.ask(target="/new").status == 200
    eventually(lambda: is_in_force(one), 20)
    assert one.ask(target="/old").status == 200 and one.ask(target="/new").status == 403


def test_the_newest_of_several_changes_of_a_url_list_stays(proxy, origin):
    one = proxy(LISTED, ORIGIN=origin(version).port, ADMIN=free_port(), files={"list.txt": "/old\n", "secret": "1\n"})
    for number in range(3):
        replace_file(one.folder / "list.txt", long_list("/n%d" % number))
        eventually(lambda: len(of_list(one, "is being compiled")) > number)
    eventually(lambda: is_in_force(one), 30)
    assert one.ask(target="/n2").status == 403 and one.ask(target="/n1").status == 200


def test_a_reload_is_not_undone_by_a_list_that_was_being_compiled(proxy, origin):
    one = proxy(LISTED, ORIGIN=origin(version).port, ADMIN=free_port(), files={"list.txt": "/old\n", "secret": "1\n"})
    replace_file(one.folder / "list.txt", long_list("/new"))
    eventually(lambda: of_list(one, "is being compiled"))
    replace_file(one.folder / "other.txt", "/other\n")
    one.write(LISTED.replace("list.txt", "other.txt"))
    reload_by_command(one)
    assert one.ask(target="/other").status == 403 and one.ask(target="/new").status == 200
    replace_file(one.folder / "other.txt", "/another\n")
    eventually(lambda: one.ask(target="/another").status == 403, 20)
    # What was begun before is over by now: there is one thread for all of them.
    assert one.ask(target="/new").status == 200 and not of_list(one, "is in force")


@pytest.mark.parametrize("flags", [(), ("--watch",)])
def test_a_url_list_that_is_emptied_stays_as_it_was_until_a_reload(proxy, flags):
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
rules:
  - {name: blocked, match: {url_list: blocked.txt}, block: {status: 403}}
  - {name: all, respond: {body: passed}}
""", arguments=flags, files={"blocked.txt": "/ads\n"})
    replace_file(one.folder / "blocked.txt", "# to come\n")
    eventually(lambda: "blocked.txt: lists nothing any more" in one.log())
    assert one.ask(target="/ads").status == 403
    (one.folder / "blocked.txt").unlink()
    os.mkfifo(one.folder / "blocked.txt")
    eventually(lambda: "blocked.txt: can not be read" in one.log())
    reload_by_signal(one)
    eventually(lambda: "it is no regular file" in one.log())
    assert one.ask(target="/ads").status == 403
    (one.folder / "blocked.txt").unlink()
    (one.folder / "blocked.txt").write_text("")
    reload_by_signal(one)
    eventually(lambda: one.ask(target="/ads").status == 200)
    assert "blocked.txt: it lists nothing" in one.log()
