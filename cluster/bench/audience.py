"""Many open pages without a browser: sockets that follow what a page follows, as a page does.

In: an address, a session, the topics and index of each page. Out: when each message came, what
was lost on the way, who was refused or dropped. All of them live on one event loop in a thread of
this process; pictures in the messages are not looked at.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from cluster.runtime.clock import SystemClock, chance

_CLOCK = SystemClock()
Result = TypeVar("Result")

#: As static/js/live/socket.js: messages seen are reported this often, a lost line tried after.
_REPORT_S = 0.5
_RETRY_S = 0.25
_RETRY_GROWTH = 1.7
_LONGEST_RETRY_S = 10.0
_HANDSHAKE_S = 20
#: Handshakes at once while the audience comes in.
_AT_ONCE = 16
#: Bytes the kernel takes for a page that does not read.
_SMALL_BUFFER = 4096


@dataclass(frozen=True, slots=True)
class Seat:
    """What one page follows, from which index."""

    topics: tuple[str, ...]
    index: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame, and what was known before it."""

    topic: str
    since: int
    index: int
    #: ns since the epoch.
    at: int


class Head(msgspec.Struct):
    """A message without its pieces."""

    type: Literal["frame", "beat", "hint", "reload", "refused"]
    topic: str = ""
    since: int = 0
    index: int = 0
    reason: str = ""


_heads = msgspec.json.Decoder(Head)


@dataclass
class OpenPage:
    """One socket, and what it has been through."""

    have: dict[str, int]
    reads: asyncio.Event = field(default_factory=asyncio.Event)
    arrivals: list[Arrival] = field(default_factory=list)
    messages: int = 0
    #: Frames that did not continue where the page was: something was lost, it connected again.
    gaps: int = 0
    #: Messages that told the page to load again.
    reloads: int = 0
    #: Handshakes that failed and topics that were refused, each with its reason.
    refused: list[str] = field(default_factory=list)
    #: Codes with which the server closed the line.
    closed: list[int] = field(default_factory=list)
    opened: int = 0

    @property
    def index(self) -> int:
        """Complete up to here, in all topics."""
        return min(self.have.values())

    def told(self) -> str:
        """Where it stands, for whoever wonders why."""
        return (
            f"at {self.have}, opened {self.opened} times, closed with {self.closed[-3:]},"
            f" {self.messages} messages, {self.gaps} gaps, {self.reloads} reloads,"
            f" refused with {self.refused[-3:]}"
        )

    def take(self, text: str | bytes, at: int) -> bool:
        """Take a message; False when the page must connect again."""
        head = _heads.decode(text)
        self.messages += 1
        if head.type == "frame":
            have = self.have[head.topic]
            if head.since > have:
                self.gaps += 1
                return False
            self.have[head.topic] = max(have, head.index)
            self.arrivals.append(Arrival(head.topic, have, head.index, at))
        elif head.type == "beat":
            self.have = {topic: max(have, head.index) for topic, have in self.have.items()}
        elif head.type == "reload":
            self.reloads += 1
            self.have = dict.fromkeys(self.have, head.index)
        elif head.type == "refused":
            self.refused.append(head.reason)
        return True


class Audience:
    """Open pages, as a context manager: connected inside the block."""

    def __init__(self, address: str, cookie: str, seats: Sequence[Seat]) -> None:
        """`cookie` is a header that signs in."""
        self.pages = [_page(seat) for seat in seats]
        self._url = "ws" + address.removeprefix("http") + "/live"
        self._host, self._port = urlsplit(address).hostname, urlsplit(address).port
        self._headers = {"Cookie": cookie, "Origin": address}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="audience")
        self._tasks: list[asyncio.Task[None]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self.read_again(self.pages)
        self._run(self._open(self.pages))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def come(self, seats: Sequence[Seat]) -> list[OpenPage]:
        """Open further pages, which read like the others."""
        pages = [_page(seat) for seat in seats]
        self.read_again(pages)
        self._run(self._open(pages))
        return pages

    def stop_reading(self, seats: Sequence[Seat]) -> list[OpenPage]:
        """Open further pages, which read nothing; see `read_again`."""
        pages = [_page(seat) for seat in seats]
        self._run(self._open(pages))
        return pages

    def read_again(self, pages: Sequence[OpenPage]) -> None:
        """From here on these pages read like the others."""
        for page in pages:
            self._loop.call_soon_threadsafe(page.reads.set)

    def all_again_from(self, index: int) -> None:
        """Every page of the audience loses its line and comes back at once, with an old index."""
        self._run(self._close())
        for page in self.pages:
            page.have = dict.fromkeys(page.have, index)
        self._run(self._open(self.pages, at_once=len(self.pages)))

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, pages: Sequence[OpenPage], at_once: int = _AT_ONCE) -> None:
        gate = asyncio.Semaphore(at_once)
        opened = [asyncio.Event() for _ in pages]
        for page, event in zip(pages, opened, strict=True):
            self._tasks.append(asyncio.create_task(self._live(page, gate, event)))
        await asyncio.gather(*(event.wait() for event in opened))

    async def _close(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _live(self, page: OpenPage, gate: asyncio.Semaphore, opened: asyncio.Event) -> None:
        """Connect, follow, and come back for as long as the audience stays."""
        pause = _RETRY_S
        while True:
            try:
                async with gate:
                    line = await self._connected(page)
            except (OSError, TimeoutError, InvalidHandshake) as error:
                page.refused.append(f"{type(error).__name__}: {error}")
            else:
                page.opened += 1
                pause = _RETRY_S
                opened.set()
                async with line:
                    await self._follow(page, line)
            opened.set()
            await asyncio.sleep(pause * (0.75 + chance() / 2))
            pause = min(pause * _RETRY_GROWTH, _LONGEST_RETRY_S)

    async def _connected(self, page: OpenPage) -> ClientConnection:
        query = urlencode({"index": page.index, "topics": ",".join(page.have)})
        is_slow = not page.reads.is_set()
        options: dict[str, Any] = {"max_queue": 1, "sock": self._small()} if is_slow else {}
        return await connect(
            f"{self._url}?{query}", additional_headers=self._headers, compression=None,
            max_size=None, ping_interval=None, open_timeout=_HANDSHAKE_S, close_timeout=1,
            proxy=None, **options,
        )  # fmt: skip

    def _small(self) -> socket.socket:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
        line.connect((self._host, self._port))
        line.setblocking(False)  # noqa: FBT003 - the socket's own way to say it
        return line

    async def _follow(self, page: OpenPage, line: ClientConnection) -> None:
        await page.reads.wait()
        reporting = asyncio.create_task(_report(page, line, page.messages))
        try:
            while page.take(await line.recv(), _CLOCK.now()):
                pass
        except ConnectionClosed as end:
            page.closed.append(end.rcvd.code if end.rcvd is not None else 0)
        finally:
            reporting.cancel()


def _page(seat: Seat) -> OpenPage:
    return OpenPage(dict.fromkeys(seat.topics, seat.index))


async def _report(page: OpenPage, line: ClientConnection, before: int) -> None:
    reported = 0
    with contextlib.suppress(ConnectionClosed):
        while True:
            await asyncio.sleep(_REPORT_S)
            if page.messages - before > reported:
                reported = page.messages - before
                await line.send(str(reported))
