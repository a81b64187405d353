import signal

import pytest

from chromium import Browser
from harness import BINARY, Origin, Proxy, echo
from http2_origin import HTTP2Origin

# What a run may end with, beside the status of a child of `run -- CMD`; another signal is a crash.
ORDERLY = {0, 1, 2, 3, -signal.SIGKILL, None}


def pytest_sessionstart(session):
    if not BINARY.exists():
        pytest.exit("build the proxy first: %s is not there" % BINARY, 2)


@pytest.fixture
def proxy():
    """Starts proxies: proxy(config, ...) gives one that listens; at the end all are stopped and none may have crashed."""
    started = []

    def start(config, *, run=True, **options):
        one = Proxy(config, **options)
        started.append(one)
        return one.start() if run else one

    yield start
    ends = [(one.stop(), one.log()) for one in started]
    for one in started:
        one.remove()
    for status, log in ends:
        assert status in ORDERLY or 3 < status < 128 or status == 128 + signal.SIGKILL, "ended with %s: %s" % (status, log[-1000:])


@pytest.fixture
def origin():
    """Starts origins: origin(handler, ...)."""
    started = []

    def start(handler=echo, **options):
        one = Origin(handler, **options)
        started.append(one)
        return one

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def origin2():
    """Starts origins that speak HTTP/2: origin2(handler, ...); none may have seen what the protocol forbids."""
    started = []

    def start(handler, **options):
        one = HTTP2Origin(handler, **options)
        started.append(one)
        return one

    yield start
    for one in started:
        one.stop()
    assert not [fault for one in started for fault in one.faults]


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium, one for the tests of a file."""
    one = Browser()
    yield one
    one.close()
