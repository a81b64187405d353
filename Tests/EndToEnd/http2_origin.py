"""An origin that speaks HTTP/2: each stream is given to a handler in a thread of its own."""
import queue, socket, ssl, threading

import h2.config, h2.connection, h2.errors, h2.events, h2.exceptions, h2.settings

from harness import PATIENCE, Gone, connections


class Stream:
    """One request as its handler sees it, and what it answers."""

    def __init__(self, connection, number, fields):
        self.connection, self.number = connection, number
        self.pseudo = {name: value for name, value in fields if name.startswith(":")}
        self.fields = [(name, value) for name, value in fields if not name.startswith(":")]
        self.method, self.target = self.pseudo.get(":method"), self.pseudo.get(":path")
        self.events, self.trailers, self.reset, self.body = queue.Queue(), [], None, b""

    def all(self, name):
        return [value for key, value in self.fields if key == name.lower()]

    def get(self, name, default=None):
        return (self.all(name) or [default])[0]

    def pieces(self):
        """The content as it arrives; the window is opened again for what was taken."""
        while (piece := self.events.get(timeout=PATIENCE)) is not None:
            if isinstance(piece, Exception):
                raise piece
            data, length = piece
            if length:
                self.connection.act(lambda machine: machine.acknowledge_received_data(length, self.number))
            yield data

    def read(self):
        self.body = b"".join(self.pieces())
        return self.body

    def head(self, status=200, fields=(), end=False):
        self.connection.act(lambda machine: machine.send_headers(self.number, [(":status", str(status)), *fields], end_stream=end))

    def data(self, content, end=False):
        self.connection.send_data(self, content, end)

    def end(self, trailers=()):
        if trailers:
            self.connection.act(lambda machine: machine.send_headers(self.number, list(trailers), end_stream=True))
        else:
            self.connection.act(lambda machine: machine.end_stream(self.number))

    def reply(self, body=b"ok", status=200, fields=()):
        body = body.encode() if isinstance(body, str) else body
        self.head(status, [("content-length", str(len(body))), *fields], end=not body)
        if body:
            self.data(body, end=True)

    def abort(self, code=h2.errors.ErrorCodes.INTERNAL_ERROR):
        self.connection.act(lambda machine: machine.reset_stream(self.number, code))


class Connection:
    def __init__(self, origin, sock):
        self.origin, self.socket, self.lock, self.streams = origin, sock, threading.RLock(), {}
        self.room = threading.Condition(self.lock)
        self.machine = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="latin-1", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.ended = False

    def act(self, action):
        with self.lock:
            action(self.machine)
            self.flush()

    def flush(self):
        if data := self.machine.data_to_send():
            self.socket.sendall(data)

    def send_data(self, stream, content, end):
        content = memoryview(content)
        while True:
            with self.room:
                while not self.ended and stream.reset is None:
                    room = min(self.machine.local_flow_control_window(stream.number), self.machine.max_outbound_frame_size)
                    if room > 0 or not content:
                        break
                    if not self.room.wait(PATIENCE):
                        raise Gone("no window")
                if self.ended or stream.reset is not None:
                    raise Gone("the stream ended")
                piece, content = content[:room], content[room:]
                self.act(lambda machine: machine.send_data(stream.number, bytes(piece), end_stream=end and not content))
            if not content:
                return

    def serve(self):
        try:
            if self.origin.settings:  # in the first frame, or they would come as news
                self.machine.local_settings = h2.settings.Settings(client=False, initial_values=self.origin.settings)
            self.act(lambda machine: machine.initiate_connection())
            while data := self.socket.recv(1 << 18):
                with self.lock:
                    events = self.machine.receive_data(data)
                    self.flush()
                    for event in events:
                        self.handle(event)
        except (OSError, h2.exceptions.ProtocolError) as error:
            if isinstance(error, h2.exceptions.ProtocolError):
                self.origin.faults.append(error)
        finally:
            with self.room:
                self.ended = True
                self.room.notify_all()
            for stream in self.streams.values():
                stream.events.put(Gone("the connection ended"))
            with self.origin.lock:
                self.origin.open.discard(self)
            self.socket.close()

    def handle(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.RequestReceived):
            stream = self.streams[event.stream_id] = Stream(self, event.stream_id, event.headers)
            with self.origin.lock:
                self.origin.requests.append(stream)
            threading.Thread(target=self.attend, args=(stream,), daemon=True).start()
        elif isinstance(event, h2.events.DataReceived):
            stream.events.put((event.data, event.flow_controlled_length))
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = event.headers
        elif isinstance(event, h2.events.StreamEnded):
            stream.events.put(None)
        elif isinstance(event, h2.events.StreamReset):
            stream.reset = int(event.error_code)
            stream.events.put(Gone("reset"))
            self.room.notify_all()
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            self.room.notify_all()

    def attend(self, stream):
        try:
            self.origin.handler(stream)
        except (Gone, OSError, queue.Empty, h2.exceptions.ProtocolError):
            pass

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class HTTP2Origin:
    """`handler(stream)` is called for each request. `tls`: a certificate and its key, for ALPN h2."""

    def __init__(self, handler, settings=None, tls=None):
        self.handler, self.settings = handler, settings or {}
        self.requests, self.connections, self.open, self.faults, self.lock = [], 0, set(), [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
            self.context.set_alpn_protocols(["h2"])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for sock in connections(self.listener):
            threading.Thread(target=self.greet, args=(sock,), daemon=True).start()

    def greet(self, sock):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
        except OSError:
            return sock.close()
        connection = Connection(self, sock)
        with self.lock:
            self.connections += 1
            self.open.add(connection)
        connection.serve()

    def stop(self):
        self.listener.close()
        for connection in list(self.open):
            connection.close()
