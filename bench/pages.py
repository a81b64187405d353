#!/usr/bin/env python3
"""Injection into a page of 100 KiB that the origin has as gzip too: authproxy's html.inject beside nginx's sub_filter with gzip.

    bench/pages.py                      # requests per proxy CPU-second, in turns
    bench/pages.py --count 200          # instructions per request (valgrind), which no other load on the machine changes

Each proxy puts the same script before </body> and sends gzip of level 1. authproxy takes the page as the client would have it, which is
gzip. nginx can only edit what is not encoded, so it is given `Accept-Encoding: ""` and asks for the plain page.
"""
import argparse, contextlib, gzip, os, random, re, shutil, socket, statistics, subprocess, sys, tempfile, time
from pathlib import Path

from bench import HERE, Process, free_ports

ROOT = HERE.parent
SCRIPT = "<script>window.badge = 1</script>"
ORIGIN = """
worker_processes 1; pid @WORKDIR@/origin.pid; error_log @WORKDIR@/origin-error.log warn; events { worker_connections 4096; }
http {
    access_log off; keepalive_requests 1000000000; client_body_temp_path @WORKDIR@/ob; proxy_temp_path @WORKDIR@/op; fastcgi_temp_path @WORKDIR@/of;
    uwsgi_temp_path @WORKDIR@/ou; scgi_temp_path @WORKDIR@/os; types { text/html html; } sendfile on; gzip_static on; gzip_proxied any;
    server { listen 127.0.0.1:@ORIGIN@; root @WORKDIR@/site; charset utf-8; }
}
"""
NGINX = """
worker_processes 1; pid @WORKDIR@/nginx.pid; error_log @WORKDIR@/nginx-error.log warn; events { worker_connections 4096; }
http {
    access_log off; keepalive_requests 1000000000; client_body_temp_path @WORKDIR@/nb; proxy_temp_path @WORKDIR@/np; fastcgi_temp_path @WORKDIR@/nf;
    uwsgi_temp_path @WORKDIR@/nu; scgi_temp_path @WORKDIR@/ns;
    upstream origin { server 127.0.0.1:@ORIGIN@; keepalive 64; keepalive_requests 1000000000; }
    server {
        listen 127.0.0.1:@PROXY@;
        location / {
            proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Accept-Encoding "";
            proxy_buffer_size 16k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
            sub_filter '</body>' '@SCRIPT@</body>'; gzip on; gzip_comp_level 1; gzip_min_length 0;
        }
    }
}
"""
AUTHPROXY = """
listen: 127.0.0.1:@PROXY@
upstream: http://127.0.0.1:@ORIGIN@
html: {inject: [{at: body_end, html: "@SCRIPT@"}]}
workers: 1
log: {access: false}
admin: {socket: @WORKDIR@/admin.sock}
"""


def page():
    """Text and markup as articles have them, 100 KiB; the same on every run."""
    chance = random.Random(1)
    words = ["".join(chance.choice("etaoinshrdlucmfw") for _ in range(chance.randint(2, 10))) for _ in range(1500)]
    text = "<!doctype html><html><head><meta charset=utf-8><title>page</title><style>p{margin:1em}</style></head><body>\n"
    while len(text) < 100 * 1024 - 200:
        sentence = " ".join(chance.choice(words) for _ in range(chance.randint(6, 40)))
        text += '<div class="article %s"><a href="/%s/%d" title="%s">%s</a><p>%s.</p></div>\n' % (
            chance.choice(words), chance.choice(words), chance.randrange(10**6), chance.choice(words), chance.choice(words), sentence)
    return text + "</body></html>\n"


