"""What an evaluation achieved, as a sentence and in few words: what, how many, why.

In: an evaluation and what it placed. Out: an OutcomeSentence, or the words of a cell; both count
alike. `complete` alone is never said: an evaluation that placed nothing completes too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from dashboard.wording import (
    clock_time,
    count_of,
    dimension_word,
    filter_word,
    number,
    short_id,
)
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, Step
from scheduler.structs.job import JobType
from scheduler.structs.plan_annotations import DesiredUpdates

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
#: Of an evaluation that found everything as it should be.
_NOTHING = "nothing had to change"


class OutcomeSentence(msgspec.Struct, frozen=True, kw_only=True):
    """The first clause strong, the rest after it."""

    strong: str
    rest: str = ""


class _Work(NamedTuple):
    """What a plan did, all groups together; of the first three, `waiting` found no place."""

    placed: int = 0
    replaced: int = 0
    moved: int = 0
    updated: int = 0
    stopped: int = 0
    preempted: int = 0
    later: int = 0
    cut_off: int = 0
    back: int = 0
    waiting: int = 0
    #: A system job's plan counts all that differ, also those that a later step replaces.
    is_stepwise: bool = False

    @property
    def meant(self) -> int:
        """Allocations it meant to make."""
        return self.placed + self.replaced + self.moved

    def parts(self) -> Iterator[str]:
        """`2 of 3 placed`, `1 stopped`: what there was of each."""
        waiting = self.waiting
        replaced = "to replace step by step" if self.is_stepwise else "replaced"
        for count, word in (
            (self.placed, "placed"), (self.replaced, replaced), (self.moved, "moved"),
        ):  # fmt: skip
            missing = min(waiting, count)
            waiting -= missing
            if count:
                done = number(count - missing)
                yield f"{done} of {number(count)} {word}" if missing else f"{done} {word}"
        for count, word in (
            (self.updated, "updated in place"), (self.stopped, "stopped"),
            (self.preempted, "of other jobs preempted"), (self.later, "to be replaced later"),
            (self.cut_off, "left on a disconnected node"), (self.back, "reconnected"),
        ):  # fmt: skip
            if count:
                yield f"{number(count)} {word}"


def outcome_of(evaluation: Evaluation, placed: Sequence[Allocation] = ()) -> OutcomeSentence:
    """What is to be said of an evaluation first.

    Without the allocations it placed, their number is what its plan meant to place.
    """
    return _TOLD[evaluation.status](evaluation, _work(evaluation, len(placed)))


def short_outcome(evaluation: Evaluation) -> str:
    """The same in the few words of a table's cell: `6 placed`, `2 of 3 placed, 1 waits: ...`."""
    match evaluation.status:
        case EvalStatus.COMPLETE:
            work = _work(evaluation)
            waits = [_waits(evaluation, work.waiting)] if work.waiting else []
            return ", ".join([*work.parts(), *waits]) or _NOTHING
        case EvalStatus.BLOCKED:
            return _waits(evaluation, _missing(evaluation))
        case EvalStatus.PENDING if evaluation.wait_until:
            return f"waits until {clock_time(evaluation.wait_until)}"
        case EvalStatus.PENDING:
            return "on its way"
        case EvalStatus.FAILED if is_repaired_next(evaluation):
            return "its follow-up repairs it"
        case EvalStatus.FAILED:
            return evaluation.status_description or "its attempts were used up"
        case EvalStatus.CANCELED:
            return evaluation.status_description or "a newer evaluation does its work"


def told_of(evaluation: Evaluation) -> dict[Step, str]:
    """What its newest run saw, asked for and came to, by the step that did it."""
    told = {}
    if evaluation.snapshot_index:
        told[Step.DEQUEUED] = f"saw the cluster at index {number(evaluation.snapshot_index)}"
    if evaluation.plan_annotations is not None:
        told[Step.PLAN_SUBMITTED] = _asked(_work(evaluation))
    if evaluation.status is EvalStatus.COMPLETE:
        told[Step.COMPLETE] = short_outcome(evaluation)
    return told


