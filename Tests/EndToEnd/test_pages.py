"""html.inject: pages edited on their way, and everything else left alone."""
import gzip, os, re, signal, threading, zlib
from email.utils import formatdate

import brotli
import pytest
import zstandard

from harness import MIB, Client, eventually, reply
from http2 import HTTP2

INJECT = """
listen: 127.0.0.1:@LISTEN@
upstream: http://127.0.0.1:@ORIGIN@
html:
  inject: [{at: head_end, html: "<!--HE-->"}, {at: body_end, html: "<!--BE-->"}]
"""
PAGE = "<html><head><title>é</title></head><body>%s</body></html>" % "".join("<p>paragraph %d</p>\n" % n for n in range(4000))
EDITED = PAGE.replace("</head>", "<!--HE--></head>").replace("</body>", "<!--BE--></body>").encode()
DOCUMENT = {"Sec-Fetch-Dest": "document", "Accept": "text/html", "Accept-Encoding": "gzip, deflate, br, zstd"}
ENCODE = {
    "gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress,
    "zstd": lambda text: zstandard.ZstdCompressor().compress(text), "identity": lambda text: text,
}
DECODE = {
    "gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress,
    "zstd": lambda text: zstandard.ZstdDecompressor().decompressobj().decompress(text), "identity": lambda text: text,
}


def html(body, coding="identity", **more):
    """A handler that answers with a page in a coding."""
    fields = {"Content-Type": "text/html; charset=utf-8", **({} if coding == "identity" else {"Content-Encoding": coding}), **more}
    return lambda request, wire: reply(wire, body, headers=fields)


def content(answer):
    return DECODE[answer.get("content-encoding") or "identity"](answer.body)


@pytest.mark.parametrize("coding", list(ENCODE))
def test_a_page_is_edited_in_the_coding_that_it_came_in(proxy, origin, coding):
    upstream = origin(html(ENCODE[coding](PAGE.encode()), coding, ETag='"v1"', **{"Content-MD5": "x", "Accept-Ranges": "bytes"}))
    one = proxy(INJECT, ORIGIN=upstream.port)
    with one.client() as client:
        for _ in range(3):  # on one connection, with coders that are used again
            answer = client.ask(headers=DOCUMENT)
            assert content(answer) == EDITED and (answer.get("content-encoding") or "identity") == coding
            assert answer.get("etag").startswith('W/"v1~') and not answer.get("content-md5") and not answer.get("accept-ranges")
            assert "Sec-Fetch-Dest" in answer.all("vary")
    assert upstream.requests[0].get("accept-encoding") == "gzip, deflate, br, zstd"


