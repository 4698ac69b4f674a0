"""Which of two allocations survives when the node of a replaced one comes back.

In: the `reconnecting` set of a group and the whole group. Out: stops, and copies whose return is
recorded (reconciler.md 8).
"""

from collections.abc import Callable

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.group_work import GroupWork
from scheduler.engine.reconcile.history import is_wanted, last_start, wants_move, with_state
from scheduler.engine.reconcile.results import Stop
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.policies import ReconcileChoice
from scheduler.structs.task_group import TaskGroup


def reconcile_reconnecting(work: GroupWork) -> None:
    """Keep or stop each returning allocation, and stop the replacements that lose to one."""
    stops: dict[str, Stop] = {}
    choice = work.wanted.disconnect.reconcile if work.wanted.disconnect else ""
    for alloc in work.reconnecting.values():
        verdict = _outright(work, alloc)
        if verdict is not None:
            stops[alloc.id] = verdict
            continue
        for replacement in _replacements(work.all, alloc):
            if keeps_replacement(choice, alloc, replacement, work.situation.origin(alloc)):
                stops.setdefault(alloc.id, Stop(alloc=alloc, reason=reasons.NOT_NEEDED))
            else:
                loser = Stop(alloc=replacement, reason=reasons.RECONNECTED)
                stops.setdefault(replacement.id, loser)
    work.stop.extend(stops.values())
    work.tally["stop"] += len(stops)
    gone = AllocSet(stop.alloc for stop in stops.values())
    kept = work.reconnecting.difference(gone)
    _record_return(work, kept)
    work.untainted = work.untainted.difference(gone).union(kept)
    work.migrate = work.migrate.difference(gone)
    work.lost = work.lost.difference(gone)
    work.disconnecting = work.disconnecting.difference(gone)


def _outright(work: GroupWork, alloc: Allocation) -> Stop | None:
    """The stop of an allocation that is not kept whatever became of its replacements."""
    if alloc.client_status is ClientStatus.FAILED and not alloc.is_server_terminal:
        return Stop(alloc=alloc, reason=reasons.RESCHEDULED, client_status=ClientStatus.FAILED)
    if not is_wanted(alloc) or wants_move(alloc) or work.situation.is_older(alloc):
        return Stop(alloc=alloc, reason=reasons.NOT_NEEDED)
    return None


def _replacements(everything: AllocSet, alloc: Allocation) -> list[Allocation]:
    """Its successors that the server still wants. One missing from the set hides later ones."""
    found: list[Allocation] = []
    seen = {alloc.id}
    following = alloc.next_allocation
    while following in everything and following not in seen:
        seen.add(following)
        replacement = everything[following]
        if not replacement.is_server_terminal:
            found.append(replacement)
        following = replacement.next_allocation
    return found


def _record_return(work: GroupWork, kept: AllocSet) -> None:
    for alloc in kept.values():
        if alloc.client_status is ClientStatus.RUNNING:
            work.reconnect_updates[alloc.id] = with_state(
                alloc, alloc.client_status, work.situation.now
            )
    work.tally["reconnect"] += len(work.reconnect_updates)


def keeps_replacement(
    choice: str, original: Allocation, replacement: Allocation, origin: TaskGroup | None
) -> bool:
    """Whether the replacement survives, not the original, by the strategy of that name.

    `origin` is the group the original was made from. A replacement of a newer job always survives.
    """
    if (
        replacement.job_version > original.job_version
        or replacement.job_create_index > original.job_create_index
    ):
        return True
    return _PICKERS.get(choice, _by_score)(original, replacement, origin)


def _by_score(original: Allocation, replacement: Allocation, _: TaskGroup | None) -> bool:
    if (
        replacement.client_status is not ClientStatus.RUNNING
        and original.client_status is ClientStatus.RUNNING
    ):
        return False
    ours, theirs = _score(original), _score(replacement)
    if theirs is None:
        return False
    return ours is None or theirs > ours


def _score(alloc: Allocation) -> float | None:
    scores = alloc.metrics.score_meta_data
    return scores[0].norm_score if scores else None


def _by_running_time(
    original: Allocation, replacement: Allocation, origin: TaskGroup | None
) -> bool:
    ours, theirs = _started(original, origin), _started(replacement, origin)
    if not ours and not theirs:
        return _by_score(original, replacement, origin)
    if not ours or not theirs:
        return not ours
    return ours >= theirs


def _started(alloc: Allocation, origin: TaskGroup | None) -> int:
    """When its leader was last started, else the first of its tasks; 0: never."""
    earliest = 0
    for task in origin.tasks if origin else ():
        start = last_start(alloc.task_states.get(task.name))
        if task.leader:
            return start
        if start and (not earliest or start < earliest):
            earliest = start
    return earliest


#: (original, replacement, the original's group) -> whether the replacement survives.
_PICKERS: dict[str, Callable[[Allocation, Allocation, TaskGroup | None], bool]] = {
    ReconcileChoice.KEEP_ORIGINAL: lambda *_: False,
    ReconcileChoice.KEEP_REPLACEMENT: lambda *_: True,
    ReconcileChoice.BEST_SCORE: _by_score,
    ReconcileChoice.LONGEST_RUNNING: _by_running_time,
}
