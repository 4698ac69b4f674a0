"""One thing of the record, live: which changes belong to a job, an allocation, a node."""

from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Parts
from dashboard.feeds.pieces import Facts, Piece
from dashboard.queries.job_tabs import tab_counts, tab_facts
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.story import Story

#: Whose rows are counted beside the names of a job's parts.
_COUNTED = frozenset(
    {Topic.ALLOCATION, Topic.EVALUATION, Topic.DEPLOYMENT, Topic.JOB_VERSION, Topic.STORY}
)


class JobFeed(Feed):
    """A job and everything that names it."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the job or of the job, or what a child of it set going."""
        whose = _job_of(event), _parent_of(event)
        return super().concerns(event) and self.subscription.key in whose


class JobPageFeed(JobFeed):
    """The same with the counts of its parts."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self._counts_are_old = False
        self._counts_told: dict[str, str] = {}

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        self._counts_are_old |= event.topic in _COUNTED

    @property
    def needs_reader(self) -> bool:
        """Rows are counted anew."""
        return self._counts_are_old or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What changed, and the counts if they did."""
        pieces = super().flush(reader, now)
        if reader is None or not self._counts_are_old:
            return pieces
        self._counts_are_old = False
        before, self._counts_told = self._counts_told, self._counted(reader)
        if before == self._counts_told:
            return pieces
        return (*pieces, Facts(values=self._counts_told))

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """All of it as it is now, for somebody who comes back."""
        return (*super().everything(reader, now), Facts(values=self._counted(reader)))

    def forget_told(self) -> None:
        super().forget_told()
        self._counts_told = {}

    def _counted(self, reader: RecordReader) -> dict[str, str]:
        namespace, _, job_id = self.subscription.key.partition("/")
        return tab_facts(tab_counts(reader, JobKey(namespace, job_id), self.subscription.may))


class AllocationFeed(Feed):
    """An allocation, which nothing else names."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the allocation."""
        return super().concerns(event) and event.key == self.subscription.key


class NodeFeed(Feed):
    """A node, what is taken of it and what is on it."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the node or on the node."""
        if isinstance(event.value, LifecycleStep):
            # Evaluations are of namespaces; that a node refused a plan is the node's.
            return self.subscription.key in event.value.nodes
        subjects = event.key, getattr(event.value, "node_id", "")
        return super().concerns(event) and self.subscription.key in subjects


def _parent_of(event: StateEvent) -> str:
    parent = event.value.parent_job_id if isinstance(event.value, Story) else ""
    return f"{event.namespace}/{parent}" if parent else ""


def _job_of(event: StateEvent) -> str:
    # The key of a version holds more than the id of its job.
    job_id = event.value.id if isinstance(event.value, Job) else getattr(event.value, "job_id", "")
    return f"{event.namespace}/{job_id}" if job_id else ""
