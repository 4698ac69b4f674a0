"""Find a node for everything a service or batch job must place, one after another.

In: the reconciler's destructive updates and placements. Out: the same attempt with placements,
stops and evictions added, or the reason why a group failed (control-plane.md 1.5 to 1.7).
"""

from collections.abc import Mapping

import msgspec

from scheduler.engine.attempt import Attempt
from scheduler.engine.plan.builder import made_from
from scheduler.engine.reconcile.alloc_set import index_in_name
from scheduler.engine.reconcile.names import AllocNameIndex
from scheduler.engine.reconcile.reschedule import carried_tracker
from scheduler.engine.reconcile.results import DestructiveUpdate, Placement, ReconcileResults
from scheduler.engine.stack import RankedNode, SelectOptions, ServiceStack
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    RescheduleTracker,
)
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Job, JobType
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import TaskGroup

_NOT_PLACED = "no placement"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One placement, and the stop that makes room for it."""

    placement: Placement
    #: The reason of the stop; "" when the previous allocation is not stopped by this placement.
    stop_reason: str = ""


def items_of(results: ReconcileResults) -> list[Item]:
    """Everything to be placed, destructive updates first."""
    return [
        *(_item_of_update(update) for update in results.destructive),
        *(Item(placement=placement) for placement in results.place),
    ]


def _item_of_update(update: DestructiveUpdate) -> Item:
    placement = Placement(name=update.name, task_group=update.task_group, previous=update.alloc)
    return Item(placement=placement, stop_reason=update.reason)


class Placer:
    """Places the items of one attempt."""

    def __init__(
        self,
        attempt: Attempt,
        stack: ServiceStack,
        job: Job,
        deployment: Deployment | None,
        names: Mapping[str, AllocNameIndex],
    ) -> None:
        self._attempt = attempt
        self._stack = stack
        self._job = job
        self._deployment = deployment
        self._names = names
        self._deployment_id = deployment.id if deployment and deployment.is_active else ""
        #: By group, how many allocations were evicted for it.
        self.preemptions: dict[str, int] = {}

    def place(self, item: Item) -> None:
        """Find a node for one item, or note why there is none.

        After the first failure of a group its other items are not tried, only counted.
        """
        placement = item.placement
        older = self._older_job(placement) if placement.downgrade_non_canary else None
        job = older or self._job
        group = job.task_group(placement.task_group.name) or placement.task_group
        failed = self._attempt.failed
        if group.name in failed:
            metric = failed[group.name]
            failed[group.name] = exhausted_more(
                msgspec.structs.replace(metric, coalesced_failures=metric.coalesced_failures + 1),
                group,
            )
            return
        if older is not None:
            self._stack.set_job(older)
        previous = placement.previous
        if item.stop_reason and previous is not None:
            self._attempt.stop(previous, item.stop_reason)
        option = self._select(group, placement)
        metric = self._measured(group)
        if older is not None:
            self._stack.set_job(self._job)
        if option is not None:
            self._take(item, job, group, option, metric)
        else:
            failed[group.name] = exhausted_more(metric, group)
            self._attempt.decisions[group.name] = failed[group.name]
            self._give_up(item)

    def _older_job(self, placement: Placement) -> Job | None:
        """The job version that unpromoted canaries have not replaced yet.

        The deployment of that version also holds for the placements after this one.
        """
        found = self._last_promoted(placement)
        if found is None:
            return None
        job, deployment_id = found
        if job.version < placement.min_job_version:
            return None
        if job.task_group(placement.task_group.name) is None:
            return None
        self._deployment_id = deployment_id
        return job

    def _last_promoted(self, placement: Placement) -> tuple[Job, str] | None:
        snapshot, job = self._attempt.snapshot, self._job
        deployments = [
            deployment
            for deployment in snapshot.deployments_by_job(job.key)
            if deployment.job_create_index == job.create_index
        ]
        for deployment in sorted(deployments, key=lambda entry: -entry.job_version):
            state = deployment.task_groups.get(placement.task_group.name)
            if state is not None and (state.promoted or state.desired_canaries == 0):
                found = snapshot.job_version(job.key, deployment.job_version, job.create_index)
                return (found, deployment.id) if found else None
        lowest = snapshot.job_version(job.key, placement.min_job_version, job.create_index)
        if lowest is not None and lowest.update.max_parallel == 0:
            return lowest, ""
        return None

    def _select(self, group: TaskGroup, placement: Placement) -> RankedNode | None:
        options = SelectOptions(
            penalty_node_ids=_penalty_nodes(placement.previous),
            preferred_node_ids=self._preferred_nodes(placement),
            alloc_name=placement.name,
        )
        option = self._stack.select(group, options)
        if option is None and self._may_preempt():
            options = msgspec.structs.replace(options, preempt=True)
            option = self._stack.select(group, options)
        return option

    def _preferred_nodes(self, placement: Placement) -> tuple[str, ...]:
        """The node that holds the previous allocation's data, if the job wants to keep it."""
        previous, disk = placement.previous, placement.task_group.ephemeral_disk
        if previous is None or not (disk.sticky or disk.migrate):
            return ()
        origin = self._attempt.snapshot.job_of(previous)
        if (
            origin is None
            or origin.node_pool != self._job.node_pool
            or origin.datacenters != self._job.datacenters
        ):
            return ()
        node = self._attempt.snapshot.node(previous.node_id)
        return (node.id,) if node is not None and node.is_ready else ()

    def _may_preempt(self) -> bool:
        config = self._attempt.context.settings.preemption_config
        if self._job.type == JobType.BATCH:
            return config.batch_scheduler_enabled
        return config.service_scheduler_enabled

    def _measured(self, group: TaskGroup) -> AllocMetric:
        candidates = self._stack.candidates
        metric = msgspec.structs.replace(
            self._attempt.context.metrics,
            nodes_available=candidates.by_datacenter,
            nodes_in_pool=candidates.count,
            node_pool=self._job.node_pool,
        )
        self._attempt.decisions[group.name] = metric
        return metric

    def _take(
        self, item: Item, job: Job, group: TaskGroup, option: RankedNode, metric: AllocMetric
    ) -> None:
        placement = item.placement
        alloc = new_allocation(self._attempt, job, group, option).changed(
            name=self._name(placement),
            metrics=metric,
            deployment_id=self._deployment_id,
            previous_allocation=placement.previous.id if placement.previous else "",
        )
        if placement.is_reschedule and placement.previous is not None:
            alloc = alloc.changed(reschedule_tracker=self._carry_tracker(placement.previous))
        if placement.is_canary and self._deployment is not None:
            alloc = alloc.changed(deployment_status=DeploymentHealth(canary=True))
        if option.preempted:
            alloc = alloc.changed(
                preempted_allocations=tuple(evicted.id for evicted in option.preempted)
            )
            self.preemptions[group.name] = self.preemptions.get(group.name, 0) + len(
                option.preempted
            )
        for evicted in option.preempted:
            self._attempt.preempt(evicted, alloc.id)
        self._attempt.place(alloc)

    def _name(self, placement: Placement) -> str:
        """The reconciler's name, or a free one when that is held more than once."""
        names = self._names.get(placement.task_group.name)
        index = index_in_name(placement.name, self._job.id, placement.task_group.name)
        if names is None or not names.is_duplicate(index):
            return placement.name
        (free,) = names.next(1)
        names.release(index)
        return free

    def _carry_tracker(self, previous: Allocation) -> RescheduleTracker:
        """Hand the history on; the previous allocation notes that it was replaced."""
        origin = self._attempt.snapshot.job_of(previous)
        group = origin.task_group(previous.task_group) if origin else None
        policy = group.reschedule_policy if group else None
        self._attempt.plan.replace_stop(_noted(previous, "ok"))
        return carried_tracker(previous, policy, self._attempt.tools.now)

    def _give_up(self, item: Item) -> None:
        placement, previous = item.placement, item.placement.previous
        if previous is None:
            return
        if item.stop_reason:
            self._attempt.unstop(previous)
        if placement.is_reschedule:
            # Stopped without a successor it would lose its history; so it only notes the failure.
            self._attempt.unstop(previous)
            self._attempt.update(_noted(previous, _NOT_PLACED))


