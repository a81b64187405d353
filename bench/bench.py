#!/usr/bin/env python3
"""Measures HTTP reverse proxies doing the same work, one at a time, interleaved.

The proxy has one CPU, the load generator and the origin share another one. The
key figure is work per CPU-second of the proxy's process tree; throughput alone
may be bounded by the generator. See README.md.
"""
import argparse
import contextlib
import fcntl
import json
import os
import platform
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
HOST = "bench.test"
MIB = 1024 * 1024
TRANSFER_BYTES = 10 * MIB
IDLE_CONNECTIONS = 5000
STARTS_PER_ROUND = 5
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
# What speedprobe measures on a CPU of normal speed. Only a scale: it cancels out of every comparison.
NORMAL_SPEED_NS = {"transfer_ns": 100_000, "compute_ns": 42_000}
BOTH_PARTS = ("transfer_ns", "compute_ns")


class CheckFailed(Exception):
    """The proxy, or the measurement, did not do what the case is about."""


FAILURES = (CheckFailed, OSError, ValueError, subprocess.SubprocessError)


def check(condition, message):
    if not condition:
        raise CheckFailed(message)


# --- Processes ----------------------------------------------------------------

class Process:
    """A child pinned to one CPU, in a process group of its own."""

    def __init__(self, command, cpu, log_path, environment=None):
        self.log_path = log_path
        with open(log_path, "ab") as log:
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, **(environment or {})},
                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))

    def stop(self):
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal_number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(5)
                return

    def wait_for_port(self, port, seconds=15):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            check(self.child.poll() is None, f"exited at start: {self.log_tail()}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.005)
        raise CheckFailed(f"nothing listens on port {port}: {self.log_tail()}")

    def log_tail(self):
        return Path(self.log_path).read_text(errors="replace")[-800:].strip()

    def tree(self):
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        members = [self.child.pid]
        for pid in members:
            members += [child for child, parent in parents.items() if parent == pid]
        return members

    def cpu_seconds(self):
        """User and system time of all threads of the process tree."""
        ticks = 0
        for pid in self.tree():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / CLOCK_TICKS

    def memory_kib(self):
        """Resident and proportional set size of the process tree."""
        rss = pss = 0
        for pid in self.tree():
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            rss += int(re.search(r"^Rss:\s+(\d+)", rollup, re.M)[1])
            pss += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M)[1])
        return rss, pss


def free_ports(count):
    first = 18000 + os.getpid() % 100 * 100  # apart from those of another run; below the ephemeral ports
    ports = []
    for port in range(first, first + 100):
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise SystemExit("no free ports")