def test_a_page_in_pieces_of_any_size_is_the_same_page(proxy, origin):
    def drip(request, wire):
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
        data = gzip.compress(PAGE[:2000].encode() + b"</body>")
        for index in range(0, len(data), 7):
            piece = data[index:index + 7]
            wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        wire.send("0\r\n\r\n")
    one = proxy(INJECT, ORIGIN=origin(drip).port)
    expected = (PAGE[:2000] + "</body>").replace("</head>", "<!--HE--></head>").replace("</body>", "<!--BE--></body>")
    assert content(one.ask(headers=DOCUMENT)).decode() == expected


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "identity"])
def test_a_page_that_streams_is_seen_as_it_streams(proxy, origin, coding):
    """The second half is sent only when the first has been seen."""
    seen = threading.Event()
    first, second = b"<html><head></head><body>" + b"<p>first</p>" * 20, b"<p>second</p></body></html>"

    def stream(request, wire):
        named = "" if coding == "identity" else "Content-Encoding: %s\r\n" % coding
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sTransfer-Encoding: chunked\r\n\r\n" % named)
        if coding == "gzip":
            maker = zlib.compressobj(wbits=31)
            parts = [maker.compress(first) + maker.flush(zlib.Z_SYNC_FLUSH), maker.compress(second) + maker.flush()]
        elif coding == "br":
            maker = brotli.Compressor()
            parts = [maker.process(first) + maker.flush(), maker.process(second) + maker.finish()]
        elif coding == "zstd":
            maker = zstandard.ZstdCompressor().compressobj()
            parts = [maker.compress(first) + maker.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK), maker.compress(second) + maker.flush()]
        else:
            parts = [first, second]
        wire.send(b"%x\r\n%s\r\n" % (len(parts[0]), parts[0]))
        assert seen.wait(10)
        wire.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(parts[1]), parts[1]))

    one = proxy(INJECT, ORIGIN=origin(stream).port)
    with one.client() as client:
        client.request(headers=DOCUMENT)
        head = client.head()
        decoder = {"gzip": lambda: zlib.decompressobj(31), "br": brotli.Decompressor,
                   "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(), "identity": None}[coding]
        decoder = decoder() if decoder else None
        step = (lambda data: data) if not decoder else decoder.process if coding == "br" else decoder.decompress
        text = b""
        for piece in client.pieces(head):
            text += step(piece)
            if text.endswith(b"<p>first</p>" * 20):
                seen.set()
        assert text == (first + second).replace(b"</head>", b"<!--HE--></head>").replace(b"</body>", b"<!--BE--></body>")


GZIPPED = gzip.compress(b"<head></head><body></body>", mtime=0)  # is part of names of tests, which must not tell the time


@pytest.mark.parametrize("fields, body, request_headers", [
    ({"Content-Type": "application/json"}, b'{"a":"</body>"}', DOCUMENT),
    ({"Content-Type": "text/html", "Content-Encoding": "gzip"}, GZIPPED, {**DOCUMENT, "Sec-Fetch-Dest": "empty"}),
    ({"Content-Type": "text/html", "Content-Encoding": "gzip"}, GZIPPED, {**DOCUMENT, "Sec-Fetch-Dest": "image"}),
    ({"Content-Type": "text/html", "Content-Encoding": "gzip"}, GZIPPED, {"X-Requested-With": "XMLHttpRequest"}),
    ({"Content-Type": "text/html"}, b"<body></body>", {"Accept": "application/json"}),
    ({"Content-Type": "text/html", "Content-Encoding": "compress"}, b"<body></body>", DOCUMENT),
    ({"Content-Type": "text/html", "Content-Encoding": "gzip, br"}, b"<body></body>", DOCUMENT),
    ({"Content-Type": "text/html", "Cache-Control": "public, no-transform"}, b"<body></body>", DOCUMENT),
    ({"Content-Type": "text/html", "Content-Disposition": "attachment"}, b"<body></body>", DOCUMENT),
    ({"Content-Type": "application/xhtml+xml"}, b"<body></body>", DOCUMENT),
    ({"Content-Type": "text/html; charset=iso-2022-jp"}, b"<body></body>", DOCUMENT),
])
def test_what_is_no_page_is_not_touched_by_a_byte(proxy, origin, fields, body, request_headers):
    fields = {**fields, "ETag": '"v1"', "Content-MD5": "x", "Accept-Ranges": "bytes"}
    one = proxy(INJECT, ORIGIN=origin(lambda request, wire: reply(wire, body, headers=fields)).port)
    answer = one.ask(headers=request_headers)
    assert answer.body == body and answer.get("content-length") == str(len(body))
    assert all(answer.get(name) == value for name, value in fields.items())


def test_large_content_that_is_no_page_is_not_touched_either(proxy, origin):
    body = os.urandom(4 * MIB)
    one = proxy(INJECT, ORIGIN=origin(lambda request, wire: reply(wire, body, headers={"Content-Type": "image/png"})).port)
    assert one.ask(headers={**DOCUMENT}).body == body


@pytest.mark.parametrize("damage", ["cut", "bent"])
def test_a_damaged_page_is_broken_off_and_never_shown_as_complete(proxy, origin, damage):
    data = gzip.compress(os.urandom(400_000).hex().encode())
    data = data[:-5000] if damage == "cut" else data[:300_000] + b"\xff" * 50 + data[300_050:]
    one = proxy(INJECT, ORIGIN=origin(html(data, "gzip")).port)
    with one.client() as client:
        client.request(headers=DOCUMENT)
        head = client.head()
        with pytest.raises(Exception) as ended:
            for _ in client.pieces(head):
                pass
        assert ended.type.__name__ in ("Gone", "ConnectionResetError")
    assert one.ask(headers={"Sec-Fetch-Dest": "empty"}).body == data, "others are served on"


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_streams_of_http_2_carry_edited_pages_beside_others(proxy, origin, coding):
    upstream = origin(html(ENCODE[coding](PAGE.encode()), coding))
    one = proxy(INJECT.replace("listen: 127.0.0.1:@LISTEN@", "listeners: [{address: '127.0.0.1:@LISTEN@', h2c: true}]"), ORIGIN=upstream.port)
    with HTTP2(one.port) as client:
        for fields in ({}, {"sec-fetch-dest": "empty"}, {}):
            answer = client.fetch(fields=[("accept-encoding", coding), *fields.items()])
            assert DECODE[coding](answer.body) == (PAGE.encode() if fields else EDITED)


def test_a_client_with_http_1_0_gets_a_page_that_ends_with_the_connection(proxy, origin):
    one = proxy(INJECT, ORIGIN=origin(html(PAGE)).port)
    answer = one.ask(headers=DOCUMENT, version="1.0")
    assert answer.body == EDITED and not answer.get("transfer-encoding") and not answer.get("content-length")


def test_an_error_page_is_a_page_and_a_head_tells_no_length(proxy, origin):
    def handler(request, wire):
        if request.method == "HEAD":
            return wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\nETag: \"v\"\r\n\r\n")
        reply(wire, "<body>gone</body>", "404 Not Found", {"Content-Type": "text/html"})
    one = proxy(INJECT, ORIGIN=origin(handler).port)
    assert one.ask(headers=DOCUMENT).text == "<!--HE--><body>gone<!--BE--></body>"
    with one.client() as client:
        answer = client.ask("HEAD", headers=DOCUMENT)
        assert not answer.get("content-length") and answer.get("etag").startswith('W/"v~')
        assert client.ask(headers=DOCUMENT).status == 404, "the connection goes on"


