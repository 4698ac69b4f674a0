"""What an evaluation achieved, as a sentence: what, how many, why, on which node.

In: an evaluation and what it placed. Out: an Outcome. `complete` alone is never said: an
evaluation that placed nothing completes too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from dashboard.labels import Label, label_for, outcome_label
from dashboard.wording import clock_time, count_of, number, short_id
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import JobType

#: What each trigger means, for people.
TRIGGER_WORDS: dict[str, str] = {
    EvalTrigger.JOB_REGISTER: "a job was registered or changed",
    EvalTrigger.JOB_DEREGISTER: "a job was stopped or purged",
    EvalTrigger.PERIODIC_JOB: "a periodic job was launched",
    EvalTrigger.NODE_DRAIN: "a node drains: its allocations move",
    EvalTrigger.NODE_UPDATE: "a node joined, left, or changed its status",
    EvalTrigger.ALLOC_STOP: "somebody stopped an allocation",
    EvalTrigger.SCHEDULED: "its time had come",
    EvalTrigger.ROLLING_UPDATE: "the next batch of a staggered system job",
    EvalTrigger.DEPLOYMENT_WATCHER: "a deployment took its next step",
    EvalTrigger.FAILED_FOLLOW_UP: "an evaluation failed; this one tries again later",
    EvalTrigger.MAX_PLAN_ATTEMPTS: "plans were refused too often; this one waits for room",
    EvalTrigger.ALLOC_FAILURE: "an allocation failed",
    EvalTrigger.QUEUED_ALLOCS: "not everything could be placed; this one waits for room",
    EvalTrigger.PREEMPTION: "its allocations had to make room for a more important job",
    EvalTrigger.JOB_SCALING: "somebody changed the count of a group",
    EvalTrigger.MAX_DISCONNECT_TIMEOUT: "a disconnected node was waited for long enough",
    EvalTrigger.RECONNECT: "a disconnected node came back",
    EvalTrigger.ALLOC_RESCHEDULE: "a failed allocation is replaced after its delay",
}
#: Dimensions whose stored word is not how people write it.
_DIMENSIONS = {"cpu": "CPU"}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The first clause strong, the rest after it, and a badge."""

    strong: str
    rest: str = ""
    label: Label
    placed: int = 0
    waiting: int = 0


def outcome_of(evaluation: Evaluation, placed: Sequence[Allocation] | None = None) -> Outcome:
    """What is to be said of an evaluation first.

    Without the allocations it placed, their number is what its plan meant to place.
    """
    waiting = sum(evaluation.queued_allocations.values())
    count = _meant_to_place(evaluation, waiting) if placed is None else len(placed)
    told = _TOLD[evaluation.status](evaluation, count, waiting)
    return msgspec.structs.replace(told, placed=count, waiting=waiting)


def _meant_to_place(evaluation: Evaluation, waiting: int) -> int:
    if evaluation.plan_annotations is None:
        return 0
    groups = evaluation.plan_annotations.desired_updates.values()
    meant = sum(
        group.place + group.migrate + group.destructive_update + group.canary for group in groups
    )
    if evaluation.type in (JobType.SYSTEM, JobType.SYSBATCH):
        # Their plans count what is already in place among the placements.
        meant -= sum(group.ignore for group in groups)
    return max(meant - waiting, 0)


def why_waiting(metrics: Iterable[AllocMetric]) -> str:
    """Why groups found no place: `memory exhausted on 9 nodes, 3 filtered by ...`."""
    exhausted: Counter[str] = Counter()
    filtered: Counter[str] = Counter()
    evaluated = 0
    for metric in metrics:
        exhausted.update(metric.dimension_exhausted)
        filtered.update(metric.constraint_filtered)
        evaluated += metric.nodes_evaluated
        if metric.quota_exhausted:
            exhausted.update(metric.quota_exhausted)
    parts = []
    if exhausted:
        name, count = exhausted.most_common(1)[0]
        parts.append(f"{_DIMENSIONS.get(name, name)} is exhausted on {count_of(count, 'node')}")
    if filtered:
        name, count = filtered.most_common(1)[0]
        parts.append(f"{count_of(count, 'node')} filtered by {name}")
    if not parts and not evaluated:
        return "no node is ready for it"
    return ", ".join(parts)