def get_on(connection):
    """One GET on a connection, read to its end; returns the status."""
    connection.sendall(f"GET /1k HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    received = b""
    while True:
        data = connection.recv(65536)
        check(data, "connection closed before the response's end")
        received += data
        head, separator, body = received.partition(b"\r\n\r\n")
        if separator:
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            check(length, "no Content-Length in the response")
            if len(body) >= int(length[1]):
                return int(head.split()[1])


# --- Workspace, origin and contenders -----------------------------------------

class Workspace:
    """Everything a run needs on disk, in a temporary directory."""

    def __init__(self, directory, arguments):
        self.directory = Path(directory)
        self.directory.chmod(0o755)  # an origin started by root serves as another user
        self.proxy_cpu, self.load_cpu, self.plain_only = arguments.proxy_cpu, arguments.load_cpu, arguments.plain_only
        names = ["ORIGIN_PORT", "STATUS_PORT", "ECHO_PORT", "HTTP_PORT", "HTTPS_PORT"]
        self.values = {**dict(zip(names, free_ports(len(names)))), "WORKDIR": directory, "BODY_1K": "k" * 1024}
        self.make_certificate()
        self.make_files()
        self.loadgen = self.build("loadgen")
        self.speedprobe = self.build("speedprobe")

    def build(self, name):
        subprocess.run(["cc", "-O2", "-o", self.directory / name, HERE / f"load/{name}.c"], check=True)
        return self.directory / name

    def make_certificate(self):
        certificate, key = self.directory / "cert.pem", self.directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
             "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST},IP:127.0.0.1",
             "-keyout", key, "-out", certificate], check=True, capture_output=True)
        both = self.directory / "cert-and-key.pem"
        both.write_text(certificate.read_text() + key.read_text())
        self.values.update(CERT=certificate, KEY=key, CERT_AND_KEY=both)

    def make_files(self):
        files = self.directory / "files"
        files.mkdir()
        (files / "100k").write_bytes(b"f" * 100 * 1024)
        (files / "10m").write_bytes(b"f" * TRANSFER_BYTES)
        with open(files / "1g", "wb") as sparse:
            sparse.truncate(1024 * MIB)

    def fill(self, text, **more):
        values = {**self.values, **more}
        return re.sub(r"@([A-Z0-9_]+)@", lambda m: str(values.get(m[1], m[0])), text)

    def fill_file(self, source, **more):
        target = self.directory / Path(source).name
        target.write_text(self.fill(Path(source).read_text(), **more))
        return target

    def client_environment(self):
        """The same TLS version, cipher suite and group for all clients that use OpenSSL."""
        config = self.directory / "client-openssl.cnf"
        config.write_text(
            "openssl_conf = main\n[main]\nssl_conf = ssl\n[ssl]\nsystem_default = tls\n"
            "[tls]\nMinProtocol = TLSv1.3\nCiphersuites = TLS_AES_128_GCM_SHA256\nGroups = X25519\n")
        return {**os.environ, "OPENSSL_CONF": str(config)}

    def wait_until_served(self, seconds=15):
        """Returns when the proxy has given one response with status 200."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, CheckFailed), \
                    socket.create_connection(("127.0.0.1", self.values["HTTP_PORT"]), 1) as connection:
                connection.settimeout(5)
                if get_on(connection) == 200:
                    return
            time.sleep(0.0005)
        raise CheckFailed("no response with status 200")

    def run_client(self, command, seconds):
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=seconds + 30,
            env=self.client_environment(), preexec_fn=lambda: os.sched_setaffinity(0, {self.load_cpu}))
        check(done.returncode == 0, f"{command[0]} failed: {(done.stderr or done.stdout)[-400:]}")
        return done.stdout


class Origin:
    """The nginx that is measured behind every proxy, and its counters."""

    def __init__(self, workspace):
        self.workspace = workspace
        config = workspace.directory / "origin.conf"
        config.write_text(workspace.fill((HERE / "origin/nginx.conf").read_text()))
        self.process = Process(
            ["nginx", "-p", workspace.directory, "-c", config, "-g", "daemon off;"],
            workspace.load_cpu, workspace.directory / "origin.log")
        self.process.wait_for_port(workspace.values["ORIGIN_PORT"])

    def counters(self):
        """Connections accepted and requests served since the start."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.workspace.values['STATUS_PORT']}/counters") as response:
            accepted, _, requests = re.search(r"(\d+) (\d+) (\d+)", response.read().decode()).groups()
        return int(accepted), int(requests)

    def take_upload_log(self):
        log = self.workspace.directory / "upload.log"
        entries = [line.split() for line in log.read_text().splitlines()]
        os.truncate(log, 0)
        return entries


