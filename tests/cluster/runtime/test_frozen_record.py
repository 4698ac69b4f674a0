"""Requests whose database neither answers nor goes away."""

import asyncio
import threading

import pytest
from django.http import HttpResponse

from cluster.runtime.frozen_record import FrozenRecord, Pulse

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/jobs/new/",
    "query_string": b"",
    "headers": [],
}


class Database:
    """Answers while it is thawed."""

    def __init__(self):
        self.thawed = threading.Event()
        self.thawed.set()
        self.asked = 0

    def ask(self):
        self.asked += 1
        self.thawed.wait()


@pytest.fixture
def database():
    made = Database()
    yield made
    made.thawed.set()


def answer_fault(request, error):
    return HttpResponse(f"{request.method} {error} {request.body.decode()}", status=503)


async def answer_of(app, database):
    """What a request is answered, and the messages of the answer."""
    sent = []
    body = [{"type": "http.request", "body": b"typed", "more_body": False}]

    async def receive():
        return body.pop()

    async def send(message):
        sent.append(message)

    guarded = FrozenRecord(app, Pulse(database.ask, 0.02), answer_fault, 0.02)
    await guarded(SCOPE, receive, send)
    return sent


async def begin(send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def end(send):
    await send({"type": "http.response.body", "body": b"done"})


async def test_a_frozen_database_is_told_with_what_was_typed(database):
    database.thawed.clear()
    finish, late = asyncio.Event(), []

    async def app(scope, receive, send):
        await receive()
        try:
            await finish.wait()
        except asyncio.CancelledError:
            # As a thread that hangs: it ends when the database goes on, and answers too late.
            await begin(send)
            late.append(True)
            raise

    start, body = await answer_of(app, database)
    assert start["status"] == 503
    assert body["body"] == b"POST the record's database does not answer typed"
    while not late:
        await asyncio.sleep(0)


async def test_an_answer_that_takes_long_comes_while_the_database_answers(database):
    async def app(scope, receive, send):
        while database.asked < 2:
            await asyncio.sleep(0.005)
        await begin(send)
        await end(send)

    start, body = await answer_of(app, database)
    assert (start["status"], body["body"]) == (200, b"done")


async def test_an_answer_that_has_begun_is_not_cut_off(database):
    database.thawed.clear()

    async def app(scope, receive, send):
        await begin(send)
        await asyncio.sleep(0.2)
        await end(send)

    start, body = await answer_of(app, database)
    assert (start["status"], body["body"]) == (200, b"done")
    assert database.asked == 0


async def test_what_an_application_raises_is_its_servers_business(database):
    async def app(scope, receive, send):
        raise ValueError("oh")

    with pytest.raises(ValueError, match="oh"):
        await answer_of(app, database)


async def test_who_hangs_up_ends_the_work(database):
    ended = asyncio.Event()

    async def app(scope, receive, send):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    asked = asyncio.ensure_future(answer_of(app, database))
    while not database.asked:
        await asyncio.sleep(0.005)
    asked.cancel()
    await ended.wait()
