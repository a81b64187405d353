#!/usr/bin/env python3
"""Serving files beside nginx: requests and bytes per CPU-second, one worker on CPU 0, wrk on CPU 1.

  bench/files.py [--binary .build/release/authproxy] [--rounds 7] [--seconds 2] [--connections 32]

Rounds are interleaved, and each of ours is compared with the nginx round behind it: only the ratio counts. nginx is Debian's, with its
default `sendfile on`, without open_file_cache and access log. Fails when a ratio is below 1.1, which is what is promised.
"""
import argparse, os, re, shutil, socket, statistics, subprocess, sys, tempfile, time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
FILES = {"1 KiB": 1024, "1 MiB": 1 << 20}
NGINX = """
worker_processes 1; pid %(folder)s/pid; error_log %(folder)s/error.log; daemon off; master_process off; %(user)s
events { worker_connections 512; }
http { access_log off; sendfile on; keepalive_requests 100000000; %(scratch)s
  server { listen 127.0.0.1:%(port)d; root %(folder)s/files; } }
"""
OURS = "listen: 127.0.0.1:%(port)d\nworkers: 1\nlog: {access: false}\nserve: {dir: %(folder)s/files}\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def start(folder, argv, port):
    process = subprocess.Popen(["taskset", "-c", "0", *argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except OSError:
            time.sleep(0.05)
    sys.exit("%s does not listen" % argv[0])


def cpu_seconds(pid):
    fields = Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def measure(pid, url, options):
    before = cpu_seconds(pid)
    shown = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", "-c%d" % options.connections, "-d%ds" % options.seconds, url],
                           capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in shown:
        sys.exit("not every answer was the file: " + shown)
    return int(re.search(r"(\d+) requests in", shown)[1]) / (cpu_seconds(pid) - before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(Path(__file__).resolve().parents[1] / ".build/release/authproxy"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args()
    folder, failed = Path(tempfile.mkdtemp(prefix="files-")), False
    (folder / "files").mkdir()
    ports = {"ours": free_port(), "nginx": free_port()}
    scratch = "".join("%s_temp_path %s/%s; " % (kind, folder, kind) for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "config.yaml").write_text(OURS % {"port": ports["ours"], "folder": folder})
    (folder / "nginx.conf").write_text(NGINX % {"port": ports["nginx"], "folder": folder, "scratch": scratch, "user": "user root;" if os.geteuid() == 0 else ""})
    for size in FILES.values():
        (folder / "files" / str(size)).write_bytes(os.urandom(size))
    os.sync()
    time.sleep(2.5)  # files that have just been written are not kept in memory
    processes = {"ours": start(folder, [options.binary, "run", "-c", "config.yaml"], ports["ours"]),
                 "nginx": start(folder, [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"], ports["nginx"])}
    try:
        for title, size in FILES.items():
            ratios, rates = [], {"ours": [], "nginx": []}
            for _ in range(options.rounds):
                for name, process in processes.items():
                    rates[name].append(measure(process.pid, "http://127.0.0.1:%d/%d" % (ports[name], size), options))
                ratios.append(rates["ours"][-1] / rates["nginx"][-1])
            ratio = statistics.median(ratios)
            failed = failed or ratio < 1.1
            print("%s: authproxy %.0f, nginx %.0f requests (%.0f, %.0f MiB) per CPU-second, ratio %.2f (%.2f to %.2f)" % (
                title, *(statistics.median(rates[name]) for name in rates), *(statistics.median(rates[name]) * size / 2**20 for name in rates),
                ratio, min(ratios), max(ratios)), flush=True)
    finally:
        for process in processes.values():
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
