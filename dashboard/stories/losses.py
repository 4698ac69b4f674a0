"""What a loss took: allocations lost and replaced, by job and by place, and how long it took.

In: rows of the record, which jobs have one allocation on each node, what waits by job. Out: sums
that add up: what is lost is replaced, needs no new place, or has none yet.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from cluster.store.lost_allocations import LostAlloc, StoryLosses
from dashboard.stories.places import StoryPlaces
from dashboard.wording import natural
from scheduler.structs.identity import JobKey


class LossSums(msgspec.Struct, frozen=True, kw_only=True):
    """How many of what was lost have which end."""

    lost: int = 0
    replaced: int = 0
    #: Of system jobs, whose node is not there, of jobs that were stopped or are gone.
    need_none: int = 0
    #: Their node may still come back with them.
    unknown: int = 0

    @property
    def missing(self) -> int:
        """Those that have no new place yet."""
        return self.lost - self.replaced - self.need_none

    @property
    def wanted(self) -> int:
        """Those that need a new place."""
        return self.lost - self.need_none


class LossLine(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of one job or place."""

    sums: LossSums
    key: JobKey | None = None
    place: str = ""
    nodes: int = 0


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; worst off first, then by name."""

    sums: LossSums
    jobs: tuple[LossLine, ...]
    places: tuple[LossLine, ...]
    #: When the last of them had a new place; 0 while one has none.
    replaced_at: int


def loss_of(
    rows: StoryLosses, places: StoryPlaces, wanting: Collection[JobKey], until: int | None = None
) -> Loss:
    """The sums of a loss; `wanting`: jobs whose lost allocations need a new place each.

    `until`: the index of a moment of the past, at which what came later had no place yet.
    """
    taken = _replacements(rows, until)
    by_job: dict[JobKey, list[LostAlloc]] = {}
    by_place: dict[str, list[LostAlloc]] = {name: [] for name in places.of_node.values()}
    for alloc in rows.lost:
        by_job.setdefault(JobKey(alloc.namespace, alloc.job_id), []).append(alloc)
        by_place.setdefault(places.of_node.get(alloc.node_id, ""), []).append(alloc)
    nodes = places.nodes_in()
    sums = _sums(rows.lost, taken, wanting)
    jobs = [LossLine(key=key, sums=_sums(own, taken, wanting)) for key, own in by_job.items()]
    stood = [
        LossLine(place=name, nodes=nodes[name], sums=_sums(own, taken, wanting))
        for name, own in by_place.items()
    ]
    return Loss(
        sums=sums,
        jobs=tuple(sorted(jobs, key=lambda line: (*_worst(line.sums), line.key))),
        places=tuple(sorted(stood, key=lambda line: (*_worst(line.sums), natural(line.place)))),
        replaced_at=max(taken.values(), default=0) if not sums.missing else 0,
    )


def _worst(sums: LossSums) -> tuple[int, int]:
    return -sums.missing, -sums.lost


def _replacements(rows: StoryLosses, until: int | None) -> dict[str, int]:
    """By lost allocation, when the one that took its place was placed; 0 where nobody knows."""
    placed = {each.id: each for each in rows.placed}
    taken = {}
    for alloc in rows.lost:
        after = placed.get(alloc.next_id)
        if alloc.next_id and (
            until is None or (after is not None and after.create_index <= until)
        ):
            taken[alloc.id] = after.created_at if after is not None else 0
    return taken


def _sums(
    lost: Sequence[LostAlloc], taken: Mapping[str, int], wanting: Collection[JobKey]
) -> LossSums:
    counts: Counter[str] = Counter()
    for alloc in lost:
        counts["lost"] += 1
        counts["unknown"] += alloc.is_unknown
        if alloc.id in taken:
            counts["replaced"] += 1
        elif JobKey(alloc.namespace, alloc.job_id) not in wanting:
            counts["need_none"] += 1
    return LossSums(**counts)
