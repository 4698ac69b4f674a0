"""The lean handler: no thread per request, views cancelled with their callers."""

import asyncio
import threading

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.urls import path

from cluster.front_door import LeanHandler

WAITING = []


async def wait_for_ever(_request):
    WAITING.append(asyncio.current_task())
    await asyncio.Event().wait()


async def answer_at_once(request):
    return HttpResponse(request.body)


async def fail(_request):
    raise RuntimeError("a fault of ours")


urlpatterns = [
    path("v1/wait", wait_for_ever),
    path("v1/echo", answer_at_once),
    path("v1/fail", fail),
]


@pytest.fixture
def handler(settings):
    settings.ROOT_URLCONF = __name__
    settings.LOGGING_CONFIG = None
    WAITING.clear()
    return LeanHandler()


async def call(handler, where, body=b""):
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": where,
        "query_string": b"", "headers": [(b"host", b"localhost")], "server": ("localhost", 80),
    }  # fmt: skip
    caller = ApplicationCommunicator(handler, scope)
    await caller.send_input({"type": "http.request", "body": body})
    return caller


async def test_a_request_is_answered_and_its_end_awaited(handler):
    caller = await call(handler, "/v1/echo", b"hello")
    assert (await caller.receive_output())["status"] == 200
    assert (await caller.receive_output())["body"] == b"hello"
    await caller.wait()


async def test_requests_that_wait_hold_no_threads_and_end_with_their_callers(handler):
    before = threading.active_count()
    callers = [await call(handler, "/v1/wait") for _ in range(20)]
    while len(WAITING) < len(callers):
        await asyncio.sleep(0)
    assert threading.active_count() == before
    for caller in callers:
        await caller.send_input({"type": "http.disconnect"})
        await caller.wait()
    assert all(task.cancelled() for task in WAITING)


async def test_a_fault_of_ours_is_a_500(handler, caplog):
    caller = await call(handler, "/v1/fail")
    assert (await caller.receive_output())["status"] == 500
    await caller.receive_output()
    await caller.wait()
