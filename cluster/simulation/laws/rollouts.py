"""What must hold of rollouts and drains after each write."""

from collections import defaultdict
from collections.abc import Iterator

from cluster.simulation.laws.law import Laws, Written, health_of
from scheduler.engine.reconcile.reasons import UPDATING
from scheduler.state.events import WriteKind
from scheduler.state.nouns import ALLOCATIONS, DEPLOYMENTS, EVALUATIONS
from scheduler.structs.allocation import Allocation, DesiredStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalTrigger
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.policies import MigrateStrategy

Group = tuple[JobKey, str]
LAWS: Laws[Written] = Laws()


@LAWS.add("rollout-counts", "a rollout counts its allocations and their health")
def _counts(look: Written) -> Iterator[str]:
    for deployment_id in sorted(_touched(look)):
        rollout = look.record.deployment(deployment_id)
        if rollout is None or deployment_id in look.memory.uncountable:
            continue
        members = look.record.allocations_by_deployment(deployment_id)
        for name, group in rollout.task_groups.items():
            mine = [alloc for alloc in members if alloc.task_group == name]
            for what, kept, counted in (
                ("placed", group.placed_allocs, len(mine)),
                ("healthy", group.healthy_allocs, sum(health_of(a) is True for a in mine)),
                ("unhealthy", group.unhealthy_allocs, sum(health_of(a) is False for a in mine)),
            ):
                if kept != counted:
                    yield f"rollout of {rollout.job_id}: {what} is {kept}, counted {counted}"


@LAWS.add(
    "promoted-healthy", "a promotion, once made, stands; a rollout succeeds when all is well"
)
def _promoted(look: Written) -> Iterator[str]:
    for before, after in look.of(DEPLOYMENTS):
        if before is None or after is None:
            continue
        for name, group in before.task_groups.items():
            now = after.task_groups.get(name)
            if group.promoted and (now is None or not now.promoted):
                yield f"the promotion of {after.job_id} was taken back"
        if before.status != after.status and after.status == "successful":
            yield from _unfinished(look, after)


def _unfinished(look: Written, rollout: Deployment) -> Iterator[str]:
    job = look.record.job(rollout.job_key)
    if job is None or job.stop:
        # Nothing is left to be healthy.
        return
    for name, group in rollout.task_groups.items():
        if group.desired_canaries and not group.promoted:
            yield f"the rollout of {rollout.job_id} succeeded without promotion of {name}"
        # One that was well when the run looked may have been called ill since.
        if group.healthy_allocs + group.unhealthy_allocs < group.desired_total:
            yield (
                f"the rollout of {rollout.job_id} succeeded with {group.healthy_allocs}"
                f" healthy of {group.desired_total}"
            )


@LAWS.add("one-rollout", "a job has at most one rollout under way")
def _one(look: Written) -> Iterator[str]:
    for _, after in look.of(DEPLOYMENTS):
        if after is None or not after.is_active:
            continue
        active = [row for row in look.record.deployments_by_job(after.job_key) if row.is_active]
        same = [row for row in active if row.job_create_index == after.job_create_index]
        if len(same) > 1:
            yield f"{after.job_id} has {len(same)} rollouts under way"


@LAWS.add("max-parallel", "an update replaces no more at a time than max_parallel allows")
def _parallel(look: Written) -> Iterator[str]:
    if look.frame.kind != WriteKind.PLAN_RESULT:
        return
    replaced: dict[Group, int] = defaultdict(int)
    for before, after in look.of(ALLOCATIONS):
        if before is None or after is None or after.desired_description != UPDATING:
            continue
        ends_now = not before.is_terminal and after.desired_status is DesiredStatus.STOP
        if ends_now:
            replaced[after.job_key, after.task_group] += 1
    for (key, name), count in replaced.items():
        job = look.record.job(key)
        group = job.task_group(name) if job is not None else None
        if job is None or group is None or group.update is None or not group.update.max_parallel:
            continue
        if count > max(group.update.max_parallel, group.update.canary):
            yield f"{key.job_id}.{name}: {count} at once, allowed are {group.update.max_parallel}"
        if job.type == JobType.SERVICE:
            yield from _unproven(look, key, name, group.update.max_parallel)