def test_conditions_are_put_to_the_origin_in_its_own_terms(proxy, origin):
    def handler(request, wire):
        if request.get("if-none-match") in ('"v1"', 'W/"v2"'):
            return wire.send("HTTP/1.1 304 Not Modified\r\nETag: %s\r\nContent-Security-Policy: script-src 'self'\r\n\r\n"
                             % request.get("if-none-match"))
        reply(wire, "<body>x</body>", headers={"Content-Type": "text/html", "ETag": '"v1"' if request.target == "/1" else 'W/"v2"'})
    upstream = origin(handler)
    one = proxy(INJECT, ORIGIN=upstream.port)
    for target in ("/1", "/2"):
        tag = one.ask(target=target, headers=DOCUMENT).get("etag")
        answer = one.ask(target=target, headers={**DOCUMENT, "If-None-Match": tag, "If-Modified-Since": "Tue, 01 Jan 2030 00:00:00 GMT"})
        assert answer.status == 304 and answer.get("etag") == tag and not answer.get("content-security-policy")
        assert not upstream.requests[-1].get("if-modified-since")
    # With something else inserted it is another page.
    one.write(INJECT.replace("BE--", "other--"))
    assert one.run("reload", "-c", str(one.config)).returncode == 0
    answer = one.ask(target="/1", headers={**DOCUMENT, "If-None-Match": tag})
    assert answer.status == 200 and "other" in answer.text and answer.get("etag") != tag
    # A picture's validator passes.
    one.ask(headers={"If-None-Match": '"picture"', "Accept": "*/*"})
    assert upstream.requests[-1].get("if-none-match") == '"picture"'


