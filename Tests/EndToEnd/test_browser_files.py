"""Local files in a remote page, as a person sees it: in a real browser."""
import base64, math, os, struct, wave, zlib
from pathlib import Path

import pytest

from certificates import Certificates
from harness import MIB, eventually, reply

PLAIN = "listen: 127.0.0.1:@LISTEN@"
SECURE = """
listeners:
  - address: 127.0.0.1:@LISTEN@
    tls:
      certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]
"""
RULES = """
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - name: bundle
    match: {extension: [js, mjs, css, png, ttf, woff2, wav, webm]}
    serve: {dir: @FILES@, flat: true, ignore_case: true, fallthrough: true}
  - name: site
    proxy: {upstream: default}
    request: {set: {Authorization: "Bearer ${env:TOKEN}"}}
"""
PAGE = """<!doctype html><title>remote</title><link rel=stylesheet href=/assets/v7/style.css><link rel=icon href=data:,>
<h1>remote page</h1><img id=logo src=/assets/v7/logo.png><script src=/assets/v7/app.js></script><script src=/assets/v7/remote.js></script>
<script type=module src=/assets/v7/module.mjs></script>"""


def png(width, height):
    """A red picture of that size."""
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


class Site:
    """The remote site: what it has, and who asked for what."""

    def __init__(self, pages):
        self.pages, self.seen = pages, []

    def __call__(self, request, wire):
        path = request.target.split("?")[0]
        body = b"".join(wire.pieces(request))
        self.seen.append((request.method, path, request.get("authorization"), body))
        answer = self.pages.get(path)
        if callable(answer):
            return answer(request, wire, body)
        if answer is None:
            return reply(wire, "no", "404 Not Found")
        type, content = answer
        reply(wire, content, headers={"Content-Type": type})

    @property
    def paths(self):
        return [path for _, path, _, _ in self.seen]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=["http", "https"])
def site(request, proxy, origin, browser, certificates, tmp_path):
    """start(pages, files) serves both through the proxy and gives the site; the console has to stay empty."""
    browser.call("Security.setIgnoreCertificateErrors", ignore=True)  # nobody knows the authority

    def start(pages, files):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        one = Site(pages)
        listener = PLAIN if request.param == "http" else SECURE
        running = proxy(listener + RULES, ORIGIN=origin(one).port, FILES=tmp_path, CERTS=certificates.folder, env={"TOKEN": "t0ken"})
        browser.console.clear()
        one.proxy, one.url = running, "%s://127.0.0.1:%d" % (request.param, running.port)
        return one

    yield start
    assert not browser.console, browser.console
    browser.call("Page.navigate", url="about:blank")


def test_script_style_and_picture_of_a_remote_page_come_from_a_local_folder(site, browser):
    one = site(
        {"/": ("text/html", PAGE), "/assets/v7/remote.js": ("text/javascript", "window.remote = true"),
         "/assets/v7/app.js": ("text/javascript", "window.app = 'remote'"), "/assets/v7/style.css": ("text/css", "h1 { color: rgb(9, 9, 9) }")},
        {"app.js": "window.app = 'local'", "style.css": "h1 { color: rgb(1, 2, 3) }", "logo.png": png(7, 3), "module.mjs": "window.module = 'local'"})
    browser.go(one.url)
    eventually(lambda: browser.script("window.module === 'local'"))
    assert browser.script("window.app") == "local" and browser.script("window.remote") is True
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert browser.script("[logo.naturalWidth, logo.naturalHeight]") == [7, 3]
    assert sorted(one.paths) == ["/", "/assets/v7/remote.js"], "the network is asked for the rest alone"
    assert {authorization for _, _, authorization, _ in one.seen} == {"Bearer t0ken"}


def test_a_local_file_that_is_missing_does_not_break_the_page(site, browser):
    one = site({"/": ("text/html", PAGE), "/assets/v7/remote.js": ("text/javascript", ""), "/assets/v7/app.js": ("text/javascript", "window.app = 'remote'"),
                "/assets/v7/style.css": ("text/css", ""), "/assets/v7/logo.png": ("image/png", png(2, 2)), "/assets/v7/module.mjs": ("text/javascript", "")}, {})
    browser.go(one.url)
    assert browser.script("window.app") == "remote" and browser.script("logo.naturalWidth") == 2


FONTS = """<!doctype html><meta charset=utf-8><link rel=icon href=data:,><style>
@font-face { font-family: One; src: url(https://fonts.example/none.ttf), url(/fonts/ONE.Ttf) }
@font-face { font-family: Two; src: url(/deep/er/two.WOFF2) format("woff2") }
span { font: 40px monospace } #one { font-family: One, monospace } #two { font-family: Two, monospace }</style>
<span id=plain>iiiiiiiiiiii</span><br><span id=one>iiiiiiiiiiii</span><br><span id=two>iiiiiiiiiiii</span>"""


