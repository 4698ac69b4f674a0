"""Which failed allocations to replace now, later or never.

In: a set, the policies its members were made with, `now`. Out: a split, and delayed evaluations.
Where a replacement goes is not known here.
"""

from collections.abc import Iterable

import msgspec

from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.history import (
    failed_to_be_replaced,
    is_wanted,
    last_event_time,
    last_unknown_time,
    ran_successfully,
    replace_on_disconnect,
)
from scheduler.engine.reconcile.situation import Situation
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DesiredStatus,
    RescheduleEvent,
    RescheduleTracker,
)
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger, Evaluation
from scheduler.structs.job import Job, JobType
from scheduler.structs.policies import SECOND, ReschedulePolicy

#: A replacement due within this span counts as due.
_DUE_TOLERANCE = 1 * SECOND
#: Delayed evaluations due less than this after the first of a batch share one.
_FOLLOW_UP_WINDOW = 5 * SECOND
#: Events kept where attempts are not limited.
_KEPT_EVENTS = 5


class Delayed(msgspec.Struct, frozen=True):
    """An allocation to look at again at an instant."""

    alloc: Allocation
    at: int


class RescheduleSplit(msgspec.Struct, frozen=True, kw_only=True):
    """What the filter made of a set; members in none of the three hold no slot."""

    untainted: AllocSet
    now: AllocSet
    later: tuple[Delayed, ...]


def split_by_reschedule(
    allocs: AllocSet,
    situation: Situation,
    current: Deployment | None,
    *,
    is_disconnecting: bool = False,
) -> RescheduleSplit:
    """Split a set by whether its members are to be replaced now, later or not.

    An unflagged member of `current`, the running deployment, is never replaced here: whether the
    rollout has failed is decided first (reconciler.md 6).
    """
    untainted: list[Allocation] = []
    due: list[Allocation] = []
    later: list[Delayed] = []
    for alloc in allocs.values():
        if is_disconnecting and alloc.client_status is ClientStatus.UNKNOWN:
            continue
        if alloc.next_allocation and alloc.is_terminal:
            continue
        holds_slot, is_ignored = _slot_verdict(alloc, is_batch=situation.is_batch)
        if holds_slot and not is_disconnecting:
            untainted.append(alloc)
            continue
        if is_ignored:
            continue
        is_due, at = _due(alloc, situation, current, is_disconnecting=is_disconnecting)
        if is_due:
            due.append(alloc)
            continue
        untainted.append(alloc)
        if at:
            later.append(Delayed(alloc, at))
    return RescheduleSplit(untainted=AllocSet(untainted), now=AllocSet(due), later=tuple(later))


def _slot_verdict(alloc: Allocation, *, is_batch: bool) -> tuple[bool, bool]:
    """(holds its slot, is of no interest); neither: ask whether it is due (reconciler.md 6.2)."""
    return _batch_verdict(alloc) if is_batch else _service_verdict(alloc)


def _batch_verdict(alloc: Allocation) -> tuple[bool, bool]:
    wish = alloc.desired_transition
    if wish.migrate_disable_placement:
        return True, False
    if wish.reschedule:
        return False, False
    if alloc.desired_status is DesiredStatus.STOP:
        if ran_successfully(alloc):
            return True, False
        return False, not failed_to_be_replaced(alloc)
    if alloc.desired_status is DesiredStatus.EVICT:
        return False, True
    return alloc.client_status is not ClientStatus.FAILED, False


def _service_verdict(alloc: Allocation) -> tuple[bool, bool]:
    if not is_wanted(alloc):
        return False, not failed_to_be_replaced(alloc)
    return False, alloc.client_status in (ClientStatus.COMPLETE, ClientStatus.LOST)


def _due(
    alloc: Allocation, situation: Situation, current: Deployment | None, *, is_disconnecting: bool
) -> tuple[bool, int]:
    """(replace it now, instant to replace it later or 0): reconciler.md 6.3."""
    if (
        current is not None
        and alloc.deployment_id == current.id
        and current.is_active
        and not alloc.desired_transition.reschedule
    ):
        return False, 0
    is_due = bool(alloc.desired_transition.force_reschedule and alloc.is_client_terminal)
    origin = situation.origin(alloc)
    if is_disconnecting and not replace_on_disconnect(origin):
        return is_due, 0
    policy = origin.reschedule_policy if origin else None
    waits_for_this = alloc.followup_eval_id == situation.eval_id
    if is_disconnecting:
        at = reschedule_time_after(alloc, policy, situation.now)
    elif alloc.client_status is ClientStatus.UNKNOWN and waits_for_this:
        at = reschedule_time_after(alloc, policy, last_unknown_time(alloc))
    else:
        at = next_reschedule_time(alloc, policy, situation.job_of(alloc))
    if at is None:
        return is_due, 0
    if waits_for_this or at - situation.now <= _DUE_TOLERANCE:
        return True, 0
    return is_due, at if not alloc.followup_eval_id else 0


