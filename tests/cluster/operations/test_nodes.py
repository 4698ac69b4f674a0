"""Nodes: joining, draining, opening and closing, falling silent, being forgotten."""

import pytest

from cluster.agent.drivers.driver import healthy, unhealthy
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.nodes import (
    DrainRequest,
    complete_drain,
    drain_node,
    evaluate_node,
    mark_node_unresponsive,
    purge_node,
    register_node,
    set_node_eligibility,
    update_status,
)
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.job import JobType
from scheduler.structs.node import DrainStrategy, LastDrain, NodeEligibility, NodeStatus
from scheduler.structs.policies import DisconnectStrategy
from tests.builders import CountingIDs, make_allocation, make_job, make_node, make_task_group
from tests.callers import MANAGER

SECOND = 1_000_000_000
NOW = 1_750_000_000 * SECOND
MINUTE = 60 * SECOND


@pytest.fixture
def ids():
    return CountingIDs()


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def node(store, ids):
    """A ready node."""
    given = make_node(status=NodeStatus.INITIALIZING)
    register_node(store, given, secret="s", may_join=True, by=MANAGER, now=NOW, ids=ids)
    return update_status(store, given.id, NodeStatus.READY, by=MANAGER, now=NOW, ids=ids).node


def put(store, *rows):
    def work(change):
        for job, alloc in rows:
            change.put_job(job)
            if alloc is not None:
                put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)


def system_job():
    return make_job(id="everywhere", type=JobType.SYSTEM.value)


def messages(store, node):
    return [event.message for event in store.node(node.id).events]


def triggers(store, eval_ids):
    return sorted(
        (store.evaluation(each).job_id, store.evaluation(each).triggered_by) for each in eval_ids
    )


def test_an_agent_that_starts_again_with_the_drivers_it_had_makes_no_evaluations(store, ids):
    def register(now, **drivers):
        seen = make_node(drivers=drivers, status=NodeStatus.READY)
        return register_node(store, seen, secret="s", may_join=True, by=MANAGER, now=now, ids=ids)

    put(store, (system_job(), None))
    first = register(NOW, exec=healthy("exec", NOW), docker=unhealthy("no engine", NOW))
    later = NOW + MINUTE
    again = register(later, exec=healthy("exec", later), docker=unhealthy("no engine", later))
    assert again.eval_ids == ()
    assert again.node.drivers == first.node.drivers
    changed = register(later, exec=healthy("exec", later), docker=healthy("docker", later))
    assert triggers(store, changed.eval_ids) == [("everywhere", "node-update")]
    assert [info.update_time for info in changed.node.drivers.values()] == [NOW, later]


def test_a_drain_closes_the_node_and_makes_no_evaluations(store, ids, node):
    put(store, (system_job(), None))
    asked = DrainRequest(
        strategy=DrainStrategy(deadline=MINUTE), note=DrainNote("ops", {"message": "new disk"})
    )
    written = drain_node(store, node.id, asked, by=MANAGER, now=NOW, ids=ids)
    assert (written.eval_ids, written.index) == ((), written.node.modify_index)
    assert written.node.scheduling_eligibility is NodeEligibility.INELIGIBLE
    assert written.node.drain_strategy == DrainStrategy(
        deadline=MINUTE, force_deadline=NOW + MINUTE, started_at=NOW
    )
    assert written.node.last_drain == LastDrain(
        started_at=NOW,
        updated_at=NOW,
        status="draining",
        accessor_id="ops",
        meta={"message": "new disk"},
    )
    assert messages(store, node)[-1] == "Node drain strategy set"


def test_a_changed_drain_keeps_its_start_and_moves_its_deadline(store, ids, node):
    first = DrainRequest(strategy=DrainStrategy(deadline=MINUTE))
    drain_node(store, node.id, first, by=MANAGER, now=NOW, ids=ids)
    later = NOW + 10 * SECOND
    second = DrainRequest(strategy=DrainStrategy(deadline=2 * MINUTE))
    strategy = drain_node(
        store, node.id, second, by=MANAGER, now=later, ids=ids
    ).node.drain_strategy
    assert (strategy.started_at, strategy.force_deadline) == (NOW, later + 2 * MINUTE)
    assert messages(store, node)[-1] == "Node drain strategy updated"


def test_r14_cancelling_a_drain_opens_the_node_only_when_told(store, ids, node):
    put(store, (system_job(), None))
    start = DrainRequest(strategy=DrainStrategy())
    drain_node(store, node.id, start, by=MANAGER, now=NOW, ids=ids)
    closed = drain_node(store, node.id, DrainRequest(), by=MANAGER, now=NOW, ids=ids)
    drain_node(store, node.id, start, by=MANAGER, now=NOW, ids=ids)
    opened = drain_node(
        store, node.id, DrainRequest(mark_eligible=True), by=MANAGER, now=NOW, ids=ids
    )
    assert (closed.node.scheduling_eligibility, closed.eval_ids) == ("ineligible", ())
    assert opened.node.scheduling_eligibility == "eligible"
    assert triggers(store, opened.eval_ids) == [("everywhere", "node-update")]
    assert (opened.node.last_drain.status, messages(store, node)[-1]) == (
        "canceled",
        "Node drain disabled",
    )