def done_by(evaluation: Evaluation) -> dict[str, int]:
    """What its plan did, by its word: `{"placed": 3, "stopped": 1}`; what found no place aside."""
    work = _work(evaluation)
    waiting = work.waiting
    done = {}
    for word, count in (
        ("placed", work.placed), ("replaced", work.replaced), ("moved", work.moved),
    ):  # fmt: skip
        missing = min(waiting, count)
        waiting -= missing
        done[word] = count - missing
    done |= {"updated": work.updated, "stopped": work.stopped, "preempted": work.preempted}
    return {word: count for word, count in done.items() if count > 0}


def waiting_for(evaluation: Evaluation) -> tuple[int, str]:
    """How many allocations a blocked evaluation waits with, and the dimension most nodes lack."""
    exhausted: Counter[str] = Counter()
    for metric in evaluation.failed_task_groups.values():
        exhausted.update(metric.dimension_exhausted)
    name = exhausted.most_common(1)[0][0] if exhausted else ""
    return _missing(evaluation), dimension_word(name)


def _asked(work: _Work) -> str:
    """`a plan of 6 placements, 2 stops`."""
    parts = [
        count_of(count, word)
        for count, word in (
            (work.meant - work.waiting, "placement"),
            (work.updated, "update"),
            (work.stopped, "stop"),
        )
        if count
    ]
    return f"a plan of {', '.join(parts)}" if parts else "a plan"


def _work(evaluation: Evaluation, made: int = 0) -> _Work:
    """What its plan meant to do; `made` is how many allocations are known to have come of it."""
    waiting = sum(evaluation.queued_allocations.values())
    annotations = evaluation.plan_annotations
    desired = annotations.desired_updates if annotations is not None else {}
    groups = tuple(desired.values())
    placed = sum(placed_by(group, evaluation.type) for group in groups)
    if evaluation.type == JobType.SYSTEM and desired:
        # Those that found no room are not counted among the placements of its plan.
        placed = max(placed + min(waiting, _failed_placements(evaluation)), 0)
    # A system job moves nothing: what leaves its node is stopped, and runs on the others already.
    is_per_node = evaluation.type in (JobType.SYSTEM, JobType.SYSBATCH)
    moved = sum(group.migrate for group in groups)
    work = _Work(
        placed=placed,
        replaced=sum(group.destructive_update for group in groups),
        moved=0 if is_per_node else moved,
        updated=sum(group.in_place_update for group in groups),
        stopped=sum(group.stop for group in groups) + (moved if is_per_node else 0),
        preempted=sum(group.preemptions for group in groups),
        later=sum(group.reschedule_later for group in groups),
        cut_off=sum(group.disconnect for group in groups),
        back=sum(group.reconnect for group in groups),
        waiting=waiting,
        is_stepwise=evaluation.type == JobType.SYSTEM
        and bool(evaluation.deployment_id or evaluation.next_eval),
    )
    if work.is_stepwise:
        return work
    # The plan is the newest one: earlier ones may have placed a part. Allocations may have been
    # collected since.
    wanted = max(work.meant, made + waiting)
    return work._replace(placed=wanted - work.replaced - work.moved)


def placed_by(group: DesiredUpdates, job_type: str) -> int:
    """Allocations that a plan makes for one group beside those that it replaces or moves.

    The plan of a system job counts among its placements whatever the group has on its nodes, and
    its canaries among those it replaces; below 0 where some of these found no room.
    """
    if job_type != JobType.SYSTEM:
        return group.place + group.canary
    there = group.ignore + group.in_place_update + group.destructive_update
    return group.place - there


def _failed_placements(evaluation: Evaluation) -> int:
    failed = evaluation.failed_task_groups.values()
    return sum(metric.coalesced_failures + 1 for metric in failed)


