"""Which way an evaluation went with a step: the arrows between the places of the leader's memory.

In: a step and the one before it. Out: the arrow's word. Counting them is not known here.
"""

from scheduler.structs.counted import (
    BLOCKED,
    ENDED,
    FAILED_PLAN,
    HANDED_BACK,
    MADE,
    NEW_DELAYED,
    NEW_READY,
    NEW_WAITING,
    OTHER,
    PART,
    PLAN,
    TAKEN,
    TIME,
    TURN,
    WHOLE,
    WOKEN,
)
from scheduler.structs.evaluation import LifecycleStep, Step

_PLAIN = {
    Step.CREATED: MADE,
    Step.DEQUEUED: TAKEN,
    Step.PLAN_SUBMITTED: PLAN,
    Step.NACKED: HANDED_BACK,
    Step.BLOCKED: BLOCKED,
    Step.COMPLETE: ENDED,
    Step.FAILED: ENDED,
    Step.CANCELED: ENDED,
}


def way_of(before: LifecycleStep | None, step: LifecycleStep) -> str:
    """The word of the arrow along which this step led."""
    if step.step is Step.PLAN_ANSWERED:
        if step.nodes:
            return PART
        return FAILED_PLAN if step.reason else WHOLE
    if step.step is Step.ENQUEUED:
        return _enqueued(before, step)
    if step.step is Step.DELAYED:
        # After a failed delivery it was handed back, which is counted there.
        return NEW_DELAYED if before is None or before.step is Step.CREATED else OTHER
    return _PLAIN.get(step.step, OTHER)


def _enqueued(before: LifecycleStep | None, step: LifecycleStep) -> str:
    """Only one that stands behind another of its job has a reason."""
    if before is not None and before.step is Step.ENQUEUED and before.reason:
        return TURN
    if before is not None and before.step is Step.DELAYED:
        return TIME
    if before is not None and before.step is Step.UNBLOCKED:
        return WOKEN
    return NEW_WAITING if step.reason else NEW_READY
