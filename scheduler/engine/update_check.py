"""Whether one allocation can take on the current job version where it is.

In: an attempt, its stack, an allocation. Out: the changed copy, or that it must be replaced, or
that there is nothing to do (control-plane.md 1.11).
"""

import msgspec

from scheduler.engine.attempt import Attempt
from scheduler.engine.feasibility.readiness import matches_datacenter
from scheduler.engine.plan.builder import made_from
from scheduler.engine.reconcile.situation import UpdateKind
from scheduler.engine.reconcile.update_kind import must_be_replaced, only_run_limit_differs
from scheduler.engine.stack import SelectOptions, ServiceStack, SystemStack
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.resources import AllocatedResources
from scheduler.structs.task_group import TaskGroup

Stack = ServiceStack | SystemStack


def judge_update(
    attempt: Attempt, stack: ServiceStack, alloc: Allocation, job: Job, group: TaskGroup
) -> Allocation | UpdateKind:
    """Ignore, replace, or the copy changed in place, of a service or batch allocation."""
    old = attempt.snapshot.job_of(alloc)
    if old is not None and old.job_modify_index == job.job_modify_index:
        return UpdateKind.IGNORE
    if old is None or must_be_replaced(old, job, group.name):
        return UpdateKind.DESTRUCTIVE
    if alloc.is_terminal:
        return UpdateKind.IGNORE
    if not may_stay(attempt.snapshot.node(alloc.node_id), job):
        return UpdateKind.DESTRUCTIVE
    old_group = old.task_group(group.name)
    if old_group is not None and only_run_limit_differs(old_group, group):
        return made_from(alloc, job).changed(eval_id=attempt.evaluation.id)
    return changed_in_place(attempt, stack, alloc, job, group) or UpdateKind.DESTRUCTIVE


def may_stay(node: Node | None, job: Job) -> bool:
    """Whether the job's pool and datacenters still include the node, ready or not."""
    if node is None or not matches_datacenter(node.datacenter, job.datacenters):
        return False
    return job.node_pool in ("", ALL_NODE_POOLS, node.node_pool)


def changed_in_place(
    attempt: Attempt, stack: Stack, alloc: Allocation, job: Job, group: TaskGroup
) -> Allocation | None:
    """The copy under the new version, if it fits its node without what it holds now; else None."""
    attempt.context.add_stop(alloc)
    option = stack.select(group, SelectOptions(only_node_id=alloc.node_id, alloc_name=alloc.name))
    attempt.context.remove_stop(alloc)
    if option is None:
        return None
    is_system = isinstance(stack, SystemStack)
    return made_from(alloc, job).changed(
        eval_id=attempt.evaluation.id,
        allocated_resources=_kept_grants(
            alloc.allocated_resources, option.resources, keeps_cores=not is_system
        ),
        metrics=attempt.context.metrics if is_system else alloc.metrics,
    )


def in_deployment(alloc: Allocation, deployment_id: str) -> Allocation:
    """The copy as a member of the deployment; a new member has no health yet."""
    if alloc.deployment_id == deployment_id:
        return alloc
    return alloc.changed(deployment_id=deployment_id, deployment_status=None)


def _kept_grants(
    held: AllocatedResources, granted: AllocatedResources, *, keeps_cores: bool
) -> AllocatedResources:
    """New amounts of CPU, memory and disk, with the ports, devices and cores held already."""
    replace = msgspec.structs.replace
    tasks = {}
    for name, task in granted.tasks.items():
        before, kept = held.tasks.get(name), task
        if before is not None:
            cpu = task.cpu
            if keeps_cores:
                cpu = replace(cpu, reserved_cores=before.cpu.reserved_cores)
            kept = replace(task, cpu=cpu, networks=before.networks, devices=before.devices)
        tasks[name] = kept
    return replace(
        granted,
        tasks=tasks,
        shared=replace(granted.shared, networks=held.shared.networks, ports=held.shared.ports),
    )
