"""One thing of the record, live: which changes belong to a job, an allocation, a node."""

from dashboard.feeds.feed import Feed
from scheduler.state.events import StateEvent
from scheduler.structs.job import Job
from scheduler.structs.story import Story


class JobFeed(Feed):
    """A job and everything that names it."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the job or of the job, or what a child of it set going."""
        whose = _job_of(event), _parent_of(event)
        return super().concerns(event) and self.subscription.key in whose


class AllocationFeed(Feed):
    """An allocation, which nothing else names."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the allocation."""
        return super().concerns(event) and event.key == self.subscription.key


class NodeFeed(Feed):
    """A node, what is taken of it and what is on it."""

    def concerns(self, event: StateEvent) -> bool:
        """Whether it is the node or on the node."""
        subjects = event.key, getattr(event.value, "node_id", "")
        return super().concerns(event) and self.subscription.key in subjects


def _parent_of(event: StateEvent) -> str:
    parent = event.value.parent_job_id if isinstance(event.value, Story) else ""
    return f"{event.namespace}/{parent}" if parent else ""


def _job_of(event: StateEvent) -> str:
    # The key of a version holds more than the id of its job.
    job_id = event.value.id if isinstance(event.value, Job) else getattr(event.value, "job_id", "")
    return f"{event.namespace}/{job_id}" if job_id else ""
