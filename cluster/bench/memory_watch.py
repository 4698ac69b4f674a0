"""The most that a stack's processes hold of memory at once, looked at now and then.

In: process ids by name. Out: MB, shared pages by share. Children are found anew at each look.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from cluster.bench.scenario import Figures

_LOOK_S = 5.0


class MemoryWatch:
    """Looks every few seconds inside the block."""

    def __init__(self, pids: Callable[[], Mapping[str, int]]) -> None:
        self._pids = pids
        self._most: dict[str, float] = {}
        self._most_together = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def figures(self) -> Figures:
        """The most of each, and of all at one time."""
        self.look()
        most = {f"{name}_most_mb": mb for name, mb in self._most.items()}
        return {"memory_most_mb": self._most_together, **most}

    def look(self) -> None:
        """Take what is held now into account."""
        now = {name: _held_mb(pid) for name, pid in self._pids().items()}
        for name, mb in now.items():
            self._most[name] = max(mb, self._most.get(name, 0.0))
        self._most_together = max(self._most_together, sum(now.values()))

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_S):
            self.look()


def _held_mb(pid: int) -> float:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return sum(map(_pss_mb, [pid, *(c.pid for c in process.children(recursive=True))]))
    return 0.0


def _pss_mb(pid: int) -> float:
    """The kernel's own sum: adding up every mapping takes it far longer."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1000
    return 0.0
