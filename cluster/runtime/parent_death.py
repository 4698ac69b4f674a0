"""End with the process that started this one, however that one ends.

A killed supervisor cannot stop anything any more; what it leaves behind would hold the port and go
on writing. Linux kills a child when its parent dies, if asked; elsewhere, and where the parent's
thread may end before the parent does, somebody has to look.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

#: Seconds between looks at the parent.
LOOK_S = 0.5
_PR_SET_PDEATHSIG = 1
_IS_LINUX = sys.platform == "linux"
#: Loaded before any fork: little may be done between fork and exec.
_LIBC = ctypes.CDLL(None, use_errno=True) if _IS_LINUX else None


def asks_the_kernel() -> bool:
    """Whether `die_with_parent` works here."""
    return _LIBC is not None


def die_with_parent() -> None:
    """To be called in a new child before exec: it is killed when the starting thread ends."""
    assert _LIBC is not None, "asked only where the kernel does this"
    parent = os.getppid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def watch_parent() -> None:
    """Have a thread kill this process once its parent is another one than now."""
    thread = threading.Thread(
        target=_kill_orphan, args=(os.getppid(),), name="parent-watch", daemon=True
    )
    thread.start()


def end_with_pool(**_signal: object) -> None:
    """For a process of Celery's pool, which may have been started by a thread of its parent."""
    watch_parent()


def following(command: Sequence[str]) -> tuple[str, ...]:
    """The command under a process that ends it with its own parent, for systems but Linux."""
    return (sys.executable, "-m", "cluster.runtime.parent_death", *command)


def _kill_orphan(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _follow(command: Sequence[str]) -> int:
    """Run the command; pass on signals; kill it when this process is orphaned."""
    parent = os.getppid()
    child = subprocess.Popen(command)  # noqa: S603 - what the supervisor was going to start itself
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, _frame: child.send_signal(given))
    while True:
        try:
            return child.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if os.getppid() != parent:
                child.kill()


if __name__ == "__main__":
    sys.exit(_follow(sys.argv[1:]))
