"""What would unblock a group that waits: single changes that the real scheduler confirms.

In: a reader, a job's name, a group, a limit of time. Out: answers by how many they let be placed
and how little they cost, what was tried in vain, and whether time ran out. Nothing is written.
"""

from collections.abc import Callable

import msgspec

from cluster.operations.explain_now import FoundNow, explain_now
from cluster.operations.trial import TrialSnapshot, decided, registration_of
from cluster.operations.unblock_changes import ChangeWord, Guess, Short, UnblockChange, guesses
from scheduler.ports import StateReader
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Instant, Wire

#: What a trial is called; no evaluation's id is none.
_TRIAL = "00000000-0000-0000-0000-0000000trial"


#: Nanoseconds that people and programs wait for answers.
PATIENCE = 4_000_000_000


class UnblockAnswer(Wire, frozen=True):
    """A change, and how many of those that wait it lets be placed."""

    change: UnblockChange
    fits: int


class Unblocking(Wire, frozen=True):
    """Everything that was found out, at one index."""

    index: int
    at: Instant
    #: How many wait as the record is now; 0: the scheduler would place all of them.
    waiting: int
    answers: tuple[UnblockAnswer, ...] = ()
    #: Tried, and no help alone.
    in_vain: tuple[UnblockChange, ...] = ()
    #: Not tried: time was over.
    untried: int = 0


def seen_by(found: Unblocking, reader: StateReader, may_read: Callable[[str], bool]) -> Unblocking:
    """Without the names of allocations in namespaces that may not be read."""

    def told(change: UnblockChange) -> UnblockChange:
        alloc = reader.allocation(change.alloc_id) if change.alloc_id else None
        hides = alloc is not None and not may_read(alloc.namespace)
        return msgspec.structs.replace(change, alloc_id="") if hides else change

    return msgspec.structs.replace(
        found,
        answers=tuple(
            msgspec.structs.replace(answer, change=told(answer.change)) for answer in found.answers
        ),
        in_vain=tuple(told(change) for change in found.in_vain),
    )


class _Numbers:
    """Ids of what a trial makes."""

    def __init__(self) -> None:
        self._given = 0

    def next_id(self) -> str:
        """The next one."""
        self._given += 1
        return f"00000000-0000-0000-0000-{self._given:012}"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the guesses."""

    #: How many wait as the record is; 0: nothing was tried.
    waiting: int
    #: Those that help, the best first, each with what it puts over the record.
    answers: tuple[tuple[UnblockAnswer, Guess], ...] = ()
    in_vain: tuple[UnblockChange, ...] = ()
    untried: int = 0


def unblock(
    reader: StateReader,
    key: JobKey,
    group_name: str,
    *,
    now: int,
    is_late: Callable[[], bool],
) -> Unblocking:
    """Try every change that is worth it until time is over. Raises NotFound as `explain_now`."""
    tried = try_changes(reader, key, group_name, now=now, is_late=is_late)
    return Unblocking(
        index=reader.index,
        at=now,
        waiting=tried.waiting,
        answers=tuple(answer for answer, _ in tried.answers),
        in_vain=tried.in_vain,
        untried=tried.untried,
    )


def try_changes(
    reader: StateReader,
    key: JobKey,
    group_name: str,
    *,
    now: int,
    is_late: Callable[[], bool],
) -> Tried:
    """The same for whoever goes on with what helps. Raises NotFound as `explain_now`."""
    found = explain_now(reader, key, group_name, now=now)
    base = TrialSnapshot(reader, now)
    short = _short(base, found.job, group_name, now)
    waiting = short.waiting
    if not waiting:
        return Tried(waiting=0)
    answers: list[tuple[UnblockAnswer, Guess]] = []
    in_vain: list[UnblockChange] = []
    tried = guesses(base, found, short)
    for guess in tried:
        if is_late():
            break
        fits = waiting - _waiting_with(reader, base, guess, found, now)
        if fits > 0:
            answers.append((UnblockAnswer(change=guess.change, fits=fits), guess))
        else:
            in_vain.append(guess.change)
    order = list(ChangeWord)
    answers.sort(
        key=lambda each: (
            each[0].change.change is ChangeWord.SCALE_DOWN,
            -each[0].fits,
            order.index(each[0].change.change),
            each[1].size,
        )
    )
    return Tried(
        waiting=waiting,
        answers=tuple(answers),
        in_vain=tuple(in_vain),
        untried=len(tried) - len(answers) - len(in_vain),
    )


def _waiting_with(
    reader: StateReader, base: TrialSnapshot, guess: Guess, found: FoundNow, now: int
) -> int:
    trial = TrialSnapshot(reader, now, base.node_table)
    guess.put(trial)
    job = trial.job(found.job.key)
    assert job is not None, "no change purges a job"
    return _short(trial, job, found.group.name, now).waiting


def _short(trial: TrialSnapshot, job: Job, group_name: str, now: int) -> Short:
    """How many of the group the scheduler would leave waiting, and how many place."""
    evaluation = registration_of(job, _TRIAL, now)
    trial.put_evaluation(evaluation)
    plans, outcome = decided(trial, evaluation, now=now, ids=_Numbers())
    final = outcome.evaluation
    metric = final.failed_task_groups.get(group_name) if final is not None else None
    placed = sum(
        1
        for plan in plans[:1]
        for allocs in plan.node_allocation.values()
        for alloc in allocs
        if alloc.task_group == group_name and not alloc.create_index
    )
    return Short(1 + metric.coalesced_failures if metric is not None else 0, placed)
