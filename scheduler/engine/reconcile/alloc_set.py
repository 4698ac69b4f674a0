"""Set algebra over allocations keyed by id.

In: allocations. Out: new sets; none is ever changed. Iteration order is (index in the name,
CreateIndex, id), so that everything built on it is the same on every run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from scheduler.structs.allocation import Allocation


def name_index(alloc: Allocation) -> int:
    """The number in the name of an allocation."""
    return index_in_name(alloc.name, alloc.job_id, alloc.task_group)


def index_in_name(name: str, job_id: str, task_group: str) -> int:
    """The number in `job.group[number]`; 0 when the name has another shape."""
    text = name[len(job_id) + len(task_group) + 2 : -1]
    return int(text) if text.isascii() and text.isdigit() else 0


def by_index(alloc: Allocation) -> tuple[int, int, str]:
    """The key of the order in which allocations of a group are visited."""
    return (name_index(alloc), alloc.create_index, alloc.id)


class AllocSet(Mapping[str, Allocation]):
    """Allocations by id, in visiting order."""

    __slots__ = ("_by_id",)

    def __init__(self, allocs: Iterable[Allocation] = ()) -> None:
        self._by_id = {alloc.id: alloc for alloc in sorted(allocs, key=by_index)}

    def __getitem__(self, alloc_id: str) -> Allocation:
        return self._by_id[alloc_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def __repr__(self) -> str:
        return f"AllocSet({sorted(alloc.name for alloc in self.values())})"

    @property
    def names(self) -> frozenset[str]:
        """The names its members bear."""
        return frozenset(alloc.name for alloc in self.values())

    def union(self, *others: "AllocSet") -> "AllocSet":
        """Members of any; of two with one id the later set's wins."""
        if not any(others):
            return self
        merged = dict(self._by_id)
        for other in others:
            merged.update(other.items())
        return AllocSet(merged.values())

    def difference(self, *others: "AllocSet") -> "AllocSet":
        """Members of none of the others."""
        if not any(others):
            return self
        return self.filter(lambda alloc: not any(alloc.id in other for other in others))

    def filter(self, keep: Callable[[Allocation], bool]) -> "AllocSet":
        """The members for which `keep` holds."""
        kept = AllocSet()
        kept._by_id = {key: alloc for key, alloc in self._by_id.items() if keep(alloc)}
        return kept

    def of_ids(self, ids: Iterable[str]) -> "AllocSet":
        """The members with these ids; ids of others are passed over."""
        return AllocSet(self._by_id[key] for key in set(ids) if key in self._by_id)
