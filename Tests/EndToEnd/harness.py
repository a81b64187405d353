"""The parties of an end-to-end test: the real binary, a scripted origin, a raw client. All on loopback, all on ports of their own."""
import contextlib, hashlib, itertools, json, os, random, re, shutil, signal, socket, struct, subprocess, tempfile, threading, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("AUTHPROXY_BINARY", ROOT / ".build/release/authproxy"))
PATIENCE = 10
MIB = 1 << 20
PASSED = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS") if name in os.environ}


def eventually(condition, seconds=PATIENCE, message=""):
    """The first true value of `condition`, asked again until the deadline; what is awaited is never slept for."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("not within %s s: %s" % (seconds, message or condition))
        time.sleep(0.01)


def drawn_ports():
    """Ports below the ephemeral range, each once before any comes again; each test process draws from a range of its own."""
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "0")) or 0)
    ports = [28100 + worker % 2 * 2300 + offset for offset in range(2300)]
    random.shuffle(ports)
    return itertools.cycle(ports)


DRAWN = drawn_ports()


def free_port():
    """A port that nobody listens on, and that no test running in this process has been given."""
    for port in itertools.islice(DRAWN, 1000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("no free port")


def replace_file(path, text):
    """Puts a new file in the old one's place in one step, as editors and secret stores do."""
    fresh = Path(str(path) + ".new")
    fresh.write_text(text)
    os.replace(fresh, path)


# --- Messages -----------------------------------------------------------------

class Gone(Exception):
    """The peer ended the connection."""


class Message:
    """One head as it stood on the wire, and its body once read."""

    def __init__(self, head):
        self.head, self.body, self.trailers, self.interim = head, b"", [], []
        self.start_line, *lines = head[:-4].decode("latin-1").split("\r\n")
        self.fields = [tuple(part.strip(" \t") for part in line.split(":", 1)) for line in lines]

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        return (self.all(name) or [default])[0]

    @property
    def status(self):
        return int(self.start_line.split(" ")[1])

    @property
    def method(self):
        return self.start_line.split(" ")[0]

    @property
    def target(self):
        return self.start_line.split(" ")[1]

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "<%s %s %r>" % (self.start_line, self.fields, self.body[:200])