@dataclass
class Contender:
    name: str
    command: str
    config: list = field(default_factory=list)
    binary: str = ""
    environment: dict = field(default_factory=dict)
    version: str = ""

    def start(self, workspace, origin_port=None):
        more = {"BIN": self.binary}
        if origin_port:
            more["ORIGIN_PORT"] = origin_port
        configs = [workspace.fill_file(path, **more) for path in self.config]
        if configs:
            more["CONFIG"] = configs[0]
        command = [workspace.fill(part, **more) for part in shlex.split(self.command)]
        environment = {name: workspace.fill(value) for name, value in self.environment.items()}
        return Process(command, workspace.proxy_cpu, workspace.directory / f"{self.name}.log", environment)

    @contextlib.contextmanager
    def running(self, workspace, origin_port=None):
        process = self.start(workspace, origin_port)
        try:
            process.wait_for_port(workspace.values["HTTP_PORT"])
            if not workspace.plain_only:
                process.wait_for_port(workspace.values["HTTPS_PORT"])
            workspace.wait_until_served()
            yield process
        finally:
            process.stop()

    def version_number(self, workspace):
        if not self.version:
            return ""
        command = shlex.split(workspace.fill(self.version, BIN=self.binary))
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.search(r"\d+\.\d+\.\d+[-+\w]*", done.stdout + done.stderr)
        return found[0] if found else "unknown"


def load_peer(name, variant=None, binary=None):
    directory = HERE / "peers" / name
    description = json.loads((directory / "peer.json").read_text())
    return Contender(
        name=variant or name, command=description["command"],
        config=[directory / file for file in description["config"]],
        binary=shutil.which(binary or description["binary"]) or "",
        environment=description.get("environment", {}), version=description.get("version", ""))


# --- Correctness --------------------------------------------------------------

def check_work(workspace, contender):
    """Every protocol: headers set and stripped, Host and body passed, upstream connections reused."""
    echo_port = workspace.values["ECHO_PORT"]
    echo = Process([sys.executable, HERE / "origin/echo.py", str(echo_port)],
                   workspace.load_cpu, workspace.directory / "echo.log")
    try:
        echo.wait_for_port(echo_port)
        with contender.running(workspace, origin_port=echo_port):
            check_echo(workspace, "http", ["--http1.1"], "1.1")
            if not workspace.plain_only:
                check_echo(workspace, "https", ["--http1.1", "--tlsv1.3"], "1.1")
                check_echo(workspace, "https", ["--http2", "--tlsv1.3"], "2")
    finally:
        echo.stop()


def check_echo(workspace, scheme, options, version):
    port = workspace.values["HTTPS_PORT" if scheme == "https" else "HTTP_PORT"]
    command = [
        "curl", "-sk", "--max-time", "10", *options, "--resolve", f"{HOST}:{port}:127.0.0.1",
        "-H", "Authorization: Basic Y2xpZW50OmNsaWVudA==", "-H", "X-Env: client", "-H", "X-Internal: client",
        "-H", "X-Kept: yes", "-H", "Expect:", "--data-binary", f"@{workspace.directory}/files/100k",
        "-w", "\n%{http_version} %{response_code}", f"{scheme}://{HOST}:{port}/path?query=1"]
    accepted = []
    for _ in range(10):  # ten client connections
        body, _, status = workspace.run_client(command, 10).rpartition("\n")
        where = f"{scheme} HTTP/{version}"
        check(status == f"{version} 200", f"{where}: got '{status}'")
        echoed = json.loads(body)
        headers = {}
        for name, value in echoed["headers"]:
            headers.setdefault(name, []).append(value)
        for name, wanted in (("authorization", ["Bearer test-token"]), ("x-env", ["bench"]), ("x-internal", None),
                             ("host", [f"{HOST}:{port}"]), ("x-kept", ["yes"])):
            check(headers.get(name) == wanted, f"{where}: the origin got {name}: {headers.get(name)}, not {wanted}")
        check(echoed["path"] == "/path?query=1", f"{where}: the origin got the path {echoed['path']}")
        check(echoed["body_bytes"] == 100 * 1024, f"{where}: the origin got {echoed['body_bytes']} body bytes")
        accepted.append(echoed["connections_accepted"])
    new = accepted[-1] - accepted[0]
    check(new <= 1, f"{where}: {new} new upstream connections for 10 requests")


# --- Loads --------------------------------------------------------------------

