"""Judge a plan against the newest state: which nodes' parts of it still fit.

In: a reader, a plan made on an older snapshot. Out: a PlanResult with what may be committed. Looks
at a node's kept sum and at the rows the plan names, not at all its allocations. Writes nothing.
"""

from collections.abc import Iterable

import msgspec

from scheduler.engine.measure.fit import allocations_fit, exceeds_max_allocs
from scheduler.engine.plan.quota import plan_exceeds_quota
from scheduler.errors import PlanRefused
from scheduler.ports import StateReader
from scheduler.state.node_use import add_use, subtract_use, use_of
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.node import Node, NodeEligibility, NodeStatus
from scheduler.structs.plan import ByNode, Plan, PlanResult

_SINGLE_WRITER = "single-node-single-writer"
#: Tables whose changes make a plan fit or not.
_MOVES_ROOM = ("nodes", "allocations")
_MOVES_QUOTAS = ("namespaces", "quotas")


def evaluate_plan(reader: StateReader, plan: Plan) -> PlanResult:
    """Keep the nodes whose part of the plan still fits; reject the others.

    One node is accepted or rejected whole, so a replacement never lands without the stop that
    makes room for it. With `plan.all_at_once`, one rejection rejects everything. A result with
    rejections asks for a refresh, and so does the empty one of a plan above its namespace's quota.
    Raises PlanRefused when the plan cannot be judged at all.
    """
    _require_stored(reader, plan)
    if plan_exceeds_quota(reader, plan):
        return PlanResult(refresh_index=_newest(reader, *_MOVES_ROOM, *_MOVES_QUOTAS))
    rejections: dict[str, str] = {}
    for node_id in _touched_nodes(plan):
        reason = misfit(reader, plan, node_id)
        if reason is not None:
            rejections[node_id] = reason
            if plan.all_at_once:
                break
    if not rejections:
        return _accepted(reader, plan, frozenset())
    refresh_index = _newest(reader, *_MOVES_ROOM)
    if refresh_index == 0:
        raise PlanRefused("partialCommit with RefreshIndex of 0")
    result = PlanResult() if plan.all_at_once else _accepted(reader, plan, frozenset(rejections))
    return msgspec.structs.replace(
        result,
        rejected_nodes=tuple(rejections),
        rejections=rejections,
        refresh_index=refresh_index,
    )


def _newest(reader: StateReader, *tables: str) -> int:
    return max(map(reader.table_index, tables))


def accept_nodes(plan: Plan, rejected: frozenset[str]) -> PlanResult:
    """The parts of a plan on other nodes than the rejected ones, and its deployment.

    A deployment keeps only the canaries that were accepted.
    """
    allocations = _without(plan.node_allocation, rejected)
    deployment = plan.deployment
    if rejected and deployment is not None:
        deployment = _with_placed_canaries(deployment, allocations)
    return PlanResult(
        node_update=_without(plan.node_update, rejected),
        node_allocation=allocations,
        node_preemptions=_without(plan.node_preemptions, rejected),
        deployment=deployment,
        deployment_updates=plan.deployment_updates,
    )


def misfit(reader: StateReader, plan: Plan, node_id: str) -> str | None:
    """Why a node refuses its part of the plan; None when it fits (evaluations.md 9.3).

    Raises PlanRefused when the node would hold more allocations than it takes.
    """
    planned = plan.node_allocation.get(node_id, ())
    if not planned:
        return None
    node = reader.node(node_id)
    if node is None:
        return "node does not exist"
    if node.status in (NodeStatus.DISCONNECTED, NodeStatus.DOWN):
        return _misfit_on_silent_node(reader, node, planned)
    if node.status is not NodeStatus.READY:
        return "node is not ready for placements"
    stored = _live_allocs(reader, node_id, (alloc.id for alloc in planned))
    if len(stored) == len(planned):
        return None
    if not node.is_ready or node.scheduling_eligibility is NodeEligibility.INELIGIBLE:
        return "node is not eligible"
    return _misfit_by_room(reader, plan, node)


def _misfit_on_silent_node(
    reader: StateReader, node: Node, planned: Iterable[Allocation]
) -> str | None:
    """A node that does not answer takes only the news that it does not answer."""
    is_down = node.status is NodeStatus.DOWN
    for alloc in planned:
        if is_down and alloc.client_status is ClientStatus.LOST:
            continue
        if alloc.client_status is not ClientStatus.UNKNOWN or (
            is_down and _is_replaced_elsewhere(reader, alloc)
        ):
            return f"node is {node.status.value} and contains invalid updates"
    return None


