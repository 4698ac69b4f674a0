"""Which nodes' parts of a plan are kept: the checks in order, whole nodes, all or nothing."""

import pytest

from scheduler.engine.plan.evaluate import evaluate_plan
from scheduler.errors import PlanRefused
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.node import DrainStrategy, Node, NodeEligibility, NodeStatus
from scheduler.structs.plan import ByNode, Plan
from scheduler.structs.policies import DisconnectStrategy
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import Task, VolumeAsk
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node, make_task_group

STOP = DesiredStatus.STOP
FULL = make_job(
    task_groups=(
        make_task_group(
            tasks=(Task(name="web", resources=Resources(cpu=4000, memory_mb=256)),),
            disconnect=DisconnectStrategy(replace=False),
        ),
    )
)


def store_of(*rows: Node | Allocation) -> MemoryStateStore:
    store = MemoryStateStore()

    def put(change: Change) -> None:
        change.put_job(FULL)
        for row in rows:
            if isinstance(row, Node):
                put_found(change, row)
            else:
                put_found(change, row)

    store.write(WriteKind.NODE_REGISTRATION, put, now=SOME_MOMENT)
    return store


def on_node(*allocs: Allocation) -> ByNode:
    by_node: dict[str, tuple[Allocation, ...]] = {}
    for alloc in allocs:
        by_node[alloc.node_id] = (*by_node.get(alloc.node_id, ()), alloc)
    return by_node


def new(number: int, node: Node, **fields: object) -> Allocation:
    """An allocation that takes the whole CPU of a node."""
    return make_allocation(FULL, number, node_id=node.id, create_index=0, **fields)


def held(number: int, node: Node, **fields: object) -> Allocation:
    return make_allocation(FULL, number, node_id=node.id, **fields)


NODE, OTHER = make_node(1), make_node(2)


@pytest.mark.parametrize(
    ("node", "stored", "planned", "reason"),
    [
        pytest.param(NODE, [], new(0, NODE), None, id="room"),
        pytest.param(None, [], new(0, NODE), "node does not exist", id="no-node"),
        pytest.param(
            make_node(1, status=NodeStatus.INITIALIZING),
            [],
            new(0, NODE),
            "node is not ready for placements",
            id="initializing",
        ),
        pytest.param(
            make_node(1, scheduling_eligibility=NodeEligibility.INELIGIBLE),
            [],
            new(0, NODE),
            "node is not eligible",
            id="ineligible",
        ),
        pytest.param(
            make_node(1, drain_strategy=DrainStrategy()),
            [held(0, NODE)],
            held(0, NODE),
            None,
            id="an-update-in-place-is-not-checked",
        ),
        pytest.param(
            make_node(1, drain_strategy=DrainStrategy()),
            [held(0, NODE, client_status=ClientStatus.FAILED)],
            held(0, NODE, client_status=ClientStatus.FAILED),
            "node is not eligible",
            id="an-update-of-what-has-ended-is",
        ),
        pytest.param(NODE, [held(1, NODE)], new(0, NODE), "cpu", id="full"),
        pytest.param(
            NODE,
            [held(1, NODE, desired_status=STOP, client_status=ClientStatus.RUNNING)],
            new(0, NODE),
            None,
            id="told-to-stop-does-not-count",
        ),
        pytest.param(
            make_node(1, status=NodeStatus.DISCONNECTED),
            [held(0, NODE)],
            held(0, NODE, client_status=ClientStatus.UNKNOWN),
            None,
            id="disconnected-takes-unknown",
        ),
        pytest.param(
            make_node(1, status=NodeStatus.DISCONNECTED),
            [],
            new(0, NODE),
            "node is disconnected and contains invalid updates",
            id="disconnected-takes-nothing-else",
        ),
        pytest.param(
            make_node(1, status=NodeStatus.DOWN),
            [held(0, NODE)],
            held(0, NODE, client_status=ClientStatus.LOST),
            None,
            id="down-takes-lost",
        ),
        pytest.param(
            make_node(1, status=NodeStatus.DOWN),
            [held(0, NODE)],
            held(0, NODE, client_status=ClientStatus.UNKNOWN),
            None,
            id="down-takes-unknown-that-is-not-replaced",
        ),
        pytest.param(
            make_node(1, status=NodeStatus.DOWN),
            [],
            new(0, NODE),
            "node is down and contains invalid updates",
            id="down-takes-nothing-else",
        ),
    ],
)
def test_a_node_takes_its_part_or_says_why_not(node, stored, planned, reason):
    store = store_of(node or OTHER, *stored)
    result = evaluate_plan(store, Plan(node_allocation=on_node(planned)))
    assert result.rejections == ({} if reason is None else {NODE.id: reason})
    assert result.node_allocation == (on_node(planned) if reason is None else {})
    assert (result.refresh_index > 0) is (reason is not None)