def new_allocation(attempt: Attempt, job: Job, group: TaskGroup, option: RankedNode) -> Allocation:
    """A fresh allocation of the group on the chosen node."""
    return made_from(
        Allocation(
            id=attempt.tools.ids.next_id(),
            namespace=attempt.evaluation.namespace,
            eval_id=attempt.evaluation.id,
            node_id=option.node.id,
            node_name=option.node.name,
            job_id=job.id,
            task_group=group.name,
            allocated_resources=option.resources,
        ),
        job,
    )


def exhausted_more(metric: AllocMetric, group: TaskGroup) -> AllocMetric:
    """The metric with the group's wishes added to what nodes had too little of."""
    if not metric.dimension_exhausted:
        return metric
    wants_cpu = metric.dimension_exhausted.get("cpu", 0) > 0
    wants_memory = metric.dimension_exhausted.get("memory", 0) > 0
    totals = dict(metric.resources_exhausted)
    for task in group.tasks:
        before = totals.get(task.name, Resources())
        totals[task.name] = msgspec.structs.replace(
            before,
            cpu=before.cpu + (task.resources.cpu if wants_cpu else 0),
            memory_mb=before.memory_mb + (task.resources.memory_mb if wants_memory else 0),
        )
    return msgspec.structs.replace(metric, resources_exhausted=totals)


def _penalty_nodes(previous: Allocation | None) -> frozenset[str]:
    if previous is None:
        return frozenset()
    events = previous.reschedule_tracker.events if previous.reschedule_tracker else ()
    nodes = {event.prev_node_id for event in events}
    if previous.client_status is ClientStatus.FAILED:
        nodes.add(previous.node_id)
    return frozenset(nodes)


def _noted(alloc: Allocation, outcome: str) -> Allocation:
    tracker = alloc.reschedule_tracker or RescheduleTracker()
    return alloc.changed(
        reschedule_tracker=msgspec.structs.replace(tracker, last_reschedule=outcome)
    )
