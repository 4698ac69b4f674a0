"""Rehearse on the record of this process's database, within limits of time and memory.

In: a scenario. Out: what was found. The record is read as it was at one index, in one transaction,
and only where it is needed; nothing is written.
"""

import resource
from collections.abc import Callable
from dataclasses import replace

from cluster.rehearsal.paces import with_paces
from cluster.rehearsal.report import report
from cluster.rehearsal.result import RehearsalProgress, Rehearsed
from cluster.rehearsal.run import Rehearsal, RehearsalLimits
from cluster.rehearsal.scenario import Scenario
from cluster.runtime.clock import SystemClock
from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.under_way import under_way

_MIB = 1024**2


def rehearse(
    scenario: Scenario,
    limits: RehearsalLimits,
    tell: Callable[[RehearsalProgress], None] | None = None,
) -> Rehearsed:
    """Raises ScenarioProblems, and MemoryError above a limit that `limit_memory` has set.

    Other paces of a drain begin where it began, and what is left of the time is theirs.
    """
    clock, cache = SystemClock(), SnapshotCache()
    began = clock.monotonic()
    try:
        with cache.batch():
            snapshot, now = cache.snapshot_at(), clock.now()
            moving = under_way(snapshot)

            def rehearsed(wanted: Scenario, since: float) -> Rehearsed:
                rehearsal = Rehearsal(
                    snapshot,
                    now=now,
                    seconds=clock.monotonic,
                    limits=replace(limits, began=since, seconds=limits.seconds - (since - began)),
                    under_way=moving,
                    tell=tell,
                )
                rehearsal.run(wanted)
                return report(rehearsal)

            return with_paces(
                scenario,
                rehearsed(scenario, began),
                lambda other: rehearsed(other, clock.monotonic()),
            )
    finally:
        cache.close()


def limit_memory(mib: int) -> None:
    """Have what this process asks for beyond so much be refused."""
    most = mib * _MIB
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def memory_mib() -> int:
    """The most that this process has held at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // _MIB