@pytest.mark.parametrize("part", ["node_update", "node_preemptions"])
def test_what_the_plan_stops_or_evicts_makes_room(part):
    store = store_of(NODE, held(1, NODE))
    plan = Plan(
        node_allocation=on_node(new(0, NODE)),
        **{part: on_node(held(1, NODE, desired_status=STOP))},
    )
    result = evaluate_plan(store, plan)
    assert result.rejected_nodes == ()
    assert getattr(result, part) == getattr(plan, part)


def test_a_node_is_refused_whole_and_its_stops_with_it():
    store = store_of(NODE, OTHER, held(1, NODE), held(2, NODE), held(3, OTHER))
    plan = Plan(
        node_allocation=on_node(new(0, NODE)),
        node_update=on_node(held(1, NODE, desired_status=STOP), held(3, OTHER)),
    )
    result = evaluate_plan(store, plan)
    assert result.rejected_nodes == (NODE.id,)
    assert result.node_update == on_node(held(3, OTHER))
    assert result.node_allocation == {}


def test_all_at_once_one_refusal_refuses_everything():
    store = store_of(NODE, OTHER, held(1, NODE))
    plan = Plan(
        all_at_once=True,
        node_allocation=on_node(new(0, NODE), new(2, OTHER)),
        deployment=Deployment(id="dep"),
    )
    result = evaluate_plan(store, plan)
    assert result.rejected_nodes == (NODE.id,)
    assert result.is_no_op


def test_a_deployment_keeps_only_the_canaries_that_were_placed():
    store = store_of(NODE, OTHER, held(1, NODE))
    refused, placed = new(0, NODE), new(2, OTHER)
    state = GroupRollout(placed_canaries=(refused.id, placed.id))
    plan = Plan(
        node_allocation=on_node(refused, placed),
        deployment=Deployment(id="dep", task_groups={"web": state}),
    )
    deployment = evaluate_plan(store, plan).deployment
    assert deployment is not None
    assert deployment.task_groups["web"].placed_canaries == (placed.id,)


def test_a_stop_of_what_nobody_stored_refuses_the_plan():
    plan = Plan(node_update=on_node(held(1, NODE)))
    with pytest.raises(PlanRefused, match="doesn't exist"):
        evaluate_plan(store_of(NODE), plan)


def test_a_node_with_more_allocs_than_it_takes_refuses_the_plan():
    store = store_of(make_node(1, node_max_allocs=1), held(1, NODE))
    with pytest.raises(PlanRefused, match="plan exceeds max allocation"):
        evaluate_plan(store, Plan(node_allocation=on_node(new(0, NODE))))


def test_earlier_plans_of_the_same_transaction_count():
    store = store_of(NODE)
    plan = Plan(node_allocation=on_node(new(0, NODE)))

    def twice(change: Change) -> list[tuple[str, ...]]:
        first = evaluate_plan(change, plan)
        put_found(change, new(1, NODE).changed(create_index=change.index))
        return [first.rejected_nodes, evaluate_plan(change, plan).rejected_nodes]

    _, refusals = store.write(WriteKind.PLAN_RESULT, twice, now=SOME_MOMENT)
    assert refusals == [(), (NODE.id,)]


def single_writer(*, per_alloc: bool = False) -> Job:
    volume = VolumeAsk(
        name="v",
        type="host",
        source="data",
        access_mode="single-node-single-writer",
        per_alloc=per_alloc,
    )
    group = make_task_group(count=2, volumes={"v": volume})
    return make_job(id="db", task_groups=(group,))


@pytest.mark.parametrize(
    ("per_alloc", "reason"),
    [
        pytest.param(False, "conflicting claims for host volume with single-writer", id="shared"),
        pytest.param(True, None, id="one-for-each-alloc"),
    ],
)
def test_a_single_writer_volume_is_claimed_once(per_alloc, reason):
    job = single_writer(per_alloc=per_alloc)
    store = store_of(NODE)
    there = make_allocation(job, 0, node_id=NODE.id)

    def put(change: Change) -> None:
        change.put_job(job)
        put_found(change, there)

    store.write(WriteKind.JOB_REGISTERED, put, now=SOME_MOMENT)
    wanted = make_allocation(job, 1, node_id=NODE.id, create_index=0)
    result = evaluate_plan(store, Plan(node_allocation=on_node(wanted)))
    assert result.rejections == ({NODE.id: reason} if reason else {})


def test_an_eviction_of_what_has_ended_meanwhile_is_left_out():
    ended = held(1, NODE, client_status=ClientStatus.COMPLETE)
    plan = Plan(node_allocation=on_node(new(0, NODE)), node_preemptions=on_node(held(1, NODE)))
    result = evaluate_plan(store_of(NODE, ended), plan)
    assert result.rejected_nodes == ()
    assert result.node_preemptions == {}