def test_a_changed_page_is_stored_where_the_origins_page_is_still_the_same(proxy, origin):
    state = {"tag": '"v1"'}

    def handler(request, wire):
        for _ in wire.pieces(request):
            pass
        if request.method == "PUT":
            if request.get("if-match") != state["tag"]:
                return reply(wire, "", "412 Precondition Failed")
            state["tag"] = '"v2"'
        reply(wire, "<body>x</body>", headers={"Content-Type": "text/html", "ETag": state["tag"]})
    one = proxy(INJECT, ORIGIN=origin(handler).port)
    tag = one.ask(headers=DOCUMENT).get("etag")
    store = {"Sec-Fetch-Dest": "empty", "If-Match": tag}
    assert one.ask("PUT", "/", b"y", headers=store).status == 200
    assert one.ask("PUT", "/", b"z", headers=store).status == 412, "somebody was faster"


def test_the_time_of_an_edited_page_is_nobodys(proxy, origin):
    since = "Tue, 01 Jan 2030 00:00:00 GMT"

    def handler(request, wire):
        if request.get("if-modified-since"):
            return wire.send("HTTP/1.1 304 Not Modified\r\n\r\n")
        reply(wire, "<body>x</body>", headers={"Content-Type": "text/html", "Last-Modified": since})
    one = proxy(INJECT, ORIGIN=origin(handler).port)
    for headers in (DOCUMENT, {"Accept": "text/html"}):
        answer = one.ask(headers=headers)
        assert "BE" in answer.text and not answer.get("last-modified")
        assert "BE" in one.ask(headers={**headers, "If-Modified-Since": since}).text
    other = {"Sec-Fetch-Dest": "empty"}
    assert one.ask(headers=other).get("last-modified") == since
    assert one.ask(headers={**other, "If-Modified-Since": since}).status == 304


@pytest.mark.parametrize("headers, fields", [
    (DOCUMENT, "Sec-Fetch-Dest"), ({"Sec-Fetch-Dest": "empty", "Accept": "*/*"}, "Sec-Fetch-Dest"),
    ({"Sec-Fetch-Dest": "document", "X-Requested-With": "XMLHttpRequest"}, "Sec-Fetch-Dest"),
    ({"X-Requested-With": "XMLHttpRequest", "Accept": "text/html"}, "Sec-Fetch-Dest, X-Requested-With"),
    ({"Accept": "text/html", "Referer": "http://app.test/"}, "Sec-Fetch-Dest, X-Requested-With, Accept"),
    ({"Accept": "image/png"}, "Sec-Fetch-Dest, X-Requested-With, Accept"),
    ({"Accept": "*/*"}, "Sec-Fetch-Dest, X-Requested-With, Accept, Origin, Referer"),
    ({"Accept": "image/png, text/*;q=0.1", "Origin": "http://app.test"}, "Sec-Fetch-Dest, X-Requested-With, Accept, Origin, Referer"),
    ({}, "Sec-Fetch-Dest, X-Requested-With, Accept, Origin, Referer"),
])
def test_vary_names_what_decides_whether_a_page_is_edited(proxy, origin, headers, fields):
    def handler(request, wire):
        if request.get("if-none-match"):
            typed = "Content-Type: text/css\r\n" if request.target == "/x.css" else ""
            return wire.send("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n%s\r\n" % typed)
        reply(wire, "<body>x</body>", headers={"Content-Type": "text/html" if request.target == "/" else "text/css", "ETag": '"1"'})
    one = proxy(INJECT, ORIGIN=origin(handler).port)
    answer = one.ask(headers=headers)
    assert answer.all("vary") == [fields]
    assert not one.ask(target="/x.css", headers=headers).all("vary")
    # What a 304 says of a page takes the place of what was kept (RFC 9111 section 4.3.4).
    kept = one.ask(headers={**headers, "If-None-Match": answer.get("etag")})
    assert (kept.status, kept.all("vary"), kept.get("etag")) == (304, [fields], answer.get("etag"))
    style = one.ask(target="/x.css", headers={**headers, "If-None-Match": '"1"'})
    assert style.status == (200 if "document" in headers.values() else 304) and not style.all("vary")


