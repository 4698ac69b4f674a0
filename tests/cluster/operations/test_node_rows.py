"""The rows N of control-plane.md 16.6 that are about nodes, through the operations of the product.

The timers of N02 are those of the heartbeat watcher (`tests/scheduler/watchers`); reports of
allocations (N17 and on) stand in `test_report_rows.py`.
"""

import pytest
from msgspec.structs import replace

from cluster.agent.heartbeats import heartbeat_ttl
from cluster.operations.allocations import NodeReport, report_from_client
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    evaluate_node,
    mark_node_unresponsive,
    register_node,
    set_node_eligibility,
    update_status,
)
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NODE_POOLS
from scheduler.structs.allocation import AllocState, ClientStatus, DesiredStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger
from scheduler.structs.job import JobType
from scheduler.structs.network import NetworkResource
from scheduler.structs.node import DrainStrategy, DriverInfo, NodeStatus
from scheduler.structs.policies import DisconnectStrategy
from tests.builders import CountingIDs, make_allocation, make_job, make_node, make_task_group
from tests.callers import MANAGER
from tests.simulation.world import World

SECOND = 1_000_000_000
NOW = 1_750_000_000 * SECOND
MINUTE = 60 * SECOND
NODE = make_node(status=NodeStatus.INITIALIZING)
WAITING = make_job(
    task_groups=(make_task_group(disconnect=DisconnectStrategy(lost_after=MINUTE)),)
)


class Cluster:
    """One node, and what is asked about it."""

    def __init__(self):
        self.store = MemoryStateStore()
        self.means = {"by": MANAGER, "now": NOW, "ids": CountingIDs()}

    def register(self, node=NODE, shown="s"):
        means = {**self.means, "secret": shown, "may_join": True}
        return register_node(self.store, node, **means)

    def ask(self, status):
        return update_status(self.store, NODE.id, status, **self.means)

    def miss(self, now=NOW):
        return mark_node_unresponsive(self.store, NODE.id, **(self.means | {"now": now}))

    def report(self, *allocs, **fields):
        given = NodeReport(node_id=NODE.id, allocations=allocs, **fields)
        _, (refusal,) = report_from_client(self.store, (given,), **self.means)
        assert refusal is None

    def put(self, *rows):
        def work(change):
            for row in rows:
                if hasattr(row, "task_groups"):
                    change.put_job(row)
                else:
                    put_found(change, row)

        self.store.write(WriteKind.PLAN_RESULT, work, now=NOW)

    @property
    def node(self):
        return self.store.node(NODE.id)

    def jobs_of(self, written):
        return sorted(
            (self.store.evaluation(each).namespace, self.store.evaluation(each).job_id)
            for each in written.eval_ids
        )


@pytest.fixture
def cluster():
    """Its node is ready."""
    cluster = Cluster()
    cluster.register()
    assert cluster.ask(NodeStatus.READY).node.status is NodeStatus.READY
    return cluster


@pytest.mark.parametrize(("chance", "ttl_s"), [(0.0, 10.02), (0.5, 15.03), (0.999, 20.02998)])
def test_n01_with_501_timers_the_base_grows_and_the_ttl_stays_below_its_double(chance, ttl_s):
    ttl = heartbeat_ttl(501, min_ttl_s=10, chance=chance)
    assert ttl == pytest.approx(ttl_s * SECOND, abs=1_000)
    assert ttl < 20.04 * SECOND


def unknown_since(moment):
    return (AllocState(field=0, value="unknown", time=moment),)


@pytest.mark.parametrize(
    ("alloc", "status"),
    [
        pytest.param(None, NodeStatus.DOWN, id="nothing-that-may-return"),
        pytest.param({"client_status": "pending"}, NodeStatus.DISCONNECTED, id="pending"),
        pytest.param(
            {"client_status": "unknown", "alloc_states": unknown_since(NOW - 2 * MINUTE)},
            NodeStatus.DOWN,
            id="expired",
        ),
        pytest.param(
            {"client_status": "unknown", "alloc_states": unknown_since(NOW - MINUTE)},
            NodeStatus.DOWN,
            id="expired-at-this-very-moment",
        ),
        pytest.param(
            {"client_status": "unknown", "alloc_states": unknown_since(NOW - MINUTE + 1)},
            NodeStatus.DISCONNECTED,
            id="not-expired-yet",
        ),
    ],
)
def test_n03_what_a_silent_node_becomes(cluster, alloc, status):
    if alloc is not None:
        given = {**alloc, "client_status": ClientStatus(alloc["client_status"])}
        cluster.put(WAITING, make_allocation(WAITING, **given))
    assert cluster.miss().node.status is status


