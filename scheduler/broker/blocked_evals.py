"""Evaluations that wait for capacity.

In: evaluations with what their run saw (classes, quota, missing resources), and news of capacity
with its index. Out: the evaluations that should run again, and duplicates to cancel. Where the
news comes from is not known here (`capacity.py`).
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from scheduler.broker.missing_room import MissingInPlace, MissingOfJob, MissingRoom
from scheduler.structs.evaluation import Cause, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType

#: Seconds: news of capacity older than this cannot have been missed any more.
UNBLOCK_MEMORY = 900.0

#: One tracked evaluation per job; of system jobs, one per job and node.
Slot = tuple[JobKey, str]


class Released(msgspec.Struct, frozen=True):
    """An evaluation that should run again; `token` when it is still out with a worker."""

    evaluation: Evaluation
    token: str
    reason: str
    #: What made the room; None where nobody can say.
    by: Cause | None = None


class Made(NamedTuple):
    """What made room, in words and as a row; empty where nobody can say."""

    told: str = ""
    by: Cause | None = None


UNKNOWN = Made()


class _News(NamedTuple):
    """When something became available, and what happened; "" where that is not known."""

    at_index: int
    #: Seconds.
    monotonic: float
    told: str


class BlockedStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of evaluations.md 14."""

    total_blocked: int = 0
    total_escaped: int = 0
    total_quota_limit: int = 0
    #: What they would need.
    missing_in_places: tuple[MissingInPlace, ...] = ()
    missing_of_jobs: tuple[MissingOfJob, ...] = ()
    #: Of how many jobs there is something to tell, be they told one by one or too many for it.
    jobs_missing: int = 0


