"""A real browser, driven over its DevTools protocol."""
import json, os, shutil, signal, subprocess, tempfile
from pathlib import Path

from websockets.sync.client import connect

from harness import ask, eventually


class Browser:
    """A headless Chromium, driven over its DevTools protocol."""

    def __init__(self, *options):
        self.folder = Path(tempfile.mkdtemp(prefix="chromium-"))
        program = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0", "--window-size=1100,1400",
             "--user-data-dir=%s" % self.folder, *options, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        marker = self.folder / "DevToolsActivePort"
        eventually(lambda: marker.exists() and marker.read_text().count("\n") >= 1, 40, "the browser is up")
        self.port = int(marker.read_text().split("\n")[0])
        page = eventually(self.pages, 30, "the browser has a page")[0]
        self.connection = connect(page["webSocketDebuggerUrl"], max_size=None)
        self.socket = self.connection.__enter__()
        self.number, self.console = 0, []
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def pages(self):
        try:
            return [one for one in ask(self.port, target="/json", host="127.0.0.1:%d" % self.port).json() if one["type"] == "page"]
        except OSError:
            return []

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(20))
            if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(message["params"]))
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    def script(self, source):
        """What the source gives, as if a person had asked for it by a gesture."""
        result = self.call("Runtime.evaluate", expression=source, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def go(self, url):
        self.call("Page.navigate", url=url)
        eventually(lambda: self.script("document.readyState === 'complete' && location.href !== 'about:blank'"), 20)

    @property
    def text(self):
        return self.script("document.body.innerText")

    def press(self, words):
        found = self.script("""(() => { const one = [...document.querySelectorAll('button, a, input[type=submit], input[type=button]')]
            .find(e => /%s/i.test(e.innerText || e.value)); if (one) one.click(); return !!one })()""" % words)
        assert found, "no button for /%s/" % words

    def close(self):
        self.connection.__exit__(None, None, None)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