def _complete(evaluation: Evaluation, placed: int, waiting: int) -> Outcome:
    wanted = placed + waiting
    if not wanted:
        return Outcome(
            strong=_changes(evaluation) or "Complete: nothing had to change.",
            label=outcome_label(0, 0) if not _changes(evaluation) else _label("complete"),
        )
    rest = ""
    if waiting:
        reason = why_waiting(evaluation.failed_task_groups.values())
        rest = f"{count_of(waiting, 'waits', 'wait')}" + (f": {reason}." if reason else ".")
    return Outcome(
        strong=f"Complete: {number(placed)} of {number(wanted)} placed.",
        rest=rest,
        label=outcome_label(placed, wanted),
    )


def _changes(evaluation: Evaluation) -> str:
    """`Complete: stopped 3, updated 2 in place.`, for one that placed nothing."""
    if evaluation.plan_annotations is None:
        return ""
    groups = evaluation.plan_annotations.desired_updates.values()
    stopped = sum(group.stop for group in groups)
    updated = sum(group.in_place_update for group in groups)
    moved = sum(group.migrate for group in groups)
    parts = [
        text
        for count, text in (
            (stopped, f"{number(stopped)} stopped"),
            (moved, f"{number(moved)} moved"),
            (updated, f"{number(updated)} updated in place"),
        )
        if count
    ]
    return f"Complete: {', '.join(parts)}." if parts else ""


def _blocked(evaluation: Evaluation, _placed: int, waiting: int) -> Outcome:
    reason = why_waiting(evaluation.failed_task_groups.values())
    groups = sum(
        metric.coalesced_failures + 1 for metric in evaluation.failed_task_groups.values()
    )
    count = waiting or groups
    return Outcome(
        strong=f"Waits for room for {count_of(count, 'allocation')}."
        if count
        else "Waits for room.",
        rest=(reason[:1].upper() + reason[1:] + ". " if reason else "")
        + "It runs again by itself when there is more.",
        label=_label("blocked"),
    )


def _pending(evaluation: Evaluation, _placed: int, _waiting: int) -> Outcome:
    if evaluation.wait_until:
        return Outcome(
            strong=f"Waits until {clock_time(evaluation.wait_until)}.",
            rest=TRIGGER_WORDS.get(evaluation.triggered_by, "").capitalize(),
            label=_label("delayed"),
        )
    return Outcome(
        strong="On its way: a worker takes it as soon as one is free.",
        label=_label("pending"),
    )


def _failed(evaluation: Evaluation, _placed: int, _waiting: int) -> Outcome:
    if is_repaired_next(evaluation):
        return Outcome(
            strong="Failed as expected: its follow-up repairs it.",
            rest="The node was back and not yet ready, so its plans were refused. Evaluation "
            f"{short_id(evaluation.blocked_eval)}, or the node's own, takes the allocation back.",
            label=_label("failed"),
        )
    follow_up = evaluation.blocked_eval or evaluation.next_eval
    rest = _sentence(evaluation.status_description) or "Its attempts were used up."
    return Outcome(
        strong="Failed.",
        rest=f"{rest} Evaluation {short_id(follow_up)} tries again." if follow_up else rest,
        label=_label("failed"),
    )


def is_repaired_next(evaluation: Evaluation) -> bool:
    """Whether it failed for coming before its node was ready (evaluations.md 9.3): no fault."""
    return (
        evaluation.status is EvalStatus.FAILED
        and evaluation.triggered_by == EvalTrigger.RECONNECT
        and bool(evaluation.blocked_eval)
    )


def _canceled(evaluation: Evaluation, _placed: int, _waiting: int) -> Outcome:
    return Outcome(
        strong="Canceled: a newer evaluation does its work.",
        rest=_sentence(evaluation.status_description),
        label=_label("canceled"),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _label(status: str) -> Label:
    return label_for("evaluation", status)


_TOLD = {
    EvalStatus.COMPLETE: _complete,
    EvalStatus.BLOCKED: _blocked,
    EvalStatus.PENDING: _pending,
    EvalStatus.FAILED: _failed,
    EvalStatus.CANCELED: _canceled,
}