def _unproven(look: Written, key: JobKey, name: str, most: int) -> Iterator[str]:
    """Those that replaced others and have not shown yet that they are well."""
    rollouts = [row for row in look.record.deployments_by_job(key) if row.is_active]
    for rollout in rollouts:
        waiting = [
            alloc
            for alloc in look.record.allocations_by_deployment(rollout.id)
            if alloc.task_group == name
            # Those that only changed in place were looked at before as what they were.
            and alloc.create_index >= rollout.create_index
            and not alloc.is_terminal
            and health_of(alloc) is None
            and not _is_canary(alloc)
            and _replaced_for_update(look, alloc)
        ]
        if len(waiting) > most:
            yield f"{key.job_id}.{name}: {len(waiting)} wait for their health, allowed are {most}"


def _replaced_for_update(look: Written, alloc: Allocation) -> bool:
    previous = look.record.allocation(alloc.previous_allocation)
    return previous is not None and previous.desired_description == UPDATING


@LAWS.add("drain-parallel", "a drain moves no more at a time than migrate.max_parallel allows")
def _drains(look: Written) -> Iterator[str]:
    if look.frame.kind != WriteKind.ALLOCATION_UPDATE_DESIRED_STATUS:
        return
    groups = set()
    evaluations = (row for _, row in look.of(EVALUATIONS) if row is not None)
    drained = {row.job_key for row in evaluations if row.triggered_by == EvalTrigger.NODE_DRAIN}
    for before, after in look.of(ALLOCATIONS):
        if before is None or after is None or before.desired_transition.migrate:
            continue
        # Others are moved because a person said so.
        if (
            after.job_key in drained
            and after.desired_transition.migrate
            and _leaves_in_turn(look, after)
        ):
            groups.add((after.job_key, after.task_group))
    for key, name in sorted(groups):
        job = look.record.job(key)
        group = job.task_group(name) if job is not None else None
        if job is None or group is None or job.type != JobType.SERVICE:
            continue
        live = [
            alloc
            for alloc in look.record.allocations_by_job(key)
            if alloc.task_group == name
            and not alloc.is_terminal
            and alloc.job_create_index == job.create_index
        ]
        # What a person stops meanwhile is no turn that the drain gave.
        asked = {
            row.cause.id
            for row in look.record.evaluations_by_job(key)
            if row.triggered_by == EvalTrigger.ALLOC_STOP and row.cause is not None
        }
        moving = [
            alloc
            for alloc in live
            if alloc.desired_transition.migrate
            and alloc.id not in asked
            and _leaves_in_turn(look, alloc)
        ]
        most = (group.migrate or MigrateStrategy()).max_parallel + max(0, len(live) - group.count)
        if len(moving) > most:
            yield f"{key.job_id}.{name}: {len(moving)} move at once, allowed are {most}"


def _leaves_in_turn(look: Written, alloc: Allocation) -> bool:
    """Its node drains, and its deadline is not near."""
    node = look.record.node(alloc.node_id)
    strategy = node.drain_strategy if node is not None else None
    if strategy is None or strategy.deadline < 0:
        return False
    # Deadlines close together are met together.
    return not strategy.force_deadline or look.frame.at + 6_000_000_000 < strategy.force_deadline


def _touched(look: Written) -> set[str]:
    found = {row.id for pair in look.of(DEPLOYMENTS) for row in pair if row is not None}
    rows = (row for pair in look.of(ALLOCATIONS) for row in pair if row is not None)
    return found | {alloc.deployment_id for alloc in rows if alloc.deployment_id}


def _is_canary(alloc: Allocation) -> bool:
    return alloc.deployment_status is not None and alloc.deployment_status.canary
