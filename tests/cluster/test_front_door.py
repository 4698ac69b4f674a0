"""The lean handler: no thread per request, views cancelled with their callers."""

import asyncio
import logging
import logging.handlers
import re
import threading

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.urls import path

from cluster import front_door
from cluster.api.faults import answer_fault
from cluster.front_door import Gate, StaticFiles
from cluster.lean_handler import LeanHandler
from cluster.log_lines import REQUESTS

WAITING = []
CANCELLED = []


async def wait_for_ever(_request):
    waiting = asyncio.Event()
    WAITING.append(waiting)
    try:
        await waiting.wait()
    except asyncio.CancelledError:
        CANCELLED.append(waiting)
        raise


async def count_tasks(_request):
    return HttpResponse(str(len(asyncio.all_tasks())))


async def answer_at_once(request):
    return HttpResponse(request.body)


async def fail(_request):
    raise RuntimeError("a fault of ours")


urlpatterns = [
    path("v1/wait", wait_for_ever),
    path("v1/echo", answer_at_once),
    path("v1/fail", fail),
    path("v1/tasks", count_tasks),
]


@pytest.fixture
def handler(settings):
    settings.ROOT_URLCONF = __name__
    settings.LOGGING_CONFIG = None
    WAITING.clear()
    CANCELLED.clear()
    return LeanHandler(answer_fault)


def scope_of(where, headers):
    return {
        "type": "http", "http_version": "1.1", "method": "POST", "path": where,
        "query_string": b"", "headers": headers, "server": ("localhost", 80),
    }  # fmt: skip


async def call(handler, where, body=b"", host="localhost"):
    caller = ApplicationCommunicator(handler, scope_of(where, [(b"host", host.encode())]))
    await caller.send_input({"type": "http.request", "body": body})
    return caller


async def test_a_request_is_answered_and_its_end_awaited(handler):
    caller = await call(handler, "/v1/echo", b"hello")
    assert (await caller.receive_output())["status"] == 200
    assert (await caller.receive_output())["body"] == b"hello"
    await caller.wait()


async def test_a_request_that_ended_is_told_while_somebody_follows(handler):
    kept = logging.handlers.BufferingHandler(10)
    REQUESTS.addHandler(kept)
    try:
        caller = await call(handler, "/v1/echo", b"hello")
        await caller.receive_output()
        await caller.receive_output()
        await caller.wait()
    finally:
        REQUESTS.removeHandler(kept)
    (line,) = [record.getMessage() for record in kept.buffer]
    assert re.fullmatch(r'request complete: method=POST path=/v1/echo duration="\d+\.\dms"', line)


async def test_no_answer_of_the_api_is_taken_for_something_else(handler):
    for where in ("/v1/echo", "/v1/fail", "/v1/nothing"):
        caller = await call(handler, where)
        headers = dict((await caller.receive_output())["headers"])
        assert headers[b"X-Content-Type-Options"] == b"nosniff"
        await caller.receive_output()
        await caller.wait()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("bivouac.example", 200),
        ("bivouac.example:4646", 200),
        ("localhost:4646", 200),
        ("127.0.0.1:4646", 200),
        ("10.0.0.7", 200),
        ("[::1]:4646", 200),
        ("evil.example", 400),
        ("bivouac.example.evil.example", 400),
        ("10.0.0.7.evil.example", 400),
    ],
)
async def test_the_api_answers_to_its_own_names_only(handler, settings, host, status):
    settings.ALLOWED_HOSTS = ["bivouac.example"]
    settings.API_CHECKS_HOST = True
    caller = await call(handler, "/v1/echo", host=host)
    assert (await caller.receive_output())["status"] == status
    await caller.receive_output()
    await caller.wait()


async def test_without_a_public_name_the_api_answers_to_any(handler, settings):
    settings.API_CHECKS_HOST = False
    caller = await call(handler, "/v1/echo", host="some.name")
    assert (await caller.receive_output())["status"] == 200
    await caller.receive_output()
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
    assert CANCELLED == WAITING


async def test_a_short_request_has_no_task_but_that_of_its_connection(handler):
    caller = await call(handler, "/v1/tasks")
    await caller.receive_output()
    # This test's own, and the one that serves.
    assert (await caller.receive_output())["body"] == b"2"
    await caller.wait()


