"""Callers who begin a request and never end it: others are served, and they are hung up on."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

import httpx
import pytest

from cluster.runtime.embedded import free_port
from cluster.runtime.file_limit import raise_file_limit
from tests.live.world import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: Of each kind.
COUNT = 200
#: Fewer files than there are callers: what a shell may allow.
SHELL_ALLOWS = 256
HEADER_S, BODY_S, PER_ADDRESS = 5, 10, 300
HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"
STALLED = {"nothing": b"", "half a head": HEAD, "half a body": HEAD + b"\r\n{"}


@pytest.fixture
def web(sqlite_template, tmp_path):
    """The address of a web process of its own, started from a shell with few files."""
    shutil.copy(sqlite_template, tmp_path / "state.sqlite3")
    port = free_port()
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "BIVOUAC_DATA_DIR": str(tmp_path),
        "BIVOUAC_PORT": str(port),
        "BIVOUAC_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0",
        "BIVOUAC_HEADER_SECONDS": str(HEADER_S),
        "BIVOUAC_BODY_SECONDS": str(BODY_S),
        "BIVOUAC_STALLED_PER_ADDRESS": str(PER_ADDRESS),
    }
    log = (tmp_path / "web.log").open("wb")
    process = subprocess.Popen(
        [
            "/bin/sh",
            "-c",
            f'ulimit -Sn {SHELL_ALLOWS} && exec "$0" manage.py runweb',
            sys.executable,
        ],
        env=environment,
        stdout=log,
        stderr=log,
    )
    try:
        until(lambda: answers(port), "the server listens", 60)
        yield port
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def answers(port):
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/login/", timeout=20).status_code == 200
    return False


def callers(port, begun, count):
    found = []
    for _ in range(count):
        caller = socket.create_connection(("127.0.0.1", port), timeout=20)
        if begun:
            caller.sendall(begun)
        caller.setblocking(False)
        found.append(caller)
    return found


def is_hung_up_on(caller, *, drips):
    """Whether the server ended it; one that `drips` sends a further byte else."""
    try:
        while data := caller.recv(4096):
            assert data.startswith(b"HTTP/1.1 408 "), data
        return True
    except BlockingIOError:
        pass
    except OSError:
        return True
    if drips:
        with contextlib.suppress(OSError):
            caller.send(b"x")
    return False


def test_six_hundred_stalled_callers_are_dropped_while_others_are_served(web):
    raise_file_limit()
    stalled = {kind: callers(web, begun, COUNT) for kind, begun in STALLED.items()}
    served = 0
    try:
        deadline = time.monotonic() + 120
        left = {kind: list(each) for kind, each in stalled.items()}
        while any(left.values()):
            assert time.monotonic() < deadline, {kind: len(each) for kind, each in left.items()}
            for kind, each in left.items():
                drips = kind != "nothing"
                left[kind] = [c for c in each if not is_hung_up_on(c, drips=drips)]
            served += answers(web)
    finally:
        for caller in [each for kind in stalled.values() for each in kind]:
            caller.close()
    assert served > 0
    assert answers(web)


def test_a_caller_who_is_idle_between_two_requests_is_no_stalled_one(web):
    limits = httpx.Limits(keepalive_expiry=10 * HEADER_S)
    with httpx.Client(base_url=f"http://127.0.0.1:{web}", timeout=20, limits=limits) as client:
        first = client.get("/login/")
        stream = first.extensions["network_stream"]
        before = stream.get_extra_info("socket").getsockname()
        time.sleep(2 * HEADER_S)
        second = client.get("/login/")
        after = second.extensions["network_stream"].get_extra_info("socket").getsockname()
    assert (first.status_code, second.status_code) == (200, 200)
    assert before == after, "on the same connection"
