"""gRPC through the proxy, with the reference implementation on both ends."""
import threading

import grpc
import pytest

from harness import PATIENCE

CONFIG = """
listeners: [{address: "127.0.0.1:@LISTEN@", h2c: true}]
upstreams: {default: {url: "http://127.0.0.1:@ORIGIN@", protocol: h2c}}
request: {set: {Authorization: Bearer T0KEN}}
workers: 1
"""


class Service(grpc.GenericRpcHandler):
    def __init__(self):
        self.metadata, self.asleep, self.cancelled = {}, threading.Event(), threading.Event()

    def service(self, details):
        self.metadata = dict(details.invocation_metadata)
        kinds = {"Unary": grpc.unary_unary_rpc_method_handler, "Down": grpc.unary_stream_rpc_method_handler,
                 "Up": grpc.stream_unary_rpc_method_handler, "Both": grpc.stream_stream_rpc_method_handler}
        name = details.method.rsplit("/", 1)[1]
        if name in ("Fails", "Sleeps"):
            return grpc.unary_unary_rpc_method_handler(getattr(self, name.lower()))
        return kinds[name](getattr(self, name.lower())) if name in kinds else None

    def unary(self, request, context):
        context.send_initial_metadata([("x-initial", "1"), ("x-bin", b"\x00\xff\x01")])
        context.set_trailing_metadata([("x-trailing-bin", b"\xfe\x00")])
        return request[::-1]

    def fails(self, request, context):
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no more: ä")

    def sleeps(self, request, context):
        if not context.add_callback(self.cancelled.set):
            self.cancelled.set()  # the call has ended already
        self.asleep.set()
        self.cancelled.wait(PATIENCE)
        return b""

    def down(self, request, context):
        for number in range(int(request)):
            yield b"%d" % number

    def up(self, requests, context):
        return b"%d" % sum(int(one) for one in requests)

    def both(self, requests, context):
        for one in requests:
            yield one.upper()


@pytest.fixture
def call(proxy):
    from concurrent import futures
    service, options = Service(), [("grpc.max_receive_message_length", 8 << 20), ("grpc.max_send_message_length", 8 << 20)]
    server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[service], options=options)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    one = proxy(CONFIG, ORIGIN=port)
    channel = grpc.insecure_channel("127.0.0.1:%d" % one.port, options=options)
    yield channel, service
    channel.close()
    server.stop(0)


def test_a_unary_call_with_its_metadata(call):
    channel, service = call
    answer, done = channel.unary_unary("/e.E/Unary").with_call(b"abc", timeout=PATIENCE, metadata=[("x-client-bin", b"\x00\x80")])
    assert answer == b"cba" and done.code() == grpc.StatusCode.OK
    assert dict(done.initial_metadata())["x-bin"] == b"\x00\xff\x01" and dict(done.trailing_metadata())["x-trailing-bin"] == b"\xfe\x00"
    assert service.metadata["authorization"] == "Bearer T0KEN" and service.metadata["x-client-bin"] == b"\x00\x80"


def test_messages_of_three_megabytes(call):
    message = bytes(range(256)) * (3 << 12)
    assert call[0].unary_unary("/e.E/Unary")(message, timeout=PATIENCE) == message[::-1]


def test_streams_both_ways(call):
    channel = call[0]
    assert list(channel.unary_stream("/e.E/Down")(b"300", timeout=PATIENCE)) == [b"%d" % number for number in range(300)]
    assert channel.stream_unary("/e.E/Up")((b"%d" % number for number in range(100)), timeout=PATIENCE) == b"4950"
    assert list(channel.stream_stream("/e.E/Both")(iter([b"a", b"bc"]), timeout=PATIENCE)) == [b"A", b"BC"]


def test_a_conversation_waits_for_each_answer(call):
    sent, turn = [], threading.Semaphore(1)

    def says():
        for number in range(20):
            assert turn.acquire(timeout=PATIENCE)
            sent.append(number)
            yield b"m%d" % number

    for number, answer in enumerate(call[0].stream_stream("/e.E/Both")(says(), timeout=PATIENCE)):
        assert answer == b"M%d" % number and len(sent) == number + 1
        turn.release()


def test_an_error_is_in_the_trailers_alone(call):
    with pytest.raises(grpc.RpcError) as caught:
        call[0].unary_unary("/e.E/Fails")(b"", timeout=PATIENCE)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and caught.value.details() == "no more: ä"


def test_a_method_that_does_not_exist(call):
    with pytest.raises(grpc.RpcError) as caught:
        call[0].unary_unary("/e.E/Nothing")(b"", timeout=PATIENCE)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_deadline_ends_the_call_on_both_sides(call):
    channel, service = call
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/e.E/Sleeps")(b"", timeout=0.3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert service.cancelled.wait(PATIENCE)


def test_a_call_that_is_cancelled_is_cancelled_at_the_server(call):
    channel, service = call
    future = channel.unary_unary("/e.E/Sleeps").future(b"", timeout=PATIENCE)
    assert service.asleep.wait(PATIENCE)
    future.cancel()
    assert service.cancelled.wait(PATIENCE)


def test_many_calls_at_a_time(call):
    multi = call[0].unary_unary("/e.E/Unary")
    futures = [multi.future(b"%d" % number, timeout=PATIENCE) for number in range(200)]
    assert [future.result() for future in futures] == [(b"%d" % number)[::-1] for number in range(200)]
