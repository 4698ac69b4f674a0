"""Which names `job.group[0..count)` are taken, and which come next.

In: a set of allocations that hold names. Out: names. Knows nothing of why a name is wanted.
"""

from collections.abc import Iterable

from scheduler.engine.reconcile.alloc_set import AllocSet, name_index
from scheduler.structs.allocation import Allocation


class AllocNameIndex:
    """The used indexes of one group, and how often each is held again. Changes as names go."""

    def __init__(
        self, job_id: str, task_group: str, count: int, allocs: Iterable[Allocation] = ()
    ) -> None:
        self._prefix = f"{job_id}.{task_group}"
        self._count = count
        self._used: set[int] = set()
        self._duplicates: dict[int, int] = {}
        for alloc in allocs:
            index = name_index(alloc)
            if index in self._used:
                self._duplicates[index] = self._duplicates.get(index, 0) + 1
            self._used.add(index)

    def highest(self, wanted: int) -> frozenset[str]:
        """Release up to `wanted` used indexes from the top, and return their names."""
        chosen = sorted(self._used, reverse=True)[:wanted]
        self._used.difference_update(chosen)
        return frozenset(self._name(index) for index in chosen)

    def next(self, wanted: int) -> tuple[str, ...]:
        """Take `wanted` names: the lowest free ones below the count, then 0, 1, ... once more."""
        free = [index for index in range(self._count) if index not in self._used][:wanted]
        chosen = [*free, *range(wanted - len(free))]
        self._used.update(chosen)
        return tuple(self._name(index) for index in chosen)

    def release(self, index: int) -> None:
        """Give an index back. One held twice stays used; one held more often never changes."""
        held_again = self._duplicates.get(index)
        if held_again is None:
            self._used.discard(index)
        elif held_again == 1:
            del self._duplicates[index]

    def is_duplicate(self, index: int) -> bool:
        """Whether more than one allocation holds the index."""
        return self._duplicates.get(index, 0) > 0

    def next_canaries(
        self, wanted: int, existing: AllocSet, destructive: AllocSet
    ) -> tuple[str, ...]:
        """Names for new canaries: of what will be replaced, then free ones, then too high ones."""
        taken = existing.names
        replaced = sorted({name_index(alloc) for alloc in destructive.values()})
        free = [index for index in range(self._count) if index not in self._used]
        chosen: list[int] = []
        for index in [*(i for i in replaced if i < self._count), *free]:
            if len(chosen) == wanted:
                break
            if self._name(index) not in taken and index not in chosen:
                chosen.append(index)
        self._used.update(chosen)
        chosen.extend(self._count + extra for extra in range(wanted - len(chosen)))
        return tuple(self._name(index) for index in chosen)

    def _name(self, index: int) -> str:
        return f"{self._prefix}[{index}]"