def test_r15_cancelling_twice_says_nothing_the_second_time(store, ids, node):
    drain_node(
        store, node.id, DrainRequest(strategy=DrainStrategy()), by=MANAGER, now=NOW, ids=ids
    )
    first = drain_node(store, node.id, DrainRequest(), by=MANAGER, now=NOW, ids=ids).node
    second = drain_node(store, node.id, DrainRequest(), by=MANAGER, now=NOW + SECOND, ids=ids).node
    assert (second.events, second.last_drain) == (first.events, first.last_drain)


def test_a_finished_drain_leaves_the_node_closed(store, ids, node):
    drain_node(
        store, node.id, DrainRequest(strategy=DrainStrategy()), by=MANAGER, now=NOW, ids=ids
    )
    complete_drain(store, (node.id, "gone"), by=MANAGER, now=NOW + SECOND, deadline_reached=True)
    after = store.node(node.id)
    assert (after.drain_strategy, after.scheduling_eligibility) == (None, "ineligible")
    assert (after.last_drain.status, after.last_drain.updated_at) == ("complete", NOW + SECOND)
    assert (after.events[-1].message, after.events[-1].details) == (
        "Node drain complete",
        {"deadline_reached": "true"},
    )


def test_eligibility_evaluates_only_when_it_opens(store, ids, node):
    put(store, (system_job(), None))
    closed = set_node_eligibility(store, node.id, "ineligible", by=MANAGER, now=NOW, ids=ids)
    again = set_node_eligibility(store, node.id, "ineligible", by=MANAGER, now=NOW, ids=ids)
    opened = set_node_eligibility(store, node.id, "eligible", by=MANAGER, now=NOW, ids=ids)
    assert (closed.eval_ids, again.index, again.eval_ids) == ((), 0, ())
    assert triggers(store, opened.eval_ids) == [("everywhere", "node-update")]
    assert messages(store, node)[-2:] == [
        "Node marked as ineligible for scheduling",
        "Node marked as eligible for scheduling",
    ]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        pytest.param("maybe", 'invalid scheduling eligibility "maybe"', id="unknown"),
        pytest.param(
            "eligible",
            "can not set node's scheduling eligibility to eligible while it is draining",
            id="while-draining",
        ),
    ],
)
def test_an_impossible_eligibility_is_refused(store, ids, node, wanted, text):
    drain_node(
        store, node.id, DrainRequest(strategy=DrainStrategy()), by=MANAGER, now=NOW, ids=ids
    )
    with pytest.raises(OperationRefused) as refused:
        set_node_eligibility(store, node.id, wanted, by=MANAGER, now=NOW, ids=ids)
    assert str(refused.value) == text


def test_a_silent_node_goes_down_and_its_jobs_are_looked_at(store, ids, node):
    job = make_job()
    put(store, (job, make_allocation(job)), (system_job(), None))
    written = mark_node_unresponsive(store, node.id, by=MANAGER, now=NOW, ids=ids)
    assert (written.node.status, written.node.last_missed_heartbeat_index) == (
        NodeStatus.DOWN,
        written.index,
    )
    assert triggers(store, written.eval_ids) == [
        ("everywhere", "node-update"),
        ("web", "node-update"),
    ]
    assert messages(store, node)[-1] == "Node heartbeat missed"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param({}, NodeStatus.DISCONNECTED, id="may-come-back"),
        pytest.param({"desired_status": "stop"}, NodeStatus.DOWN, id="is-to-stop"),
    ],
)
def test_a_silent_node_is_waited_for_while_an_allocation_may_return(
    store, ids, node, fields, status
):
    group = make_task_group(disconnect=DisconnectStrategy(lost_after=MINUTE))
    job = make_job(task_groups=(group,))
    put(store, (job, make_allocation(job, **fields)))
    assert (
        mark_node_unresponsive(store, node.id, by=MANAGER, now=NOW, ids=ids).node.status == status
    )


def test_a_purged_node_is_gone_and_its_jobs_are_looked_at(store, ids, node):
    job = make_job()
    put(store, (job, make_allocation(job)))
    written = purge_node(store, node.id, by=MANAGER, now=NOW, ids=ids)
    assert store.node(node.id) is None
    assert triggers(store, written.eval_ids) == [("web", "node-update")]


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(evaluate_node, id="evaluate"),
        pytest.param(purge_node, id="purge"),
        pytest.param(mark_node_unresponsive, id="unresponsive"),
    ],
)
def test_an_unknown_node_is_not_found(store, ids, operation):
    with pytest.raises(NotFound, match="node not found"):
        operation(store, "nobody", by=MANAGER, now=NOW, ids=ids)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": "a\nb"}, "Node.Name contains a control character"),
        ({"meta": {"k\x1b": "v\n"}}, "Node.Meta contains a control character"),
        (
            {"datacenter": "\t", "node_class": "x" * 513},
            (
                "Node.Datacenter contains a control character;"
                " Node.NodeClass is longer than 512 characters"
            ),
        ),
    ],
)
def test_an_agent_with_a_name_that_breaks_lines_is_told_so(store, ids, fields, text):
    with pytest.raises(OperationRefused) as refused:
        register_node(
            store, make_node(**fields), secret="s", may_join=True, by=MANAGER, now=NOW, ids=ids
        )
    assert str(refused.value) == text
    assert list(store.nodes()) == []
