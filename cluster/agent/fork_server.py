"""Forks the small processes beside tasks: they share what it has loaded, 2 MB each in place of 6.

One for each agent, which starts it when it is first needed. It ends with its agent; what it has
forked does not. Standard library only, as they themselves. In, on a socket of packets: a run
directory, with descriptors for errors, the lock, and the line on which the agent hears that the
task runs. Out: `pid start-time` of the process beside the task, or `! reason`.
"""

import contextlib
import ctypes
import fcntl
import gc
import os
import signal
import socket
import sys
from pathlib import Path

from cluster.agent import task_process
from cluster.agent.process_identity import start_time_of

#: Where the server finds its line to the agent.
ORDERS_FD = 3
#: Its last argument has so many characters, for a fork to write there which task it stands beside.
ARGUMENT_BYTES = 512
#: Of one order: a path, or an answer to it.
ORDER_BYTES = 4096 + 1
_MAX_DESCRIPTORS = 3
#: Above every descriptor number used for handing over.
_FIRST_SPARE_FD = 10
_OPEN_FILES = 1 << 20
#: The end of the arguments, counted in /proc/self/stat from after the command's closing bracket.
_ARGUMENTS_END_FIELD = 46


def main() -> None:
    """Fork what is ordered until the agent is gone."""
    # Not what a terminal says to the agent: it ends by the end of its line.
    os.setsid()
    # Nobody asks how a fork ended; its record says so.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # What exists is never looked over again, which would make each fork's copy of it its own.
    gc.freeze()
    with socket.socket(fileno=ORDERS_FD) as orders:
        while True:
            order, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES, _MAX_DESCRIPTORS)
            if not order:
                return
            answer = _forked(Path(os.fsdecode(order)), descriptors)
            for each in descriptors:
                os.close(each)
            with contextlib.suppress(OSError):
                orders.send(answer.encode())


def _forked(directory: Path, descriptors: list[int]) -> str:
    """The answer to an order. In the fork it never returns."""
    try:
        child = os.fork()
    except OSError as problem:
        return f"! {os.strerror(problem.errno or 0)}"
    if child:
        return f"{child} {start_time_of(child) or 0}"
    try:
        _take(descriptors)
        _tell_in_arguments(directory)
        task_process.main(directory)
        os._exit(0)
    except BaseException:  # Neither an error nor anything else leads back to the orders.
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _take(descriptors: list[int]) -> None:
    """Errors, lock and line at their places; nothing of the server stays open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    kept = [fcntl.fcntl(each, fcntl.F_DUPFD, _FIRST_SPARE_FD) for each in (nothing, *descriptors)]
    places = (2, task_process.LOCK_FD, task_process.READY_FD)
    for source, place in zip((kept[0], kept[0], *kept[1:]), (0, 1, *places), strict=True):
        os.dup2(source, place)
    os.closerange(max(places) + 1, _OPEN_FILES)


def _tell_in_arguments(directory: Path) -> None:
    """Let `ps` say which task this process stands beside: write over its last argument."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        # The zero behind the argument stays.
        begin = int(fields[_ARGUMENTS_END_FIELD]) - 1 - ARGUMENT_BYTES
        text = os.fsencode(directory)[-ARGUMENT_BYTES:]
        ctypes.memmove(begin, text.ljust(ARGUMENT_BYTES, b"\0"), ARGUMENT_BYTES)


if __name__ == "__main__":
    main()
