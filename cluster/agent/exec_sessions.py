"""Commands that people run inside the tasks of one node (node-agent-2.md 6.1).

In: a call of the server and what its caller types. Out: frames with what the command writes, and
at last how it ended. A session ends with its caller, its task, its allocation and the agent,
and everything that it started ends with it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from cluster.agent.alloc_host import AllocHost
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.drivers.driver import Handle, InsideFailed, InsideProcess
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.session_streams import SessionStreams
from cluster.operations.agent_calls import NOT_STARTED
from cluster.operations.session_frames import BEGUN, closed, exited, output, read_input
from scheduler.structs.wire import Wire

#: Sessions of one node at a time.
MOST_SESSIONS = 64
#: Seconds between two looks at whether the task still runs.
LOOK_S = 0.25
#: Pieces of output that wait for the caller; a full queue holds the command up.
_WAITING = 4
_BUSY = 429


class ExecCall(Wire, frozen=True):
    """What to run, and where."""

    alloc_id: str
    task: str = ""
    command: tuple[str, ...] = ()
    tty: bool = False
    #: Whether the caller wants to hear that the command runs, before what it writes.
    tells_begin: bool = False


@dataclass
class _Session:
    """One command under way."""

    streams: SessionStreams
    process: InsideProcess
    #: Frames with output; None for the end of one stream.
    frames: asyncio.Queue[bytes | None] = field(
        default_factory=lambda: asyncio.Queue(maxsize=_WAITING)
    )

    async def copy(self, name: str) -> None:
        """Frames with what the command writes on one stream."""
        async with aclosing(self.streams.read(name)) as pieces:  # type: ignore[type-var] # a generator
            async for data in pieces:
                await self.frames.put(output(name, data))
        await self.frames.put(None)

    async def listen(self, given: AsyncIterator[bytes]) -> None:
        """Pass on what the caller says."""
        async for frame in given:
            said = read_input(frame)
            if said.tty_size is not None:
                self.streams.resize(said.tty_size)
            if said.stdin is not None:
                await self.streams.write(said.stdin.data)
                if said.stdin.close:
                    await self.streams.end_input()


class ExecSessions:
    """The sessions of one node."""

    def __init__(
        self, host: AllocHost, *, most: int = MOST_SESSIONS, allowed: bool = True
    ) -> None:
        self._host = host
        self._most = most
        self._allowed = allowed
        self._count = 0

    async def run(
        self, body: dict[str, object], given: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The frames of one session. Raises AnswerRefused."""
        if not self._allowed:
            raise AnswerRefused("Permission denied: this node runs no commands inside tasks", 403)
        call = msgspec.convert(body, ExecCall)
        entry, handle = self._running(call)
        if self._count >= self._most:
            text = f"{self._count} sessions are open on this node, and no more are allowed"
            raise AnswerRefused(text, _BUSY)
        self._count += 1
        try:
            frames = self._session(entry, handle, call, given)
            async with aclosing(frames) as session:  # type: ignore[type-var] # a generator
                async for frame in session:
                    yield frame
        finally:
            self._count -= 1

    async def _session(
        self, entry: HostedAlloc, handle: Handle, call: ExecCall, given: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        streams = SessionStreams(has_terminal=call.tty)
        work: list[asyncio.Task[None]] = []
        process = None
        try:
            process = await self._start(entry, handle, call, streams)
            session = _Session(streams, process)
            work = [asyncio.create_task(session.copy(name)) for name in streams.names]
            work.append(asyncio.create_task(session.listen(given)))
            work.append(asyncio.create_task(self._end_with(entry, call.task, handle, process)))
            if call.tells_begin:
                yield BEGUN
            left = len(streams.names)
            while left:
                frame = await session.frames.get()
                if frame is None:
                    left -= 1
                else:
                    yield frame
            for name in reversed(streams.names):
                yield closed(name)
            yield exited(await process.wait())
        finally:
            for task in work:
                task.cancel()
            if process is not None:
                process.kill()
            # Readers are gone before what they read is closed.
            await asyncio.gather(*work, return_exceptions=True)
            streams.close()
            if process is not None:
                await asyncio.shield(process.wait())

    async def _start(
        self, entry: HostedAlloc, handle: Handle, call: ExecCall, streams: SessionStreams
    ) -> InsideProcess:
        driver = self._host.drivers[handle.driver]
        try:
            return await driver.run_inside(handle, call.command, streams.far)
        except InsideFailed as problem:
            # What the kernel says of surroundings that are gone would tell nobody why.
            if not self._runs_still(entry, call.task, handle):
                raise AnswerRefused(_not_running(call.task), 404) from problem
            raise AnswerRefused(str(problem)) from problem
        finally:
            streams.hand_over()

    async def _end_with(
        self, entry: HostedAlloc, task: str, handle: Handle, process: InsideProcess
    ) -> None:
        """End the command once the run of the task is over in which it was begun."""
        while self._runs_still(entry, task, handle):  # noqa: ASYNC110 - many things end a run
            await asyncio.sleep(LOOK_S)
        process.kill()

    def _runs_still(self, entry: HostedAlloc, task: str, handle: Handle) -> bool:
        now = entry.handles.get(task)
        same = now is not None and now.task_id == handle.task_id
        return same and entry.runner.tasks[task].has_process

    def _running(self, call: ExecCall) -> tuple[HostedAlloc, Handle]:
        entry = self._host.entries.get(call.alloc_id)
        if entry is None:
            raise AnswerRefused(f'Unknown allocation "{call.alloc_id}"', 404)
        if not call.task:
            raise AnswerRefused("must provide task name", 400)
        if not call.command:
            raise AnswerRefused("command is not present", 400)
        run = entry.runner.tasks.get(call.task)
        if run is None:
            raise AnswerRefused(f'unknown task name "{call.task}"', 400)
        if not run.state.started_at:
            raise AnswerRefused(f'task "{call.task}" {NOT_STARTED}.', 404)
        handle = entry.handles.get(call.task)
        if handle is None or not run.has_process:
            raise AnswerRefused(_not_running(call.task), 404)
        return entry, handle


def _not_running(task: str) -> str:
    return f'task "{task}" is not running.'


async def nothing_given() -> AsyncIterator[bytes]:
    """Of a caller who says nothing, for ever."""
    await asyncio.Event().wait()
    yield b""
