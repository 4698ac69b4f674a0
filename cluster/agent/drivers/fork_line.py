"""The agent's end of the line to the fork server, which makes the processes beside tasks.

In: a run directory with its specification, descriptors. Out: the new process, by number and start
time.
"""

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.agent.drivers.small_process import own_environment
from cluster.agent.fork_server import ARGUMENT_BYTES, ORDER_BYTES, ORDERS_FD

#: Seconds in which a server answers, unless something holds it up.
ANSWER_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Forked:
    """A process beside a task. `pid` 0: the server ended before it said which."""

    pid: int = 0
    start: int = 0


class ForkLine:
    """One server at a time, started when the first process is asked for, or it is gone."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._line: socket.socket | None = None
        self._server = 0

    def fork(self, directory: Path, errors: int, lock: int, line: int) -> Forked:
        """Start the process beside the task of that run directory. Raises OSError.

        The descriptors are its standard error, the lock that says it lives, and the line on which
        it gives word; they stay open here. May wait for others that are being started.
        """
        with self._turn:
            order = os.fsencode(directory)
            try:
                socket.send_fds(self._connected(), [order], [errors, lock, line])
            except OSError:
                # Nothing was ordered yet, so another server may be asked.
                self.close()
                socket.send_fds(self._connected(), [order], [errors, lock, line])
            return self._answered()

    def close(self) -> None:
        """End the server; what it has forked goes on."""
        if self._line is not None:
            self._line.close()
        self._line = None
        if self._server:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._server, 0)
        self._server = 0

    def _answered(self) -> Forked:
        """What became of an order that was given: it is never given twice."""
        try:
            words = self._connected().recv(ORDER_BYTES).split()
        except OSError:
            words = []
        if not words:
            self.close()
            return Forked()
        if words[0] == b"!":
            raise OSError(b" ".join(words[1:]).decode())
        return Forked(*map(int, words))

    def _connected(self) -> socket.socket:
        if self._line is None:
            self._line, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._line.settimeout(ANSWER_TIMEOUT_S)
            try:
                self._server = _started(far)
            finally:
                far.close()
        return self._line


@cache
def fork_line() -> ForkLine:
    """That of this process."""
    line = ForkLine()
    atexit.register(line.close)
    return line


def _started(far: socket.socket) -> int:
    """A server whose orders come from that end of a line. Raises OSError."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-S", "-m", "cluster.agent.fork_server", "-" * ARGUMENT_BYTES],
        own_environment(),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, far.fileno(), ORDERS_FD),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ],
    )
