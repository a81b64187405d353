"""Pages with something inserted, and pages without their trackers, as a browser shows them."""
import gzip
from urllib.parse import urlsplit

import pytest

from certificates import Certificates
from harness import eventually, reply

STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
INJECT = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
html:
  inject: [{at: head_end, css: brand.css}, {at: body_end, js: badge.js}]
"""
FILES = {"brand.css": "h1 { color: rgb(1, 2, 3) } /* </style> é */",
         "badge.js": "document.body.append(Object.assign(document.createElement('p'), {id: 'badge', textContent: 'badge é </script>'}))"}


def site(pages):
    """A handler for paths with (fields, text)."""
    def handler(request, wire):
        fields, text = pages.get(urlsplit(request.target).path, ({"Content-Type": "text/plain"}, ""))
        text = text.encode() if isinstance(text, str) else text
        if "gzip" in (request.get("accept-encoding") or "") and fields.get("Content-Type", "").startswith("text/html"):
            text, fields = gzip.compress(text), {**fields, "Content-Encoding": "gzip"}
        reply(wire, text, headers=fields)
    return handler


def shown(browser, one, path="/"):
    browser.console.clear()
    browser.go("http://127.0.0.1:%d%s" % (one.port, path))
    return browser


def errors(browser):
    """What the browser's console says, but for the icon that it asks for by itself."""
    return [entry for entry in browser.console if "favicon" not in entry]


@pytest.mark.parametrize("fields, meta", [
    ({}, ""), ({"Content-Security-Policy": STRICT}, ""), ({"Content-Security-Policy-Report-Only": STRICT}, ""),
    ({}, '<meta http-equiv="Content-Security-Policy" content="%s">' % STRICT),
    ({"Content-Security-Policy": "script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'"}, ""),
    ({"Content-Security-Policy": STRICT}, "<meta content=\"script-src &#39;self&#39;\" http-equiv=content-security-policy>"),
])
def test_a_style_and_a_script_at_the_documents_end_change_what_is_shown(proxy, origin, browser, fields, meta):
    page = "<!doctype html><html><head>%s<title>t</title></head><body><h1>site</h1><script src=own.js></script></body></html>" % meta
    upstream = origin(site({"/": ({"Content-Type": "text/html; charset=utf-8", **fields}, page),
                            "/own.js": ({"Content-Type": "text/javascript"}, "window.own = 1")}))
    one = proxy(INJECT, ORIGIN=upstream.port, files=FILES)
    shown(browser, one)
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert browser.script("document.querySelector('#badge').textContent") == "badge é </script>"
    assert browser.script("window.own") == 1, "the page's own scripts run"
    assert not errors(browser)


