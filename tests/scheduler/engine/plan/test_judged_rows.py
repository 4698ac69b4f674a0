"""Rows 97 to 105, 128 and 129 of evaluations.md 17: what the applier takes of a plan."""

import pytest
from msgspec.structs import replace

from scheduler.engine.plan.evaluate import evaluate_plan
from scheduler.errors import PlanRefused
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatusUpdate, GroupRollout
from scheduler.structs.device import DeviceGrant, DeviceGroup, DeviceInstance
from scheduler.structs.node import DrainStrategy, Node, NodeEligibility, NodeStatus
from scheduler.structs.plan import ByNode, Plan
from scheduler.structs.resources import AllocatedCpu
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.scheduler.engine.rows import job_of

#: A job whose allocations fill a node.
FULL = job_of(cpu=4000)
NODE, OTHER = make_node(1), make_node(2)
UNKNOWN, RUNNING = ClientStatus.UNKNOWN, ClientStatus.RUNNING


def alloc(number: int, node: Node = NODE, **fields: object) -> Allocation:
    return make_allocation(
        FULL, number, **{"node_id": node.id, "client_status": RUNNING, **fields}
    )


def new(number: int, node: Node = NODE, **fields: object) -> Allocation:
    return alloc(number, node, create_index=0, client_status=ClientStatus.PENDING, **fields)


def by_node(*allocs: Allocation) -> ByNode:
    found: dict[str, tuple[Allocation, ...]] = {}
    for one in allocs:
        found[one.node_id] = (*found.get(one.node_id, ()), one)
    return found


def store_of(*rows: Node | Allocation) -> MemoryStateStore:
    """Each row by a write of its own, so that the last one's index is their number plus one."""
    store = MemoryStateStore()

    def put(change: Change, row: object) -> None:
        if isinstance(row, Node | Allocation):
            put_found(change, row)
        else:
            change.put_job(row)

    for row in (FULL, *rows):
        store.write(WriteKind.COLLECTED, lambda change, row=row: put(change, row), now=SOME_MOMENT)
    return store


SMALL = replace(
    OTHER,
    node_resources=replace(
        OTHER.node_resources, cpu=replace(OTHER.node_resources.cpu, cpu_shares=1000)
    ),
)
CANARIES = (new(0), new(1, SMALL))
ROLLOUT = Deployment(
    id="dep",
    task_groups={"web": GroupRollout(placed_canaries=tuple(one.id for one in CANARIES))},
)
NEWS = (DeploymentStatusUpdate(deployment_id="before", status="cancelled"),)


def test_97_what_does_not_fit_is_left_out_and_so_is_its_canary():
    store = store_of(NODE, SMALL)
    plan = Plan(node_allocation=by_node(*CANARIES), deployment=ROLLOUT, deployment_updates=NEWS)
    result = evaluate_plan(store, plan)
    assert result.node_allocation == by_node(CANARIES[0])
    assert result.deployment.task_groups["web"].placed_canaries == (CANARIES[0].id,)
    assert (result.deployment_updates, result.rejected_nodes) == (NEWS, (SMALL.id,))
    assert result.refresh_index == store.index


def test_98_a_plan_that_goes_whole_or_not_at_all_leaves_nothing():
    store = store_of(NODE, SMALL)
    plan = Plan(
        node_allocation=by_node(*CANARIES),
        deployment=ROLLOUT,
        deployment_updates=NEWS,
        all_at_once=True,
    )
    result = evaluate_plan(store, plan)
    assert (result.node_allocation, result.deployment, result.deployment_updates) == ({}, None, ())
    assert result.refresh_index == store.index


def down(node: Node) -> Node:
    return replace(node, status=NodeStatus.DOWN)


def silent(node: Node) -> Node:
    return replace(node, status=NodeStatus.DISCONNECTED)


def closed(node: Node) -> Node:
    return replace(node, scheduling_eligibility=NodeEligibility.INELIGIBLE)


DRAINING = closed(replace(NODE, drain_strategy=DrainStrategy()))
IS_SILENT = "node is disconnected and contains invalid updates"


def gone(number: int) -> Allocation:
    """An allocation that is told to be unknown."""
    return alloc(number, client_status=UNKNOWN)


