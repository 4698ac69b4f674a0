"""How the web server begins and ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from cluster.runtime.embedded import free_port
from cluster.runtime.serving import expect_server, once_serving
from cluster.runtime.web_server import WebServer, configured
from tests.cluster.runtime.web_caller import answer, called, echo, port_of, serving

ROOT = Path(__file__).resolve().parents[3]
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
PROGRAM = """
import sys
from cluster.runtime.serving import expect_server, once_serving
from cluster.runtime.web_server import serve
from tests.cluster.runtime.web_caller import echo
expect_server()
once_serving(lambda: print("serves", flush=True))
print(serve(echo, "127.0.0.1", int(sys.argv[1])))
"""


async def waiting(scope, receive, send):
    """Answers `/soon` in a moment, else never."""
    if scope["path"] == "/soon":
        await asyncio.sleep(0.3)
        await answer(send, b"soon")
        return
    while (await receive())["type"] != "http.disconnect":
        pass
    waiting.ended += 1


async def test_it_tells_that_it_serves_once_it_can_be_called():
    begun = asyncio.Event()
    expect_server()
    once_serving(begun.set)
    async with serving(echo) as server:
        await asyncio.wait_for(begun.wait(), 5)
        caller = await called(server)
        await caller.say(GET)
        assert (await caller.hear())[0] == "HTTP/1.1 200 OK"


async def test_a_port_that_is_taken_is_no_server():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        begun = []
        expect_server()
        once_serving(lambda: begun.append(True))
        server = WebServer(configured(echo, "127.0.0.1", taken.getsockname()[1]))
        await server.serve()
    assert (server.started, begun) == (False, [])
    # What waits for a server that never was must not begin with the next one.
    expect_server()


async def test_it_ends_with_short_requests_answered_and_long_ones_hung_up_on(caplog):
    waiting.ended = 0
    async with serving(waiting) as server:
        idle, short, long = [await called(server) for _ in range(3)]
        await short.say(GET.replace(b"/a", b"/soon"))
        await long.say(GET)
        await asyncio.sleep(0.05)
        port = port_of(server)
        ended = asyncio.create_task(_end(server))
        assert await idle.is_hung_up_on()
        assert (await short.hear())[2] == b"soon"
        assert await long.is_hung_up_on()
        await ended
    assert waiting.ended == 1
    assert caplog.records == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def _end(server):
    server.end()


def test_a_process_that_is_told_to_end_ends_without_a_fault():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(free_port())],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "serves\n"
    process.send_signal(signal.SIGTERM)
    told, faults = process.communicate(timeout=60)
    assert (told, faults, process.returncode) == ("True\n", "", 0)
