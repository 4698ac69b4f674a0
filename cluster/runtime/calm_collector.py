"""Sets collector and allocator for processes that handle many short-lived structs.

Messages of thousands of structs, none of them in a cycle, would otherwise make it walk the heap
again and again: that doubled the cost of decoding. A web process has loaded so much that one walk
over it would hold all its requests up for a tenth of a second.
"""

import gc

from cluster.runtime.free_memory import begin_trimming

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20
#: Of a web process, where requests and tasks come in cycles of their own.
WEB_YOUNG = 10_000


def calm_collector(*, young: int = _YOUNG) -> None:
    """Leave what is loaded now alone, look at the rest less often, give back what is freed.

    `young`: new objects, more than went, after which the youngest are looked at.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(young, _MIDDLE, _OLD)
    begin_trimming(_tidy)


def _tidy() -> None:
    """Once a minute all the same: cycles hold what is not Python's, as SQLite's statements."""
    gc.collect()
