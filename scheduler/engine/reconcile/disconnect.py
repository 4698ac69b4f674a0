"""What happens to allocations whose node stopped answering.

In: the `disconnecting` and `lost` sets of a group. Out: copies turned `unknown`, and the delayed
evaluations that will look again (reconciler.md 6.4, 9 and 10).
"""

from scheduler.engine.reconcile import reasons
from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.group_work import GroupWork
from scheduler.engine.reconcile.history import (
    client_stop_deadline,
    lost_after,
    must_stop_on_client,
    with_state,
)
from scheduler.engine.reconcile.reschedule import (
    Delayed,
    FollowUpKind,
    follow_ups,
    split_by_reschedule,
)
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalTrigger

_TIMEOUT = FollowUpKind(
    first=EvalTrigger.MAX_DISCONNECT_TIMEOUT,
    others=EvalTrigger.MAX_DISCONNECT_TIMEOUT,
    description=reasons.EVAL_DISCONNECT,
    describes_all=True,
    cause="a node stopped answering",
)
_CLIENT_STOP = FollowUpKind(
    first=EvalTrigger.ALLOC_FAILURE,
    others=EvalTrigger.ALLOC_FAILURE,
    description=reasons.EVAL_RESCHEDULE,
    describes_all=False,
    cause="a lost node may still run the allocation",
)
_RESCHEDULE = FollowUpKind(
    first=EvalTrigger.ALLOC_RESCHEDULE,
    others=EvalTrigger.ALLOC_FAILURE,
    description=reasons.EVAL_RESCHEDULE,
    describes_all=False,
    cause="a replacement is due later",
)


def handle_disconnecting(work: GroupWork) -> None:
    """Turn them `unknown`, replace those that are to be, and look again when their time is up."""
    situation = work.situation
    split = split_by_reschedule(
        work.disconnecting, situation, work.rollout.current, is_disconnecting=True
    )
    work.untainted = work.untainted.union(split.untainted)
    work.reschedule_now = work.reschedule_now.union(split.now)
    work.reschedule_later.extend(split.later)
    deadlines = [
        Delayed(alloc, situation.now + lost_after(situation.origin(alloc)))
        for alloc in work.disconnecting.values()
    ]
    evals, of_alloc = follow_ups(deadlines, _TIMEOUT, situation)
    work.followups.extend(evals)
    for alloc in work.disconnecting.values():
        work.disconnect_updates[alloc.id] = with_state(
            alloc, ClientStatus.UNKNOWN, situation.now
        ).changed(
            client_status=ClientStatus.UNKNOWN,
            client_description=reasons.UNKNOWN,
            followup_eval_id=of_alloc[alloc.id],
        )
    # The replacement's predecessor is the allocation as it stands after this plan.
    work.reschedule_now = AllocSet(
        work.disconnect_updates.get(alloc.id, alloc) for alloc in work.reschedule_now.values()
    )
    work.tally["disconnect"] += len(work.disconnect_updates)
    work.tally["reschedule_now"] += len(work.reschedule_now)


def delay_lost(work: GroupWork) -> None:
    """Wait for lost allocations that their cut-off node stops by itself."""
    situation = work.situation
    delayed: list[Delayed] = []
    for alloc in work.lost.values():
        origin = situation.origin(alloc)
        if origin is None or not must_stop_on_client(origin):
            continue
        deadline = client_stop_deadline(alloc, origin, situation.now)
        if deadline > situation.now:
            delayed.append(Delayed(alloc, deadline))
    evals, work.lost_later = follow_ups(delayed, _CLIENT_STOP, situation)
    work.followups.extend(evals)


def delay_reschedules(work: GroupWork) -> None:
    """Make the evaluations that will replace allocations later, and note them there."""
    evals, of_alloc = follow_ups(work.reschedule_later, _RESCHEDULE, work.situation)
    work.followups.extend(evals)
    moving = {}
    for alloc_id, eval_id in of_alloc.items():
        if alloc_id in work.disconnect_updates:
            update = work.disconnect_updates[alloc_id]
            work.disconnect_updates[alloc_id] = update.changed(followup_eval_id=eval_id)
        elif alloc_id in work.migrate:
            moving[alloc_id] = work.migrate[alloc_id].changed(followup_eval_id=eval_id)
        else:
            work.attribute_updates[alloc_id] = work.all[alloc_id].changed(followup_eval_id=eval_id)
    work.migrate = work.migrate.union(AllocSet(moving.values()))
    work.tally["reschedule_later"] += len(work.reschedule_later)
