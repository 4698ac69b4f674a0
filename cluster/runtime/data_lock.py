"""The lock of the data directory: whoever works on it alone, and what another is told of it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path

from django.conf import settings

from cluster.runtime.clock import SystemClock
from cluster.runtime.embedded import open_private

_LOCK = "up.lock"


class CannotStart(Exception):
    """Something outside is in the way; the message says what to do."""


@contextlib.contextmanager
def alone_in(data_dir: Path, what: str) -> Iterator[None]:
    """Hold the directory for the length of the block; `what` is what others are told runs there.

    Raises CannotStart while another process holds it.
    """
    lock = TextIOWrapper(open_private(data_dir / _LOCK))
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


def server_address() -> str:
    """Where this record's server is reached, for commands that a shell elsewhere may have begun.

    What the environment says; else what `up` holds its data directory with, whose port such a
    shell need not know; else the settings' own.
    """
    if os.environ.get("BIVOUAC_PUBLIC_URL"):
        return str(settings.BIVOUAC_PUBLIC_URL)
    return _told_by_up(Path(settings.BIVOUAC_DATA_DIR)) or str(settings.BIVOUAC_PUBLIC_URL)


def _told_by_up(data_dir: Path) -> str:
    """The address of the `up` that runs there; "": none does."""
    with contextlib.suppress(OSError), (data_dir / _LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            first = lock.read().partition(" ")[0]
            return first if first.startswith("http") else ""
    return ""