async def test_a_body_in_pieces_is_put_together(handler):
    caller = ApplicationCommunicator(handler, scope_of("/v1/echo", [(b"host", b"localhost")]))
    for piece, more in ((b"one ", True), (b"two ", True), (b"three", False)):
        await caller.send_input({"type": "http.request", "body": piece, "more_body": more})
    await caller.receive_output()
    assert (await caller.receive_output())["body"] == b"one two three"
    await caller.wait()


async def test_a_server_that_ends_cancels_who_waits(handler):
    caller = await call(handler, "/v1/wait")
    while not WAITING:
        await asyncio.sleep(0)
    caller.future.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller.future
    assert CANCELLED == WAITING


async def test_a_fault_of_ours_is_a_text_that_names_its_line_in_the_log(handler, caplog):
    caller = await call(handler, "/v1/fail")
    start, content = await caller.receive_output(), await caller.receive_output()
    await caller.wait()
    assert start["status"] == 500
    assert dict(start["headers"])[b"Content-Type"] == b"text/plain; charset=utf-8"
    told = re.fullmatch(
        rb"A fault of ours: the web server's log names it under (\w{8})\.", content["body"]
    )
    assert told, content
    assert f"reference={told[1].decode()}" in caplog.text
    assert "RuntimeError: a fault of ours" in caplog.text


async def test_an_address_that_nothing_serves_is_a_text(handler):
    caller = await call(handler, "/v1/nothing")
    start, content = await caller.receive_output(), await caller.receive_output()
    await caller.wait()
    assert (start["status"], content["body"]) == (404, b"not found")


async def ask_static(method, where, *, files=None, **headers):
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": method, "path": where, "headers": named}
    caller = ApplicationCommunicator(files or StaticFiles(), scope)
    start, content = await caller.receive_output(), await caller.receive_output()
    await caller.wait()
    return start["status"], dict(start["headers"]), content["body"]


async def test_static_files_of_project_and_admin_are_served_with_validators():
    status, headers, content = await ask_static("GET", "/static/css/tokens.css")
    assert (status, headers[b"content-length"]) == (200, str(len(content)).encode())
    etag = headers[b"etag"].decode()
    again = await ask_static("GET", "/static/css/tokens.css", if_none_match=etag)
    assert (again[0], again[2]) == (304, b"")
    assert (await ask_static("GET", "/static/admin/css/base.css"))[0] == 200


async def test_a_file_that_an_upgrade_exchanged_is_served_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(front_door, "SHARED_FILES", tmp_path)
    script = tmp_path / "static" / "main.js"
    script.parent.mkdir()
    script.write_text("old")
    files = StaticFiles()
    assert (await ask_static("GET", "/static/main.js", files=files))[2] == b"old"
    script.write_text("newer and longer")
    _, headers, content = await ask_static("GET", "/static/main.js", files=files)
    assert (headers[b"content-length"], content) == (b"16", b"newer and longer")


@pytest.mark.parametrize(
    ("method", "where", "status"),
    [
        pytest.param("HEAD", "/static/css/tokens.css", 200, id="head"),
        pytest.param("POST", "/static/css/tokens.css", 405, id="post"),
        pytest.param("GET", "/static/../manage.py", 404, id="outside"),
        pytest.param("GET", "/static/none.css", 404, id="unknown"),
    ],
)
async def test_what_is_no_static_file_has_no_body(method, where, status):
    found, _, content = await ask_static(method, where)
    assert (found, content) == (status, b"")


def gate(handler):
    return Gate(handler, 10, larger={"/v1/echo": 30})


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("size", "status"), [(30, 200), (31, 413)])
async def test_a_path_may_take_larger_bodies_and_has_a_limit_too(handler, told, size, status):
    headers = [(b"content-length", str(size).encode())] if told else []
    caller = ApplicationCommunicator(gate(handler), scope_of("/v1/echo", headers))
    for sent in range(size):
        more = sent < size - 1
        await caller.send_input({"type": "http.request", "body": b"x", "more_body": more})
    assert (await caller.receive_output())["status"] == status
    assert (await caller.receive_output())["body"] == (
        b"x" * size if status == 200 else b"http: request body too large"
    )
    await caller.wait()


async def test_other_paths_keep_the_small_limit(handler):
    caller = ApplicationCommunicator(gate(handler), scope_of("/v1/wait", []))
    await caller.send_input({"type": "http.request", "body": b"x" * 11})
    assert (await caller.receive_output())["status"] == 413