def wrk(workspace, scheme, connections, seconds, close=False):
    port = workspace.values["HTTPS_PORT" if scheme == "https" else "HTTP_PORT"]
    out = workspace.run_client(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-H", f"Host: {HOST}",
         *(["-H", "Connection: close"] if close else []), f"{scheme}://127.0.0.1:{port}/1k"], seconds)
    errors = re.search(r"Socket errors: (.*)|Non-2xx or 3xx responses: (\d+)", out)
    check(not errors, f"wrk: {errors and errors[0]}")
    requests, elapsed = re.search(r"(\d+) requests in ([\d.]+)s", out).groups()
    return {"requests": int(requests), "seconds": float(elapsed), "clients": connections}


def h2load(workspace, connections, streams, seconds):
    port = workspace.values["HTTPS_PORT"]
    out = workspace.run_client(
        ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", "--npn-list=h2",
         f"--connect-to=127.0.0.1:{port}", f"https://{HOST}:{port}/1k"], seconds)
    for wanted in ("TLS Protocol: TLSv1.3", "Application protocol: h2"):
        check(wanted in out, f"h2load: not '{wanted}'")
    done, failed, errored = map(int, re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", out).groups())
    good = int(re.search(r"status codes: (\d+) 2xx", out)[1])
    check(good >= done > 0 == failed == errored, f"h2load: {done} done, {failed} failed, {errored} errored, {good} 2xx")
    return {"requests": done, "seconds": seconds, "clients": connections}


def hey(workspace, connections, seconds):
    """A new TLS connection per request. hey has no session cache, so that every handshake is a full one."""
    port = workspace.values["HTTPS_PORT"]
    out = workspace.run_client(
        ["hey", "-disable-keepalive", "-disable-compression", "-cpus", "1", "-c", connections, "-z", f"{seconds}s",
         "-host", HOST, f"https://127.0.0.1:{port}/1k"], seconds)
    statuses = dict(re.findall(r"\[(\d+)\]\t(\d+) responses", out))
    check(list(statuses) == ["200"] and "Error distribution" not in out, f"hey: {statuses} {out[-300:]}")
    return {"requests": int(statuses["200"]), "seconds": float(re.search(r"Total:\s+([\d.]+) secs", out)[1]),
            "clients": connections}


def loadgen(workspace, connections, seconds, path, rate=0, body_bytes=0):
    port = workspace.values["HTTP_PORT"]
    out = json.loads(workspace.run_client(
        [workspace.loadgen, port, connections, seconds, rate, body_bytes, path, f"Host: {HOST}"], seconds))
    check(out["errors"] == out["bad_status"] == out["unanswered"] == 0, f"loadgen: {out}")
    return {**out, "clients": connections}


# --- Measuring ----------------------------------------------------------------

def cpu_times(cpu):
    """Busy seconds of one CPU, and seconds stolen from it by the hypervisor."""
    line = re.search(rf"^cpu{cpu} (.*)$", Path("/proc/stat").read_text(), re.M)[1]
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(x) / CLOCK_TICKS for x in line.split()[:8])
    return user + nice + system + irq + softirq, steal


def connections_opened():
    """Outgoing TCP connections made on this machine since its start."""
    names, values = re.findall(r"^Tcp: (.*)$", Path("/proc/net/snmp").read_text(), re.M)
    return int(values.split()[names.split().index("ActiveOpens")])


