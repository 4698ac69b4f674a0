"""The client of programs without an event loop."""

import logging
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self, TypeVar

import httpx

from bivouac.client.answers import Answer, Event
from bivouac.client.errors import Away, Unreachable
from bivouac.client.exchange import (
    AGAIN_S,
    STREAM_SILENCE_S,
    address_of,
    answer_of,
    events_in,
    headers_of,
    next_wait,
    parts_of,
    refused,
    stream_of,
)
from bivouac.client.request import Request

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Client:
    """A line to one server; a context manager.

    Without `address` and `token` those of `NOMAD_ADDR` and `NOMAD_TOKEN` hold. `namespace` is that
    of every request that names none; `timeout` is in seconds.
    """

    def __init__(
        self, address: str = "", *, token: str = "", namespace: str = "", timeout: float = 30.0
    ) -> None:
        self._namespace = namespace
        self._timeout = timeout
        self._http = httpx.Client(base_url=address_of(address), headers=headers_of(token))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the line."""
        self._http.close()

    def send(self, request: Request[Result]) -> Answer[Result]:
        """The answer. Raises `Refused` by status, or `Unreachable`."""
        try:
            response = self._http.request(**parts_of(request, self._namespace, self._timeout))
        except httpx.TransportError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        return answer_of(request, response)

    def pages(self, request: Request[list[Result]], per_page: int = 100) -> Iterator[Result]:
        """The items of a list, page after page."""
        token = ""
        while True:
            asked = request.with_query(per_page=str(per_page), next_token=token)
            answer = self.send(asked)
            yield from answer.value
            token = answer.next_token
            if not token:
                return

    def follow(self, request: Request[Result]) -> Iterator[Answer[Result]]:
        """The answer now, and again each time that its index has moved on, without end."""
        index = 0
        while True:
            answer = self.send(next_wait(request, index) if index else request)
            if answer.index != index:
                yield answer
            # After a restore the index may be smaller: then it is read anew.
            index = answer.index if answer.index >= index else 0

    def events(self, *topics: str, index: int = 0) -> Iterator[Event]:
        """Events of these topics, `Topic` or `Topic:key`, without end; of all without one.

        After `index`, where it is given. A line that breaks is taken up again where it broke.
        """
        after = index
        while True:
            try:
                for event in self._stream(topics, after):
                    after = max(after, event.index)
                    yield event
            except (Unreachable, Away) as error:
                log.info("action=follow_events after=%d again_in_s=%g %s", after, AGAIN_S, error)
            time.sleep(AGAIN_S)

    def _stream(self, topics: tuple[str, ...], after: int) -> Iterator[Event]:
        query = stream_of(topics, after + 1 if after else 0, self._namespace)
        try:
            with self._http.stream(
                "GET", "event/stream", params=query, timeout=STREAM_SILENCE_S
            ) as response:
                if response.status_code >= 400:
                    response.read()
                    raise refused(response)
                for line in response.iter_lines():
                    yield from events_in(line)
        except httpx.TransportError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