class Wire:
    """A socket with a buffer, and HTTP/1.1 framing read strictly from it."""

    def __init__(self, sock):
        self.socket, self.buffer = sock, bytearray()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def more(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise Gone("connection ended with %r in hand" % bytes(self.buffer[:80]))
        self.buffer += data

    def until(self, mark):
        while (at := self.buffer.find(mark)) < 0:
            self.more()
        return self.take(at + len(mark))

    def take(self, count):
        while len(self.buffer) < count:
            self.more()
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def head(self):
        return Message(self.until(b"\r\n\r\n"))

    def pieces(self, message, bodyless=False):
        """The content in pieces as they arrive; constant memory."""
        if bodyless:
            return
        if (message.get("transfer-encoding") or "").lower() == "chunked":
            while size := int(self.until(b"\r\n").split(b";")[0], 16):
                yield from self.counted(size)
                assert self.take(2) == b"\r\n", "no CRLF after a chunk"
            while line := self.until(b"\r\n")[:-2]:
                message.trailers.append(line.decode("latin-1"))
        elif message.get("content-length") is not None:
            yield from self.counted(int(message.get("content-length")))
        elif message.start_line.startswith("HTTP/"):
            try:
                while True:
                    if self.buffer:
                        yield self.take(len(self.buffer))
                    self.more()
            except Gone:
                return

    def counted(self, left):
        while left:
            if not self.buffer:
                self.more()
            piece = self.take(min(left, len(self.buffer)))
            left -= len(piece)
            yield piece

    def ended(self, seconds=PATIENCE):
        """True when the peer closes within the time without sending more."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            return True

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


# --- Client -------------------------------------------------------------------

class Client(Wire):
    """A raw client connection. `address`: a port on 127.0.0.1, a (host, port) or the path of a unix socket."""

    def __init__(self, address, timeout=PATIENCE, receive_buffer=None, source=None, segment=None):
        if isinstance(address, (str, Path)):
            sock = socket.socket(socket.AF_UNIX)
            target = str(address)
        else:
            target = address if isinstance(address, tuple) else ("127.0.0.1", address)
            sock = socket.socket(socket.AF_INET6 if ":" in target[0] else socket.AF_INET)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if segment:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if source:
            sock.bind((source, 0))
        sock.settimeout(timeout)
        sock.connect(target)
        super().__init__(sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method="GET", target="/", body=None, headers=(), host="app.test", version="1.1"):
        lines = ["%s %s HTTP/%s" % (method, target, version), "Host: " + host]
        lines += ["%s: %s" % pair for pair in dict(headers).items()]
        if body is not None:
            lines.append("Content-Length: %d" % len(body))
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))

    def response(self, method="GET"):
        """The next final response with its content; interim ones are kept in `.interim`."""
        interim = []
        while (message := self.head()).status < 200 and message.status != 101:
            interim.append(message)
        message.interim = interim
        bodyless = method == "HEAD" or message.status in (101, 204, 304)
        message.body = b"".join(self.pieces(message, bodyless))
        return message

    def ask(self, method="GET", target="/", body=None, headers=(), **more):
        self.request(method, target, body, headers, **more)
        return self.response(method)


def ask(address, method="GET", target="/", body=None, headers=(), **more):
    """One request on a connection of its own."""
    with Client(address) as client:
        return client.ask(method, target, body, headers, **more)


# --- Origin -------------------------------------------------------------------

def reply(wire, body=b"ok", status="200 OK", headers=()):
    body = body.encode() if isinstance(body, str) else body
    lines = ["HTTP/1.1 " + status, "Content-Length: %d" % len(body)] + ["%s: %s" % pair for pair in dict(headers).items()]
    wire.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


def echo(request, wire):
    """Answers with what arrived, as JSON; the content as its length and digest."""
    digest, length = hashlib.sha256(), 0
    if request.get("expect"):
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")
    for piece in wire.pieces(request):
        digest.update(piece)
        length += len(piece)
    told = {"method": request.method, "target": request.target, "fields": request.fields, "length": length, "sha256": digest.hexdigest(),
            "origin": wire.origin.name}
    reply(wire, json.dumps(told), headers={"Content-Type": "application/json"})


def connections(listener):
    """Each connection that is made, until the listener is closed."""
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


class Origin:
    """A scripted origin: `handler(request, wire)` is called for each head and reads the content itself if it wants to."""

    def __init__(self, handler=echo, host="127.0.0.1", port=0, name="origin"):
        self.handler, self.name = handler, name
        self.requests, self.connections, self.open, self.raw = [], 0, set(), bytearray()
        self.lock = threading.Lock()
        if host.startswith("unix:"):
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(host[5:])
            self.listener.listen(128)
            self.port, self.url = None, host
        else:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self.listener = socket.create_server((host, port), family=family, backlog=128)
            self.port = self.listener.getsockname()[1]
            self.url = "http://%s:%d" % ("[%s]" % host if ":" in host else host, self.port)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for sock in connections(self.listener):
            with self.lock:
                self.connections += 1
                self.open.add(sock)
            threading.Thread(target=self.attend, args=(sock,), daemon=True).start()

    def attend(self, sock):
        wire = Wire(sock)
        wire.origin = self
        try:
            while True:
                request = wire.head()
                with self.lock:
                    self.requests.append(request)
                if self.handler(request, wire) == "close":
                    return
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.open.discard(sock)
                self.raw += wire.buffer
            with contextlib.suppress(OSError):  # the handler may have closed what lies below TLS
                sock.close()

    def stop(self):
        """No more connections, and those that are open end."""
        for sock in [self.listener, *self.open]:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.listener.close()


# --- The proxy ----------------------------------------------------------------

class Proxy:
    """The binary, run in a folder of its own with a configuration in which @NAME@ is filled in."""

    def __init__(self, config, *, env=None, arguments=(), files=None, wrapper=(), pass_fds=(), listen=None, command="run", **texts):
        self.folder = Path(tempfile.mkdtemp(prefix="ap-"))  # short: paths of unix sockets hold 108 bytes
        self.port = texts.setdefault("LISTEN", free_port())
        self.listen = listen.replace("@DIR@", str(self.folder)) if isinstance(listen, str) else listen or self.port
        self.texts = {**texts, "DIR": self.folder}
        for name, text in (files or {}).items():
            (self.folder / name).write_text(text)
        self.config = self.folder / "config.yaml"
        self.runtime = self.folder / "run"
        self.runtime.mkdir()
        if config is not None:
            self.write(config)
        self.env = {**PASSED, "SWIFT_BACKTRACE": "enable=no", "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.runtime), **(env or {})}
        given = ["-c", str(self.config)] if config is not None else []
        self.argv = [*wrapper, str(BINARY), command, *given, *arguments]
        self.pass_fds, self.process = pass_fds, None

    def fill(self, text):
        return re.sub(r"@([A-Z0-9_]+)@", lambda found: str(self.texts.get(found[1], found[0])), text)

    def write(self, config):
        replace_file(self.config, self.fill(config))

    def spawn(self):
        self.stdout = open(self.folder / "stdout", "ab")
        self.stderr = open(self.folder / "stderr", "ab")
        self.process = subprocess.Popen(self.argv, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=self.stdout,
                                        stderr=self.stderr, pass_fds=self.pass_fds, start_new_session=True)
        return self

    def start(self):
        self.spawn()
        eventually(lambda: self.process.poll() is not None or self.listens(), 15, "the proxy listens")
        assert self.process.poll() is None, "exited with %s: %s" % (self.process.returncode, self.log()[-1000:])
        return self

    def listens(self):
        try:
            for address in [self.listen] + [self.texts[name] for name in ("ADMIN",) if name in self.texts]:
                Client(address, 1).close()
            return True
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return "".join((self.folder / name).read_text(errors="replace") for name in ("stdout", "stderr") if (self.folder / name).exists())

    def records(self):
        """The lines of the log that are JSON objects."""
        return [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]

    def signal(self, number):
        os.kill(self.pid, number)

    def exit_status(self, seconds=PATIENCE):
        return self.process.wait(seconds)

    def run(self, *arguments, **options):
        """Another command of the binary, beside the running proxy."""
        return subprocess.run([str(BINARY), *arguments], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=30, **options)

    def reload_to(self, config):
        """What is said against the configuration; nothing when it is in force."""
        self.write(config)
        done = self.run("reload", "-c", str(self.config))
        return done.stdout + done.stderr if done.returncode else ""

    def memory(self, field="VmRSS"):
        """KiB, from /proc."""
        return int(re.search(field + r":\s+(\d+)", Path("/proc/%d/status" % self.pid).read_text())[1])

    def ask(self, method="GET", target="/", body=None, headers=(), **more):
        return ask(self.listen, method, target, body, headers, **more)

    def client(self, **options):
        return Client(self.listen, **options)

    def stop(self):
        status = None
        if self.process:
            status = self.process.poll()
            if status is None:
                self.process.send_signal(signal.SIGTERM)
                try:
                    status = self.process.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(self.process.pid, signal.SIGKILL)
                    status = self.process.wait()
            self.stdout.close()
            self.stderr.close()
        return status

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def command(*arguments, env=None, **options):
    """One run of the binary to its end."""
    environment = {**PASSED, **(env or {})}
    return subprocess.run([str(BINARY), *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=30, **options)