@dataclass
class Bench:
    workspace: Workspace
    origin: Origin
    seconds: int
    warmup: int
    rate: int

    def under_load(self, proxy, load, probe=("transfer_ns",), new_connections=False):
        """Warms up, runs the load, and adds what proxy and origin did meanwhile.

        `probe` names the parts of speedprobe that resemble the proxy's work; none switches it off."""
        load(self.warmup)
        accepted, served = self.origin.counters()
        opened = connections_opened()
        busy, stolen = cpu_times(self.workspace.proxy_cpu)
        cpu = proxy.cpu_seconds()
        with self.speed_probe(probe) as slowness:
            result = load(self.seconds)
        cpu = max(proxy.cpu_seconds() - cpu, 1 / CLOCK_TICKS)
        busy, stolen = (after - before for after, before in zip(cpu_times(self.workspace.proxy_cpu), (busy, stolen)))
        opened = connections_opened() - opened
        accepted, served = (after - before for after, before in zip(self.origin.counters(), (accepted, served)))

        requests, seconds = result["requests"], result["seconds"]
        check(served >= requests, f"the origin served {served} of {requests} requests")
        limit = result["clients"] + requests // 50
        check(accepted <= limit, f"{accepted} upstream connections for {requests} requests: not kept alive")
        if new_connections:
            check(opened >= requests, f"{opened} connections opened for {requests} requests: the client kept them")
        return {**result, "rate": requests / seconds, "cpu_seconds": cpu, "proxy_busy": cpu / seconds,
                "slowness": slowness[0], "raw_per_cpu": requests / cpu, "per_cpu": requests / cpu * slowness[0],
                "upstream_connections": accepted, "foreign_cpu_seconds": busy - cpu, "stolen_seconds": stolen}

    @contextlib.contextmanager
    def speed_probe(self, parts):
        """Yields a list that holds, at the end, how many times slower than normal the proxy's CPU was."""
        slowness = []
        if not parts:
            yield slowness
            slowness.append(1.0)
            return
        output = self.workspace.directory / "speedprobe.json"
        output.write_text("")
        process = Process([self.workspace.speedprobe, str(self.seconds)], self.workspace.proxy_cpu, output)
        try:
            yield slowness
            process.child.wait(10)
            measured = json.loads(output.read_text())
            slowness.append(statistics.mean(measured[part] / NORMAL_SPEED_NS[part] for part in parts))
        finally:
            process.stop()

    def with_bytes(self, result, byte_count):
        mib = byte_count / MIB
        return {**result, "mib_rate": mib / result["seconds"], "raw_mib_per_cpu": mib / result["cpu_seconds"],
                "mib_per_cpu": mib / result["cpu_seconds"] * result["slowness"]}

    def get(self, contender, scheme, connections, close=False):
        probe = BOTH_PARTS if scheme == "https" else ("transfer_ns",)
        with contender.running(self.workspace) as proxy:
            return self.under_load(proxy, lambda s: wrk(self.workspace, scheme, connections, s, close), probe, close)

    def handshakes(self, contender):
        with contender.running(self.workspace) as proxy:
            # Without the probe: correcting by it made the rounds differ more here, not less.
            return self.under_load(proxy, lambda s: hey(self.workspace, 32, s), probe=(), new_connections=True)

    def http2(self, contender):
        with contender.running(self.workspace) as proxy:
            return self.under_load(proxy, lambda s: h2load(self.workspace, 16, 32, s), BOTH_PARTS)

    def download(self, contender):
        with contender.running(self.workspace) as proxy:
            result = self.under_load(proxy, lambda s: loadgen(self.workspace, 8, s, "/files/10m"))
        return self.with_bytes(result, result["bytes_received"])

    def upload(self, contender):
        def load(seconds):
            return loadgen(self.workspace, 8, seconds, "/upload", body_bytes=TRANSFER_BYTES)
        with contender.running(self.workspace) as proxy:
            result = self.under_load(proxy, load)
        # Uploads that were cut off at the end of the load are logged with another status.
        read = [int(length) for status, length in self.origin.take_upload_log() if status == "200"]
        check(len(read) >= result["requests"], f"the origin logged {len(read)} of {result['requests']} uploads")
        check(min(read) > TRANSFER_BYTES, f"the origin read only {min(read)} bytes of an upload")
        return self.with_bytes(result, result["bytes_sent"])

    def latency(self, contender):
        with contender.running(self.workspace) as proxy:
            # Without the probe: it would delay requests.
            return self.under_load(proxy, lambda s: loadgen(self.workspace, 64, s, "/1k", rate=self.rate), probe=())

    def idle(self, contender):
        """Memory with many client connections that have each made one request."""
        port = self.workspace.values["HTTP_PORT"]
        with contender.running(self.workspace) as proxy, contextlib.ExitStack() as stack:
            time.sleep(1)
            rss_before, pss_before = proxy.memory_kib()
            poll = select.poll()
            for _ in range(IDLE_CONNECTIONS):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
                check(get_on(connection) == 200, "a request on an idle connection failed")
                poll.register(connection, select.POLLIN)
            time.sleep(1)
            rss, pss = proxy.memory_kib()
            check(not poll.poll(0), "the proxy closed idle connections")
        return {"rss_mib": rss_before / 1024, "pss_mib": pss_before / 1024,
                "rss_kib_per_connection": (rss - rss_before) / IDLE_CONNECTIONS,
                "pss_kib_per_connection": (pss - pss_before) / IDLE_CONNECTIONS}

    def startup(self, contender):
        """Milliseconds from the start of the process to its first response with status 200."""
        times = []
        for _ in range(STARTS_PER_ROUND):
            before = time.perf_counter()
            process = contender.start(self.workspace)
            try:
                self.workspace.wait_until_served()
                times.append(1000 * (time.perf_counter() - before))
            finally:
                process.stop()
        return {"startup_ms": statistics.median(times)}


