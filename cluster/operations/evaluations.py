"""Delete evaluations by hand, which is possible while the broker is paused.

In: a store, ids, `now`. Out: how many went, or `OperationRefused` with nothing written. Which of
them somebody wants to be rid of is not known here.
"""

from collections.abc import Sequence

import msgspec

from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from scheduler.access.caller import Caller
from scheduler.collection.rules import may_be_deleted
from scheduler.ports import Change, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes.evaluations import collect

PAUSE_FIRST = "eval broker is enabled; eval broker must be paused to delete evals"
NOT_FOUND = "eval not found"
#: Ids that one request may name.
MOST_IDS = 7281
#: Evaluations deleted in one write.
PAGE = 728


class EvaluationsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """How many went, and the index of the last write; 0 when nothing was written."""

    count: int = 0
    index: int = 0


def delete_evaluations(
    store: StateStore, eval_ids: Sequence[str], *, by: Caller, now: int
) -> EvaluationsDeleted:
    """Delete all of them in one write, or none: when one is unknown, or still needed."""
    require_management(by)
    if len(eval_ids) > MOST_IDS:
        raise OperationRefused(f"{len(eval_ids)} evals are too many, at most {MOST_IDS}")

    def work(change: Change) -> int:
        _check_paused(change)
        wanted = tuple(dict.fromkeys(eval_ids))
        for eval_id in wanted:
            evaluation = change.evaluation(eval_id)
            if evaluation is None:
                raise OperationRefused(NOT_FOUND)
            if not may_be_deleted(change, evaluation):
                raise OperationRefused(f"eval {eval_id} is not safe to delete")
        collect(change, wanted, ())
        return len(wanted)

    index, count = store.write(WriteKind.COLLECTED, work, now=now, by=by)
    return EvaluationsDeleted(count=count, index=index)


def delete_where_possible(
    store: StateStore, eval_ids: Sequence[str], *, by: Caller, now: int
) -> EvaluationsDeleted:
    """Delete those that are still there and not needed any more, a page in each write."""
    require_management(by)
    store.read(_check_paused)
    deleted = EvaluationsDeleted()
    for start in range(0, len(eval_ids), PAGE):
        index, count = _delete_page(store, eval_ids[start : start + PAGE], by, now)
        if count:
            deleted = EvaluationsDeleted(count=deleted.count + count, index=index)
    return deleted


def _delete_page(
    store: StateStore, eval_ids: Sequence[str], by: Caller, now: int
) -> tuple[int, int]:
    def work(change: Change) -> int:
        _check_paused(change)
        found = (change.evaluation(eval_id) for eval_id in eval_ids)
        safe = [each.id for each in found if each is not None and may_be_deleted(change, each)]
        collect(change, safe, ())
        return len(safe)

    return store.write(WriteKind.COLLECTED, work, now=now, by=by)


def _check_paused(reader: StateReader) -> None:
    """Else one could be in the hands of a worker."""
    if not reader.scheduler_settings().pause_eval_broker:
        raise OperationRefused(PAUSE_FIRST)