def test_n04_the_marker_of_a_missed_heartbeat_through_a_life(cluster):
    marks, writes = [cluster.node.last_missed_heartbeat_index], {}
    for status in ("disconnected", "initializing", "ready", "down", "ready"):
        writes[status] = cluster.ask(NodeStatus(status)).index
        assert cluster.node.status == status
        marks.append(cluster.node.last_missed_heartbeat_index)
    missed, gone = writes["disconnected"], writes["down"]
    assert marks == [0, missed, missed, 0, gone, 0]


def test_n05_a_returning_node_waits_until_it_has_told_of_its_allocations():
    """The whole control plane: the job keeps its one allocation, and nothing waits in the end."""
    world = World()
    world.put_nodes(make_node())
    world.register({"Count": 1, "Disconnect": {"LostAfter": 10 * MINUTE, "Replace": False}})
    world.work_off()
    means = {"by": MANAGER, "ids": world.ids}
    (alloc,) = world.store.allocations()

    def tell(status):
        told = NodeReport(
            node_id=alloc.node_id, allocations=(alloc.changed(client_status=status),)
        )
        report_from_client(world.store, (told,), now=world.clock.now(), **means)
        settle()

    def settle():
        world.follow()
        world.work_off()

    def beat():
        status = NodeStatus.READY
        written = update_status(world.store, alloc.node_id, status, now=world.clock.now(), **means)
        settle()
        return written.node.status

    tell(ClientStatus.RUNNING)
    mark_node_unresponsive(world.store, alloc.node_id, now=world.clock.now(), **means)
    settle()
    assert world.store.node(alloc.node_id).status is NodeStatus.DISCONNECTED
    assert world.store.allocation(alloc.id).client_status is ClientStatus.UNKNOWN

    assert [beat(), beat(), beat()] == [NodeStatus.INITIALIZING] * 3
    tell(ClientStatus.RUNNING)
    assert beat() is NodeStatus.READY

    assert [
        (row.id, row.client_status, row.desired_status) for row in world.store.allocations()
    ] == [(alloc.id, ClientStatus.RUNNING, DesiredStatus.RUN)]
    open_ones = [row for row in world.store.evaluations() if not row.is_terminal]
    # The follow-up that would have given it up is canceled with its return.
    assert open_ones == []


@pytest.mark.parametrize("asks_ready", [True, False])
def test_a_node_that_asks_is_ready_by_its_report_and_its_return_is_accepted_at_once(asks_ready):
    """Else every plan for what it has is refused, until the evaluation gives up."""
    world = World()
    world.put_nodes(make_node())
    world.register({"Count": 1, "Disconnect": {"LostAfter": 10 * MINUTE}})
    world.work_off()
    means = {"by": MANAGER, "ids": world.ids}
    (alloc,) = world.store.allocations()

    def settle():
        world.follow()
        world.work_off()

    def tell(**fields):
        rows = (alloc.changed(client_status=ClientStatus.RUNNING),)
        told = NodeReport(node_id=alloc.node_id, allocations=rows, **fields)
        report_from_client(world.store, (told,), now=world.clock.now(), **means)
        settle()

    tell()
    mark_node_unresponsive(world.store, alloc.node_id, now=world.clock.now(), **means)
    settle()
    now = world.clock.now()
    update_status(world.store, alloc.node_id, NodeStatus.READY, now=now, **means)
    settle()
    assert world.store.node(alloc.node_id).status is NodeStatus.INITIALIZING

    tell(asks_ready=asks_ready)

    ready = NodeStatus.READY if asks_ready else NodeStatus.INITIALIZING
    assert world.store.node(alloc.node_id).status is ready
    (returned,) = [
        row for row in world.store.evaluations() if row.triggered_by is EvalTrigger.RECONNECT
    ]
    assert returned.status is (EvalStatus.COMPLETE if asks_ready else EvalStatus.FAILED)
    assert (world.store.allocation(alloc.id).alloc_states[-1].value == "running") is asks_ready


