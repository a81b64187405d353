"""From start to end: exit codes, signals, the child of `run -- CMD`, the service manager."""
import os, signal, socket, subprocess, sys, threading, time
from pathlib import Path

import pytest

from harness import BINARY, Client, Gone, Proxy, command, eventually, free_port, reply

PLAIN = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
"""


def slow_origin(origin):
    started, go = threading.Event(), threading.Event()

    def slow(request, wire):
        if request.target == "/slow":
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none")
            started.set()
            go.wait(30)
            wire.send("two")
        else:
            reply(wire)

    return origin(slow), started, go


# --- Ends ---------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_drain_finishes_what_runs_and_closes_what_idles(proxy, origin, number):
    source, started, go = slow_origin(origin)
    one = proxy(PLAIN, ORIGIN=source.port)
    with one.client() as running, one.client() as idle:
        assert idle.ask().text == "ok"
        running.request(target="/slow")
        assert started.wait(10)
        one.signal(number)
        assert idle.ended(5), "an idle connection stays open"
        eventually(lambda: not one.listens(), 5, "new connections are refused")
        assert one.process.poll() is None
        go.set()
        assert running.response().text == "onetwo"
        assert running.ended(5)
    assert one.exit_status() == 0


def test_a_drain_answers_the_request_under_way_and_says_close(proxy, origin):
    arrived, go = threading.Event(), threading.Event()

    def late(request, wire):
        arrived.set()
        go.wait(30)
        reply(wire, "late")

    one = proxy(PLAIN, ORIGIN=origin(late).port)
    with one.client() as client:
        client.request()
        assert arrived.wait(10)
        one.signal(signal.SIGTERM)
        eventually(lambda: not one.listens(), 5)
        go.set()
        answer = client.response()
        assert answer.text == "late" and answer.get("connection") == "close"
    assert one.exit_status() == 0


@pytest.mark.parametrize("sent, answers", [("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", 1), ("GET / HTTP/1.1\r\nHo", 0)])
def test_a_drain_does_not_wait_for_what_no_request_needs(proxy, sent, answers):
    """The rest of a request that was answered early, and of a head that does not come."""
    one = proxy("listen: 127.0.0.1:@LISTEN@\nrules: [{block: true}]\ntimeouts: {header: 60s, body_idle: 60s, shutdown: 60s}\n")
    with one.client() as client:
        assert client.ask().status == 204
        client.send(sent)
        assert [client.response().status for _ in range(answers)] == [204] * answers
        one.signal(signal.SIGTERM)
        assert one.exit_status() == 0


def test_a_drain_ends_at_its_time_limit(proxy, origin):
    source, started, _ = slow_origin(origin)
    one = proxy(PLAIN + "timeouts: {shutdown: 1s}\n", ORIGIN=source.port)
    with one.client() as client:
        client.request(target="/slow")
        assert started.wait(10)
        began = time.monotonic()
        one.signal(signal.SIGTERM)
        one.exit_status(5)
        assert 0.8 < time.monotonic() - began < 4


def test_a_second_interrupt_stops_at_once_with_status_3(proxy, origin):
    source, started, _ = slow_origin(origin)
    one = proxy(PLAIN, ORIGIN=source.port)
    with one.client() as client:
        client.request(target="/slow")
        assert started.wait(10)
        one.signal(signal.SIGINT)
        eventually(lambda: not one.listens(), 5)
        one.signal(signal.SIGINT)
        assert one.exit_status(3) == 3


def test_exit_status_0_after_an_orderly_end(proxy, origin):
    one = proxy(PLAIN, ORIGIN=origin().port)
    one.signal(signal.SIGTERM)
    assert one.exit_status() == 0


def test_exit_status_1_when_the_address_is_taken(proxy, origin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        one = proxy(PLAIN, ORIGIN=origin().port, LISTEN=taken.getsockname()[1], run=False).spawn()
        assert one.exit_status() == 1
        assert str(taken.getsockname()[1]) in one.log()


@pytest.mark.parametrize("arguments", [["run", "-c", "/nonexistent/config.yaml"], ["run", "--no-such-flag"], ["frobnicate"],
                                       ["run", "--header", "no colon", "--upstream", "demo"], ["check", "-c"], ["explain"]])
def test_exit_status_2_for_bad_usage(arguments, tmp_path):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.strip() and not done.stdout.strip()


def test_exit_status_2_for_a_bad_configuration(proxy):
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: ftp://nowhere\n", run=False).spawn()
    assert one.exit_status() == 2


def test_a_log_file_is_opened_again_on_usr1(proxy, origin):
    one = proxy(PLAIN + "log: {file: '@DIR@/access.log', format: json}\n", ORIGIN=origin().port)
    path = one.folder / "access.log"
    one.ask(target="/before")
    eventually(lambda: "/before" in path.read_text())
    os.rename(path, one.folder / "access.log.1")
    one.signal(signal.SIGUSR1)
    eventually(path.exists)
    one.ask(target="/after")
    eventually(lambda: "/after" in path.read_text())
    assert "/after" not in (one.folder / "access.log.1").read_text()


# --- run -- CMD ---------------------------------------------------------------

FLAGS = ["--listen", "127.0.0.1:@LISTEN@", "--upstream", "http://127.0.0.1:@ORIGIN@", "--header", "Authorization: Bearer from-flag"]


def around(proxy, origin, *cmd):
    source = origin()
    port = free_port()
    flags = [text.replace("@LISTEN@", str(port)).replace("@ORIGIN@", str(source.port)) for text in FLAGS]
    return proxy(None, arguments=[*flags, "--", *cmd], LISTEN=port, run=False).spawn(), source


def test_a_command_finds_the_proxy_at_authproxy_url(proxy, origin):
    one, source = around(proxy, origin, "sh", "-c", 'curl -s "$AUTHPROXY_URL/from-child"')
    assert one.exit_status() == 0, one.log()
    assert source.requests[0].target == "/from-child"
    assert source.requests[0].get("authorization") == "Bearer from-flag"
    assert '"target": "/from-child"' in one.log()


@pytest.mark.parametrize("status", [0, 1, 7, 42])
def test_the_exit_status_of_the_command_is_passed_on(proxy, origin, status):
    one, _ = around(proxy, origin, "sh", "-c", "exit %d" % status)
    assert one.exit_status() == status


def test_a_command_killed_by_a_signal_gives_128_plus_its_number(proxy, origin):
    one, _ = around(proxy, origin, "sh", "-c", "kill -KILL $$")
    assert one.exit_status() == 128 + signal.SIGKILL


def test_signals_are_forwarded_to_the_command(proxy, origin):
    one, _ = around(proxy, origin, "sh", "-c", "trap 'echo got-term; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    eventually(lambda: "ready" in one.log())
    one.signal(signal.SIGTERM)
    assert one.exit_status() == 5 and "got-term" in one.log()


def test_a_command_that_is_not_there_is_an_error(proxy, origin):
    one, _ = around(proxy, origin, "/nonexistent/program")
    assert one.exit_status() in (1, 126, 127) and "/nonexistent/program" in one.log()


# --- systemd ------------------------------------------------------------------

@pytest.fixture
def manager(tmp_path):
    """The service manager's end of NOTIFY_SOCKET: what was told so far."""
    path = "/tmp/notify-%d-%d" % (os.getpid(), time.monotonic_ns())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    told = []

    def collect():
        while data := listener.recv(4096):
            told.extend(data.decode().splitlines())

    threading.Thread(target=collect, daemon=True).start()
    yield path, told
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.sendto(b"", path)
    os.unlink(path)
    listener.close()