def test_the_same_over_tls_and_http_2(proxy, origin, browser, tmp_path):
    page = "<!doctype html><html><head><title>t</title></head><body><h1>site</h1></body></html>"
    upstream = origin(site({"/": ({"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": STRICT}, page)}))
    secure = "listeners: [{address: '127.0.0.1:@LISTEN@', tls: {certificates: [{cert: @CERTS@/server.pem, key: @CERTS@/server.key}]}}]"
    one = proxy(INJECT.replace("listen: 127.0.0.1:@LISTEN@", secure), ORIGIN=upstream.port, files=FILES, CERTS=Certificates(tmp_path).folder)
    browser.call("Security.setIgnoreCertificateErrors", ignore=True)  # nobody knows the authority
    browser.console.clear()
    browser.go("https://127.0.0.1:%d/" % one.port)
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert browser.script("document.querySelector('#badge').textContent") == "badge é </script>"
    assert browser.script("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
    assert not errors(browser)


def test_the_pages_policy_still_holds_for_everything_else(proxy, origin, browser):
    page = "<head></head><body><h1>site</h1><script>window.smuggled = 1</script><img src=x onerror='window.smuggled = 2'></body>"
    one = proxy(INJECT, ORIGIN=origin(site({"/": ({"Content-Type": "text/html", "Content-Security-Policy": STRICT}, page)})).port, files=FILES)
    shown(browser, one)
    assert browser.script("document.querySelector('#badge') !== null && window.smuggled === undefined")


def test_what_a_left_policy_forbids_is_not_even_tried(proxy, origin, browser):
    page = "<head></head><body><h1>site</h1></body>"
    policy = {"Content-Type": "text/html", "Content-Security-Policy": "default-src 'self'; style-src 'unsafe-inline'"}
    one = proxy(INJECT + "  csp: leave\n", ORIGIN=origin(site({"/": (policy, page)})).port, files=FILES)
    shown(browser, one)
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert browser.script("document.querySelector('#badge') === null")
    assert not errors(browser)


@pytest.mark.parametrize("label, encoding", [("", "utf-16"), ("; charset=shift_jis", "shift_jis"), ("; charset=windows-1251", "windows-1251"),
                                             ("", "utf-8-sig")])
def test_texts_are_readable_in_pages_of_every_charset(proxy, origin, browser, label, encoding):
    title = {"shift_jis": "表示", "windows-1251": "привет"}.get(encoding, "日本é")
    page = ("<!doctype html><html><head><title>%s</title></head><body><h1>%s</h1></body></html>" % (title, title)).encode(encoding)
    one = proxy(INJECT, ORIGIN=origin(site({"/": ({"Content-Type": "text/html" + label}, page)})).port, files=FILES)
    shown(browser, one)
    assert browser.script("document.title") == title
    assert browser.script("document.querySelector('#badge').textContent") == "badge é </script>"
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert not errors(browser)


def test_by_url_from_a_local_folder_under_a_strict_policy(proxy, origin, browser):
    page = "<head></head><body><h1>site</h1></body>"
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - match: {path: /.authproxy/**}
    serve: {dir: ., strip_prefix: /.authproxy}
  - html: {inject: [{at: head_end, css_url: /.authproxy/brand.css}, {at: body_end, js_url: /.authproxy/badge.js}]}
    proxy: {upstream: default}
""", ORIGIN=origin(site({"/": ({"Content-Type": "text/html", "Content-Security-Policy": "default-src 'none'"}, page)})).port, files=FILES)
    shown(browser, one)
    assert browser.script("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert browser.script("document.querySelector('#badge') !== null")
    assert not errors(browser)


FILTERS = """
! what a browser's blocker would have
/analytics.js^$script
/pixel/*$image
||127.0.0.1^*/ads/
@@/ads/ours.js
/beacon?
"""
TRACKED = """<!doctype html><html><head><title>t</title>
<script src="/analytics.js?id=1"></script><link rel=stylesheet href="/ads/ads.css"><script>window.inline = 1</script></head>
<body><h1>site</h1><img id=pixel src="/pixel/1.gif"><img src="/pixel/2.png"><img id=svg src="/pixel/3.svg"><script src="/ads/tag.js" async></script>
<script src="/ads/ours.js"></script><iframe src="/ads/frame.html"></iframe>
<script>fetch('/beacon?x=1').then(answer => window.beacon = answer.status); fetch('/ads/data.json').then(a => a.json()).then(d => window.data = d)</script>
</body></html>"""


def test_a_page_full_of_trackers_loads_without_one_request_to_them_and_without_an_error(proxy, origin, browser):
    upstream = origin(site({"/": ({"Content-Type": "text/html"}, TRACKED), "/ads/ours.js": ({"Content-Type": "text/javascript"}, "window.ours = 1")}))
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
rules:
  - name: trackers
    match: {url_list: {file: filters.txt, format: adblock}}
    block: true
  - name: rest
    proxy: {upstream: default}
""", ORIGIN=upstream.port, files={"filters.txt": FILTERS})
    shown(browser, one)
    eventually(lambda: browser.script("window.beacon") == 204 and browser.script("JSON.stringify(window.data)") == "{}")
    assert browser.script("window.inline") == 1 and browser.script("window.ours") == 1
    assert browser.script("['#pixel'].every(name => document.querySelector(name).naturalWidth === 1)")
    assert {urlsplit(request.target).path for request in upstream.requests} <= {"/", "/ads/ours.js", "/favicon.ico"}
    assert not errors(browser)
