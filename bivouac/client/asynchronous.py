"""The client of programs with an event loop: as `Client`, awaited."""

import asyncio
import logging
from collections.abc import AsyncIterator
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


class AsyncClient:
    """A line to one server; an asynchronous context manager. Its options are those of `Client`."""

    def __init__(
        self, address: str = "", *, token: str = "", namespace: str = "", timeout: float = 30.0
    ) -> None:
        self._namespace = namespace
        self._timeout = timeout
        self._http = httpx.AsyncClient(base_url=address_of(address), headers=headers_of(token))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the line."""
        await self._http.aclose()

    async def send(self, request: Request[Result]) -> Answer[Result]:
        """The answer. Raises `Refused` by status, or `Unreachable`."""
        parts = parts_of(request, self._namespace, self._timeout)
        try:
            response = await self._http.request(**parts)
        except httpx.TransportError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        return answer_of(request, response)

    async def pages(
        self, request: Request[list[Result]], per_page: int = 100
    ) -> AsyncIterator[Result]:
        """The items of a list, page after page."""
        token = ""
        while True:
            asked = request.with_query(per_page=str(per_page), next_token=token)
            answer = await self.send(asked)
            for item in answer.value:
                yield item
            token = answer.next_token
            if not token:
                return

    async def follow(self, request: Request[Result]) -> AsyncIterator[Answer[Result]]:
        """The answer now, and again each time that its index has moved on, without end."""
        index = 0
        while True:
            answer = await self.send(next_wait(request, index) if index else request)
            if answer.index != index:
                yield answer
            # After a restore the index may be smaller: then it is read anew.
            index = answer.index if answer.index >= index else 0

    async def events(self, *topics: str, index: int = 0) -> AsyncIterator[Event]:
        """As `Client.events`."""
        after = index
        while True:
            try:
                async for event in self._stream(topics, after):
                    after = max(after, event.index)
                    yield event
            except (Unreachable, Away) as error:
                log.info("action=follow_events after=%d again_in_s=%g %s", after, AGAIN_S, error)
            await asyncio.sleep(AGAIN_S)

    async def _stream(self, topics: tuple[str, ...], after: int) -> AsyncIterator[Event]:
        query = stream_of(topics, after + 1 if after else 0, self._namespace)
        try:
            async with self._http.stream(
                "GET", "event/stream", params=query, timeout=STREAM_SILENCE_S
            ) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise refused(response)
                async for line in response.aiter_lines():
                    for event in events_in(line):
                        yield event
        except httpx.TransportError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