# --- Cases and report ---------------------------------------------------------

@dataclass
class Case:
    title: str
    run: Callable
    metrics: tuple  # keys of METRICS; the first is the one that counts


METRICS = {  # key: (heading, higher is better)
    "per_cpu": ("requests / proxy CPU-second, normalized", True),
    "raw_per_cpu": ("requests / proxy CPU-second, raw", True),
    "rate": ("requests / second", True),
    "mib_per_cpu": ("MiB / proxy CPU-second, normalized", True),
    "raw_mib_per_cpu": ("MiB / proxy CPU-second, raw", True),
    "mib_rate": ("MiB / second", True),
    "p50_us": ("p50 µs", False),
    "p99_us": ("p99 µs", False),
    "p999_us": ("p99.9 µs", False),
    "rss_kib_per_connection": ("RSS KiB / connection", False),
    "pss_kib_per_connection": ("PSS KiB / connection", False),
    "rss_mib": ("RSS MiB at rest", False),
    "pss_mib": ("PSS MiB at rest", False),
    "startup_ms": ("ms to the first response", False),
    "proxy_busy": ("proxy CPU in use", None),
}
REQUESTS = ("per_cpu", "raw_per_cpu", "rate", "proxy_busy")
BYTES = ("mib_per_cpu", "raw_mib_per_cpu", "mib_rate", "proxy_busy")

CASES = {
    "h1": Case("HTTP/1.1, 1 KiB GET, 64 connections", lambda b, c: b.get(c, "http", 64), REQUESTS),
    "h1-512": Case("HTTP/1.1, 1 KiB GET, 512 connections", lambda b, c: b.get(c, "http", 512), REQUESTS),
    "h1-close": Case("HTTP/1.1, 1 KiB GET, new client connection per request",
                     lambda b, c: b.get(c, "http", 64, close=True), REQUESTS),
    "tls": Case("TLS 1.3 HTTP/1.1, 1 KiB GET, 64 connections", lambda b, c: b.get(c, "https", 64), REQUESTS),
    "tls-handshake": Case("TLS 1.3, full handshake per request, P-256", Bench.handshakes,
                          ("raw_per_cpu", "rate", "proxy_busy")),
    "h2": Case("HTTP/2 over TLS 1.3, 1 KiB GET, 16 connections of 32 streams", Bench.http2, REQUESTS),
    "download": Case("10 MiB downloads, HTTP/1.1, 8 connections", Bench.download, BYTES),
    "upload": Case("10 MiB uploads, HTTP/1.1, 8 connections", Bench.upload, BYTES),
    "latency": Case("Latency at a fixed rate (open loop), 1 KiB GET, 64 connections", Bench.latency,
                    ("p50_us", "p99_us", "p999_us", "raw_per_cpu", "proxy_busy")),
    "idle": Case(f"Memory at rest and with {IDLE_CONNECTIONS} idle keep-alive connections", Bench.idle,
                 ("rss_kib_per_connection", "pss_kib_per_connection", "rss_mib", "pss_mib")),
    "startup": Case("Start to first served request", Bench.startup, ("startup_ms",)),
}


