"""The demo page as a person sees it, in a real browser."""
import json, os, re

import pytest

from harness import eventually, free_port

DEMO = """
listen: 127.0.0.1:@LISTEN@
upstream: demo
request:
  set: {Authorization: "Bearer ${env:TOKEN}", X-Env: shown-value}
"""
SECRET = "browser-c4nary"


@pytest.fixture
def page(proxy, browser):
    one = proxy(DEMO, env={"TOKEN": SECRET})
    browser.console.clear()
    browser.go("http://127.0.0.1:%d/" % one.port)
    yield browser
    assert not browser.console, browser.console
    assert SECRET not in browser.script("document.documentElement.outerHTML")
    browser.call("Page.navigate", url="about:blank")  # ends what the page still had open


def test_the_injected_headers_are_shown_and_marked(page):
    assert "shown-value" in page.text and "X-Env" in page.text and "Authorization" in page.text
    marked = page.script("""[...document.querySelectorAll('.injected')].map(e => e.innerText).join('\\n')""")
    assert "Authorization" in marked and "X-Env" in marked and "User-Agent" not in marked


def test_the_secret_is_masked_on_the_page_and_its_source_is_named(page):
    assert SECRET not in page.text and "${env:TOKEN}" in page.text


def test_what_the_client_sent_is_never_run_as_html(proxy, browser):
    one = proxy(DEMO, env={"TOKEN": SECRET})
    browser.go("http://127.0.0.1:%d/%%3Cscript%%3Ewindow.pwned=1%%3C/script%%3E?<img%%20src=x%%20onerror=window.pwned=1>" % one.port)
    assert browser.script("window.pwned === undefined")
    answer = one.ask(target="/?<script>alert(1)</script>", headers={"X-Evil": "<script>alert(1)</script>"})
    assert "<script>alert(1)" not in answer.text


@pytest.mark.parametrize("words, result", [("redirect", r"redirect|200|followed"), ("stream|event|SSE", r"event|tick|\b3\b"),
                                           ("upload", r"\b[\d,. ]+ ?(bytes|octets|KiB|MiB|B)\b"), ("websocket", r"echo|hello|pong|open")])
def test_a_button_of_the_demo_page_does_what_it_says(page, words, result):
    before = page.text
    page.press(words)
    eventually(lambda: page.text != before and re.search(result, page.text[len(os.path.commonprefix([before, page.text])):], re.I), 15,
               "something happens on the page")
    assert not re.search(r"\b(failed|error|undefined|NaN)\b", page.text, re.I), page.text


def test_the_page_fits_a_phone(page):
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    try:
        eventually(lambda: page.script("window.innerWidth") == 360)
        assert page.script("document.documentElement.scrollWidth <= 360"), "the page scrolls sideways"
    finally:
        page.call("Emulation.clearDeviceMetricsOverride")


def test_the_demo_origin_answers_programs_with_json_or_text(proxy):
    one = proxy(DEMO, env={"TOKEN": SECRET})
    told = one.ask(target="/x", headers={"Accept": "application/json"})
    assert told.get("content-type").startswith("application/json") and SECRET not in told.text
    assert "shown-value" in json.dumps(told.json())


def test_the_shipped_configuration_serves_the_demo_page(proxy, browser):
    from harness import ROOT
    text = (ROOT / "config.yaml").read_text()
    port = free_port()
    one = proxy(None, arguments=["-c", str(ROOT / "config.yaml"), "--listen", "127.0.0.1:%d" % port], LISTEN=port)
    browser.go("http://127.0.0.1:%d/" % port)
    assert browser.script("document.querySelectorAll('.injected').length") >= 1
    assert "http://127.0.0.1:%d" % port in one.log(), "the address to open is printed"
    assert len(text.splitlines()) > 15
