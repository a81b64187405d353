#!/usr/bin/env python3
"""What a URL list of 50,000 lines costs a request that it does not name: instructions (valgrind), which no other load changes.

    bench/lists.py [--requests 3000] [--binary .build/release/authproxy]

`none`: no list; `away`: a list that another key of its rule keeps off the request's way; then each format on its way, and `stars`: 1,000 lines
of the format `url` that begin with a star, in path or host. The memory is the process's, less that of one without a list.
"""
import argparse, re, socket, subprocess, tempfile, time
from pathlib import Path

from bench import HERE, Process, free_ports

CONFIG = """
listen: 127.0.0.1:@PORT@
rules:
@LIST@
  - respond: {body: "ok"}
workers: 1
log: {access: false}
admin: {socket: @FOLDER@/admin.sock}
"""
REQUEST = (b"GET /articles/2026/11/some-title-of-the-day.html?page=2&utm_source=feed HTTP/1.1\r\nHost: www.news.example\r\n"
           b"User-Agent: bench\r\nAccept: text/html\r\nReferer: https://www.news.example/\r\nSec-Fetch-Dest: image\r\nSec-Fetch-Site: cross-site\r\n\r\n")
ANSWER = 2  # bytes of content


def adblock(number):
    kind = number % 10
    if kind < 6:
        return "||ads%d.tracker%d.example^" % (number, number % 977)
    if kind == 6:
        return "||cdn%d.example/track/%d.js$script,third-party" % (number, number)
    if kind == 7:
        return "/banner%d/*$image" % number
    return "-ad%d-" % number if kind == 8 else "@@||ok%d.example^$domain=a%d.example" % (number, number)


FORMATS = {
    "adblock": adblock,
    "hosts": lambda number: "0.0.0.0 ads%d.tracker%d.example" % (number, number % 977),
    "url": lambda number: "ads%d.example/**" % number if number % 2 else "/track%d/*.gif" % number,
    "stars": lambda number: "/*/ads%d/**" % number if number % 2 else "*track%d*.example/**" % number,
}
LINES = {"stars": 1000}


class Counted:
    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        self.port, = free_ports(1)
        for name, line in FORMATS.items():
            (folder / (name + ".txt")).write_text("".join(line(number) + "\n" for number in range(LINES.get(name, 50_000))))

    def rules(self, name):
        if name == "none":
            return ""
        away = "host: elsewhere.example, " if name == "away" else ""
        kind = "adblock" if name == "away" else name
        return "  - match: {%surl_list: {file: %s.txt, format: %s}}\n    block: true" % (away, kind, "url" if kind == "stars" else kind)

    def start(self, name, wrapper=()):
        config = self.folder / "config.yaml"
        text = CONFIG.replace("@PORT@", str(self.port)).replace("@LIST@", self.rules(name)).replace("@FOLDER@", str(self.folder))
        config.write_text(text)
        process = Process([*wrapper, self.binary, "run", "-c", config], 0, self.folder / "log",
                          {"SWIFT_DETERMINISTIC_HASHING": "1"})  # the lists are compiled in the same number of steps each time
        process.wait_for_port(self.port, 180)
        return process

    def ask(self, requests):
        with socket.create_connection(("127.0.0.1", self.port), 120) as connection:
            for _ in range(requests):
                connection.sendall(REQUEST)
                data = b""
                while not (b"\r\n\r\n" in data and len(data.partition(b"\r\n\r\n")[2]) >= ANSWER):
                    part = connection.recv(65536)
                    if not part:
                        raise SystemExit("the proxy closed the connection")
                    data += part
                if not data.startswith(b"HTTP/1.1 200 ") or not data.endswith(b"ok"):
                    raise SystemExit("an unexpected answer: %r" % data[:80])

    def instructions(self, name, requests):
        def total(count):
            log = self.folder / ("callgrind-%s-%d" % (name, count))
            process = self.start(name, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=%s" % log])
            self.ask(count)
            process.child.terminate()
            process.child.wait(120)  # valgrind takes its time
            return int(re.search(r"Collected\s*:\s*(\d+)", log.read_text())[1])
        return (total(requests) - total(requests // 10)) / (requests - requests // 10)

    def memory(self, name):
        process = self.start(name)
        self.ask(10)
        kib = process.memory_kib()[0]
        process.stop()
        return kib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--binary", default=HERE.parent / ".build/release/authproxy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-lists-") as folder:
        counted = Counted(Path(folder), options.binary)
        base = counted.instructions("none", options.requests), counted.memory("none")
        print("%-8s %8.0f instructions a request" % ("none", base[0]), flush=True)
        for name in ("away", *FORMATS):
            count, kib = counted.instructions(name, options.requests), counted.memory(name)
            print("%-8s %8.0f more, and %.1f MiB" % (name, count - base[0], (kib - base[1]) / 1024), flush=True)


if __name__ == "__main__":
    main()
