"""The lock of the data directory: whoever works on it alone, and what another is told of it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path

from cluster.runtime.clock import SystemClock
from cluster.runtime.embedded import open_private


class CannotStart(Exception):
    """Something outside is in the way; the message says what to do."""


@contextlib.contextmanager
def alone_in(data_dir: Path, what: str) -> Iterator[None]:
    """Hold the directory for the length of the block; `what` is what others are told runs there.

    Raises CannotStart while another process holds it.
    """
    lock = TextIOWrapper(open_private(data_dir / "up.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        where = lock.read().strip() or "another process"
        lock.close()
        raise CannotStart(
            f"Bivouac is already running with this data directory: {where}"
        ) from None
    lock.truncate(0)
    began = datetime.fromtimestamp(SystemClock().now() / 1e9, UTC)
    lock.write(f"{what} (process {os.getpid()}, since {began:%Y-%m-%d %H:%M:%S} UTC)")
    lock.flush()
    try:
        yield
    finally:
        lock.truncate(0)
        lock.close()