def summarize(samples, candidate):
    """{case: {metric: {contender: [median, min, max, ratio to the best peer]}}}"""
    summary = {}
    for case_name, case in CASES.items():
        for metric in case.metrics:
            values = {}
            for sample in samples:
                if sample["case"] == case_name:
                    values.setdefault(sample["contender"], []).append(sample[metric])
            if not values:
                continue
            medians = {name: statistics.median(list_) for name, list_ in values.items()}
            higher = METRICS[metric][1]
            peers = [median for name, median in medians.items() if name != candidate] or list(medians.values())
            best = max(peers) if higher else min(peers)
            summary.setdefault(case_name, {})[metric] = {
                name: [medians[name], min(list_), max(list_),
                       (medians[name] / best if higher else best / medians[name]) if best and medians[name] else 1.0]
                for name, list_ in values.items()}
    return summary


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_tables(summary, names):
    for case_name, metrics in summary.items():
        print(f"\n### {case_name}: {CASES[case_name].title}\n")
        print("| proxy | " + " | ".join(METRICS[m][0] for m in metrics) + " |")
        print("|---" * (len(metrics) + 1) + "|")
        for name in names:
            cells = []
            for metric, rows in metrics.items():
                if name not in rows:
                    cells.append("failed")
                    continue
                median, low, high, ratio = rows[name]
                cells.append(f"{median:.0%}" if metric == "proxy_busy" else
                             f"{number(median)} ({number(low)}–{number(high)}) **{ratio:.2f}**")
            print(f"| {name} | " + " | ".join(cells) + " |")
    print("\nMedian (min–max) of the rounds; bold: ratio to the best peer (less than 1 is worse).")


# --- Command line -------------------------------------------------------------

def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="contenders to run, comma-separated (default: all that are installed)")
    parser.add_argument("--case", help=f"cases to run, comma-separated: {', '.join(CASES)}")
    parser.add_argument("--seconds", type=int, default=5, help="length of a measurement (default 5)")
    parser.add_argument("--warmup", type=int, default=1, help="seconds of the same load before it (default 1)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all contenders (default 3)")
    parser.add_argument("--rate", type=int, default=3000, help="requests per second of the latency case (default 3000)")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=PEER:BINARY",
                        help="run PEER's configuration with another binary, as NAME (repeatable)")
    parser.add_argument("--candidate", default=os.environ.get("AUTHPROXY_COMMAND"), metavar="COMMAND",
                        help="command of the proxy under development (or env AUTHPROXY_COMMAND), with placeholders")
    parser.add_argument("--candidate-config", action="append", metavar="FILE",
                        default=[os.environ["AUTHPROXY_CONFIG"]] if "AUTHPROXY_CONFIG" in os.environ else [],
                        help="its configuration template, @CONFIG@ in COMMAND (or env AUTHPROXY_CONFIG; repeatable)")
    parser.add_argument("--candidate-name", default="authproxy")
    parser.add_argument("--candidate-version", metavar="COMMAND", help="prints its version")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=FILE",
                        help="the candidate with another configuration template, as NAME (repeatable)")
    parser.add_argument("--json", metavar="FILE", help="write all samples and the summary")
    parser.add_argument("--proxy-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--lock", metavar="FILE", help="hold this file lock while a proxy is measured")
    parser.add_argument("--plain-only", action="store_true", help="leave out TLS and HTTP/2 (a candidate without them)")
    parser.add_argument("--check-only", action="store_true", help="only check that every contender does its work")
    return parser.parse_args()