def test_a_304_of_a_local_file_has_the_vary_of_its_200(proxy, tmp_path):
    for name, text in (("a.css", "x{}" * 999), ("a.html", "<body>x</body>" * 99)):
        (tmp_path / name).write_text(text)
    one = proxy("listen: 127.0.0.1:@LISTEN@\nserve: {dir: %s}\nhtml: {inject: [{at: body_end, html: <i>1</i>}]}\n" % tmp_path)
    for name in ("a.css", "a.html"):
        whole = one.ask(target="/" + name, headers={"Accept": "*/*"})
        kept = one.ask(target="/" + name, headers={"Accept": "*/*", "If-None-Match": whole.get("etag")})
        assert (whole.status, kept.status) == (200, 304) and kept.all("vary") == whole.all("vary")


def test_validators_of_local_pages_tell_what_was_inserted(proxy, tmp_path):
    (tmp_path / "index.html").write_text("<body>local</body>")
    text = "listen: 127.0.0.1:@LISTEN@\nserve: {dir: %s}\nhtml: {inject: [{at: body_end, html: %%s}]}\n" % tmp_path
    one = proxy(text % "<i>1</i>")
    first = one.ask(headers=DOCUMENT)
    tag = first.get("etag")
    assert first.body == b"<body>local<i>1</i></body>" and tag.startswith("W/")
    same = one.ask(headers={**DOCUMENT, "If-None-Match": tag})
    assert same.status == 304 and same.get("etag") == tag
    assert not first.get("last-modified")
    written = formatdate((tmp_path / "index.html").stat().st_mtime, usegmt=True)
    for more in ({"If-Modified-Since": written}, {"Range": "bytes=3-", "If-Range": written}):
        answer = one.ask(headers={**DOCUMENT, **more})
        assert answer.status == 200 and answer.body == first.body
    plain = one.ask(headers={"Sec-Fetch-Dest": "empty"})
    assert plain.body == b"<body>local</body>" and "Sec-Fetch-Dest" in plain.all("vary")
    one.write(text % "<i>2</i>")
    one.signal(signal.SIGHUP)
    eventually(lambda: one.ask(headers={**DOCUMENT, "If-None-Match": tag}).body == b"<body>local<i>2</i></body>")


def test_policies_get_a_fresh_nonce_each_time(proxy, origin):
    policies = ["script-src 'self'", "default-src 'none'; style-src 'self', script-src https:"]

    def handler(request, wire):
        fields = "".join("Content-Security-Policy: %s\r\n" % one for one in policies)
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=60\r\n%sContent-Length: 21\r\n\r\n<head></head><p>x</p>" % fields)
    one = proxy(INJECT.replace('html: "<!--BE-->"', "js: a.js").replace('html: "<!--HE-->"', "css: a.css"), ORIGIN=origin(handler).port,
                files={"a.js": "1", "a.css": "p{}"})
    nonces = set()
    for _ in range(3):
        answer = one.ask(headers=DOCUMENT)
        nonce = re.search(r'<script nonce="([^"]+)">1</script>', answer.text)[1]
        nonces.add(nonce)
        assert '<style nonce="%s">p{}</style></head>' % nonce in answer.text
        added = " 'nonce-%s'" % nonce
        assert answer.all("content-security-policy") == [
            policies[0] + added, "default-src 'none'; style-src 'self'%s; script-src-elem%s, script-src https:%s" % (added, added, added)]
        assert "private" in answer.all("cache-control"), "no shared cache hands one nonce to many"
    assert len(nonces) == 3


