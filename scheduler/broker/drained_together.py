"""Evaluations that one write of the drainer made, and which of them are decided together.

In: evaluations that wait behind another of their job, and those that would be delivered. Out:
whether they go now. Decided by one worker, one after another, in the order of their creation,
where each allocation of a drain goes can be foretold. The step of a rollout often comes in the
same moment as the drainer's write, and holds one of its jobs: then all of them wait for it, or
how long it takes would decide the order.
"""

from collections.abc import Callable

from scheduler.broker.leader_settings import LeaderSettings
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey


class DrainedTogether:
    """Which evaluations of the drainer's writes are held up, by the index of the write."""

    def __init__(self, settings: LeaderSettings) -> None:
        self._settings = settings
        #: Those behind another of their job, by id.
        self._behind: dict[int, dict[str, JobKey]] = {}
        #: Since when the others wait for them, monotonic.
        self._since: dict[int, float] = {}

    def note_behind(self, evaluation: Evaluation) -> None:
        """It waits for another one of its job."""
        if evaluation.triggered_by == EvalTrigger.NODE_DRAIN:
            behind = self._behind.setdefault(evaluation.create_index, {})
            behind[evaluation.id] = evaluation.job_key

    def not_behind(self, evaluation: Evaluation) -> None:
        """It does not any more."""
        behind = self._behind.get(evaluation.create_index, {})
        if behind.pop(evaluation.id, None) and not behind:
            del self._behind[evaluation.create_index]
            self._since.pop(evaluation.create_index, None)

    def waits(
        self, evaluation: Evaluation, is_out: Callable[[JobKey], bool], monotonic: float
    ) -> bool:
        """Whether a ready one waits for those of its write; not longer than `drained_wait`.

        Only for what a worker holds already: it will be back soon, whatever else waits.
        """
        write = evaluation.create_index
        behind = self._behind.get(write)
        if evaluation.triggered_by != EvalTrigger.NODE_DRAIN or not behind:
            return False
        if not any(map(is_out, behind.values())):
            return False
        since = self._since.setdefault(write, monotonic)
        return monotonic < since + self._settings.drained_wait

    def goes_with(self, delivered: int, last: Evaluation, following: Evaluation) -> bool:
        """Whether the next one was made by the write that made the last of so many delivered."""
        return (
            delivered < self._settings.drained_together
            and last.triggered_by == following.triggered_by == EvalTrigger.NODE_DRAIN
            and last.create_index == following.create_index
        )
