"""Gather the changes of one attempt, and hand them out as a frozen `Plan`.

In: stops, placements, updates, evictions, one by one; the last stop of a node can be taken back.
Out: a Plan. Whether anything fits is not known here.
"""

from collections.abc import Iterable

from scheduler.structs.allocation import Allocation, AllocState, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatusUpdate
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.plan import ByNode, Plan
from scheduler.structs.plan_annotations import PlanAnnotations


def made_from(alloc: Allocation, job: Job) -> Allocation:
    """A copy that names this job version as the one it was made from."""
    return alloc.changed(
        job_version=job.version,
        job_create_index=job.create_index,
        job_type=job.type,
        job_priority=job.priority,
    )


class PlanBuilder:
    """The plan of one attempt while it grows."""

    def __init__(
        self, evaluation: Evaluation, job: Job | None, *, plan_id: str, snapshot_index: int
    ) -> None:
        self._evaluation = evaluation
        self._job = job
        self._plan_id = plan_id
        self._snapshot_index = snapshot_index
        self._stops: dict[str, dict[str, Allocation]] = {}
        self._allocations: dict[str, dict[str, Allocation]] = {}
        self._preemptions: dict[str, dict[str, Allocation]] = {}
        self.deployment: Deployment | None = None
        self.deployment_updates: tuple[DeploymentStatusUpdate, ...] = ()
        self.annotations: PlanAnnotations | None = None

    def add_stop(
        self,
        alloc: Allocation,
        reason: str,
        *,
        client_status: ClientStatus | None = None,
        followup_eval_id: str = "",
        now: int = 0,
    ) -> None:
        """Stop an allocation. Stopped twice, the first stop stands.

        A forced client status is also noted in its history, at `now`.
        """
        stopped = alloc.changed(desired_status=DesiredStatus.STOP, desired_description=reason)
        if client_status is not None:
            entry = AllocState(value=client_status.value, time=now)
            stopped = stopped.changed(
                client_status=client_status, alloc_states=(*alloc.alloc_states, entry)
            )
        if followup_eval_id:
            stopped = stopped.changed(followup_eval_id=followup_eval_id)
        self._stops.setdefault(alloc.node_id, {}).setdefault(alloc.id, stopped)

    def replace_stop(self, alloc: Allocation) -> None:
        """Put this copy, marked as stopped but without a reason, in the place of its stop."""
        stops = self._stops.get(alloc.node_id, {})
        if alloc.id in stops:
            stops[alloc.id] = alloc.changed(
                desired_status=DesiredStatus.STOP, desired_description=""
            )

    def remove_stop(self, alloc: Allocation) -> bool:
        """Take a stop back; whether there was one."""
        stops = self._stops.get(alloc.node_id, {})
        was_there = stops.pop(alloc.id, None) is not None
        if not stops:
            self._stops.pop(alloc.node_id, None)
        return was_there

    def is_stopped(self, alloc: Allocation) -> bool:
        """Whether the plan stops it."""
        return alloc.id in self._stops.get(alloc.node_id, {})

    def add_placement(self, alloc: Allocation) -> None:
        """Place a new allocation, or write a changed one with the job version it names."""
        self._allocations.setdefault(alloc.node_id, {})[alloc.id] = alloc

    def add_update(self, alloc: Allocation) -> None:
        """Write a changed allocation. One that has not ended takes on the plan's job version."""
        if self._job is not None and not alloc.is_terminal:
            alloc = made_from(alloc, self._job)
        self.add_placement(alloc)

    def remove_placement(self, alloc: Allocation) -> None:
        """Take a placement or update back."""
        placed = self._allocations.get(alloc.node_id, {})
        placed.pop(alloc.id, None)
        if not placed:
            self._allocations.pop(alloc.node_id, None)

    def add_preemption(self, alloc: Allocation, by_alloc_id: str) -> None:
        """Evict an allocation for the one with this id."""
        self._preemptions.setdefault(alloc.node_id, {})[alloc.id] = alloc.changed(
            desired_status=DesiredStatus.EVICT,
            desired_description=f"Preempted by alloc ID {by_alloc_id}",
            preempted_by_allocation=by_alloc_id,
        )

    def preempted(self) -> Iterable[Allocation]:
        """The allocations evicted so far."""
        return [alloc for allocs in self._preemptions.values() for alloc in allocs.values()]

    def build(self) -> Plan:
        """The plan as it stands.

        An allocation may be both updated and stopped; whoever commits the plan lets the stop win.
        """
        job = self._job
        return Plan(
            id=self._plan_id,
            eval_id=self._evaluation.id,
            priority=self._evaluation.priority,
            all_at_once=job is not None and job.all_at_once,
            namespace=self._evaluation.namespace,
            job_id=self._evaluation.job_id,
            job_version=job.version if job else None,
            node_update=_by_node(self._stops),
            node_allocation=_by_node(self._allocations),
            node_preemptions=_by_node(self._preemptions),
            deployment=self.deployment,
            deployment_updates=self.deployment_updates,
            annotations=self.annotations,
            snapshot_index=self._snapshot_index,
        )


_Gathered = dict[str, dict[str, Allocation]]


def _by_node(gathered: _Gathered) -> ByNode:
    return {node_id: tuple(allocs.values()) for node_id, allocs in gathered.items() if allocs}
