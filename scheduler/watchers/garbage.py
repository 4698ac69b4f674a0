"""Collect old rows in bounded batches, every few minutes or when an operator asks.

In: the record, time. Out: `Collect` commands, and the write that performs one. Which rows are old
and unneeded is decided in `garbage_rules.py`, once when found and again when deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from scheduler.commands import Collect, Command
from scheduler.ports import Change, IDSource, StateReader
from scheduler.state.events import EventFrame, WriteKind
from scheduler.state.nouns import ACL_TOKENS
from scheduler.state.writes.evaluations import collect, write_evaluations
from scheduler.state.writes.jobs import purge_job
from scheduler.state.writes.node_evaluations import node_evaluations
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.moment import Moment
from scheduler.watchers import garbage_rules as rules

Item = TypeVar("Item")

SECOND = 1_000_000_000
HOUR = 3600.0
#: Ids in one write; jobs in one purge; tokens.
MAX_IDS = 7281
MAX_JOBS = 2048
MAX_TOKENS = 4096
#: Candidates looked at in one tick, so that no read takes long.
LOOKED_AT_ONCE = 500


class GarbageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: how often to look, and how old rows must be."""

    interval: float = 300.0
    evaluation_age: float = HOUR
    batch_evaluation_age: float = 24 * HOUR
    job_age: float = 4 * HOUR
    deployment_age: float = HOUR
    node_age: float = 24 * HOUR
    #: Since they expired.
    token_age: float = HOUR


#: With these an operator's demand collects whatever may go, however young.
AT_ONCE = GarbageSettings(
    evaluation_age=0,
    batch_evaluation_age=0,
    job_age=0,
    deployment_age=0,
    node_age=0,
    token_age=0,
)


class Collectable(msgspec.Struct, frozen=True):
    """Something that may be garbage: `job`, `evaluation`, `deployment`, `node` or `token`."""

    kind: str
    id: str
    namespace: str = ""


