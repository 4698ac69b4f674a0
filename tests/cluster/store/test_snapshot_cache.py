"""Snapshots: at one index, rolled forward, loaded anew when the log is gone."""

import pytest

from cluster.store import snapshot_cache
from cluster.store.retention import trim_events
from cluster.store.snapshot_cache import SnapshotCache
from scheduler.errors import StaleSnapshot
from scheduler.state.events import WriteKind
from scheduler.state.node_table import NodeTable
from tests.builders import make_allocation, make_job, make_node

KIND = WriteKind.PLAN_RESULT


@pytest.fixture
def cache(record):
    made = SnapshotCache(record.alias)
    yield made
    made.close()


def write(record, *works):
    def work(change):
        for step in works:
            step(change)

    return record.write(KIND, work, now=1)[0]


def put_node(number, **fields):
    return lambda change: change.put_node(make_node(number, **fields))


def put_allocation(number, **fields):
    return lambda change: change.put_allocation(make_allocation(number=number, **fields))


def columns(table: NodeTable) -> dict[str, tuple[float, ...]]:
    """By node id, whatever the rows."""
    return {
        table.node_at(row).id: (
            table.cpu_used[row],
            table.memory_used[row],
            table.alloc_count[row],
            table.ready[row],
        )
        for row in range(table.row_count)
        if table.present[row]
    }


def rebuilt(snapshot) -> NodeTable:
    nodes = list(snapshot.nodes())
    return NodeTable.build(nodes, {node.id: snapshot.node_use(node.id) for node in nodes})


def test_a_snapshot_follows_the_record(record, cache):
    steps = [
        [put_node(1), put_node(2)],
        [put_allocation(0), put_allocation(1)],
        [lambda change: change.delete_node(make_node(1).id)],
        [put_node(1, name="again")],
        [lambda change: change.delete_allocation(make_allocation(number=0).id)],
    ]
    for works in steps:
        index = write(record, *works)
        snapshot = cache.snapshot_at(index)
        assert snapshot.index == index
        assert columns(snapshot.node_table) == columns(rebuilt(snapshot))
        fresh = SnapshotCache(record.alias)
        assert columns(snapshot.node_table) == columns(fresh.snapshot_at(index).node_table)
        fresh.close()


def test_snapshots_of_a_batch_keep_their_own_index(record, cache):
    write(record, put_node(1))
    with cache.batch():
        old = cache.snapshot_at()
        index = write(record, put_node(2), put_allocation(0))
        assert cache.snapshot_at() is old
        new = cache.snapshot_at(index)
        assert [len(list(view.nodes())) for view in (old, new)] == [1, 2]
        assert [len(view.allocations_by_job(make_job().key)) for view in (old, new)] == [0, 1]
        assert [view.node_use(make_node(1).id).held.alloc_count for view in (old, new)] == [0, 1]
        assert (old.node(make_node(2).id), new.node(make_node(2).id)) == (None, make_node(2))


def test_a_new_batch_sees_what_was_written_before_it(record, cache):
    with cache.batch():
        assert cache.snapshot_at().node_table.node_count == 0
    write(record, put_node(1))
    with cache.batch():
        assert cache.snapshot_at().node_table.node_count == 1


def test_a_mirror_behind_the_log_is_loaded_anew(record, cache):
    write(record, put_node(1))
    cache.snapshot_at()
    for number in range(2, 6):
        write(record, put_node(number))
    trim_events(record, now=10**9, keep_for=1, keep_bytes=2**40)
    assert cache.snapshot_at().node_table.node_count == 5


def test_88_an_index_that_never_comes_is_an_error_that_names_limit_and_index(
    record, cache, monkeypatch
):
    monkeypatch.setattr(snapshot_cache, "_LIMIT_S", 0.01)
    reached = cache.snapshot_at().index
    missing = reached + 100
    with pytest.raises(StaleSnapshot, match=f"timed out after 0.01s waiting for index={missing}"):
        cache.snapshot_at(missing)
    assert cache.snapshot_at().index == reached