class BlockedEvals:
    """The tracker of blocked evaluations (evaluations.md 6).

    Every method that unblocks returns what it frees; those are not tracked any more.
    """

    def __init__(self) -> None:
        self.enabled = False
        self._clear()

    def _clear(self) -> None:
        self._tracked: dict[str, tuple[Evaluation, str]] = {}
        self._slots: dict[Slot, str] = {}
        self._missing = MissingRoom()
        #: The newest news about a class, quota or resource.
        self._unblocked_at: dict[str, _News] = {}
        self._duplicates: list[Evaluation] = []

    def set_enabled(self, *, enabled: bool) -> None:
        """Switch it. Off, it forgets everything and ignores all calls."""
        self.enabled = enabled
        if not enabled:
            self._clear()

    def __contains__(self, eval_id: object) -> bool:
        return eval_id in self._tracked

    def block(self, evaluation: Evaluation, token: str = "") -> tuple[Released, ...]:
        """Track an evaluation; returned at once when its run missed capacity that came meanwhile.

        Of two evaluations for one slot the one with fresher knowledge stays, the other becomes a
        duplicate; the same evaluation again replaces itself.
        """
        if not self.enabled:
            return ()
        slot = _slot(evaluation)
        rival = self._tracked.get(self._slots.get(slot, ""))
        if rival is not None and rival[0].id != evaluation.id:
            if _knowledge(rival[0]) > _knowledge(evaluation):
                self._duplicates.append(evaluation)
                return ()
            self._duplicates.append(rival[0])
            self.remove(rival[0].id)
        reason = self._missed(evaluation)
        if reason:
            self.remove(evaluation.id)
            return (Released(evaluation, token, reason),)
        self.remove(evaluation.id)
        self._missing.add(evaluation)
        self._tracked[evaluation.id] = (evaluation, token)
        self._slots[slot] = evaluation.id
        return ()

    def _missed(self, evaluation: Evaluation) -> str:
        """Why the run may have overlooked capacity (evaluations.md 6.4); "" when it did not."""
        seen = evaluation.snapshot_index
        quota = evaluation.quota_limit_reached
        if quota and quota in self._unblocked_at:
            news = self._unblocked_at[quota]
            told = news.told or f"quota {quota} changed"
            return f"{told} meanwhile" if seen < news.at_index else ""
        newer = {
            key: news.told for key, news in self._unblocked_at.items() if seen < news.at_index
        }
        if evaluation.escaped_computed_class and newer:
            return f"{[*newer.values()][-1] or 'capacity appeared'} meanwhile"
        if quota:
            return ""
        verdicts = evaluation.class_eligibility
        for key, told in newer.items():
            if key in evaluation.missing_non_node_resources:
                return f"{key} became available meanwhile"
            if verdicts.get(key, True):
                return f"{told or f'capacity of class {key} appeared'} meanwhile"
        return ""

    def unblock(
        self, computed_class: str, index: int, monotonic: float, made: Made = UNKNOWN
    ) -> tuple[Released, ...]:
        """Room appeared on a node of this class."""
        self._record(computed_class, _News(index, monotonic, made.told))
        return self._release(
            lambda evaluation: _may_use(evaluation, computed_class),
            f"room on a node of class {computed_class}",
            made,
        )

    def unblock_quota(
        self, quota: str, index: int, monotonic: float, made: Made = UNKNOWN
    ) -> tuple[Released, ...]:
        """A quota was raised or freed."""
        if not quota:
            return ()
        self._record(quota, _News(index, monotonic, made.told))
        return self._release(
            lambda evaluation: (
                not evaluation.escaped_computed_class and not _waits_for_other(evaluation, quota)
            ),
            f"room in quota {quota}",
            made,
        )

    def unblock_class_and_quota(
        self,
        computed_class: str,
        quota: str,
        index: int,
        monotonic: float,
        made: Made = UNKNOWN,
    ) -> tuple[Released, ...]:
        """An allocation of a namespace with this quota (or "") ended on a node of this class."""
        news = _News(index, monotonic, made.told)
        self._record(computed_class, news)
        if quota:
            self._record(quota, news)
        return self._release(
            lambda evaluation: (
                evaluation.escaped_computed_class
                or (
                    _may_use(evaluation, computed_class)
                    and not _waits_for_other(evaluation, quota)
                )
            ),
            f"an allocation ended on a node of class {computed_class}",
            made,
        )

    def unblock_node(self, node_id: str, made: Made = UNKNOWN) -> tuple[Released, ...]:
        """Room appeared on a node that system jobs wait for."""
        return self._release(
            lambda evaluation: evaluation.type == JobType.SYSTEM and evaluation.node_id == node_id,
            f"room on node {node_id}",
            made,
        )

    def unblock_failed(self) -> tuple[Released, ...]:
        """Let those run again that gave up over conflicts."""
        return self._release(
            lambda evaluation: evaluation.triggered_by == EvalTrigger.MAX_PLAN_ATTEMPTS,
            "another try after conflicts",
        )

    def unblock_all(self, reason: str) -> tuple[Released, ...]:
        """Let everything run again: nobody can say any more what became free."""
        return self._release(lambda _: True, reason)

    def _record(self, key: str, news: _News) -> None:
        if self.enabled:
            self._unblocked_at[key] = news

    def _release(
        self, wanted: Callable[[Evaluation], bool], reason: str, made: Made = UNKNOWN
    ) -> tuple[Released, ...]:
        told = made.told or reason
        freed = [entry for entry in self._tracked.values() if wanted(entry[0])]
        for evaluation, _ in freed:
            self.remove(evaluation.id)
        return tuple(Released(evaluation, token, told, made.by) for evaluation, token in freed)

    def untrack(self, job_key: JobKey) -> None:
        """The job is fully placed: nothing of it waits any more."""
        for slot in [slot for slot in self._slots if slot[0] == job_key]:
            self.remove(self._slots[slot])

    def remove(self, eval_id: str) -> None:
        """Stop tracking one evaluation."""
        entry = self._tracked.pop(eval_id, None)
        if entry is not None:
            del self._slots[_slot(entry[0])]
            self._missing.remove(entry[0])

    def take_duplicates(self, limit: int) -> tuple[Evaluation, ...]:
        """Evaluations that a fresher one of the same job replaced, to be canceled."""
        taken, self._duplicates = self._duplicates[:limit], self._duplicates[limit:]
        return tuple(taken)

    def prune(self, monotonic: float) -> None:
        """Forget old news of capacity."""
        limit = monotonic - UNBLOCK_MEMORY
        self._unblocked_at = {
            key: news for key, news in self._unblocked_at.items() if news.monotonic >= limit
        }

    def stats(self) -> BlockedStats:
        """Counts of what is tracked."""
        evaluations = [evaluation for evaluation, _ in self._tracked.values()]
        return BlockedStats(
            total_blocked=len(evaluations),
            total_escaped=sum(1 for e in evaluations if e.escaped_computed_class),
            total_quota_limit=sum(1 for e in evaluations if e.quota_limit_reached),
            missing_in_places=self._missing.in_places(),
            missing_of_jobs=self._missing.of_jobs(),
            jobs_missing=self._missing.job_count,
        )


def _slot(evaluation: Evaluation) -> Slot:
    node_id = evaluation.node_id if evaluation.type == JobType.SYSTEM else ""
    return evaluation.job_key, node_id


def _knowledge(evaluation: Evaluation) -> int:
    return max(evaluation.create_index, evaluation.snapshot_index)


def _may_use(evaluation: Evaluation, computed_class: str) -> bool:
    # A class the run never saw may fit.
    return evaluation.escaped_computed_class or evaluation.class_eligibility.get(
        computed_class, True
    )


def _waits_for_other(evaluation: Evaluation, quota: str) -> bool:
    limit = evaluation.quota_limit_reached
    return bool(quota and limit and limit != quota)
