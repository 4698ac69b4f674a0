"""What a connection promises beside uvicorn: an end to what never becomes whole, and sizes."""

import asyncio
import json

import pytest

from cluster.runtime.http_connection import MAX_BEHIND, MAX_FIELDS, MAX_HEAD
from tests.cluster.runtime.web_caller import answer, called, echo, serving

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
async def caller():
    """Of a server that says what it was asked."""
    async with serving(echo) as server:
        yield await called(server)


@pytest.fixture
def hasty(settings):
    settings.BIVOUAC_HEADER_SECONDS, settings.BIVOUAC_BODY_SECONDS = 0.2, 0.4


@pytest.mark.parametrize(
    "drip",
    [
        pytest.param((b"", b""), id="nothing"),
        pytest.param((b"", b"\r\n"), id="empty-lines"),
        pytest.param((b"GET /a", b"a"), id="half-a-line"),
        pytest.param((GET, b"a: b\r\n"), id="half-a-head"),
        pytest.param((GET + b"Content-Length: 500\r\n\r\n", b"x"), id="half-a-body"),
        pytest.param((GET + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), id="chunks"),
    ],
)
async def test_a_request_that_does_not_become_whole_is_hung_up_on(hasty, caller, drip):
    begun, further = drip
    await caller.say(begun)
    told = asyncio.create_task(caller.hear_all())
    while not told.done():
        if further:
            caller.writer.write(further)
        await asyncio.sleep(0.05)
    assert told.result().startswith(b"HTTP/1.1 408 Request Timeout\r\n")


async def test_whoever_is_idle_between_two_requests_is_not_late(hasty, caller):
    await caller.say(GET + b"\r\n")
    await caller.hear()
    await asyncio.sleep(0.6)
    await caller.say(GET + b"\r\n")
    assert (await caller.hear())[0] == "HTTP/1.1 200 OK"


async def test_a_second_request_that_begins_behind_the_first_has_a_deadline_too(hasty, caller):
    await caller.say(GET + b"\r\n" + b"GET /b HT")
    assert (await caller.hear())[0] == "HTTP/1.1 200 OK"
    assert (await caller.hear_all()).startswith(b"HTTP/1.1 408 ")


async def test_an_application_hears_that_the_rest_of_a_body_does_not_come(hasty):
    told = asyncio.Event()

    async def waiting(_scope, receive, _send):
        while (await receive())["type"] != "http.disconnect":
            pass
        told.set()

    async with serving(waiting) as server:
        caller = await called(server)
        await caller.say(GET + b"Content-Length: 500\r\n\r\nx")
        assert (await caller.hear())[0] == "HTTP/1.1 408 Request Timeout"
        await asyncio.wait_for(told.wait(), 5)


