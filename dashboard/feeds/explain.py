"""What is found about a group of an evaluation, live: what the runs of its job found."""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey


class ExplainFeed(Feed):
    """One group of an evaluation."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._job: JobKey | None = None

    def load(self, reader: RecordReader) -> None:
        """Know whose evaluation it is."""
        evaluation = reader.evaluation(self.subscription.key.partition("/")[0])
        self._job = evaluation.job_key if evaluation is not None else None

    def concerns(self, event: StateEvent) -> bool:
        """Evaluations and explanations of the job: one that waits borrows what others found."""
        value = event.value
        return isinstance(value, Evaluation | StoredExplanation) and value.job_key == self._job