def test_the_service_manager_is_told_ready_reloading_and_stopping(proxy, origin, manager):
    path, told = manager
    one = proxy(PLAIN, ORIGIN=origin().port, env={"NOTIFY_SOCKET": path})
    eventually(lambda: "READY=1" in told, 10, told)
    one.signal(signal.SIGHUP)
    eventually(lambda: "RELOADING=1" in told and told.count("READY=1") == 2, 10, told)
    assert told.index("RELOADING=1") > told.index("READY=1")
    stamps = [line for line in told if line.startswith("MONOTONIC_USEC=")]
    assert stamps and abs(int(stamps[0].partition("=")[2]) / 1e6 - time.clock_gettime(time.CLOCK_MONOTONIC)) < 60
    one.signal(signal.SIGTERM)
    eventually(lambda: "STOPPING=1" in told, 10, told)
    assert one.exit_status() == 0


def test_the_watchdog_is_fed(proxy, origin, manager):
    path, told = manager
    proxy(PLAIN, ORIGIN=origin().port, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "600000"})
    eventually(lambda: told.count("WATCHDOG=1") >= 4, 10, told)


def test_a_socket_of_the_service_manager_is_taken_over(proxy, origin):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wrapper = ["bash", "-c", 'exec 3<&%d; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"' % listener.fileno(), "bash"]
        port = listener.getsockname()[1]
        one = proxy("listen: fd:3\nupstream: http://127.0.0.1:@ORIGIN@\n", ORIGIN=origin().port, LISTEN=port, wrapper=wrapper,
                    pass_fds=[listener.fileno()])
        listener.close()
        assert one.ask(target="/activated").json()["target"] == "/activated"


def test_a_passed_socket_outlives_the_configurations_that_do_not_name_it(proxy, origin):
    config = "listeners: ['127.0.0.1:@LISTEN@'%s]\nupstream: http://127.0.0.1:@ORIGIN@\n"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as taken:
        wrapper = ["bash", "-c", 'exec 3<&%d; exec "$@"' % listener.fileno(), "bash"]
        passed = listener.getsockname()[1]
        one = proxy(config % "", ORIGIN=origin().port, wrapper=wrapper, pass_fds=[listener.fileno()])
        listener.close()
        assert "can not listen on" in one.reload_to(config % ", fd:3, '127.0.0.1:%d'" % taken.getsockname()[1])
        for _ in range(2):
            assert not one.reload_to(config % ", fd:3")
            with Client(passed) as client:
                assert client.ask().status == 200
            assert not one.reload_to(config % "")
        assert "no listening socket was passed" in one.reload_to(config % ", fd:999")


def test_a_start_that_fails_leaves_no_socket_behind(proxy):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        one = proxy("listeners: ['unix:@DIR@/s', '127.0.0.1:%d']\nupstream: demo\n" % taken.getsockname()[1], run=False).spawn()
        assert one.exit_status() == 1 and not (one.folder / "s").exists()


def test_systemd_socket_activate_starts_the_proxy_on_the_first_connection(proxy, origin):
    port = free_port()
    one = proxy("listen: fd:3\nupstream: http://127.0.0.1:@ORIGIN@\n", ORIGIN=origin().port, LISTEN=port,
                wrapper=["systemd-socket-activate", "-l", "127.0.0.1:%d" % port, "-E", "XDG_RUNTIME_DIR", "-E", "HOME"])
    assert one.ask(target="/first").json()["target"] == "/first"
