"""Count the summaries of all jobs anew, as `nomad system reconcile summaries` asks.

In: a store. Out: the index of the write, 0 when every summary was right.
"""

from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.ports import StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes.summaries import recount_summaries


def reconcile_summaries(store: StateStore, *, by: Caller, now: int) -> int:
    """Rewrite the summaries whose counts are not those of the allocations, in one write."""
    require_management(by)
    kind = WriteKind.SUMMARIES_RECONCILED
    index, rewritten = store.write(kind, recount_summaries, now=now, by=by)
    return index if rewritten else 0
