import signal

import pytest

from harness import BINARY, Origin, Proxy, echo

# A run that was ended with a signal by the test itself, or that ended of itself, has one of these statuses.
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
        assert status in ORDERLY or status > 3 and status < 128, "ended with %s: %s" % (status, log[-2000:])


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
