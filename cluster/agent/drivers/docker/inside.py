"""The small process beside a command that runs in a container: copies its streams.

It is started by the agent, with the command's streams as its own. In: the engine's socket, a
container, `tty` or `plain`, the command. Ends with the exit code of the command; told to end
before, it kills the command first.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
import termios
import tty
from collections.abc import Mapping

import psutil
from aiodocker import Docker
from aiodocker.exceptions import DockerError
from aiodocker.execs import Exec
from aiodocker.stream import Stream

from cluster.agent.process_identity import start_time_of

_CHUNK = 64 * 1024
#: On everything that a session starts: by whom, and when that began.
SESSION, BEGUN = "BIVOUAC_SESSION", "BIVOUAC_SESSION_BEGUN"
#: As a shell tells that SIGKILL ended something, and that a command could not be run.
_KILLED, _NOT_RUN = 137, 126


async def run(socket: str, container: str, command: list[str], *, has_terminal: bool) -> int:
    """Its exit code."""
    async with Docker(url=f"unix://{socket}") as docker:
        try:
            mark = {SESSION: str(os.getpid()), BEGUN: str(start_time_of(os.getpid()))}
            execution = await docker.containers.container(container).exec(
                command, stdin=True, tty=has_terminal, environment=mark
            )
            try:
                async with execution.start() as stream:
                    return await _copy(execution, stream, has_terminal=has_terminal)
            finally:
                _kill_marked(mark)
        except DockerError as problem:
            os.write(2, f"{problem.message}\n".encode())
            return _NOT_RUN


async def _copy(execution: Exec, stream: Stream, *, has_terminal: bool) -> int:
    loop = asyncio.get_running_loop()
    told_to_end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, told_to_end.set)
    if has_terminal:
        # What was typed meanwhile is kept.
        tty.setraw(0, termios.TCSANOW)
        loop.add_signal_handler(signal.SIGWINCH, lambda: loop.create_task(_resize(execution)))
        await _resize(execution)
    given = loop.create_task(_give(stream))
    shown = loop.create_task(_show(stream))
    ending = loop.create_task(told_to_end.wait())
    await asyncio.wait([shown, ending], return_when=asyncio.FIRST_COMPLETED)
    for task in (given, shown, ending):
        task.cancel()
    facts = await execution.inspect()
    if facts["Running"]:
        _kill_below(int(facts["Pid"]))
        return _KILLED
    return int(facts["ExitCode"])


def _kill_below(pid: int) -> None:
    """End the command and what it started; the engine has no request for that."""
    with contextlib.suppress(psutil.Error):
        command = psutil.Process(pid)
        for process in (*command.children(recursive=True), command):
            with contextlib.suppress(psutil.Error):
                process.kill()


def _kill_marked(mark: Mapping[str, str]) -> None:
    """End what the command left behind, whoever is the parent of it by now."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if mark.items() <= process.environ().items():
                process.kill()


async def _give(stream: Stream) -> None:
    """What is typed; its end is the end of the command's input."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while data := await reader.read(_CHUNK):
        await stream.write_in(data)
    connection = stream._resp.connection if stream._resp else None
    transport = connection.transport if connection else None
    # The library closes both ways at once; only the input has ended.
    if transport is not None and transport.can_write_eof():
        transport.write_eof()


async def _show(stream: Stream) -> None:
    while (piece := await stream.read_out()) is not None:
        await asyncio.to_thread(_write, 2 if piece.stream == 2 else 1, piece.data)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


async def _resize(execution: Exec) -> None:
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)
    rows, columns, _, _ = struct.unpack("HHHH", size)
    if rows and columns:
        with contextlib.suppress(Exception):
            await execution.resize(h=rows, w=columns)


def main() -> int:
    """What the agent starts."""
    socket, container, kind, *command = sys.argv[1:]
    has_terminal = kind == "tty"
    if has_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    return asyncio.run(run(socket, container, command, has_terminal=has_terminal))


if __name__ == "__main__":
    sys.exit(main())
