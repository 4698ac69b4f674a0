"""One HTTP connection of the web process, with an end to requests that never become whole.

In: bytes. Out: requests for the application. A request has so long for its head and so long for
its body, however its bytes drip; only so many unfinished ones of an address are kept, and a head
has a size. uvicorn's own connections know neither.
"""

import asyncio
import logging
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.conf import settings
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from cluster.runtime.unfinished import Unfinished

log = logging.getLogger(__name__)

#: Of a head, address and fields together, bytes; and its fields.
MAX_HEAD, MAX_FIELDS = 64 * 1024, 500
#: Requests that a caller may send behind one that is not answered yet.
MAX_BEHIND = 64
#: Seconds that a caller may take to hear of its end.
FAREWELL_S = 2.0
#: Seconds between two looks at who is late, at most.
_LOOK_S = 1.0
_TOO_LATE = "The request did not become whole in time."
_NOT_HTTP = "This is not HTTP as this server reads it."
_HEAD_TOO_LARGE = f"A request's head has at most {MAX_HEAD} bytes and {MAX_FIELDS} fields."


class Punctuality:
    """Which connections of a server still owe a whole request, and until when."""

    def __init__(self) -> None:
        self.unfinished = Unfinished(settings.BIVOUAC_STALLED_PER_ADDRESS)
        #: By the loop's clock.
        self.deadlines: dict[HttpConnection, float] = {}
        # One look for all: a timer for each request would cost more than reading it.
        shortest = min(settings.BIVOUAC_HEADER_SECONDS, settings.BIVOUAC_BODY_SECONDS)
        self._look_s = min(_LOOK_S, shortest / 4)

    async def keep(self) -> None:
        """Drop who is late, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._look_s)
            for connection in list(self.late(loop.time())):
                connection.drop("request not whole in time")

    def late(self, now: float) -> "Iterator[HttpConnection]":
        """Those whose request is not whole in time."""
        return (connection for connection, due in self.deadlines.items() if due <= now)


class HttpConnection(HttpToolsProtocol):
    """One connection, whose requests have to become whole in time."""

    def __init__(
        self, config: Config, state: ServerState, punctuality: Punctuality, *_unused: object
    ) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._punctuality = punctuality
        self._address = ""
        #: Bytes since the last that a request came forward by; fields of the head, and theirs.
        self._head_bytes = self._head_fields = self._fields_bytes = 0
        self._reads_head = True
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the library
        """A connection of which nothing was read yet."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes: between two requests the first one begins the next."""
        if self._refused:
            return
        if self not in self._punctuality.deadlines and self._answer() is None:
            self._begin()
        # Beside heads these are what may stand between and behind the pieces of a body.
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD:
            self.send_400_response(_HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first byte of a request; of one that came behind another, the deadline begins."""
        if self not in self._punctuality.deadlines:
            self._begin()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One field. A name with `_` would be taken for the one with `-` that a proxy sets."""
        self._head_fields += 1
        if self._head_fields > MAX_FIELDS:
            raise ValueError(_HEAD_TOO_LARGE)
        self._fields_bytes += len(name) + len(value)
        # Fields behind a body come when the request is being answered by those before it.
        if self._reads_head and b"_" not in name:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole: now its body has its time."""
        if len(self.url) + self._fields_bytes > MAX_HEAD:
            raise ValueError(_HEAD_TOO_LARGE)
        if not self.url.isascii():
            raise ValueError("an address is ASCII")
        if len(self.pipeline) >= MAX_BEHIND:
            raise ValueError("too many requests behind each other")
        self._reads_head = False
        self._head_bytes = self._head_fields = self._fields_bytes = 0
        self._wait(settings.BIVOUAC_BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole: from here on we are the ones who may be slow."""
        self._end()
        self._reads_head = True
        self._head_bytes = self._head_fields = self._fields_bytes = 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """The request was whole; its connection goes on as a websocket."""
        self._end()
        super().handle_websocket_upgrade()

    def on_response_complete(self) -> None:
        """Who does not take the end of an answer is not waited for."""
        has_more = bool(self.pipeline)
        super().on_response_complete()
        if has_more:
            # Else one answer let in as many further requests as fit into one reading.
            self.flow.pause_reading()
        if self.transport.is_closing():
            self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        """No further request: the connection ends, and what was not taken of the last answer."""
        self.transport.abort() if self.flow.write_paused else self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or too much of it. An answer under way is not written into."""
        if self._refused:
            return
        self._end()
        self._refused = True
        is_large = self._head_bytes > MAX_HEAD or self._head_fields > MAX_FIELDS
        if is_large or msg == _HEAD_TOO_LARGE:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _HEAD_TOO_LARGE)
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, _NOT_HTTP)

    def drop(self, why: str) -> None:
        """Answer 408 and hang up."""
        log.info("action=drop_stalled client=%s %s", self._address, why)
        self._end()
        self._refused = True
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, _TOO_LATE)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        cycle = self._answer()
        if cycle is not None:
            if not cycle.more_body:
                # A whole request is answered; what came behind it is what was wrong.
                cycle.keep_alive = False
                self.flow.pause_reading()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if cycle is None or not cycle.response_started:
            self.transport.write(_refusal(status, sentence))
        # Closed outright while more is coming, the network would take back what was just said.
        self.flow.resume_reading()
        self.transport.write_eof()
        self.loop.call_later(FAREWELL_S, self.transport.abort)

    def _answer(self) -> RequestResponseCycle | None:
        """What is being answered now."""
        # The library types it as if there were one from the beginning.
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle

    def _begin(self) -> None:
        self._wait(settings.BIVOUAC_HEADER_SECONDS)
        self._punctuality.unfinished.begin(self, self._address, self.loop.time())

    def _wait(self, seconds: float) -> None:
        self._punctuality.deadlines[self] = self.loop.time() + seconds

    def _end(self) -> None:
        self._punctuality.deadlines.pop(self, None)
        self._punctuality.unfinished.end(self, self._address)


def _refusal(status: HTTPStatus, sentence: str) -> bytes:
    fields: dict[str, Any] = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": len(sentence),
        "x-content-type-options": "nosniff",
        "connection": "close",
    }
    head = [f"HTTP/1.1 {status.value} {status.phrase}"]
    head += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*head, "", sentence]).encode("ascii")
