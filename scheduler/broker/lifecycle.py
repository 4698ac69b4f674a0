"""The recorded lives of evaluations: every step with its number, time and reason.

In: what happened to an evaluation. Out: numbered steps, once as hints to be published and once to
be written, and how many went which way. Who publishes and who writes is not known here.
"""

from collections.abc import Iterable

import msgspec

from scheduler.broker.flows import way_of
from scheduler.broker.sliding_counts import SlidingCounts
from scheduler.structs.evaluation import Cause, LifecycleStep, Step

#: Ended lives that are still remembered, so that a late step continues their numbers.
ENDED_KEPT = 4096


class Life(msgspec.Struct):
    """What is remembered of one evaluation."""

    #: The newest step, written or not.
    last: LifecycleStep | None = None
    unwritten: list[LifecycleStep] = []


class Lifecycles:
    """Numbers the steps of all evaluations the leader knows."""

    def __init__(self, flows: SlidingCounts | None = None) -> None:
        #: How many went which way, by the words of `scheduler.structs.counted`.
        self._flows = flows or SlidingCounts()
        self._lives: dict[str, Life] = {}
        self._ended: dict[str, None] = {}
        self._hints: list[LifecycleStep] = []
        #: Evaluations with unwritten steps; since when, once a tick has seen them; oldest first.
        self._unwritten: dict[str, float | None] = {}
        self._unseen: list[str] = []

    def begin(self, eval_id: str, last: LifecycleStep | None = None) -> None:
        """Know an evaluation, and its newest recorded step."""
        self._lives.setdefault(eval_id, Life(last=last))

    def knows(self, eval_id: str) -> bool:
        """Whether `note` can number a step of this evaluation."""
        return eval_id in self._lives

    def last_step(self, eval_id: str) -> Step | None:
        """The newest step."""
        life = self._lives.get(eval_id)
        return life.last.step if life and life.last else None

    def note(  # noqa: PLR0913 - a step has that many facts
        self,
        eval_id: str,
        step: Step,
        now: int,
        *,
        actor: str,
        reason: str = "",
        plan_id: str = "",
        nodes: tuple[str, ...] = (),
        woken_by: Cause | None = None,
        taken_at: int = 0,
    ) -> None:
        """Record one step. One of an unknown evaluation is left out: its number is not known."""
        life = self._lives.get(eval_id)
        if life is None:
            return
        last = life.last
        noted = LifecycleStep(
            eval_id=eval_id,
            number=last.number + 1 if last else 1,
            step=step,
            at=now,
            duration_ns=max(0, now - last.at) if last else 0,
            actor=actor,
            reason=reason,
            plan_id=plan_id,
            nodes=nodes,
            woken_by=woken_by,
            taken_at=taken_at,
        )
        self._flows.add(way_of(last, noted))
        life.last = noted
        life.unwritten.append(noted)
        self._await_commit(eval_id)
        self._hints.append(noted)

    def adopt(self, step: LifecycleStep) -> None:
        """Know of a recorded step that somebody else has numbered."""
        life = self._lives.get(step.eval_id)
        if life is not None and (life.last is None or life.last.number < step.number):
            self._flows.add(way_of(life.last, step))
            life.last = step

    def newest(self, eval_id: str) -> LifecycleStep | None:
        """The newest step of an evaluation, written or not."""
        life = self._lives.get(eval_id)
        return life.last if life else None

    def _await_commit(self, eval_id: str) -> None:
        if eval_id not in self._unwritten:
            self._unwritten[eval_id] = None
            self._unseen.append(eval_id)

    def end(self, eval_id: str) -> None:
        """Nothing more is expected of this evaluation; it may be forgotten."""
        if eval_id not in self._lives:
            return
        self._ended[eval_id] = None
        while len(self._ended) > ENDED_KEPT:
            oldest = next(iter(self._ended))
            if oldest in self._unwritten:
                break
            del self._ended[oldest], self._lives[oldest]

    def take_hints(self) -> tuple[LifecycleStep, ...]:
        """Steps that were not published yet, in order."""
        hints, self._hints = self._hints, []
        return tuple(hints)

    def take_unwritten(self, eval_id: str) -> tuple[LifecycleStep, ...]:
        """The unwritten steps of one evaluation; they count as written from now on."""
        if eval_id not in self._unwritten:
            return ()
        del self._unwritten[eval_id]
        life = self._lives[eval_id]
        taken, life.unwritten = tuple(life.unwritten), []
        return taken

    def take_leftovers(self, monotonic: float, patience: float) -> tuple[LifecycleStep, ...]:
        """Unwritten steps of evaluations that waited `patience` seconds for a commit."""
        for eval_id in self._unseen:
            if self._unwritten.get(eval_id, monotonic) is None:
                self._unwritten[eval_id] = monotonic
        self._unseen.clear()
        due = []
        for eval_id, since in self._unwritten.items():
            if since is None or since + patience > monotonic:
                break
            due.append(eval_id)
        return tuple(step for eval_id in due for step in self.take_unwritten(eval_id))

    def next_deadline(self, patience: float) -> float | None:
        """When `take_leftovers` has something; a step no tick has seen waits for the next one."""
        since = next(iter(self._unwritten.values()), None)
        return None if since is None else since + patience

    def put_back(self, steps: Iterable[LifecycleStep]) -> None:
        """The commit that carried these steps failed."""
        by_eval: dict[str, list[LifecycleStep]] = {}
        for step in steps:
            by_eval.setdefault(step.eval_id, []).append(step)
        for eval_id, returned in by_eval.items():
            life = self._lives.setdefault(eval_id, Life(last=returned[-1]))
            life.unwritten = [*returned, *life.unwritten]
            self._await_commit(eval_id)

    def clear(self) -> None:
        self._lives.clear()
        self._ended.clear()
        self._unwritten.clear()
        self._unseen.clear()
        self._hints.clear()
