"""Registering nodes and changing their status (control-plane.md 9.1, 9.3)."""

import pytest

from scheduler.errors import IllegalTransition
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NODE_POOLS
from scheduler.state.writes.nodes import (
    add_node_event,
    delete_node,
    update_node_status,
    write_node,
)
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeEvent, NodeStatus
from tests.builders import make_allocation, make_node

KIND = WriteKind.NODE_REGISTRATION
NODE = make_node().id
INIT, READY, DOWN, LOST = (
    NodeStatus.INITIALIZING,
    NodeStatus.READY,
    NodeStatus.DOWN,
    NodeStatus.DISCONNECTED,
)


@pytest.fixture
def store():
    return MemoryStateStore()


def write(store, work, now=100_000_000_000):
    return store.write(KIND, work, now=now)


def put(store, **fields):
    write(store, lambda change: put_found(change, make_node(**fields)))


def test_a_new_node_gets_its_class_its_pool_and_a_first_line_of_history(store):
    index, node = write(store, lambda change: write_node(change, make_node(node_pool="gpu")))
    assert (node.create_index, node.modify_index, node.status_updated_at) == (index, index, 100)
    assert node.computed_class.startswith("v1:")
    assert [(event.message, event.create_index) for event in node.events] == [
        ("Node registered", index)
    ]
    assert store.get(NODE_POOLS, "gpu").create_index == index


def test_a_known_node_keeps_what_the_server_decided(store):
    put(
        store,
        status=DOWN,
        scheduling_eligibility=NodeEligibility.INELIGIBLE,
        drain_strategy=DrainStrategy(deadline=5),
        last_missed_heartbeat_index=4,
    )
    _, node = write(store, lambda change: write_node(change, make_node(status=READY, name="new")))
    assert (node.name, node.status, node.scheduling_eligibility, node.drain_strategy) == (
        "new",
        DOWN,
        NodeEligibility.INELIGIBLE,
        DrainStrategy(deadline=5),
    )
    assert (node.create_index, node.last_missed_heartbeat_index) == (5, 4)


GATED = {"last_missed_heartbeat_index": 5, "last_alloc_update_index": 5}
STATUSES = [
    pytest.param({"status": INIT, "last_alloc_update_index": 1}, READY, READY, id="comes-up"),
    pytest.param({"status": DOWN}, READY, READY, id="down-needs-no-gate"),
    pytest.param({"status": LOST}, READY, INIT, id="disconnected-must-report-first"),
    pytest.param({"status": INIT, **GATED}, READY, INIT, id="has-not-reported-yet"),
    pytest.param({"status": INIT, **GATED, "last_alloc_update_index": 6}, READY, READY,
                 id="has-reported"),
    pytest.param({"status": INIT, "node_pool": "gone"}, READY, INIT, id="pool-is-missing"),
    pytest.param({"status": READY}, DOWN, DOWN, id="goes-down"),
    pytest.param({"status": READY}, LOST, LOST, id="disconnects"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "asked", "granted"), STATUSES)
def test_the_status_a_request_leads_to(store, fields, asked, granted):
    put(store, **fields)
    write(store, lambda change: put_found(change, make_allocation()))
    _, node = write(store, lambda change: update_node_status(change, NODE, asked))
    assert node.status is granted
    assert store.node(NODE) == node


def test_the_marker_of_a_missed_heartbeat_is_set_and_taken_back(store):
    put(store)
    index, node = write(store, lambda change: update_node_status(change, NODE, LOST))
    assert node.last_missed_heartbeat_index == index
    _, node = write(store, lambda change: update_node_status(change, NODE, DOWN))
    assert node.last_missed_heartbeat_index == index
    _, node = write(store, lambda change: update_node_status(change, NODE, READY))
    assert node.last_missed_heartbeat_index == 0
    assert [event.message for event in node.events] == ["Node reregistered by heartbeat"]


def test_a_plain_heartbeat_writes_nothing(store):
    put(store)
    before = store.index
    assert write(store, lambda change: update_node_status(change, NODE, READY)) == (
        before,
        make_node(),
    )


def test_an_event_is_written_even_when_the_status_stays(store):
    put(store, status=LOST)
    missed = NodeEvent(message="Node heartbeat missed", subsystem="Cluster")
    index, node = write(store, lambda change: update_node_status(change, NODE, LOST, missed))
    assert (node.modify_index, node.events[-1].message) == (index, "Node heartbeat missed")


def test_ten_lines_of_history_are_kept(store):
    put(store)
    for number in range(12):
        event = NodeEvent(message=str(number))
        write(store, lambda change, event=event: add_node_event(change, NODE, event))
    assert [event.message for event in store.node(NODE).events] == [
        str(number) for number in range(2, 12)
    ]


def test_a_node_that_is_not_known_cannot_be_changed(store):
    for work in (
        lambda change: update_node_status(change, "gone", READY),
        lambda change: delete_node(change, "gone"),
        lambda change: add_node_event(change, "gone", NodeEvent()),
    ):
        with pytest.raises(IllegalTransition, match="node gone not found"):
            write(store, work)