def _is_replaced_elsewhere(reader: StateReader, alloc: Allocation) -> bool:
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    return not (group and group.disconnect and group.disconnect.replace is False)


def _misfit_by_room(reader: StateReader, plan: Plan, node: Node) -> str | None:
    planned = plan.node_allocation[node.id]
    leaving = {
        alloc.id
        for part in (plan.node_update, plan.node_preemptions, plan.node_allocation)
        for alloc in part.get(node.id, ())
    }
    use = reader.node_use(node.id).planned
    for gone in _live_allocs(reader, node.id, sorted(leaving)):
        use = subtract_use(use, use_of(gone))
    alloc_count = use.alloc_count + len(planned)
    for alloc in planned:
        if not alloc.is_client_terminal:
            use = add_use(use, use_of(alloc))
    if exceeds_max_allocs(node, alloc_count):
        raise PlanRefused("plan exceeds max allocation")
    return allocations_fit(node, use) or _misfit_by_volumes(reader, plan, node, leaving)


def _misfit_by_volumes(
    reader: StateReader, plan: Plan, node: Node, leaving: set[str]
) -> str | None:
    """A host volume with a single writer is claimed once; others' claims are read only then."""
    planned = plan.node_allocation[node.id]
    claims = [source for alloc in planned for source in _single_writer_claims(reader, alloc)]
    if not claims:
        return None
    for alloc in reader.allocations_by_node(node.id):
        if not alloc.is_terminal and alloc.id not in leaving:
            claims.extend(_single_writer_claims(reader, alloc))
    if len(set(claims)) == len(claims):
        return None
    return "conflicting claims for host volume with single-writer"


def _single_writer_claims(reader: StateReader, alloc: Allocation) -> list[str]:
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    return [
        volume.source + (alloc.name[alloc.name.rfind("[") :] if volume.per_alloc else "")
        for volume in (group.volumes.values() if group else ())
        if volume.type == "host" and volume.access_mode == _SINGLE_WRITER
    ]


def _live_allocs(reader: StateReader, node_id: str, ids: Iterable[str]) -> list[Allocation]:
    """Those of the allocations that count among the node's: neither side is done with them."""
    found = (reader.allocation(alloc_id) for alloc_id in ids)
    return [
        alloc
        for alloc in found
        if alloc is not None and alloc.node_id == node_id and not alloc.is_terminal
    ]


def _require_stored(reader: StateReader, plan: Plan) -> None:
    for part in (plan.node_update, plan.node_preemptions):
        for allocs in part.values():
            for alloc in allocs:
                if reader.allocation(alloc.id) is None:
                    raise PlanRefused(f"alloc {alloc.id} doesn't exist")


def _touched_nodes(plan: Plan) -> list[str]:
    return sorted(plan.node_update.keys() | plan.node_allocation.keys())


def _accepted(reader: StateReader, plan: Plan, rejected: frozenset[str]) -> PlanResult:
    result = accept_nodes(plan, rejected)
    still_there = {
        node_id: tuple(alloc for alloc in allocs if _is_live(reader, alloc))
        for node_id, allocs in result.node_preemptions.items()
    }
    return msgspec.structs.replace(
        result,
        node_preemptions={node_id: allocs for node_id, allocs in still_there.items() if allocs},
    )


def _is_live(reader: StateReader, alloc: Allocation) -> bool:
    stored = reader.allocation(alloc.id)
    return stored is not None and not stored.is_terminal


def _without(by_node: ByNode, rejected: frozenset[str]) -> ByNode:
    return {node_id: allocs for node_id, allocs in by_node.items() if node_id not in rejected}


def _with_placed_canaries(deployment: Deployment, allocations: ByNode) -> Deployment:
    placed = {alloc.id for allocs in allocations.values() for alloc in allocs}
    return msgspec.structs.replace(
        deployment,
        task_groups={
            name: msgspec.structs.replace(
                state,
                placed_canaries=tuple(
                    alloc_id for alloc_id in state.placed_canaries if alloc_id in placed
                ),
            )
            for name, state in deployment.task_groups.items()
        },
    )
