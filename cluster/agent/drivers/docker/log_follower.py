"""Copies what a container writes into the task's own log files.

In: a container. Out: `<task>.stdout.<n>` and `.stderr.<n>`, rotated as the job says. The engine
keeps the output too, with times: a new agent goes on where the one before stopped.
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

from aiodocker import Docker
from aiohttp import ClientTimeout, StreamReader

from cluster.agent.drivers.docker.engine import Engine, EngineAway, EngineError
from cluster.agent.log_rotation import RotatingLog

#: Each piece of output has one in front: stream, and the length of what follows.
_HEADER = struct.Struct(">BxxxL")
_STREAMS = {1: "stdout", 2: "stderr"}
#: Where the time of the newest piece that was copied is kept, beside the agent's notes.
_MARK = "logs.seen"
#: Seconds between two notes of it: so much is copied twice when an agent is killed.
_MARK_EVERY_S = 1.0
_RETRY_S = 1.0


class LogFollower:
    """The logs of one run of a task."""

    def __init__(
        self, engine: Engine, container: str, place: Path, logs: dict[str, object]
    ) -> None:
        self._engine = engine
        self._container = container
        self._mark = place / _MARK
        directory, task = Path(str(logs["directory"])), str(logs["task"])
        files, size = int(str(logs["max_files"])), int(str(logs["max_bytes"]))
        self._logs = {
            name: RotatingLog(directory, f"{task}.{name}", files, size)
            for name in _STREAMS.values()
        }
        self._seen = self._read_mark()
        self._marked_at = 0.0

    async def follow(self) -> None:
        """Copy until the container has ended and all of it is there."""
        try:
            while True:
                try:
                    await self._copy()
                except EngineAway:
                    await asyncio.sleep(_RETRY_S)
                except EngineError:
                    # The container is gone, and its output with it.
                    return
                else:
                    return
        finally:
            self._note()
            for log in self._logs.values():
                log.close()

    async def _copy(self) -> None:
        async with self._engine.connected() as docker:
            async for stream, data in _pieces(docker, self._container, self._since):
                stamp, _, text = data.partition(b" ")
                # A full disk loses output; it must not lose the task.
                with contextlib.suppress(OSError):
                    self._logs[_STREAMS.get(stream, "stdout")].write(text)
                self._seen = stamp.decode("ascii", "replace")
                now = asyncio.get_running_loop().time()
                if now - self._marked_at >= _MARK_EVERY_S:
                    self._marked_at = now
                    self._note()

    @property
    def _since(self) -> str:
        """Seconds and nanoseconds right after the newest piece; "0": from the beginning."""
        head, _, fraction = self._seen.removesuffix("Z").partition(".")
        try:
            seconds = int(datetime.fromisoformat(head).replace(tzinfo=UTC).timestamp())
            after = seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0")[:9]) + 1
        except ValueError:
            return "0"
        return f"{after // 1_000_000_000}.{after % 1_000_000_000:09d}"

    def _read_mark(self) -> str:
        with contextlib.suppress(OSError):
            return self._mark.read_text()
        return ""

    def _note(self) -> None:
        with contextlib.suppress(OSError):
            self._mark.write_text(self._seen)


async def _pieces(docker: Docker, container: str, since: str) -> AsyncIterator[tuple[int, bytes]]:
    """What it has written since then and writes from now on, each piece with its time in front."""
    params: dict[str, int | str] = {
        "stdout": 1,
        "stderr": 1,
        "follow": 1,
        "timestamps": 1,
        "since": since,
    }
    # The library's own reader says nothing of the stream, and fails at what is no UTF-8.
    asked = docker._query(
        f"containers/{container}/logs", params=params, timeout=ClientTimeout(total=None)
    )
    async with asked as response:
        try:
            while header := await _exactly(response.content, _HEADER.size):
                stream, length = _HEADER.unpack(header)
                yield stream, await response.content.readexactly(length)
        finally:
            response.close()


async def _exactly(content: StreamReader, length: int) -> bytes:
    """So many bytes; none at the end."""
    try:
        return await content.readexactly(length)
    except asyncio.IncompleteReadError as problem:
        if problem.partial:
            raise
        return b""
