"""Rehearse on the record of this process's database, within a limit of time.

In: a scenario. Out: what was found. The record is read as it was at one index, in one transaction,
and only where it is needed; nothing is written.
"""

from collections.abc import Callable
from dataclasses import replace

from cluster.rehearsal.helps import with_helps
from cluster.rehearsal.paces import with_paces
from cluster.rehearsal.report import report
from cluster.rehearsal.result import RehearsalProgress, Rehearsed
from cluster.rehearsal.run import Rehearsal, RehearsalLimits
from cluster.rehearsal.scenario import Scenario
from cluster.runtime.clock import SystemClock
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.under_way import under_way

#: Seconds for finding out what would help those that wait.
HELP_S = 5.0

Tell = Callable[[RehearsalProgress], None]


def rehearse(
    scenario: Scenario,
    limits: RehearsalLimits,
    tell: Tell | None = None,
) -> Rehearsed:
    """Raises ScenarioProblems, and MemoryError inside a `memory_limit` that is too low.

    Other paces of a drain begin where it began, and so does each change that might help; what is
    left of the time is theirs, of the latter not more than `HELP_S`.
    """
    clock, cache = SystemClock(), SnapshotCache()
    began = clock.monotonic()
    last = began + limits.seconds
    try:
        with cache.batch():
            snapshot, now = cache.snapshot_at(), clock.now()
            moving = under_way(snapshot)

            def rehearsal_until(end: float, since: float, told: Tell | None) -> Rehearsal:
                return Rehearsal(
                    snapshot,
                    now=now,
                    seconds=clock.monotonic,
                    limits=replace(limits, began=since, seconds=end - since),
                    under_way=moving,
                    tell=told,
                )

            def rehearsed(wanted: Scenario, end: float, told: Tell | None) -> Rehearsed:
                other = rehearsal_until(end, clock.monotonic(), told)
                other.run(wanted)
                return report(other)

            first = rehearsal_until(last, began, tell)
            first.run(scenario)
            result = with_paces(
                scenario, report(first), lambda other: rehearsed(other, last, tell)
            )
            # How far the first one came stays what is told while others help it.
            done = first.progress()
            still = None if tell is None else lambda _: tell(done)
            end = min(last, clock.monotonic() + HELP_S)
            return with_helps(
                scenario,
                result,
                first,
                lambda other: rehearsed(other, end, still),
                lambda: clock.monotonic() >= end,
            )
    finally:
        cache.close()
