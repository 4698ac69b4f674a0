"""Everything a reconciliation is given of its job, and the lookups that hang on it.

In: values and three callables. Out: nothing is decided here.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

import msgspec

from scheduler.ports import IDSource
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup


class UpdateKind(Enum):
    """What a new job version means for an allocation, when it cannot be changed in place."""

    IGNORE = "ignore"
    DESTRUCTIVE = "destructive"


#: (allocation, job, group) -> the changed copy, or why there is none.
JudgeUpdate = Callable[[Allocation, Job, TaskGroup], Allocation | UpdateKind]


class JobSituation(msgspec.Struct, frozen=True, kw_only=True):
    """What both ways of reconciling are given of a job."""

    #: The current version; None when the job was purged.
    job: Job | None
    #: The newest of the job; always None for batch.
    deployment: Deployment | None
    #: All of the job, of every incarnation, terminal ones included.
    allocations: Sequence[Allocation]
    #: Nodes of the allocations that are down, draining or disconnected; None: the node is gone.
    tainted: Mapping[str, Node | None]
    now: int
    #: The job version an allocation was made from.
    job_of: Callable[[Allocation], Job | None]
    #: For delayed evaluations and a deployment.
    ids: IDSource

    @property
    def is_stopped(self) -> bool:
        """Nothing of the job may run."""
        return self.job is None or self.job.stop

    def origin(self, alloc: Allocation) -> TaskGroup | None:
        """The group an allocation was made from, in its own job version."""
        job = self.job_of(alloc)
        return job.task_group(alloc.task_group) if job else None


class Situation(JobSituation, frozen=True, kw_only=True):
    """The inputs of one reconciliation (reconciler.md 2.1)."""

    job_id: str
    is_batch: bool
    eval_id: str
    eval_priority: int
    judge_update: JudgeUpdate

    def is_older(self, alloc: Allocation) -> bool:
        """It was made from an earlier version or incarnation of the job."""
        return self.job is not None and (
            alloc.job_version < self.job.version or alloc.job_create_index < self.job.create_index
        )

    def is_current(self, alloc: Allocation) -> bool:
        """It was made from this version and incarnation of the job."""
        return (
            self.job is not None
            and alloc.job_version == self.job.version
            and alloc.job_create_index == self.job.create_index
        )
