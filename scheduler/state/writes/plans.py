"""Committing what the applier kept of a plan (evaluations.md 9.5; control-plane.md 13.4, 13.5).

In: an open change, the plan, its judged result and the evaluations of preempted jobs. Out: the
result with the index it was committed at. Whether the plan fits was decided before.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.errors import IllegalTransition, PlanRefused
from scheduler.ports import Change
from scheduler.state.nouns import NAMESPACES
from scheduler.state.writes.deployments import (
    count_in_deployment,
    update_deployment_status,
    write_deployment,
)
from scheduler.state.writes.evaluations import touch_evaluation, write_evaluations
from scheduler.state.writes.job_status import refresh_job_status
from scheduler.state.writes.node_history import with_event
from scheduler.state.writes.summaries import count_allocation
from scheduler.state.writes.volumes import claim_volumes
from scheduler.structs.allocation import (
    Allocation,
    AllocState,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
)
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeEligibility, NodeEvent
from scheduler.structs.plan import ByNode, Plan, PlanResult

_SET_BY_SERVER = frozenset({ClientStatus.LOST, ClientStatus.UNKNOWN})


def commit_plan(
    change: Change, plan: Plan, result: PlanResult, preemption_evals: Iterable[Evaluation] = ()
) -> PlanResult:
    """Write the accepted part of a plan; raises PlanRefused when it may not be committed at all.

    Placements for a job that is stopped or gone by now are left out without an error, and stay
    listed in the result.
    """
    placed = list(_flat(result.node_allocation))
    stopped = list(_flat(result.node_update))
    preempted = list(_flat(result.node_preemptions))
    _check(change, plan, has_placements=bool(placed))
    _preload(change, placed, (*stopped, *preempted))
    for node_id in result.ineligible_nodes:
        _close_node(change, node_id)
    if result.deployment is not None:
        try:
            write_deployment(change, result.deployment, plan.eval_id)
        except IllegalTransition as error:
            # It ended or was promoted meanwhile: the run must look again.
            raise PlanRefused(str(error)) from error
    for update in result.deployment_updates:
        try:
            update_deployment_status(change, update)
        except IllegalTransition:
            # The deployment ended meanwhile: the rest of the plan is as good as before.
            continue
    evaluation = change.evaluation(plan.eval_id)
    if evaluation is None:
        raise PlanRefused(f'unable to find eval id "{plan.eval_id}"')
    touch_evaluation(change, evaluation)
    # Before the job statuses: a job all of whose allocations are preempted waits, it is not dead.
    write_evaluations(change, preemption_evals, recompute_jobs=False)
    written = [
        *(_write_placed(change, plan, alloc) for alloc in placed),
        *(_write_stopped(change, alloc) for alloc in stopped),
        *(_write_preempted(change, alloc) for alloc in preempted),
    ]
    _refresh_jobs(change, [alloc for alloc in written if alloc is not None])
    return replace(
        result,
        alloc_index=change.index,
        refresh_index=max(result.refresh_index, change.index) if result.refresh_index else 0,
    )


def _check(change: Change, plan: Plan, *, has_placements: bool) -> None:
    if plan.job_version is None and has_placements:
        raise PlanRefused("plan missing embedded job")
    if change.get(NAMESPACES, plan.namespace) is None:
        raise PlanRefused(f'namespace "{plan.namespace}" not found for job "{plan.job_id}"')


def _preload(change: Change, placed: Iterable[Allocation], ended: Iterable[Allocation]) -> None:
    allocs: dict[str, None] = {}
    nodes: dict[str, None] = {}
    for alloc in placed:
        allocs[alloc.id] = nodes[alloc.node_id] = None
        if alloc.previous_allocation:
            allocs[alloc.previous_allocation] = None
    for alloc in ended:
        allocs[alloc.id] = nodes[alloc.node_id] = None
    change.preload(allocs=allocs, nodes=nodes)


def _close_node(change: Change, node_id: str) -> None:
    node = change.node(node_id)
    if node is None:
        raise PlanRefused(f"node {node_id} not found")
    event = NodeEvent(
        message="Node marked as ineligible for scheduling due to multiple plan rejections",
        subsystem="Scheduler",
    )
    change.put_node(
        replace(
            with_event(change, node, event),
            scheduling_eligibility=NodeEligibility.INELIGIBLE,
            status_updated_at=change.now // 1_000_000_000,
            modify_index=change.index,
        )
    )


def _write_placed(change: Change, plan: Plan, alloc: Allocation) -> Allocation | None:
    before = change.allocation(alloc.id)
    stored = _placed_anew(change, plan, alloc) if before is None else _updated(before, alloc)
    if stored is None:
        return None
    index = change.index
    health = stored.deployment_status
    if health is not None and (before is None or before.deployment_status != health):
        health = replace(health, modify_index=index)
    stored = stored.changed(
        deployment_status=health,
        create_index=before.create_index if before else index,
        modify_index=index,
        alloc_modify_index=index,
        create_time=alloc.create_time or change.now,
        modify_time=change.now,
    )
    _put(change, before, stored)
    if before is None:
        claim_volumes(change, stored)
    if stored.previous_allocation:
        _link_previous(change, stored)
    return stored


def _placed_anew(change: Change, plan: Plan, alloc: Allocation) -> Allocation | None:
    """The allocation with its job version attached; None when the job wants nothing any more."""
    if not alloc.job_create_index and plan.job_version is not None:
        job = change.job_version(alloc.job_key, plan.job_version)
        if job is not None:
            alloc = alloc.changed(
                job_version=job.version,
                job_create_index=job.create_index,
                job_type=job.type,
                job_priority=job.priority,
            )
    current = change.job(alloc.job_key)
    if current is None or current.stop:
        return None
    if change.job_of(alloc) is None:
        raise PlanRefused(f'attempting to upsert allocation "{alloc.id}" without a job')
    return alloc


def _updated(before: Allocation, planned: Allocation) -> Allocation:
    """What the node owns comes from the record, unless the plan declares it lost or unknown."""
    kept = planned.changed(
        task_states=before.task_states,
        network_status=before.network_status,
        next_allocation=before.next_allocation,
        create_time=before.create_time,
        alloc_states=_merged_states(before, planned),
        deployment_status=_merged_health(before, planned),
    )
    if before.is_server_terminal and not planned.is_server_terminal:
        # Another plan stopped or evicted it since this one's snapshot.
        kept = kept.changed(
            desired_status=before.desired_status, desired_description=before.desired_description
        )
    if _is_given_up(before, planned):
        return kept
    return kept.changed(
        client_status=before.client_status, client_description=before.client_description
    )


def _is_given_up(before: Allocation, planned: Allocation) -> bool:
    """Whether the plan declares it lost or unknown, and its node has not told its end since."""
    return planned.client_status in _SET_BY_SERVER and not before.is_client_terminal


def _merged_health(before: Allocation, planned: Allocation) -> DeploymentHealth | None:
    """The plan's, with a verdict the node gave since the plan's snapshot."""
    stored, wanted = before.deployment_status, planned.deployment_status
    is_news = stored is not None and stored.healthy is not None
    if not is_news or before.deployment_id != planned.deployment_id:
        return wanted
    if wanted is None or wanted.healthy is not None:
        return wanted or stored
    assert stored is not None, "only a stored verdict is news"
    return replace(stored, canary=wanted.canary)


def _write_stopped(change: Change, planned: Allocation) -> Allocation | None:
    before = change.allocation(planned.id)
    if before is None:
        return None
    ended = before.changed(
        desired_status=DesiredStatus.STOP,
        desired_description=planned.desired_description,
        followup_eval_id=planned.followup_eval_id or before.followup_eval_id,
        alloc_states=_merged_states(before, planned),
    )
    if _is_given_up(before, planned):
        ended = ended.changed(
            client_status=planned.client_status, client_description=planned.client_description
        )
    return _put_ended(change, before, ended)


def _write_preempted(change: Change, planned: Allocation) -> Allocation | None:
    before = change.allocation(planned.id)
    if before is None:
        return None
    winner = planned.preempted_by_allocation
    return _put_ended(
        change,
        before,
        before.changed(
            desired_status=DesiredStatus.EVICT,
            desired_description=f"Preempted by alloc ID {winner}",
            preempted_by_allocation=winner,
        ),
    )


def _put_ended(change: Change, before: Allocation, ended: Allocation) -> Allocation:
    stored = ended.changed(
        modify_index=change.index, alloc_modify_index=change.index, modify_time=change.now
    )
    _put(change, before, stored)
    return stored


def _put(change: Change, before: Allocation | None, stored: Allocation) -> None:
    change.put_allocation(stored)
    count_in_deployment(change, before, stored)
    count_allocation(change, before, stored)


def _link_previous(change: Change, alloc: Allocation) -> None:
    previous = change.allocation(alloc.previous_allocation)
    if previous is not None and previous.next_allocation != alloc.id:
        change.put_allocation(
            previous.changed(next_allocation=alloc.id, modify_index=change.index)
        )


def _merged_states(before: Allocation, after: Allocation) -> tuple[AllocState, ...]:
    """The stored history with what the plan adds to it."""
    stored, planned = before.alloc_states, after.alloc_states
    if not planned or planned == stored:
        return stored
    if planned[: len(stored)] == stored:
        return planned
    return (*stored, *(state for state in planned if state not in stored))


def _refresh_jobs(change: Change, written: Iterable[Allocation]) -> None:
    last_of_job: dict[JobKey, Allocation] = {alloc.job_key: alloc for alloc in written}
    for key, alloc in last_of_job.items():
        refresh_job_status(change, key, is_running=not alloc.is_terminal)


def _flat(by_node: ByNode) -> Iterable[Allocation]:
    return (alloc for allocs in by_node.values() for alloc in allocs)
