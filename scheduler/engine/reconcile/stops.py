"""Which allocations of a group are surplus, and which of them go first.

In: the group's working sets. Out: stops; `untainted` and `migrate` shrink (reconciler.md 3.1, 12).
"""

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import AllocSet, name_index
from scheduler.engine.reconcile.buckets import classify
from scheduler.engine.reconcile.group_work import GroupWork
from scheduler.engine.reconcile.names import AllocNameIndex
from scheduler.structs.allocation import Allocation, ClientStatus


def stop_whole(work: GroupWork, allocs: AllocSet) -> None:
    """Stop a set that nothing wants any more. Counts all of it, even what has ended already."""
    buckets = classify(allocs, work.situation)
    for bucket in (
        buckets.untainted,
        buckets.migrating,
        buckets.disconnecting,
        buckets.reconnecting,
        buckets.ignored.filter(_is_unknown),
        buckets.expiring.filter(_is_unknown),
    ):
        work.stop_all(bucket, reasons.NOT_NEEDED)
    work.stop_all(buckets.lost, reasons.LOST, ClientStatus.LOST)
    work.tally["stop"] += len(allocs)


def stop_surplus(work: GroupWork) -> None:
    """Stop what is lost, and as many others as there are too many."""
    work.stop_all(work.lost, reasons.LOST, ClientStatus.LOST)
    victims = _surplus(work)
    work.stop_all(victims, reasons.NOT_NEEDED)
    work.untainted = work.untainted.difference(victims)
    work.migrate = work.migrate.difference(victims)
    work.tally["stop"] += len(work.lost.union(victims))


def _surplus(work: GroupWork) -> AllocSet:
    candidates = work.untainted
    if work.is_canarying:
        candidates = candidates.difference(work.canaries)
    alive = sum(not _is_unknown(alloc) for alloc in candidates.values())
    excess = alive + len(work.migrate) - work.wanted.count
    if excess <= 0:
        return AllocSet()
    candidates = candidates.filter(lambda alloc: not alloc.is_server_terminal)
    picks: dict[str, Allocation] = {}
    for choose in (_beside_canaries, _migrating, _highest_names, _any):
        if len(picks) < excess:
            chosen = choose(work, candidates, excess - len(picks))
            picks.update((alloc.id, alloc) for alloc in chosen)
            candidates = candidates.filter(lambda alloc: alloc.id not in picks)
    return AllocSet(picks.values())


def _beside_canaries(work: GroupWork, candidates: AllocSet, wanted: int) -> list[Allocation]:
    """Old allocations that bear the name of a promoted canary."""
    if work.is_canarying or not work.canaries:
        return []
    names = work.canaries.names
    return [
        alloc
        for alloc in candidates.values()
        if alloc.id not in work.canaries and alloc.name in names
    ][:wanted]


def _migrating(work: GroupWork, candidates: AllocSet, wanted: int) -> list[Allocation]:
    """Allocations that would move anyway, highest index first."""
    del candidates
    moving = AllocNameIndex(
        work.situation.job_id, work.name, work.wanted.count, work.migrate.values()
    )
    names = moving.highest(wanted)
    chosen = [alloc for alloc in work.migrate.values() if alloc.name in names][:wanted]
    for alloc in chosen:
        work.names.release(name_index(alloc))
    return chosen


def _highest_names(work: GroupWork, candidates: AllocSet, wanted: int) -> list[Allocation]:
    """Bearers of the highest names. A name held by a lost or canary allocation uses up a pick."""
    names = work.names.highest(wanted)
    return [alloc for alloc in candidates.values() if alloc.name in names][:wanted]


def _any(work: GroupWork, candidates: AllocSet, wanted: int) -> list[Allocation]:
    """Whatever is left, highest index first: this resolves doubled names."""
    del work
    return list(candidates.values())[::-1][:wanted]


def _is_unknown(alloc: Allocation) -> bool:
    return alloc.client_status is ClientStatus.UNKNOWN
