"""What an evaluation achieved, as a sentence and in few words: what, how many, why.

In: an evaluation and what it placed. Out: an OutcomeSentence, or the words of a cell; both count
alike. `complete` alone is never said: an evaluation that placed nothing completes too.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from django.utils.translation import gettext, ngettext

from dashboard.why_waiting import why_it_waits
from dashboard.wording import (
    clock_time,
    count_of,
    dimension_word,
    number,
    one_of,
    short_id,
)
from dashboard.work_words import MOVED, NOTHING, OTHERS, PLACED, REPLACED, STEPWISE, trigger_told
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, Step
from scheduler.structs.job import JobType
from scheduler.structs.plan_annotations import DesiredUpdates

#: Why a blocked evaluation was canceled, as the record has it (evaluations.md 3.3).
_SUCCESSFUL = re.compile(r'evaluation "([^"]+)" successful')


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
        replaced = STEPWISE if self.is_stepwise else REPLACED
        for count, (whole, part) in (
            (self.placed, PLACED), (self.replaced, replaced), (self.moved, MOVED),
        ):  # fmt: skip
            missing = min(waiting, count)
            waiting -= missing
            if count:
                told = gettext(part if missing else whole)
                yield told.format(count=number(count - missing), of=number(count))
        for count, word in zip(
            (self.updated, self.stopped, self.preempted, self.later, self.cut_off, self.back),
            OTHERS,
            strict=True,
        ):
            if count:
                yield gettext(word).format(count=number(count))


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
            return ", ".join([*work.parts(), *waits]) or gettext(NOTHING)
        case EvalStatus.BLOCKED:
            return _waits(evaluation, _missing(evaluation))
        case EvalStatus.PENDING if evaluation.wait_until:
            return gettext("waits until {time}").format(time=clock_time(evaluation.wait_until))
        case EvalStatus.PENDING:
            return gettext("on its way")
        case EvalStatus.FAILED if is_repaired_next(evaluation):
            return gettext("its follow-up repairs it")
        case EvalStatus.FAILED:
            return evaluation.status_description or gettext("its attempts were used up")
        case EvalStatus.CANCELED:
            if done := _that_left_nothing_waiting(evaluation):
                return gettext("nothing waits since evaluation {evaluation}").format(
                    evaluation=done
                )
            return evaluation.status_description or gettext("a newer evaluation does its work")


def told_of(evaluation: Evaluation) -> dict[Step, str]:
    """What its newest run saw, asked for and came to, by the step that did it."""
    told = {}
    if evaluation.snapshot_index:
        told[Step.DEQUEUED] = gettext("saw the cluster at index {index}").format(
            index=number(evaluation.snapshot_index)
        )
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
    """`a plan of 6 placements and 2 stops`."""
    placements = work.meant - work.waiting
    parts = [
        told
        for count, told in (
            (placements, count_of(placements, "{count} placement", "{count} placements")),
            (work.updated, count_of(work.updated, "{count} update", "{count} updates")),
            (work.stopped, count_of(work.stopped, "{count} stop", "{count} stops")),
        )
        if count
    ]
    if not parts:
        return gettext("a plan")
    return gettext("a plan of {parts}").format(parts=one_of(parts, "and"))


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
    """`2 wait: the nearest of 9 nodes lacks 312 MiB of memory`."""
    reason = why_it_waits(evaluation)
    told = (
        count_of(waiting, "{count} waits", "{count} wait")
        if waiting
        else gettext("waits for room")
    )
    return gettext("{what}: {reason}").format(what=told, reason=reason) if reason else told


def _missing(evaluation: Evaluation) -> int:
    """Allocations that a blocked evaluation waits with."""
    return sum(evaluation.queued_allocations.values()) or _failed_placements(evaluation)


def _complete(evaluation: Evaluation, work: _Work) -> OutcomeSentence:
    return OutcomeSentence(
        strong=gettext("Complete: {done}.").format(
            done=one_of([*work.parts()] or [gettext(NOTHING)], "and")
        ),
        rest=f"{_waits(evaluation, work.waiting)}." if work.waiting else "",
    )


def _blocked(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    reason = why_it_waits(evaluation)
    count = _missing(evaluation)
    again = gettext("It runs again by itself when there is more.")
    return OutcomeSentence(
        strong=ngettext(
            "Waits for room for {count} allocation.",
            "Waits for room for {count} allocations.",
            count,
        ).format(count=number(count))
        if count
        else gettext("Waits for room."),
        rest=f"{_sentence(reason)} {again}".strip(),
    )


def _pending(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    if evaluation.wait_until:
        return OutcomeSentence(
            strong=gettext("Waits until {time}.").format(time=clock_time(evaluation.wait_until)),
            rest=trigger_told(evaluation.triggered_by).capitalize(),
        )
    return OutcomeSentence(strong=gettext("On its way: a worker takes it as soon as one is free."))


def _failed(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    if is_repaired_next(evaluation):
        return OutcomeSentence(
            strong=gettext("Failed as expected: its follow-up repairs it."),
            rest=gettext(
                "The node was back and not yet ready, so its plans were refused. Evaluation"
                " {evaluation}, or the node's own, takes the allocation back."
            ).format(evaluation=short_id(evaluation.blocked_eval)),
        )
    follow_up = evaluation.blocked_eval or evaluation.next_eval
    rest = _sentence(evaluation.status_description) or gettext("Its attempts were used up.")
    return OutcomeSentence(
        strong=gettext("Failed."),
        rest=gettext("{why} Evaluation {evaluation} tries again.").format(
            why=rest, evaluation=short_id(follow_up)
        )
        if follow_up
        else rest,
    )


def is_repaired_next(evaluation: Evaluation) -> bool:
    """Whether it failed for coming before its node was ready (evaluations.md 9.3): no fault."""
    return (
        evaluation.status is EvalStatus.FAILED
        and evaluation.triggered_by == EvalTrigger.RECONNECT
        and bool(evaluation.blocked_eval)
    )


def _canceled(evaluation: Evaluation, _work: _Work) -> OutcomeSentence:
    if done := _that_left_nothing_waiting(evaluation):
        return OutcomeSentence(
            strong=gettext("Canceled: nothing of its job waits any more."),
            rest=gettext("Evaluation {evaluation} completed with nothing left to place.").format(
                evaluation=done
            ),
        )
    return OutcomeSentence(
        strong=gettext("Canceled: a newer evaluation does its work."),
        rest=_sentence(evaluation.status_description),
    )


def _that_left_nothing_waiting(evaluation: Evaluation) -> str:
    """Which evaluation made a blocked one of its job needless; empty: none did."""
    found = _SUCCESSFUL.fullmatch(evaluation.status_description)
    return short_id(found[1]) if found else ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


_TOLD = {
    EvalStatus.COMPLETE: _complete,
    EvalStatus.BLOCKED: _blocked,
    EvalStatus.PENDING: _pending,
    EvalStatus.FAILED: _failed,
    EvalStatus.CANCELED: _canceled,
}
