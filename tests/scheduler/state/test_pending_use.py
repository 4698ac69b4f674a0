"""Plans that are out, counted in the columns of snapshots that do not show them."""

import pytest

from scheduler.ports import Change
from scheduler.state.claims import claim_of
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.node_table import NodeTable
from scheduler.state.pending_use import PendingUse, View
from scheduler.structs.allocation import Allocation
from scheduler.structs.network import AllocatedPort
from scheduler.structs.plan import Plan
from scheduler.structs.resources import AllocatedSharedResources
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node

JOB = make_job()
ONE, TWO = make_node(1).id, make_node(2).id


def make_store(*allocs: Allocation) -> MemoryStateStore:
    store = MemoryStateStore()
    put(store, *allocs)
    return store


def put(store: MemoryStateStore, *allocs: Allocation) -> None:
    def work(change: Change) -> None:
        change.put_node(make_node(1))
        change.put_node(make_node(2))
        for alloc in allocs:
            change.put_allocation(alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def new(number: int, node_id: str = ONE) -> Allocation:
    """A new allocation that holds a port."""
    port = AllocatedPort(label="http", value=20_000 + number, host_ip="10.0.0.2")
    return with_ports(make_allocation(JOB, number, node_id=node_id, create_index=0), port)


def with_ports(alloc: Allocation, *ports: AllocatedPort) -> Allocation:
    shared = AllocatedSharedResources(ports=ports)
    tasks = alloc.allocated_resources.tasks
    return alloc.changed(
        allocated_resources=type(alloc.allocated_resources)(tasks=tasks, shared=shared)
    )


def make_plan(name: str, *allocs: Allocation) -> Plan:
    by_node: dict[str, tuple[Allocation, ...]] = {}
    for alloc in allocs:
        by_node[alloc.node_id] = (*by_node.get(alloc.node_id, ()), alloc)
    return Plan(id=name, eval_id=f"eval of {name}", node_allocation=by_node)


def uses(table: NodeTable) -> list[object]:
    """What is kept of each node, and all columns of numbers."""
    columns = (
        table.cpu_used,
        table.memory_used,
        table.disk_used,
        table.alloc_count,
        table.core_holders,
        table.ports_held,
    )
    return [list(table.uses), *(column.tolist() for column in columns)]


def test_a_plan_counts_as_if_it_were_committed() -> None:
    store, pending = make_store(new(0).changed(create_index=3)), PendingUse()
    before = uses(store.snapshot().node_table)
    allocs = (new(1), new(2), new(3, TWO))
    pending.add(make_plan("p", *allocs), store.index)
    snapshot = store.snapshot()
    view = pending.over(snapshot)
    assert (view.plan_ids, view.eval_ids) == ({"p"}, ("eval of p",))
    assert uses(snapshot.node_table) == before
    assert view.snapshot.index == snapshot.index
    assert view.snapshot.allocation(new(1).id) is None
    put(store, *(alloc.changed(create_index=9) for alloc in allocs))
    assert uses(view.snapshot.node_table) == uses(store.snapshot().node_table)


def test_plans_laid_one_after_another_are_those_laid_at_once() -> None:
    snapshot, stepwise, at_once = make_store().snapshot(), PendingUse(), PendingUse()
    plans = [make_plan(f"p{n}", new(n), new(n + 5, TWO)) for n in range(3)]
    for plan in plans:
        stepwise.add(plan, snapshot.index)
        at_once.add(plan, snapshot.index)
        stepwise.over(snapshot)
    stepwise.drop("p1")
    at_once.drop("p1")
    left = [stepwise.over(snapshot), at_once.over(snapshot)]
    assert [view.eval_ids for view in left] == [("eval of p0", "eval of p2")] * 2
    assert uses(left[0].snapshot.node_table) == uses(left[1].snapshot.node_table)
    assert left[0].snapshot.node_table.alloc_count.tolist() == [2, 2]


def test_a_dropped_plan_leaves_nothing_behind() -> None:
    snapshot, pending = make_store().snapshot(), PendingUse()
    pending.add(make_plan("p", new(1)), snapshot.index)
    pending.over(snapshot)
    pending.drop("p")
    assert pending.over(snapshot) == View(snapshot)


def test_a_snapshot_that_shows_the_plan_does_not_count_it_again() -> None:
    store, pending = make_store(), PendingUse()
    pending.add(make_plan("p", new(1)), store.index)
    older = store.snapshot()
    put(store)
    assert pending.over(store.snapshot()).plan_ids == {"p"}
    put(store, new(1).changed(create_index=9))
    assert pending.over(older).plan_ids == {"p"}
    assert pending.over(store.snapshot()).plan_ids == set()


def test_claims_of_others_count_before_the_batchs_own_until_others_are_heard_of() -> None:
    snapshot, pending = make_store().snapshot(), PendingUse()
    told = [claim_of(make_plan(f"p{n}", new(n)), snapshot.index) for n in (1, 2)]
    heard = [claim for claim in told if claim is not None]
    pending.add(make_plan("own", new(3)), snapshot.index)
    pending.hear(heard)
    assert pending.over(snapshot).eval_ids == ("eval of p1", "eval of p2", "eval of own")
    pending.hear(heard[1:])
    assert pending.over(snapshot).eval_ids == ("eval of p2", "eval of own")
    assert pending.over(snapshot).snapshot.node_table.alloc_count.tolist() == [2, 0]
    pending.hear(())
    assert pending.over(snapshot).plan_ids == {"own"}


@pytest.mark.parametrize(
    "alloc",
    [
        pytest.param(make_allocation(JOB, 1), id="updated-in-place"),
        pytest.param(new(1, "gone"), id="on-a-node-that-is-gone"),
    ],
)
def test_what_moves_no_sum_is_not_counted(alloc: Allocation) -> None:
    snapshot, pending = make_store().snapshot(), PendingUse()
    pending.add(make_plan("p", alloc), snapshot.index)
    assert uses(pending.over(snapshot).snapshot.node_table) == uses(snapshot.node_table)


def test_properties_of_nodes_are_read_once_for_all_views() -> None:
    snapshot, pending = make_store().snapshot(), PendingUse()
    pending.add(make_plan("p", new(1)), snapshot.index)
    found = pending.over(snapshot).snapshot.node_table.column("${node.datacenter}")
    assert snapshot.node_table.column("${node.datacenter}") is found