def test_asking_makes_no_node_ready_that_waits_for_something_else(cluster):
    cluster.register(replace(NODE, node_pool="gpu"))
    cluster.put(WAITING, make_allocation(WAITING))
    cluster.ask(NodeStatus.INITIALIZING)
    cluster.store.write("gone", lambda change: change.delete(NODE_POOLS, "gpu"), now=NOW)
    cluster.report(make_allocation(WAITING, client_status=ClientStatus.RUNNING), asks_ready=True)
    assert cluster.node.status is NodeStatus.INITIALIZING
    assert not list(cluster.store.evaluations())


def test_n06_a_heartbeat_of_a_ready_node_writes_nothing(cluster):
    before = cluster.store.index
    written = cluster.ask(NodeStatus.READY)
    assert (written.index, written.eval_ids, cluster.store.index) == (0, (), before)


def test_n07_a_node_that_is_down_registers_as_ready_and_stays_down(cluster):
    cluster.put(WAITING, make_allocation(WAITING))
    cluster.ask(NodeStatus.DOWN)
    written = cluster.register(replace(NODE, status=NodeStatus.READY))
    assert written.node.status is NodeStatus.DOWN
    assert cluster.jobs_of(written) == [("default", "web")]


def test_n08_another_secret_is_refused(cluster):
    before = cluster.store.index
    with pytest.raises(NotAllowed, match="node secret ID does not match"):
        cluster.register(shown="other")
    assert cluster.store.index == before


def test_n09_without_its_pool_a_node_waits_and_says_so_once(cluster):
    cluster.register(replace(NODE, node_pool="gpu"))
    cluster.put(WAITING, make_allocation(WAITING))
    cluster.ask(NodeStatus.INITIALIZING)
    # Nothing that is offered deletes the pool of a node; a record may come from elsewhere.
    cluster.store.write("gone", lambda change: change.delete(NODE_POOLS, "gpu"), now=NOW)
    cluster.report(make_allocation(WAITING, client_status=ClientStatus.RUNNING))

    statuses = [cluster.ask(NodeStatus.READY).node.status for _ in range(3)]

    assert statuses == [NodeStatus.INITIALIZING] * 3
    told = [event.message for event in cluster.node.events]
    assert told.count("Node registered but waiting for node pool to be created") == 1


def with_driver(**changes):
    return NODE.drivers | changes


@pytest.mark.parametrize(
    ("fields", "is_evaluated"),
    [
        pytest.param({"datacenter": "dc9"}, True, id="datacenter"),
        pytest.param({"attributes": NODE.attributes | {"a": "b"}}, True, id="attribute"),
        pytest.param({"meta": {"rack": "r2"}}, True, id="meta"),
        pytest.param(
            {"drivers": with_driver(mock_driver=DriverInfo(detected=True, healthy=False))},
            True,
            id="driver-health",
        ),
        pytest.param(
            {"drivers": with_driver(exec=DriverInfo(detected=True, healthy=True))},
            True,
            id="new-driver",
        ),
        pytest.param({"links": {"consul": "x"}}, False, id="links"),
        pytest.param({"modify_index": 999, "create_index": 9}, False, id="indexes"),
        pytest.param(
            {
                "node_resources": replace(
                    NODE.node_resources, networks=(NetworkResource(device="eth9"),)
                )
            },
            False,
            id="networks",
        ),
    ],
)
def test_n10_which_changes_of_a_node_are_worth_evaluations(cluster, fields, is_evaluated):
    cluster.put(WAITING, make_allocation(WAITING))
    written = cluster.register(replace(NODE, **fields))
    assert cluster.jobs_of(written) == ([("default", "web")] if is_evaluated else [])


@pytest.mark.parametrize(
    ("kind", "desired", "client", "count"),
    [
        ("service", "run", "running", 1),
        ("service", "stop", "running", 1),
        ("service", "run", "complete", 1),
        ("service", "stop", "complete", 0),
    ],
)
def test_n11_which_allocations_concern_a_service_job(cluster, kind, desired, client, count):
    assert evaluations_of(cluster, kind, desired, client) == count