@pytest.mark.parametrize(
    ("rows", "planned", "reason"),
    [
        pytest.param(
            [replace(NODE, status=NodeStatus.INITIALIZING)],
            [new(0)],
            "node is not ready for placements",
            id="99-initializing",
        ),
        pytest.param([DRAINING], [new(0)], "node is not eligible", id="99-draining"),
        pytest.param([OTHER], [new(0)], "node does not exist", id="99-missing"),
        pytest.param([NODE, alloc(1)], [new(0)], "cpu", id="99-full"),
        pytest.param([NODE, alloc(1)], [alloc(1)], None, id="100-the-same-alloc"),
        pytest.param([closed(NODE), alloc(1)], [alloc(1)], None, id="100-though-ineligible"),
        pytest.param(
            [NODE, alloc(1, desired_status=DesiredStatus.EVICT)],
            [new(0)],
            None,
            id="101-evicted-already",
        ),
        pytest.param([silent(NODE), alloc(1)], [gone(1)], None, id="103-unknown"),
        pytest.param([silent(NODE), alloc(1)], [alloc(1)], IS_SILENT, id="103-running"),
        pytest.param(
            [silent(NODE), alloc(1), alloc(2)], [alloc(1), gone(2)], IS_SILENT, id="103-one-of-two"
        ),
        pytest.param(
            [silent(NODE), alloc(1), alloc(2)], [gone(1), gone(2)], None, id="103-both-unknown"
        ),
    ],
)
def test_a_node_takes_its_part_or_says_why_not(rows, planned, reason):
    result = evaluate_plan(store_of(*rows), Plan(node_allocation=by_node(*planned)))
    assert result.rejections == ({NODE.id: reason} if reason else {})
    assert result.node_allocation == ({} if reason else by_node(*planned))


def test_101_a_planned_stop_makes_room():
    plan = Plan(
        node_allocation=by_node(new(0)),
        node_update=by_node(alloc(1, desired_status=DesiredStatus.STOP)),
    )
    result = evaluate_plan(store_of(NODE, alloc(1)), plan)
    assert (result.rejections, result.node_allocation) == ({}, plan.node_allocation)


def test_102_a_node_that_is_down_takes_stops():
    plan = Plan(node_update=by_node(alloc(1, desired_status=DesiredStatus.EVICT)))
    result = evaluate_plan(store_of(down(NODE), alloc(1)), plan)
    assert (result.rejections, result.node_update) == ({}, plan.node_update)


def test_104_a_device_that_is_taken_is_not_given_again():
    group = DeviceGroup(
        vendor="nvidia", type="gpu", name="t4", instances=(DeviceInstance(id="g1", healthy=True),)
    )
    node = replace(NODE, node_resources=replace(NODE.node_resources, devices=(group,)))
    grant = DeviceGrant(vendor="nvidia", type="gpu", name="t4", device_ids=("g1",))
    held = alloc(1).allocated_resources
    task = replace(held.tasks["web"], devices=(grant,), cpu=AllocatedCpu(cpu_shares=100))
    with_it = {"allocated_resources": replace(held, tasks={"web": task})}
    plan = Plan(node_allocation=by_node(new(0, **with_it)))
    result = evaluate_plan(store_of(node, alloc(1, **with_it)), plan)
    assert result.rejections == {NODE.id: "device oversubscribed"}


def test_105_evictions_make_room_and_are_kept_while_there_is_somebody_to_evict():
    victims = alloc(1), alloc(2, OTHER)
    plan = Plan(node_allocation=by_node(new(0), new(3, OTHER)), node_preemptions=by_node(*victims))
    ended = victims[1].changed(client_status=ClientStatus.COMPLETE)
    result = evaluate_plan(store_of(NODE, OTHER, victims[0], ended), plan)
    assert (result.rejections, result.node_allocation) == ({}, plan.node_allocation)
    assert result.node_preemptions == by_node(victims[0])


def test_128_one_node_with_too_many_allocs_refuses_the_plan_for_all():
    crowded = make_node(1, node_max_allocs=2)
    tiny = job_of(cpu=10, job={"id": "tiny"})
    rows = [make_allocation(tiny, number, node_id=NODE.id) for number in range(2)]
    wanted = [
        make_allocation(tiny, number, node_id=node.id, create_index=0)
        for number, node in ((7, NODE), (8, OTHER))
    ]
    with pytest.raises(PlanRefused, match="plan exceeds max allocation"):
        evaluate_plan(
            store_of(crowded, OTHER, make_job(id="tiny"), *rows),
            Plan(node_allocation=by_node(*wanted)),
        )


def test_129_a_refused_node_keeps_what_the_plan_would_have_stopped():
    plan = Plan(
        node_allocation=by_node(new(0), new(3)),
        node_update=by_node(alloc(1, desired_status=DesiredStatus.STOP)),
    )
    result = evaluate_plan(store_of(NODE, alloc(1)), plan)
    assert result.rejected_nodes == (NODE.id,)
    assert (result.node_update, result.node_allocation) == ({}, {})
