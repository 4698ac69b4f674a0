"""What is found about a group of an evaluation, live: what the runs of its job found."""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey


class ExplainFeed(Feed):
    """One group of an evaluation."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._job: JobKey | None = None
        #: The evaluation, and the one that waits for it: what wakes those is told.
        self._waits: frozenset[str] = frozenset()

    def load(self, reader: RecordReader) -> None:
        """Know whose evaluation it is."""
        evaluation = reader.evaluation(self._eval_id)
        if evaluation is not None:
            self._job = evaluation.job_key
            self._waits = _waiting(evaluation)

    @property
    def _eval_id(self) -> str:
        return self.subscription.key.partition("/")[0]

    def concerns(self, event: StateEvent) -> bool:
        """What is of the job: one that waits borrows what others found, and stands beside them."""
        value = event.value
        if isinstance(value, LifecycleStep):
            return value.eval_id in self._waits
        if isinstance(value, Evaluation | StoredExplanation | Allocation):
            return value.job_key == self._job
        return False

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if event.key == self._eval_id and isinstance(event.value, Evaluation):
            self._waits = _waiting(event.value)


def _waiting(evaluation: Evaluation) -> frozenset[str]:
    return frozenset({evaluation.id, evaluation.blocked_eval})
