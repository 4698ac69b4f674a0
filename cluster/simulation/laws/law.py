"""A law, and what it looks at: one committed write beside the record as it left it.

In: frames of the event log. Out: the rows they changed, before and after. The record here is moved
by the events alone, so it is also the proof that the log says everything.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from scheduler.state.events import EventFrame
from scheduler.state.noun import Key, Noun
from scheduler.state.nouns import ALLOCATIONS, NOUN_OF_TOPIC
from scheduler.state.record import Record
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.wire import Wire

Value = TypeVar("Value", bound=Wire)
Looked = TypeVar("Looked")


class LawBroken(Exception):
    """A law does not hold."""

    def __init__(self, law: str, says: str, found: str) -> None:
        super().__init__(f"{law}: {found}")
        self.law = law
        self.says = says
        self.found = found


@dataclass(frozen=True)
class CheckedLaw(Generic[Looked]):
    """One thing that must hold."""

    name: str
    says: str
    #: What contradicts it, each a sentence.
    broken: Callable[[Looked], Iterable[str]]

    def check(self, looked: Looked) -> None:
        """Raise LawBroken with the first contradiction."""
        for found in self.broken(looked):
            raise LawBroken(self.name, self.says, found)


class Laws(list[CheckedLaw[Looked]]):
    """Laws over the same kind of look, in order."""

    def add(
        self, name: str, says: str
    ) -> Callable[[Callable[[Looked], Iterable[str]]], Callable[[Looked], Iterable[str]]]:
        """Add a function that finds contradictions."""

        def added(
            broken: Callable[[Looked], Iterable[str]],
        ) -> Callable[[Looked], Iterable[str]]:
            self.append(CheckedLaw(name, says, broken))
            return broken

        return added

    def check(self, looked: Looked) -> None:
        """Raise LawBroken with the first contradiction of the first law that is broken."""
        for law in self:
            law.check(looked)


@dataclass
class Memory:
    """What cannot be read off the record any more."""

    #: Deployments some of whose allocations were collected, or changed their mind about health.
    uncountable: set[str] = field(default_factory=set)

    def learn(self, before: Allocation | None, after: Allocation | None) -> None:
        """Take in how one allocation changed."""
        was, is_ = (row.deployment_id if row is not None else "" for row in (before, after))
        if was and was != is_:
            self.uncountable.add(was)
        if after is None or not is_:
            return
        health = health_of(after)
        if was != is_:
            # Its health, if it has any, was that of another rollout.
            if health is not None:
                self.uncountable.add(is_)
        elif before is not None and health_of(before) is False and health is True:
            # It counts as unhealthy for good.
            self.uncountable.add(is_)


@dataclass
class Written:
    """One committed write."""

    frame: EventFrame
    #: After the write.
    record: Record
    memory: Memory
    rows: list[tuple[object, Wire | None, Wire | None]] = field(default_factory=list)

    def of(self, noun: Noun[Key, Value]) -> Iterator[tuple[Value | None, Value | None]]:
        """The changed rows of a noun, before and after; None: it was not, or is not any more."""
        for changed, before, after in self.rows:
            if changed is noun:
                yield before, after  # type: ignore[misc]  # rows of a noun are of its struct


def health_of(alloc: Allocation) -> bool | None:
    """What its node said of its health in its rollout; None: nothing yet."""
    return alloc.deployment_status.healthy if alloc.deployment_status else None


def unnamed_in(frame: EventFrame) -> set[JobKey]:
    """Jobs some of whose versions nobody may name after the write."""
    keys = set()
    for event in frame.events:
        if event.deleted and isinstance(event.value, Allocation):
            keys.add(event.value.job_key)
        elif event.deleted and isinstance(event.value, Job):
            keys.add(event.value.key)
    return keys


def replay(record: Record, frame: EventFrame, memory: Memory) -> Written:
    """Move the record by one frame; what it changed."""
    rows: list[tuple[object, Wire | None, Wire | None]] = []
    for event in frame.events:
        noun = NOUN_OF_TOPIC[event.topic]
        before = record.get(noun, noun.key(event.value))
        rows.append((noun, before, None if event.deleted else event.value))
    record.apply(frame.index, frame.events, unnamed_in(frame))
    look = Written(frame, record, memory, rows)
    for before, after in look.of(ALLOCATIONS):
        memory.learn(before, after)
    return look
