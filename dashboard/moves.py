"""Moves of evaluations along arrows, counted over the last stretch of time.

In: steps of lives; instants and arrows, in any order. Out: moves per arrow, and in
all. Costs what the stretch has slots, not what moved.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dashboard.graphs.lifecycle import STATE_OF
from dashboard.graphs.machine import EVENT, NEW_BY_TRIGGER, TARGET_OF
from scheduler.structs.evaluation import LifecycleStep, Step

SECOND = 1_000_000_000
#: By what an address says: how far back moves are counted, ns.
WINDOWS = {"": 60 * SECOND, "5m": 300 * SECOND, "1h": 3_600 * SECOND}
#: Lives read to know what moved before the page was opened; of more, the newest.
MOST_LIVES = {"": 500, "5m": 1_500, "1h": 3_000}
_SLOTS = 60


class Move(NamedTuple):
    """One evaluation went along one arrow."""

    at: int
    arrow: str


class Moves:
    """Mutable: `add` as they come. Whole slots leave the stretch, a sixtieth of it each."""

    def __init__(self, stretch: int) -> None:
        self._stretch = stretch
        self._slot = stretch // _SLOTS
        self._slots: dict[int, Counter[str]] = {}

    def add(self, at: int, arrow: str) -> None:
        """One evaluation went along one arrow."""
        self._slots.setdefault(at // self._slot, Counter())[arrow] += 1

    def within(self, now: int) -> Counter[str]:
        """How many went along each arrow in the stretch before `now`."""
        first = (now - self._stretch) // self._slot
        for slot in [slot for slot in self._slots if slot < first]:
            del self._slots[slot]
        told: Counter[str] = Counter()
        for moved in self._slots.values():
            told.update(moved)
        return told


def moves_of(steps: Iterable[LifecycleStep]) -> Iterator[Move]:
    """The arrows that recorded lives went along."""
    eval_id, before = "", EVENT
    for step in steps:
        if step.eval_id != eval_id:
            eval_id, before = step.eval_id, EVENT
        state = STATE_OF.get(step.step)
        if state is not None and state != before and (before, state) != ("blocked", "pending"):
            arrow, before = move_of(step, before, state)
            yield Move(step.at, arrow)


def move_of(step: LifecycleStep, before: str, state: str) -> tuple[str, str]:
    """The arrow that a step went along, and the state it leads to.

    One that another evaluation made comes from there, not from an event: its first step says why.
    """
    made_by = NEW_BY_TRIGGER.get(step.reason) if step.step is Step.CREATED else None
    if made_by is None:
        return f"{before}-{state}", state
    return made_by, TARGET_OF[made_by]