async def test_the_oldest_of_too_many_unfinished_requests_of_an_address_goes(
    settings, monkeypatch
):
    settings.BIVOUAC_STALLED_PER_ADDRESS = 2
    monkeypatch.setattr("cluster.runtime.unfinished._YOUNG_S", -1.0)
    async with serving(echo) as server:
        first, second, third = [await called(server) for _ in range(3)]
        assert (await first.hear())[0] == "HTTP/1.1 408 Request Timeout"
        for other in (second, third):
            await other.say(GET + b"\r\n")
            assert (await other.hear())[0] == "HTTP/1.1 200 OK"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /" + b"a" * MAX_HEAD + b" HTTP/1.1\r\n\r\n", id="address"),
        pytest.param(GET + b"a: " + b"b" * MAX_HEAD + b"\r\n\r\n", id="field"),
        pytest.param(GET + b"a: " + b"b" * 2 * MAX_HEAD, id="field-without-end"),
        pytest.param(GET + b"a: b\r\n" * (MAX_FIELDS + 1) + b"\r\n", id="fields"),
        pytest.param(GET + (b"a: " + b"b" * 999 + b"\r\n") * 70 + b"\r\n", id="sum"),
    ],
)
async def test_a_head_has_a_size(caller, head):
    await caller.say(head)
    status, fields, body = await caller.hear()
    assert status == "HTTP/1.1 431 Request Header Fields Too Large"
    assert fields["content-type"] == "text/plain; charset=utf-8"
    assert body.decode().startswith("A request's head has at most")
    assert await caller.is_hung_up_on()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"hello\r\n\r\n", id="no-http"),
        pytest.param("GET /ü HTTP/1.1\r\n\r\n".encode(), id="not-ascii"),
        pytest.param("GET /a?ü HTTP/1.1\r\n\r\n".encode(), id="query-not-ascii"),
        pytest.param(b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", id="tunnel"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="http-2"),
        pytest.param(GET + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", id="two"),
        pytest.param(GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", id="two-lengths"),
    ],
)
async def test_what_is_not_http_is_refused(caller, head):
    await caller.say(head)
    status, _fields, body = await caller.hear()
    assert status == "HTTP/1.1 400 Bad Request"
    assert body == b"This is not HTTP as this server reads it."
    assert await caller.is_hung_up_on()


async def test_a_body_that_breaks_off_into_nonsense_ends_the_request(caller):
    await caller.say(GET + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nnonsense\r\n")
    assert (await caller.hear())[0] == "HTTP/1.1 400 Bad Request"
    assert await caller.is_hung_up_on()


async def test_nonsense_behind_a_whole_request_does_not_take_its_answer(caller):
    await caller.say(GET + b"\r\n" + b"nonsense\r\n\r\n")
    status, _, body = await caller.hear()
    assert (status, json.loads(body)["path"]) == ("HTTP/1.1 200 OK", "/a")
    assert await caller.is_hung_up_on()


async def test_requests_behind_each_other_are_answered_in_order(caller):
    await caller.say(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(5)))
    assert [json.loads((await caller.hear())[2])["path"] for _ in range(5)] == [
        f"/{n}" for n in range(5)
    ]


async def test_requests_behind_each_other_have_a_number(caller):
    await caller.say((GET + b"\r\n") * (MAX_BEHIND + 2))
    assert (await caller.hear())[0] == "HTTP/1.1 200 OK"
    assert await caller.is_hung_up_on()


async def test_an_answer_does_not_let_in_more_while_others_wait():
    """What is not read waits in the network, however long a caller goes on."""
    are_held = []

    async def looking(_scope, _receive, send):
        (connection,) = server.server_state.connections
        await asyncio.sleep(0)
        are_held.append(connection.flow.read_paused)
        await answer(send, b"ok")

    async with serving(looking) as server:
        caller = await called(server)
        await caller.say((GET + b"\r\n") * 4)
        for _ in range(4):
            assert (await caller.hear())[2] == b"ok"
        await caller.say(GET + b"\r\n")
        assert (await caller.hear())[2] == b"ok"
    # Behind the fourth nothing waits: there is room again.
    assert are_held == [True, True, True, True, False]


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(b"0\r\na: " + b"b" * 20 * MAX_HEAD, id="a-field"),
        pytest.param(b"0\r\n" + b"a: b\r\n" * (MAX_FIELDS + 2), id="fields"),
        pytest.param(b"1;" + b"e" * 20 * MAX_HEAD, id="an-extension"),
    ],
)
async def test_what_may_stand_behind_a_body_has_a_size_too(caller, behind):
    await caller.say(GET + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n" + behind)
    assert (await caller.hear())[0] == "HTTP/1.1 431 Request Header Fields Too Large"
    assert await caller.is_hung_up_on()


async def test_fields_behind_a_body_are_none_of_the_request(caller):
    body = b"1\r\nx\r\n0\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"
    await caller.say(GET + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    told = json.loads((await caller.hear())[2])
    assert (told["fields"], told["length"]) == (["host", "transfer-encoding"], 1)
    await caller.say(GET + b"\r\n")
    assert (await caller.hear())[0] == "HTTP/1.1 200 OK"


async def test_a_field_that_could_be_taken_for_a_proxys_is_left_out(caller):
    await caller.say(GET + b"X_Forwarded_For: 1.2.3.4\r\nX-Other: a\r\n\r\n")
    told = json.loads((await caller.hear())[2])
    assert told["fields"] == ["host", "x-other"]


async def test_a_proxys_word_for_the_caller_is_not_the_servers_business(caller):
    await caller.say(GET + b"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n\r\n")
    assert json.loads((await caller.hear())[2])["client"] == "127.0.0.1"


async def test_a_large_body_comes_whole(caller):
    size = 3_000_000
    await caller.say(GET + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
    assert json.loads((await caller.hear())[2])["length"] == size


async def test_every_status_that_we_answer_has_its_name():
    async def many(_scope, _receive, send):
        await answer(send, b"", status=429)

    async with serving(many) as server:
        caller = await called(server)
        await caller.say(GET + b"\r\n")
        status, fields, _ = await caller.hear()
    assert status == "HTTP/1.1 429 Too Many Requests"
    assert "date" in fields
    assert "server" not in fields


@pytest.mark.parametrize("has_begun", [True, False])
async def test_an_answer_that_has_begun_is_broken_off_when_the_application_fails(has_begun):
    async def failing(_scope, _receive, send):
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("the agent is gone")

    async with serving(failing) as server:
        caller = await called(server)
        await caller.say(GET + b"\r\n")
        told = await caller.hear_all()
    if has_begun:
        assert told.endswith(b"4\r\nhalf\r\n"), "without the last chunk"
    else:
        assert told.startswith(b"HTTP/1.1 500 ")


async def test_an_answer_waits_for_a_slow_reader():
    sent = 0

    async def endless(_scope, _receive, send):
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
            sent += 1

    async with serving(endless) as server:
        caller = await called(server)
        await caller.say(GET + b"\r\n")
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.3)
        assert 0 < sent < 1000, "far less than it would say"
        caller.writer.transport.abort()
