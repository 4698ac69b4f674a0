"""Sets collector and allocator for processes that handle many short-lived structs.

Messages of thousands of structs, none of them in a cycle, would otherwise make it walk the heap
again and again: that doubled the cost of decoding.
"""

import gc

from cluster.runtime.free_memory import begin_trimming

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20


def calm_collector() -> None:
    """Leave what is loaded now alone, look at the rest less often, give back what is freed."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    begin_trimming(_tidy)


def _tidy() -> None:
    """Once a minute all the same: cycles hold what is not Python's, as SQLite's statements."""
    gc.collect()