def test_fonts_of_any_letter_case_are_replaced_by_local_ones_and_render(site, browser, tmp_path):
    from fontTools.ttLib import TTFont
    source = sorted(Path("/usr/share/fonts").rglob("DejaVuSans-Bold.ttf"))[0]
    packed = TTFont(source)
    packed.flavor = "woff2"
    packed.save(tmp_path / "Two.woff2")
    page = FONTS.replace("url(https://fonts.example/none.ttf), ", "")
    one = site({"/": ("text/html", page)}, {"one.TTF": source.read_bytes()})
    browser.go(one.url)
    for family in ("One", "Two"):
        assert browser.script("document.fonts.load('40px %s').then(faces => faces.length)" % family) == 1
        assert browser.script("document.fonts.check('40px %s')" % family)
    width = lambda name: browser.script("document.getElementById('%s').getBoundingClientRect().width" % name)
    plain, first, second = width("plain"), width("one"), width("two")
    assert abs(first - second) < 1 and abs(first - plain) > 10, "one face in two formats, and not the fallback"
    assert one.paths == ["/"]


def sound(path, seconds=60):
    with wave.open(str(path), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(44100)
        second = b"".join(struct.pack("<hh", *2 * (int(3000 * math.sin(index / 30)),)) for index in range(44100))
        for _ in range(seconds):
            out.writeframes(second)


def test_a_sound_is_played_by_ranges_from_a_local_file(site, browser, tmp_path):
    one = site({"/": ("text/html", "<!doctype html><link rel=icon href=data:,><audio id=a src=/media/s.wav preload=auto muted></audio>")}, {})
    sound(tmp_path / "s.wav")
    browser.go(one.url)
    eventually(lambda: browser.script("a.readyState >= 1"))
    assert abs(browser.script("a.duration") - 60) < 0.1
    assert browser.script("new Promise(done => { a.onseeked = () => done(a.currentTime); a.currentTime = 55 })") == 55
    assert browser.script("a.play().then(() => true)") is True
    eventually(lambda: browser.script("a.currentTime > 55.2"))
    browser.script("a.pause()")
    records = eventually(lambda: [each for each in one.proxy.records() if each.get("path") == "/media/s.wav"])
    assert {each["status"] for each in records} <= {206, 499} and 206 in {each["status"] for each in records}
    assert one.paths == ["/"]


def test_a_video_is_played_from_a_local_file(site, browser, tmp_path):
    one = site({"/": ("text/html", "<!doctype html><link rel=icon href=data:,><canvas id=c width=64 height=48></canvas>"),
                "/watch": ("text/html", "<!doctype html><link rel=icon href=data:,><video id=v src=/media/V.webm muted></video>")}, {})
    browser.go(one.url)
    recorded = browser.script("""new Promise(done => {
        const pen = c.getContext('2d'), recorder = new MediaRecorder(c.captureStream(30), {mimeType: 'video/webm'}), parts = [];
        let frame = 0;
        const draw = setInterval(() => { pen.fillStyle = `hsl(${frame++ * 9}, 90%, 50%)`; pen.fillRect(0, 0, 64, 48) }, 20);
        recorder.ondataavailable = event => parts.push(event.data);
        recorder.onstop = async () => {
            clearInterval(draw);
            const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
            done(btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join('')));
        };
        recorder.start();
        setTimeout(() => recorder.stop(), 1000);
    })""")
    (tmp_path / "v.webm").write_bytes(base64.b64decode(recorded))
    browser.go(one.url + "/watch")
    assert browser.script("v.play().then(() => true)") is True
    eventually(lambda: browser.script("v.videoWidth === 64 && v.currentTime > 0.2"))
    assert one.paths == ["/", "/watch"]


def test_forms_uploads_and_redirects_of_the_page_are_unharmed(site, browser):
    def accept(request, wire, body):
        reply(wire, "", "303 See Other", {"Location": "/done.html"})

    def tell(request, wire, body):
        reply(wire, "%d" % len(body), headers={"Content-Type": "text/plain"})

    one = site({"/": ("text/html", PAGE.replace("<h1>", "<form id=form method=post action=/submit.js><input name=who value=me></form><h1>")),
                "/assets/v7/remote.js": ("text/javascript", ""), "/submit.js": accept, "/done.html": ("text/html", "<link rel=icon href=data:,>done"),
                "/upload.css": tell},
               {"app.js": "", "style.css": "", "logo.png": png(1, 1), "module.mjs": "", "submit.js": "local", "upload.css": "local"})
    browser.go(one.url)
    sent = browser.script("fetch('/upload.css', {method: 'POST', body: new Uint8Array(%d)}).then(answer => answer.text())" % (2 * MIB))
    assert sent == str(2 * MIB)
    browser.script("form.submit()")
    eventually(lambda: browser.script("document.body && document.body.innerText") == "done")
    posted = [(path, body) for method, path, authorization, body in one.seen if method == "POST" and authorization == "Bearer t0ken"]
    assert posted == [("/upload.css", bytes(2 * MIB)), ("/submit.js", b"who=me")]