def find_contenders(arguments):
    contenders = {path.parent.name: load_peer(path.parent.name) for path in sorted(HERE.glob("peers/*/peer.json"))}
    for variant in arguments.variant:
        name, peer, binary = re.fullmatch(r"([^=]+)=([^:]+):(.+)", variant).groups()
        contenders[name] = load_peer(peer, name, binary)
    for name in [name for name, contender in contenders.items() if not contender.binary]:
        print(f"{name}: binary not found, left out", file=sys.stderr)
        del contenders[name]
    if arguments.candidate:
        contenders[arguments.candidate_name] = Contender(
            arguments.candidate_name, arguments.candidate, [Path(path) for path in arguments.candidate_config],
            version=arguments.candidate_version or "")
        for also in arguments.also:
            name, path = also.split("=", 1)
            contenders[name] = Contender(name, arguments.candidate, [Path(path)], version=arguments.candidate_version or "")
    if arguments.only:
        wanted = arguments.only.split(",")
        unknown = set(wanted) - set(contenders)
        if unknown:
            raise SystemExit(f"not available: {', '.join(sorted(unknown))}")
        contenders = {name: contenders[name] for name in wanted}
    return contenders


@contextlib.contextmanager
def holding(lock_path):
    if not lock_path:
        yield
        return
    with open(lock_path, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    time.sleep(0.5)  # let others have it


def run_rounds(bench, contenders, cases, rounds, lock, report):
    for round_number in range(1, rounds + 1):
        for contender in contenders.values():
            with holding(lock):
                for case_name in cases:
                    sample = {"round": round_number, "contender": contender.name, "case": case_name}
                    try:
                        sample.update(CASES[case_name].run(bench, contender))
                        report.samples.append(sample)
                        shown = ", ".join(f"{metric} {number(sample[metric])}" for metric in CASES[case_name].metrics)
                        if sample.get("proxy_busy", 0) > 0.5 and sample["foreign_cpu_seconds"] > 0.1 * bench.seconds:
                            shown += "  (disturbed by other processes)"
                    except FAILURES as error:
                        report.failures.append(f"{contender.name}, {case_name}: {error}")
                        shown = f"FAILED: {error}"
                    print(f"round {round_number}  {contender.name:14} {case_name:14} {shown}", flush=True)
            report.save()


@dataclass
class Report:
    arguments: argparse.Namespace
    versions: dict = field(default_factory=dict)
    samples: list = field(default_factory=list)
    failures: list = field(default_factory=list)

    def summary(self):
        return summarize(self.samples, self.arguments.candidate and self.arguments.candidate_name)

    def save(self):
        if self.arguments.json:
            Path(self.arguments.json).write_text(json.dumps({
                "kernel": platform.release(), "cpus": os.cpu_count(), "versions": self.versions,
                "seconds": self.arguments.seconds, "rate": self.arguments.rate, "normal_speed_ns": NORMAL_SPEED_NS,
                "summary": self.summary(), "failures": self.failures, "samples": self.samples}, indent=1))


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that children are stopped
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    os.sched_setaffinity(0, {arguments.load_cpu})
    cases = arguments.case.split(",") if arguments.case else list(CASES)
    for unknown in set(cases) - set(CASES):
        raise SystemExit(f"no such case: {unknown}")
    if arguments.plain_only:
        cases = [case for case in cases if case not in ("tls", "tls-handshake", "h2")]
    contenders = find_contenders(arguments)

    report = Report(arguments)
    working = {}
    with tempfile.TemporaryDirectory(prefix="proxy-bench-") as directory:
        workspace = Workspace(directory, arguments)
        origin = Origin(workspace)
        try:
            for contender in contenders.values():
                report.versions[contender.name] = contender.version_number(workspace)
                try:
                    check_work(workspace, contender)
                    working[contender.name] = contender
                    print(f"{contender.name} {report.versions[contender.name]}: does its work", flush=True)
                except FAILURES as error:
                    report.failures.append(f"{contender.name}: {error}")
            if not arguments.check_only:
                bench = Bench(workspace, origin, arguments.seconds, arguments.warmup, arguments.rate)
                run_rounds(bench, working, cases, arguments.rounds, arguments.lock, report)
        finally:
            origin.process.stop()

    report.save()
    print_tables(report.summary(), list(working))
    for failure in report.failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
