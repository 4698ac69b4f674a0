"""Answers for requests whose database neither answers nor goes away: frozen, or cut off.

In: an application, a question to its database. Out: its answers; or, where none has begun for a
while and the database does not answer the question either, another answer in its place. Reads that
wait for a change wait on: the question is answered.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db import Error, connections
from django.http import HttpRequest, HttpResponse

from cluster.runtime.request_context import attach
from cluster.store.faults import RecordAway

#: Seconds until a request without an answer makes us ask, and for which the database may take.
PATIENCE_S = 3.0
ANSWER_S = 1.0
_REASON = "the record's database does not answer"


class Pulse:
    """Whether a database answers, asked on a thread of its own, by all requests together."""

    def __init__(self, ask: Callable[[], None], answer_s: float = ANSWER_S) -> None:
        self._ask = ask
        self._answer_s = answer_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pulse")
        self._asked: asyncio.Future[None] | None = None
        self._answered_at = float("-inf")

    async def beats(self) -> bool:
        """Whether it answers in time. One that says why it cannot has answered."""
        loop = asyncio.get_running_loop()
        if self._asked is None or self._asked.done():
            if loop.time() - self._answered_at < self._answer_s:
                # Many reads may wait at once, and a second is soon enough.
                return True
            self._asked = loop.run_in_executor(self._thread, self._ask)
        await asyncio.wait({self._asked}, timeout=self._answer_s)
        if self._asked.done():
            self._answered_at = loop.time()
        return self._asked.done()


def ask_database(alias: str = "default") -> None:
    """The smallest question."""
    connection = connections[alias]
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        # Whoever reads is told in their own words; here the next question begins anew.
        with suppress(Error):
            connection.close()


class FrozenRecord:
    """Between the server and an application that asks a database."""

    def __init__(
        self,
        app: Any,
        pulse: Pulse,
        answer_fault: Callable[[HttpRequest, Exception], HttpResponse],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._app = app
        self._pulse = pulse
        self._answer_fault = answer_fault
        self._patience_s = patience_s

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        has_begun, has_given_up, body = asyncio.Event(), False, bytearray()

        async def sent(message: Any) -> None:
            if not has_given_up:
                has_begun.set()
                await send(message)

        async def received() -> Any:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        work = asyncio.ensure_future(self._app(scope, received, sent))
        try:
            while not (work.done() or has_begun.is_set()):
                done, _ = await asyncio.wait({work}, timeout=self._patience_s)
                if done or has_begun.is_set() or await self._pulse.beats():
                    continue
                has_given_up = True
                # It may hang on a thread, which nothing ends; nobody waits for it any more.
                work.cancel()
                work.add_done_callback(_look_at)
                await self._give_up(scope, bytes(body), send)
                return
            await work
        except asyncio.CancelledError:
            work.cancel()
            raise

    async def _give_up(self, scope: Any, body: bytes, send: Any) -> None:
        request = ASGIRequest(scope, BytesIO(body))
        attach(request)
        response = self._answer_fault(request, RecordAway(_REASON))
        headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
        headers.append((b"content-length", str(len(response.content)).encode()))
        start = {"type": "http.response.start", "status": response.status_code}
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": response.content})


def _look_at(late: "asyncio.Future[None]") -> None:
    """An error that nobody looks at is reported as a leak."""
    if not late.cancelled():
        late.exception()
