"""The lock of an agent's state: one agent works in a directory, as its tasks have one keeper.

In: the state directory. Out: it is held, or `StateTaken`. The kernel lets go of it when the
agent ends, however that was.
"""

import contextlib
import fcntl
import os
import select
from collections.abc import Iterator
from pathlib import Path

from cluster.agent.alloc_directories import make_way

#: Seconds that an agent may take to end before the next one gives up, and between two looks.
PATIENCE_S, _LOOK_S = 5.0, 0.1


class StateTaken(Exception):
    """Another agent has the state; the message says which, and where."""


@contextlib.contextmanager
def alone_with(state_dir: Path) -> Iterator[None]:
    """Hold the state for the length of the block. Raises StateTaken."""
    make_way(state_dir.parent)
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    opened = os.open(state_dir / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(opened, "r+") as lock:
        for _ in range(max(1, round(PATIENCE_S / _LOOK_S))):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            select.select((), (), (), _LOOK_S)
        else:
            holder = lock.read().strip() or "unknown"
            raise StateTaken(
                f"Another agent (process {holder}) works in {state_dir.parent}."
                " Stop it, or give this one a directory of its own: --agent-dir."
            )
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