class GarbageCollector:
    """Looks at every row in turn; nodes last, so that their allocations are gone by then."""

    def __init__(self, settings: GarbageSettings | None = None) -> None:
        self._settings = settings or GarbageSettings()
        self._thresholds = self._settings
        self._next_at = 0.0
        self._is_forced = False
        self._candidates: Iterator[Collectable] | None = None

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Begin the first interval."""
        self._next_at = moment.monotonic + self._settings.interval
        self._candidates = None
        self._is_forced = False

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """An operator's demand; otherwise age alone matters."""
        if frame.kind == WriteKind.COLLECTION_DEMANDED:
            self.force()

    def force(self) -> None:
        """Collect everything that may go, with the next tick."""
        self._is_forced = True

    def next_deadline(self, moment: Moment) -> float | None:
        """At once while candidates are left; else the next interval."""
        return moment.monotonic if self._candidates or self._is_forced else self._next_at

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Look at some candidates; begin a new round when it is time."""
        if self._is_forced or (self._candidates is None and moment.monotonic >= self._next_at):
            self._thresholds = AT_ONCE if self._is_forced else self._settings
            self._is_forced = False
            self._next_at = moment.monotonic + self._settings.interval
            self._candidates = iter(_candidates(reader))
        if self._candidates is None:
            return ()
        some = list(islice(self._candidates, LOOKED_AT_ONCE))
        if not some:
            self._candidates = None
        return _commands(reader, some, Ages(self._thresholds, moment.now))


class Ages:
    """The instants before which rows are old."""

    def __init__(self, thresholds: GarbageSettings, now: int) -> None:
        self.now = now
        self.job = now - round(thresholds.job_age * SECOND)
        self.deployment = now - round(thresholds.deployment_age * SECOND)
        self.node = now - round(thresholds.node_age * SECOND)
        self.token = now - round(thresholds.token_age * SECOND)
        self._evaluation = now - round(thresholds.evaluation_age * SECOND)
        self._batch_evaluation = now - round(thresholds.batch_evaluation_age * SECOND)

    def evaluation(self, job_type: str) -> int:
        """For an evaluation of this type."""
        is_batch = job_type == JobType.BATCH
        return self._batch_evaluation if is_batch else self._evaluation


def _candidates(reader: StateReader) -> list[Collectable]:
    """Names only: the rows are read again in the tick that looks at them."""
    return [
        *(Collectable("job", job.id, job.namespace) for job in reader.jobs()),
        *(Collectable("evaluation", e.id) for e in reader.evaluations() if e.is_terminal),
        *(Collectable("deployment", d.id) for d in reader.deployments() if not d.is_active),
        *(Collectable("node", node.id) for node in reader.nodes()),
        *(
            Collectable("token", token.accessor_id)
            for token in reader.list_all(ACL_TOKENS)
            if token.expiration_time
        ),
    ]


def _commands(reader: StateReader, some: Iterable[Collectable], ages: Ages) -> list[Command]:
    allocations: dict[str, None] = {}
    evaluations: dict[str, None] = {}
    others: dict[str, list[str]] = {"deployment": [], "node": [], "token": []}
    jobs: list[JobKey] = []
    for candidate in some:
        if candidate.kind == "job":
            key = JobKey(candidate.namespace, candidate.id)
            job = reader.job(key)
            if job and rules.is_garbage_job(reader, job, cutoff=ages.job, now=ages.now):
                jobs.append(key)
                allocations |= dict.fromkeys(a.id for a in reader.allocations_by_job(key))
                evaluations |= dict.fromkeys(e.id for e in reader.evaluations_by_job(key))
        elif candidate.kind == "evaluation":
            garbage = _garbage_of(reader, candidate.id, ages)
            allocations |= dict.fromkeys(garbage.allocations)
            if garbage.takes_evaluation:
                evaluations[candidate.id] = None
        elif _is_garbage(reader, candidate, ages):
            others[candidate.kind].append(candidate.id)
    return [
        *_rows(list(allocations), list(evaluations)),
        *(Collect(jobs=tuple(part)) for part in _parts(jobs, MAX_JOBS)),
        *(Collect(deployments=tuple(part)) for part in _parts(others["deployment"], MAX_IDS)),
        *(Collect(nodes=tuple(part)) for part in _parts(others["node"], MAX_IDS)),
        *(Collect(tokens=tuple(part)) for part in _parts(others["token"], MAX_TOKENS)),
    ]


def _garbage_of(reader: StateReader, eval_id: str, ages: Ages) -> rules.Garbage:
    evaluation = reader.evaluation(eval_id)
    if evaluation is None:
        return rules.Garbage(takes_evaluation=False)
    cutoff = ages.evaluation(evaluation.type)
    return rules.garbage_of(reader, evaluation, cutoff=cutoff, now=ages.now, with_batch=False)


def _is_garbage(reader: StateReader, candidate: Collectable, ages: Ages) -> bool:
    if candidate.kind == "node":
        node = reader.node(candidate.id)
        return node is not None and rules.is_garbage_node(reader, node, cutoff=ages.node)
    if candidate.kind == "token":
        token = reader.get(ACL_TOKENS, candidate.id)
        return token is not None and token.is_expired(ages.token)
    deployment = reader.deployment(candidate.id)
    return deployment is not None and rules.is_garbage_deployment(
        reader, deployment, cutoff=ages.deployment
    )


def _rows(allocations: list[str], evaluations: list[str]) -> Iterator[Collect]:
    """Allocations fill a command before evaluations do."""
    while allocations or evaluations:
        some, allocations = allocations[:MAX_IDS], allocations[MAX_IDS:]
        room = MAX_IDS - len(some)
        more, evaluations = evaluations[:room], evaluations[room:]
        yield Collect(allocations=tuple(some), evaluations=tuple(more))


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def write_collected(change: Change, command: Collect, ids: IDSource) -> None:
    """Delete what a command names, leaving out whatever came to life again since.

    A node's end is news for the jobs that were on it.
    """
    collect(
        change,
        [e for e in command.evaluations if _has_ended(change, e)],
        [a for a in command.allocations if _is_over(change, a)],
    )
    for key in command.jobs:
        if not change.evaluations_by_job(key) and not change.allocations_by_job(key):
            purge_job(change, key)
    for deployment_id in command.deployments:
        deployment = change.deployment(deployment_id)
        if deployment is not None and not deployment.is_active:
            change.delete_deployment(deployment_id)
    for node_id in command.nodes:
        node = change.node(node_id)
        if node is not None and rules.is_garbage_node(change, node, cutoff=change.now):
            evaluations = node_evaluations(change, node, ids, now=change.now)
            change.delete_node(node_id)
            write_evaluations(change, evaluations)
    for accessor in command.tokens:
        token = change.get(ACL_TOKENS, accessor)
        if token is not None and token.is_expired(change.now):
            change.delete(ACL_TOKENS, accessor)


def _has_ended(change: Change, eval_id: str) -> bool:
    evaluation = change.evaluation(eval_id)
    return evaluation is not None and evaluation.is_terminal


def _is_over(change: Change, alloc_id: str) -> bool:
    alloc = change.allocation(alloc_id)
    return alloc is not None and alloc.is_terminal
