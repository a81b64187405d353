"""The shipped units, image and file set, as far as a test can try them."""
import os, re, shutil, subprocess
from pathlib import Path

import pytest

from harness import BINARY, ROOT, Client, eventually, free_port

DEPLOY = ROOT / "deploy"


def test_systemd_accepts_the_units(tmp_path):
    for name in ("authproxy.service", "authproxy.socket"):
        text = (DEPLOY / name).read_text().replace("/usr/local/bin/authproxy", str(BINARY))
        (tmp_path / name).write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / "authproxy.service", tmp_path / "authproxy.socket"],
                          capture_output=True, text=True)
    told = [line for line in done.stderr.splitlines() if "authproxy" in line]
    assert done.returncode == 0 and not told, done.stderr


def test_systemd_finds_the_service_well_confined():
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", DEPLOY / "authproxy.service"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    exposure = re.search(r"Overall exposure level[^:]*: ([\d.]+)", done.stdout)
    assert float(exposure[1]) <= 2.0


def libraries(binary):
    """What the loader maps for the binary."""
    shown = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(/[^ \n]+)(?= \(0x)", shown)]


def test_the_binary_needs_only_what_the_image_has():
    """The image is Debian's slim one with these libraries; Swift's own are linked in."""
    names = {path.name for path in libraries(BINARY)}
    base = r"(ld-linux.*|libc|libm|libgcc_s|libstdc\+\+|libdl|libpthread|librt|libresolv)\.so.*|ld-linux-.*"
    packages = {"libyaml-0.so.2": "libyaml-0-2", "libre2.so.9": "libre2-9", "libz.so.1": "zlib1g", "libisal.so.2": "libisal2", "libzstd.so.1": "libzstd1",
                "libbrotlidec.so.1": "libbrotli1", "libbrotlienc.so.1": "libbrotli1", "libbrotlicommon.so.1": "libbrotli1",
                "libssl.so.3": "libssl3", "libcrypto.so.3": "libssl3", "libnghttp2.so.14": "libnghttp2-14"}
    assert {name for name in names if not re.fullmatch(base, name)} == packages.keys()
    image = (DEPLOY / "Dockerfile").read_text().split("FROM debian")[1]
    assert all(package in image for package in packages.values())
    assert not any("swift" in name.lower() or "Foundation" in name for name in names)


@pytest.fixture
def jail():
    """A folder that holds the runtime files of the image and nothing else."""
    import tempfile
    folder = Path(tempfile.mkdtemp(prefix="jail-"))
    for path in [*libraries(BINARY), BINARY]:
        target = folder / "usr/local/bin/authproxy" if path == BINARY else folder / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "run").mkdir(exist_ok=True)
    (folder / "proc").mkdir(exist_ok=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_runtime_file_set_runs_in_a_root_of_its_own(jail, proxy, origin):
    port, source = free_port(), origin()
    (jail / "etc/config.yaml").write_text("listen: 127.0.0.1:%d\nupstream: %s\nrequest: {set: {X-Env: jailed}}\n" % (port, source.url))
    one = proxy(None, LISTEN=port, run=False)
    one.argv = ["unshare", "-r", "-m", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"', str(jail),
                "/usr/local/bin/authproxy", "run", "-c", "/etc/config.yaml"]
    one.env["XDG_RUNTIME_DIR"] = "/run"
    one.start()
    assert dict(one.ask(target="/jail").json()["fields"])["X-Env"] == "jailed"


def test_the_image_is_small_unprivileged_and_checks_its_health():
    text = (DEPLOY / "Dockerfile").read_text()
    assert len(re.findall(r"^FROM ", text, re.M)) == 2
    assert re.search(r"^USER 65532", text, re.M) and re.search(r"^HEALTHCHECK ", text, re.M)
    assert re.search(r"^ENTRYPOINT \[", text, re.M), "signals reach the proxy itself"


def test_the_proxy_runs_as_an_unprivileged_user_with_a_read_only_root(proxy, origin):
    port, source = free_port(), origin()
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n", LISTEN=port, ORIGIN=source.port, run=False)
    for path in (one.folder, one.runtime):
        os.chmod(path, 0o755)
        os.chown(path, 65532, 65532)
    binary = one.folder / "authproxy"
    shutil.copy(BINARY, binary)
    if os.geteuid() != 0:  # is unprivileged as it is
        assert one.start().ask(target="/unprivileged").status == 200
        return
    one.argv = ["unshare", "-m", "sh", "-c", 'mount -o remount,bind,ro / 2>/dev/null || mount --bind / / && mount -o remount,bind,ro /; '
                'exec setpriv --reuid 65532 --regid 65532 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"', "sh",
                str(binary), "run", "-c", str(one.config)]
    one.start()
    assert one.ask(target="/unprivileged").json()["target"] == "/unprivileged"