@pytest.mark.parametrize(
    ("client", "count"),
    [("running", 1), ("pending", 1), ("complete", 0), ("failed", 0), ("lost", 0)],
)
def test_n12_which_allocations_concern_a_batch_job(cluster, client, count):
    assert evaluations_of(cluster, "batch", "run", client) == count


@pytest.mark.parametrize("client", ["pending", "running", "complete", "failed", "lost"])
def test_n13_a_sysbatch_job_is_not_concerned(cluster, client):
    assert evaluations_of(cluster, "sysbatch", "run", client) == 0


@pytest.mark.parametrize("client", [None, "pending", "running", "complete", "failed", "lost"])
@pytest.mark.parametrize(("is_stopped", "count"), [(False, 1), (True, 0)])
def test_n13_a_system_job_is_concerned_once_unless_it_is_stopped(
    cluster, client, is_stopped, count
):
    found = evaluations_of(cluster, "system", "run", client, stop=is_stopped)
    assert found == count


def evaluations_of(cluster, kind, desired, client, **fields):
    """How many the node is evaluated for, with an allocation of such a job on it."""
    job = make_job(type=kind, **fields)
    cluster.put(job)
    if client is not None:
        alloc = make_allocation(
            job, desired_status=DesiredStatus(desired), client_status=ClientStatus(client)
        )
        cluster.put(alloc)
    return len(evaluate_node(cluster.store, NODE.id, **cluster.means).eval_ids)


def test_n14_one_id_in_two_namespaces_is_two_jobs(cluster):
    jobs = [make_job(), make_job(namespace="team")]
    cluster.put(*jobs, *(make_allocation(job, number) for number, job in enumerate(jobs)))
    written = evaluate_node(cluster.store, NODE.id, **cluster.means)
    assert cluster.jobs_of(written) == [("default", "web"), ("team", "web")]


@pytest.mark.parametrize(
    ("datacenters", "count"), [(("dc2",), 0), (("dc2", "dc1"), 1), (("dc*",), 1), (("*2",), 0)]
)
def test_n15_a_system_job_is_concerned_in_its_datacenters_only(cluster, datacenters, count):
    cluster.put(make_job(type=JobType.SYSTEM.value, datacenters=datacenters))
    assert len(evaluate_node(cluster.store, NODE.id, **cluster.means).eval_ids) == count


def test_n16_eligibility_opens_with_evaluations_and_never_during_a_drain(cluster):
    cluster.put(make_job(type=JobType.SYSTEM.value))

    def choose(value):
        return set_node_eligibility(cluster.store, NODE.id, value, **cluster.means)

    closed, again, opened = choose("ineligible"), choose("ineligible"), choose("eligible")
    assert [len(written.eval_ids) for written in (closed, again, opened)] == [0, 0, 1]
    assert again.index == 0
    assert [event.message for event in cluster.node.events][-2:] == [
        "Node marked as ineligible for scheduling",
        "Node marked as eligible for scheduling",
    ]

    request = DrainRequest(strategy=DrainStrategy(deadline=MINUTE))
    drain_node(cluster.store, NODE.id, request, **cluster.means)
    before = cluster.store.index
    with pytest.raises(OperationRefused, match="eligible while it is draining"):
        choose("eligible")
    assert cluster.store.index == before


@pytest.mark.parametrize(
    ("change", "lets_go"),
    [
        pytest.param("ineligible", False, id="closed"),
        pytest.param("eligible", True, id="opened"),
    ],
)
def test_n16_who_waits_for_room_is_let_go_when_a_node_opens(change, lets_go):
    world = World()
    world.put_nodes(make_node())
    means = {"by": MANAGER, "now": world.clock.now(), "ids": world.ids}
    set_node_eligibility(world.store, NODE.id, "ineligible", **means)
    world.register({"Count": 1})
    world.work_off()
    assert world.leader.blocked.stats().total_blocked == 1

    set_node_eligibility(world.store, NODE.id, change, **means)
    world.follow()

    assert world.leader.blocked.stats().total_blocked == (0 if lets_go else 1)
