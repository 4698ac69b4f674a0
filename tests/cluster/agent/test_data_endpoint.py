"""The server between two agents: whose data a node may have, and what it is told without any."""

import pytest
from msgspec.structs import replace

from cluster.operations.data_migration import DataSource, data_source
from cluster.operations.errors import NotAllowed, NotFound
from scheduler.access.caller import AGENTS, CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.node import NodeStatus
from scheduler.structs.task_group import EphemeralDisk
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node, make_task_group

OLD, NEW = make_node(1), make_node(2)


def world(*, migrate=True, node=OLD, **fields):
    """An allocation on one node, and the one that replaces it on another."""
    group = make_task_group(ephemeral_disk=EphemeralDisk(size_mb=300, migrate=migrate))
    store = MemoryStateStore()

    def work(change):
        job = write_job(change, make_job(task_groups=(group,)))
        for each in (node, NEW):
            if each is not None:
                put_found(change, each)
        before = make_allocation(
            job, 1, id="old", node_id=OLD.id, client_status=ClientStatus.COMPLETE
        )
        put_found(change, before)
        given = {"id": "new", "node_id": NEW.id, "previous_allocation": "old"} | fields
        put_found(change, make_allocation(job, 2, **given))

    store.write("any", work, now=SOME_MOMENT)
    return store


def asked(store, node=NEW, by=CLUSTER):
    return store.read(
        lambda reader: data_source(reader, node.id, "new", secret="", by=by, now=SOME_MOMENT)
    )


def test_the_data_is_on_the_node_of_the_allocation_before():
    assert asked(world()) == DataSource(OLD.id, "old")


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        ({"migrate": False}, NotAllowed, "takes no data along"),
        ({"node_id": OLD.id}, NotAllowed, "is not on node"),
        ({"client_status": ClientStatus.COMPLETE}, NotFound, "is over"),
        ({"previous_allocation": "none"}, NotFound, "not known any more"),
        ({"node": None}, NotFound, "the node of the allocation before is gone"),
        (
            {"node": replace(OLD, status=NodeStatus.DOWN)},
            NotFound,
            "the node of the allocation before is down",
        ),
    ],
)
def test_without_data_it_is_said_why(given, kind, why):
    with pytest.raises(kind, match=why):
        asked(world(**given))


def test_a_node_proves_what_it_is():
    with pytest.raises(NotAllowed):
        asked(world(), by=AGENTS)
