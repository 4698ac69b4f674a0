"""Whether this Celery worker was told to end, as its pool process sees it.

Celery waits for tasks that run; one that lingers for work has to hear of it. A byte of memory that
both share says so: it is made before the pool is forked.
"""

import mmap

_ENDS = mmap.mmap(-1, 1)


def note_end(**_signal: object) -> None:
    """The worker begins to end; for Celery's signal of that."""
    _ENDS[0] = 1


def is_ending() -> bool:
    """Whether tasks should come to their end."""
    return _ENDS[0] != 0