class Stage:
    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        folder.chmod(0o755)
        origin, proxy = free_ports(2)
        self.values = {"WORKDIR": folder, "ORIGIN": origin, "PROXY": proxy, "SCRIPT": SCRIPT}
        self.page = page()
        (folder / "site").mkdir()
        (folder / "site/page.html").write_text(self.page)
        (folder / "site/page.html.gz").write_bytes(gzip.compress(self.page.encode(), 6))
        self.origin = Process(self.nginx("origin.conf", ORIGIN), 1, folder / "origin.log")
        self.origin.wait_for_port(origin)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(re.sub(r"@([A-Z]+)@", lambda found: str(self.values[found[1]]), text))
        return path

    def nginx(self, name, text, more=""):
        return ["nginx", "-p", self.folder, "-c", self.write(name, text), "-g", "daemon off;" + more]

    def command(self, name, more=""):
        if name == "nginx":
            return self.nginx("nginx.conf", NGINX, more)
        return [self.binary, "run", "-c", self.write("authproxy.yaml", AUTHPROXY)]

    @contextlib.contextmanager
    def running(self, name, wrapper=(), more=""):
        process = Process([*wrapper, *self.command(name, more)], 0, self.folder / (name + ".log"))
        try:
            process.wait_for_port(self.values["PROXY"], 60)
            yield process
        finally:
            process.stop()

    def check(self, name):
        """The page is edited, and comes as gzip."""
        with self.connection() as connection:
            head, body = self.ask(connection)
        text = gzip.decompress(body).decode()
        expected = self.page.replace("</body>", SCRIPT + "</body>")
        if text != expected or b"gzip" not in head:
            sys.exit("%s does not do its work" % name)

    def connection(self):
        return socket.create_connection(("127.0.0.1", self.values["PROXY"]), 60)

    def ask(self, connection):
        connection.sendall(b"GET /page.html HTTP/1.1\r\nHost: bench.test\r\nAccept-Encoding: gzip\r\nSec-Fetch-Dest: document\r\n\r\n")
        data = b""
        while b"\r\n\r\n" not in data or not data.endswith(b"0\r\n\r\n"):
            part = connection.recv(1 << 18)
            if not part:
                sys.exit("the proxy closed the connection")
            data += part
        head, _, rest = data.partition(b"\r\n\r\n")
        body = b""
        while True:
            size, _, rest = rest.partition(b"\r\n")
            if not int(size, 16):
                return head, body
            body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]

    def rate(self, name, seconds):
        """Requests per CPU-second of the proxy."""
        with self.running(name) as process:
            self.check(name)
            cpu = process.cpu_seconds()
            out = subprocess.run(
                ["taskset", "-c", "1", "wrk", "-t1", "-c16", "-d%ds" % seconds, "-H", "Host: bench.test", "-H", "Accept-Encoding: gzip", "-H",
                 "Sec-Fetch-Dest: document", "http://127.0.0.1:%d/page.html" % self.values["PROXY"]], capture_output=True, text=True).stdout
            cpu = process.cpu_seconds() - cpu
        if "Non-2xx" in out or "Socket errors" in out:
            sys.exit(out)
        return int(re.search(r"(\d+) requests in", out)[1]) / cpu

    def instructions(self, name, count):
        """Instructions per request: what `count` more of them cost."""
        def total(requests):
            log = self.folder / ("callgrind-%s-%d" % (name, requests))
            # The kernel's share is the same work for both: it is not counted.
            wrapper = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=%s" % log]
            with self.running(name, wrapper, " master_process off;") as process:
                self.check(name)
                with self.connection() as connection:
                    for _ in range(requests):
                        self.ask(connection)
                process.child.terminate()
                process.child.wait(120)  # valgrind takes its time
            return int(re.search(r"Collected\s*:\s*(\d+)", log.read_text())[1])
        few = max(10, count // 10)
        return (total(count) - total(few)) / (count - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, help="count instructions of so many requests instead of measuring time")
    parser.add_argument("--binary", default=ROOT / ".build/release/authproxy")
    options = parser.parse_args()
    for needed in ["nginx", "wrk"] + (["valgrind"] if options.count else []):
        if not shutil.which(needed):
            sys.exit(needed + " is not installed")
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as folder:
        stage = Stage(Path(folder), options.binary)
        names = ("authproxy", "nginx")
        try:
            if options.count:
                counts = {name: stage.instructions(name, options.count) for name in names}
                for name in names:
                    print("%-10s %12.0f instructions a request" % (name, counts[name]))
                print("authproxy needs %.2f times what nginx needs" % (counts["authproxy"] / counts["nginx"]))
                return
            rates = {name: [] for name in names}
            for number in range(options.rounds):
                for name in names if number % 2 == 0 else names[::-1]:
                    rates[name].append(stage.rate(name, options.seconds))
                    print("round %d %-10s %8.0f requests a CPU-second" % (number + 1, name, rates[name][-1]), flush=True)
            for name in names:
                print("%-10s median %.0f" % (name, statistics.median(rates[name])))
            ratios = [ours / theirs for ours, theirs in zip(rates["authproxy"], rates["nginx"])]
            print("authproxy does %.2f times what nginx does (%.2f to %.2f)" % (statistics.median(ratios), min(ratios), max(ratios)))
        finally:
            stage.origin.stop()


if __name__ == "__main__":
    main()
