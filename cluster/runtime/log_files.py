"""Log files of processes that never let go of them: kept within a size while they are written.

In: a file and its bounds. Out: older parts beside it, numbered, the newest first. The writer has
opened the file to append, so that it goes on at the beginning once that is empty.
"""

import shutil
from pathlib import Path

from cluster.runtime.embedded import open_private


def older_part(file: Path, number: int) -> Path:
    """Where the part before (1), the one before that (2), and so on, is kept."""
    return file.with_name(f"{file.name}.{number}")


def turn_over(file: Path, *, limit: int, keep: int) -> bool:
    """Begin the file anew if it is larger than `limit` bytes; whether it was.

    `keep` older parts stay. A line that is written between the copy and the cut is lost.
    """
    if not file.exists() or file.stat().st_size <= limit:
        return False
    for number in range(keep, 1, -1):
        before = older_part(file, number - 1)
        if before.exists():
            before.replace(older_part(file, number))
    if keep:
        first = older_part(file, 1)
        first.unlink(missing_ok=True)
        with file.open("rb") as written, open_private(first) as kept:
            shutil.copyfileobj(written, kept)
    with file.open("r+b") as written:
        written.truncate(0)
    return True