def next_reschedule_time(
    alloc: Allocation, policy: ReschedulePolicy | None, job: Job | None
) -> int | None:
    """When a failed or lost allocation is to be replaced; None: never (reconciler.md 1.3)."""
    if policy is None or not (policy.attempts or policy.unlimited):
        return None
    if alloc.desired_status is DesiredStatus.STOP and not failed_to_be_replaced(alloc):
        return None
    has_failed = alloc.client_status in (ClientStatus.FAILED, ClientStatus.LOST)
    is_batch_restart = (
        job is not None and job.type == JobType.BATCH and alloc.desired_transition.reschedule
    )
    if not (has_failed or is_batch_restart):
        return None
    return reschedule_time_after(alloc, policy, last_event_time(alloc))


def reschedule_time_after(
    alloc: Allocation, policy: ReschedulePolicy | None, failed_at: int
) -> int | None:
    """When an allocation that failed at `failed_at` is to be replaced; None: never."""
    if policy is None:
        return None
    delay = next_delay(alloc, policy)
    tracker = alloc.reschedule_tracker
    if policy.attempts > 0 and tracker is not None:
        is_eligible = (
            _attempts_used(tracker, policy, failed_at) < policy.attempts
            and delay < policy.interval
        )
    else:
        is_eligible = policy.unlimited or policy.attempts > 0
    return failed_at + delay if is_eligible else None


def _attempts_used(tracker: RescheduleTracker, policy: ReschedulePolicy, failed_at: int) -> int:
    return sum(failed_at - event.reschedule_time < policy.interval for event in tracker.events)


def next_delay(alloc: Allocation, policy: ReschedulePolicy | None) -> int:
    """How long to wait before the next replacement, ns (reconciler.md 1.3)."""
    if policy is None:
        return 0
    events = alloc.reschedule_tracker.events if alloc.reschedule_tracker else ()
    if not events or policy.delay_function not in ("exponential", "fibonacci"):
        return policy.delay
    if policy.delay_function == "exponential":
        delay = 2 * events[-1].delay
    else:
        delay = _fibonacci_delay(events, policy)
    if not 0 < policy.max_delay < delay:
        return delay
    # A run long enough to outlast the cap starts the series again.
    calm = last_event_time(alloc) - events[-1].reschedule_time
    return policy.delay if calm > policy.max_delay else policy.max_delay


def _fibonacci_delay(events: tuple[RescheduleEvent, ...], policy: ReschedulePolicy) -> int:
    if len(events) < 2:
        return policy.delay
    before, newest = events[-2].delay, events[-1].delay
    was_just_reset = before == policy.max_delay and newest == policy.delay
    return newest if was_just_reset else before + newest


def carried_tracker(
    previous: Allocation, policy: ReschedulePolicy | None, now: int
) -> RescheduleTracker:
    """The tracker of the allocation that replaces `previous` at `now` (control-plane.md 1.7)."""
    events = previous.reschedule_tracker.events if previous.reschedule_tracker else ()
    if policy is not None and policy.attempts > 0:
        kept = tuple(
            event
            for event in events
            if policy.interval > 0 and now - event.reschedule_time <= policy.interval
        )
    else:
        kept = events[-_KEPT_EVENTS:]
    newest = RescheduleEvent(
        reschedule_time=now,
        prev_alloc_id=previous.id,
        prev_node_id=previous.node_id,
        delay=next_delay(previous, policy),
    )
    return RescheduleTracker(events=(*kept, newest), last_reschedule="ok")


class FollowUpKind(msgspec.Struct, frozen=True, kw_only=True):
    """How the delayed evaluations of one cause are marked."""

    first: EvalTrigger
    others: EvalTrigger
    description: str
    #: Whether the second and later ones carry the description too.
    describes_all: bool
    cause: str


def follow_ups(
    delayed: Iterable[Delayed], kind: FollowUpKind, situation: Situation
) -> tuple[tuple[Evaluation, ...], dict[str, str]]:
    """Delayed evaluations, close instants sharing one; and which of them each allocation got."""
    job = situation.job
    assert job is not None, "a purged job is stopped whole, before anything is delayed"
    made: list[Evaluation] = []
    of_alloc: dict[str, str] = {}
    for item in sorted(delayed, key=lambda entry: entry.at):
        if not made or item.at - made[-1].wait_until >= _FOLLOW_UP_WINDOW:
            is_first = not made
            made.append(
                Evaluation(
                    id=situation.ids.next_id(),
                    namespace=job.namespace,
                    priority=situation.eval_priority,
                    type=job.type,
                    triggered_by=kind.first if is_first else kind.others,
                    job_id=job.id,
                    job_modify_index=job.modify_index,
                    status_description=kind.description if is_first or kind.describes_all else "",
                    wait_until=item.at,
                    create_time=situation.now,
                    modify_time=situation.now,
                    cause=Cause(kind=CauseKind.EVALUATION, id=situation.eval_id, text=kind.cause),
                )
            )
        of_alloc[item.alloc.id] = made[-1].id
    return tuple(made), of_alloc
