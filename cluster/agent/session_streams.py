"""The ends of a command's streams that its session holds: three pipes, or one terminal.

In: bytes for the command, the size of the caller's terminal. Out: what the command writes, as far
as somebody takes it: a pipe that is full holds the command up. Nothing here waits on a thread.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import struct
import termios
from collections.abc import AsyncIterator, Callable

from cluster.agent.drivers.driver import Streams
from cluster.operations.session_frames import STDERR, STDOUT, TerminalSize

#: Bytes that are read at once: in base64 they fit in one frame of the channel.
READ = 32 * 1024
_END_OF_INPUT = b"\x04"
#: Rows and columns of a terminal whose caller has not told any.
_FIRST_SIZE = TerminalSize(24, 80)


class SessionStreams:
    """One command's streams. Close them, whatever happens."""

    def __init__(self, *, has_terminal: bool) -> None:
        self.has_terminal = has_terminal
        self._open: set[int] = set()
        if has_terminal:
            near, far = (self._kept(each) for each in os.openpty())
            self._input, self._outputs = near, {STDOUT: near}
            self.far = Streams(far, far, far, is_terminal=True)
            self.resize(_FIRST_SIZE)
        else:
            given, self._input = (self._kept(each) for each in os.pipe())
            out, out_far = (self._kept(each) for each in os.pipe())
            err, err_far = (self._kept(each) for each in os.pipe())
            self._outputs = {STDOUT: out, STDERR: err}
            self.far = Streams(given, out_far, err_far)
        for each in (self._input, *self._outputs.values()):
            os.set_blocking(each, False)

    @property
    def names(self) -> tuple[str, ...]:
        """The streams that the command writes; a terminal has one."""
        return tuple(self._outputs)

    def hand_over(self) -> None:
        """The command has its ends now: let go of them, so that their end is seen here."""
        for each in {self.far.stdin, self.far.stdout, self.far.stderr}:
            self._let_go(each)

    async def read(self, name: str) -> AsyncIterator[bytes]:
        """What the command writes there, to its end."""
        near = self._outputs[name]
        loop = asyncio.get_running_loop()
        while True:
            try:
                data = os.read(near, READ)
            except BlockingIOError:
                await _ready(near, loop.add_reader, loop.remove_reader)
                continue
            except OSError as problem:
                # A terminal that nobody has open any more.
                if problem.errno != errno.EIO:
                    raise
                return
            if not data:
                return
            yield data

    async def write(self, data: bytes) -> None:
        """Give the command bytes; waits while it takes none. What it will not have is dropped."""
        loop = asyncio.get_running_loop()
        left = memoryview(data)
        while left and self._input in self._open:
            try:
                left = left[os.write(self._input, left) :]
            except BlockingIOError:
                await _ready(self._input, loop.add_writer, loop.remove_writer)
            except OSError:
                return

    async def end_input(self) -> None:
        """Nothing more will be given: on a terminal that is a character."""
        if self.has_terminal:
            await self.write(_END_OF_INPUT)
        else:
            self._let_go(self._input)

    def resize(self, size: TerminalSize) -> None:
        """Tell the command how large its terminal is; nothing where it has none."""
        if self.has_terminal and self._input in self._open:
            told = struct.pack("HHHH", size.height, size.width, 0, 0)
            fcntl.ioctl(self._input, termios.TIOCSWINSZ, told)

    def close(self) -> None:
        """Let go of everything."""
        for each in list(self._open):
            self._let_go(each)

    def _kept(self, descriptor: int) -> int:
        self._open.add(descriptor)
        return descriptor

    def _let_go(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            with contextlib.suppress(OSError):
                os.close(descriptor)


async def _ready(descriptor: int, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    add(descriptor, tell)
    try:
        await ready
    finally:
        remove(descriptor)
