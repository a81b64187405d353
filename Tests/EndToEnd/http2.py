"""A client of HTTP/2 that sends any frame it is told to, well formed or not, and tells what came back."""
import socket, struct, time

import hpack

from harness import PATIENCE, Client

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 0x1, 0x1, 0x4, 0x8, 0x20
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, \
    COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(12)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
ENABLE_CONNECT_PROTOCOL, NO_RFC7540_PRIORITIES = 8, 9


def frame(kind, flags, stream, payload=b"", length=None):
    return struct.pack("!I", len(payload) if length is None else length)[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def settings(pairs=(), flags=0):
    return frame(SETTINGS, flags, 0, b"".join(struct.pack("!HI", *pair) for pair in dict(pairs).items()))


def request(method="GET", path="/", authority="app.test", scheme="http", fields=()):
    return [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path), *fields]


class Frame:
    def __init__(self, head, payload):
        self.length, self.kind, self.flags, self.stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:9], "big")
        self.payload = payload

    @property
    def code(self):
        """Of RST_STREAM and GOAWAY."""
        return int.from_bytes(self.payload[:4] if self.kind == RST_STREAM else self.payload[4:8], "big")

    @property
    def last(self):
        """Of GOAWAY."""
        return int.from_bytes(self.payload[:4], "big")

    def __repr__(self):
        return "<frame %d flags %x stream %d %r>" % (self.kind, self.flags, self.stream, self.payload[:40])


class Answer:
    """What one stream has brought: interim heads, head, content, trailers; how it ended."""

    def __init__(self):
        self.interim, self.fields, self.body, self.trailers, self.ended, self.reset = [], None, b"", None, False, None

    @property
    def status(self):
        return int(self.get(":status")) if self.fields else None

    def get(self, name, default=None):
        return dict(self.fields or []).get(name, default)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class HTTP2(Client):
    """A connection; `greet` sends the preface and SETTINGS. Windows are opened as content comes, unless `opens` is False."""

    def __init__(self, address, greet=True, initial=(), opens=True, **options):
        super().__init__(address, **options)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 24
        self.opens, self.answers, self.goaway, self.peer, self.frames, self.block = opens, {}, None, {}, [], None
        self.windows, self.ended_by_peer = {0: 65535}, False
        self.next_stream = 1
        if greet:
            self.send(PREFACE + settings(initial))

    # --- Sending

    def encode(self, fields):
        return self.encoder.encode([(name, value) for name, value in fields], huffman=True)

    def headers(self, stream, fields, end=True, flags=END_HEADERS):
        self.send(frame(HEADERS, flags | (END_STREAM if end else 0), stream, self.encode(fields)))
        return stream

    def ask_on(self, method="GET", path="/", body=None, fields=(), **more):
        """Opens the next stream; returns its number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.headers(stream, request(method, path, fields=fields, **more), end=body is None)
        if body is not None:
            self.data(stream, body)
        return stream

    def data(self, stream, content, end=True):
        """As the proxy's windows allow, and until it resets the stream."""
        while self.answer_of(stream).reset is None:
            room = min(self.window(0), self.window(stream), 16384, len(content))
            if room > 0 or not content:
                self.send(frame(DATA, END_STREAM if end and room == len(content) else 0, stream, content[:room]))
                self.windows[0] -= room
                self.windows[stream] = self.window(stream) - room
                content = content[room:]
                if not content:
                    return
            else:
                self.read()

    def window(self, stream):
        return self.windows.setdefault(stream, self.peer.get(INITIAL_WINDOW_SIZE, 65535))

    def reset(self, stream, code=CANCEL):
        self.send(frame(RST_STREAM, 0, stream, struct.pack("!I", code)))

    def open_window(self, stream, by):
        self.send(frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", by)))

    # --- Receiving

    def answer_of(self, stream):
        return self.answers.setdefault(stream, Answer())

    def read(self):
        """The next frame, worked through."""
        head = self.take(9)
        one = Frame(head, self.take(int.from_bytes(head[:3], "big")))
        self.frames.append(one)
        if one.kind == SETTINGS and not one.flags & ACK:
            for at in range(0, one.length, 6):
                key, value = struct.unpack_from("!HI", one.payload, at)
                if key == INITIAL_WINDOW_SIZE:
                    for stream in self.windows:
                        self.windows[stream] += (value - self.peer.get(key, 65535)) if stream else 0
                self.peer[key] = value
            self.try_send(settings(flags=ACK))
        elif one.kind == PING and not one.flags & ACK:
            self.try_send(frame(PING, ACK, 0, one.payload))
        elif one.kind == GOAWAY:
            self.goaway = one
        elif one.kind == WINDOW_UPDATE:
            self.windows[one.stream] = self.window(one.stream) + int.from_bytes(one.payload, "big")
        elif one.kind == RST_STREAM:
            self.answer_of(one.stream).reset = one.code
        elif one.kind in (HEADERS, CONTINUATION):
            self.block = (self.block or b"") + one.payload
            self.block_ends = self.block_ends if one.kind == CONTINUATION else bool(one.flags & END_STREAM)
            if one.flags & END_HEADERS:
                self.fields_of(one.stream, self.decoder.decode(self.block), self.block_ends)
                self.block = None
        elif one.kind == DATA:
            answer = self.answer_of(one.stream)
            answer.body += one.payload
            answer.ended = answer.ended or bool(one.flags & END_STREAM)
            if self.opens and one.length:
                self.try_send(frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", one.length)))
                if not answer.ended:
                    self.try_send(frame(WINDOW_UPDATE, 0, one.stream, struct.pack("!I", one.length)))
        return one

    def fields_of(self, stream, fields, ends):
        answer = self.answer_of(stream)
        status = dict(fields).get(":status")
        if status and int(status) < 200:
            answer.interim.append(fields)
        elif answer.fields is None:
            answer.fields = fields
        else:
            answer.trailers = fields
        answer.ended = answer.ended or ends

    def try_send(self, data):
        try:
            self.send(data)
        except OSError:
            pass

    def until(self, condition, seconds=PATIENCE):
        """Reads frames until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "not within %s s; last frames: %r" % (seconds, self.frames[-5:])
            self.socket.settimeout(max(0.05, deadline - time.monotonic()))
            self.read()
        return self

    def response(self, stream, seconds=PATIENCE):
        """The whole answer on a stream; or what there is of it when it is reset."""
        self.until(lambda: self.answer_of(stream).ended or self.answer_of(stream).reset is not None, seconds)
        return self.answer_of(stream)

    def fetch(self, method="GET", path="/", body=None, fields=(), **more):
        return self.response(self.ask_on(method, path, body, fields, **more))

    def ping(self):
        """Everything that was sent before has been read by the proxy, and answered as far as it is answered at once."""
        self.send(frame(PING, 0, 0, b"are you "))
        self.until(lambda: any(one.kind == PING and one.flags & ACK for one in self.frames))
        self.frames.clear()
        return self

    def outcome(self, stream=None, seconds=PATIENCE):
        """How the connection or the stream was ended: ("goaway", code), ("reset", code) or ("closed", None); None: not at all."""
        try:
            self.until(lambda: self.goaway or stream and self.answer_of(stream).reset is not None, seconds)
        except (EOFError, ConnectionError, OSError, AssertionError) as error:
            if isinstance(error, (TimeoutError, AssertionError)):
                return None
            return ("closed", None)
        except Exception as error:  # the end of the connection
            if type(error).__name__ == "Gone":
                return ("closed", None)
            raise
        return ("goaway", self.goaway.code) if self.goaway else ("reset", self.answer_of(stream).reset)