def test_edits_of_the_response_have_the_last_word_and_locations_are_mapped(proxy, origin):
    def handler(request, wire):
        reply(wire, "<body>x</body>", headers={"Content-Type": "text/html", "Content-Location": "http://127.0.0.1:%d/x" % upstream.port,
                                               "ETag": '"v"', "Server": "old"})
    upstream = origin(handler)
    one = proxy(INJECT + "response: {set: {ETag: '\"own\"', X-New: a}, remove: [Server, Vary]}\n", ORIGIN=upstream.port)
    answer = one.ask(headers=DOCUMENT, host="127.0.0.1:%d" % one.port)
    assert answer.text.endswith("x<!--BE--></body>") and answer.get("x-new") == "a" and answer.get("etag") == '"own"'
    assert not answer.get("server") and not answer.get("vary")
    assert answer.get("content-location") == "http://127.0.0.1:%d/x" % one.port


def test_local_files_and_fixed_answers_are_pages_too_but_blocked_ones_are_not(proxy):
    one = proxy("""
listen: 127.0.0.1:@LISTEN@
rules:
  - html: {inject: [{at: body_end, html: "<!--BE-->"}]}
  - match: {path: /fixed}
    respond: {headers: {Content-Type: text/html}, body: "<body>fixed</body>"}
  - match: {path: /ads/**}
    block: true
  - serve: {dir: .}
""", files={"page.html": PAGE})
    assert one.ask(target="/fixed", headers=DOCUMENT).text == "<body>fixed<!--BE--></body>"
    assert content(one.ask(target="/page.html", headers=DOCUMENT)) == PAGE.replace("</body>", "<!--BE--></body>").encode()
    assert "BE" not in one.ask(target="/ads/x.html", headers=DOCUMENT).text


SIZE = int(os.environ.get("AUTHPROXY_TEST_PAGE_MIB", "64"))


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_huge_page_takes_no_memory(proxy, origin, coding):
    block = ("<p title='x'>" + "text " * 200 + "</p>\n") * (MIB // 1020)

    def stream(request, wire):
        named = "" if coding == "identity" else "Content-Encoding: gzip\r\n"
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sConnection: close\r\n\r\n" % named)
        maker = zlib.compressobj(1, wbits=31) if coding == "gzip" else None
        for part in ["<html><head></head><body>"] + [block] * SIZE + ["</body></html>"]:
            wire.send(maker.compress(part.encode()) if maker else part.encode())
        if maker:
            wire.send(maker.flush())
        return "close"

    one = proxy(INJECT, ORIGIN=origin(stream).port)
    one.ask(headers=DOCUMENT) if SIZE <= 64 else None
    before = one.memory()
    with one.client(timeout=120) as client:
        client.request(headers=DOCUMENT)
        head = client.head()
        decoder = zlib.decompressobj(31) if head.get("content-encoding") else None
        total, tail = 0, b""
        for piece in client.pieces(head):
            text = decoder.decompress(piece) if decoder else piece
            total += len(text)
            tail = (tail + text)[-40:]
    assert total == len(block) * SIZE + len("<html><head></head><body></body></html>") + 18 and tail.endswith(b"<!--BE--></body></html>")
    assert one.memory("VmHWM") - before < 6 * 1024, "KiB"


def test_a_page_that_stands_for_gigabytes_waits_for_its_reader(proxy, origin):
    maker = zlib.compressobj(9, wbits=31)
    bomb = maker.compress(b"<body>") + b"".join(maker.compress(b" " * MIB) for _ in range(256)) + maker.flush()
    one = proxy(INJECT, ORIGIN=origin(html(bomb, "gzip")).port)
    plain = one.ask(headers=DOCUMENT)
    assert plain.status == 200
    before = one.memory()
    clients = [Client(one.port, receive_buffer=4096) for _ in range(8)]
    for client in clients:
        client.request(headers=DOCUMENT)
    heads = [client.head() for client in clients]
    assert all(head.status == 200 for head in heads)
    # Meanwhile others are served.
    for _ in range(5):
        assert one.ask(headers={"Sec-Fetch-Dest": "empty"}).status == 200
    assert one.memory("VmHWM") - before < 24 * 1024, "KiB"
    for client in clients:
        client.close()
    eventually(lambda: one.ask(headers={"Sec-Fetch-Dest": "empty"}).status == 200)