def _waits(evaluation: Evaluation, waiting: int) -> str:
    """`2 wait: memory is exhausted on 9 nodes`."""
    reason = why_waiting(evaluation.failed_task_groups.values())
    told = count_of(waiting, "waits", "wait") if waiting else "waits for room"
    return told + (f": {reason}" if reason else "")


def _missing(evaluation: Evaluation) -> int:
    """Allocations that a blocked evaluation waits with."""
    return sum(evaluation.queued_allocations.values()) or _failed_placements(evaluation)


def why_waiting(metrics: Iterable[AllocMetric]) -> str:
    """Why groups found no place: `memory is exhausted on 9 nodes, 3 nodes filtered by ...`."""
    exhausted: Counter[str] = Counter()
    filtered: Counter[str] = Counter()
    over: dict[str, None] = {}
    evaluated: int | None = None
    for metric in metrics:
        exhausted.update(metric.dimension_exhausted)
        filtered.update(metric.constraint_filtered)
        evaluated = (evaluated or 0) + metric.nodes_evaluated
        over |= dict.fromkeys(metric.quota_exhausted)
    parts = [f"quota reached, {text}" for text in over]
    if exhausted:
        name, count = exhausted.most_common(1)[0]
        parts.append(f"{dimension_word(name)} is exhausted on {count_of(count, 'node')}")
    if filtered:
        name, count = filtered.most_common(1)[0]
        parts.append(f"{count_of(count, 'node')} filtered by {filter_word(name)}")
    if not parts and evaluated == 0:
        return "no node is ready for it"
    return ", ".join(parts)


def _complete(evaluation: Evaluation, work: _Work) -> OutcomeSentence:
    return OutcomeSentence(
        strong=f"Complete: {', '.join(work.parts()) or _NOTHING}.",
        rest=f"{_waits(evaluation, work.waiting)}." if work.waiting else "",
    )


def _blocked(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    reason = why_waiting(evaluation.failed_task_groups.values())
    count = _missing(evaluation)
    return OutcomeSentence(
        strong=f"Waits for room for {count_of(count, 'allocation')}."
        if count
        else "Waits for room.",
        rest=(reason[:1].upper() + reason[1:] + ". " if reason else "")
        + "It runs again by itself when there is more.",
    )


def _pending(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    if evaluation.wait_until:
        return OutcomeSentence(
            strong=f"Waits until {clock_time(evaluation.wait_until)}.",
            rest=TRIGGER_WORDS.get(evaluation.triggered_by, "").capitalize(),
        )
    return OutcomeSentence(strong="On its way: a worker takes it as soon as one is free.")


def _failed(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    if is_repaired_next(evaluation):
        return OutcomeSentence(
            strong="Failed as expected: its follow-up repairs it.",
            rest="The node was back and not yet ready, so its plans were refused. Evaluation "
            f"{short_id(evaluation.blocked_eval)}, or the node's own, takes the allocation back.",
        )
    follow_up = evaluation.blocked_eval or evaluation.next_eval
    rest = _sentence(evaluation.status_description) or "Its attempts were used up."
    return OutcomeSentence(
        strong="Failed.",
        rest=f"{rest} Evaluation {short_id(follow_up)} tries again." if follow_up else rest,
    )


def is_repaired_next(evaluation: Evaluation) -> bool:
    """Whether it failed for coming before its node was ready (evaluations.md 9.3): no fault."""
    return (
        evaluation.status is EvalStatus.FAILED
        and evaluation.triggered_by == EvalTrigger.RECONNECT
        and bool(evaluation.blocked_eval)
    )


def _canceled(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    return OutcomeSentence(
        strong="Canceled: a newer evaluation does its work.",
        rest=_sentence(evaluation.status_description),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


_TOLD = {
    EvalStatus.COMPLETE: _complete,
    EvalStatus.BLOCKED: _blocked,
    EvalStatus.PENDING: _pending,
    EvalStatus.FAILED: _failed,
    EvalStatus.CANCELED: _canceled,
}
