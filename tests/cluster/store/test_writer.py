"""Writers beside each other: every index once, no write lost, fences checked inside."""

import threading

import pytest
from django.db import InterfaceError, OperationalError, connections
from msgspec.structs import replace

from cluster.store.leases import HeldLease, LeaseKeeper
from cluster.store.node_mirror import NodeMirror
from cluster.store.writer import DjangoStateStore
from scheduler.errors import Fenced
from scheduler.state.events import WriteKind
from scheduler.structs.node import NodeStatus
from tests.builders import make_allocation, make_node

KIND = WriteKind.NODE_REGISTRATION


def add_node(change):
    """Reads first, so that a lost update would show as a number used twice."""
    number = len(list(change.nodes())) + 1
    change.put_node(make_node(number))
    return number


def test_writers_on_several_threads_take_turns(record):
    seen = []

    def write_ten():
        store = DjangoStateStore(record.alias)
        seen.extend(store.write(KIND, add_node, now=1) for _ in range(10))
        connections[record.alias].close()

    threads = [threading.Thread(target=write_ten) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [(number + 1, number) for number in range(1, 41)]
    assert [frame.index for frame in record.frames_since(1)] == list(range(2, 42))


def test_the_new_index_is_published_after_the_commit_only(record):
    published = []
    store = DjangoStateStore(record.alias, lambda index: published.append((index, store.index)))
    store.write(KIND, add_node, now=1)
    store.write(KIND, lambda change: None, now=1)
    with pytest.raises(ZeroDivisionError):
        store.write(KIND, lambda change: change.put_node(make_node(9)) or 1 / 0, now=1)
    assert published == [(2, 2)]


def test_a_mirrored_writer_sees_what_others_wrote_and_what_came_to_nothing(record):
    mirrored = DjangoStateStore(record.alias, mirror=NodeMirror())
    seen = []

    def look(change):
        seen.append(
            (
                [(node.id, node.status) for node in change.nodes()],
                [change.node_use(make_node(n).id).held.alloc_count for n in (1, 2)],
            )
        )

    def place(change):
        look(change)
        change.put_allocation(make_allocation(number=1, node_id=make_node(1).id))
        look(change)

    first, second = make_node(1), make_node(2)
    record.write(KIND, lambda change: change.put_node(first), now=1)
    mirrored.write(KIND, look, now=1)
    with pytest.raises(ZeroDivisionError):
        mirrored.write(KIND, lambda change: place(change) or 1 / 0, now=1)
    mirrored.write(KIND, place, now=1)
    record.write(KIND, lambda change: change.put_node(second), now=1)
    gone = replace(first, status=NodeStatus.DOWN)
    record.write(KIND, lambda change: change.put_node(gone), now=1)
    mirrored.write(KIND, look, now=1)
    alone = [(first.id, first.status)]
    assert seen == [
        (alone, [0, 0]),
        (alone, [0, 0]),
        (alone, [1, 0]),
        (alone, [0, 0]),
        (alone, [1, 0]),
        ([(first.id, NodeStatus.DOWN), (second.id, second.status)], [1, 0]),
    ]


def test_a_write_under_an_old_epoch_is_refused(record):
    first, second = (LeaseKeeper("leader", name, record.alias) for name in ("a", "b"))
    held = first.step(0.0)
    record.write(KIND, add_node, now=1, fence=held)
    first.release()
    assert second.step(0.0) == HeldLease("leader", 2)
    with pytest.raises(Fenced):
        record.write(KIND, add_node, now=1, fence=held)
    assert record.index == 2
    record.write(KIND, add_node, now=1, fence=second.held)


def test_a_reader_stays_at_its_index_while_others_write(record):
    def read(reader):
        before = len(list(reader.nodes()))
        thread = threading.Thread(target=write_elsewhere)
        thread.start()
        thread.join()
        return before, len(list(reader.nodes())), reader.index

    def write_elsewhere():
        DjangoStateStore(record.alias).write(KIND, add_node, now=1)
        connections[record.alias].close()

    assert record.read(read) == (0, 0, 1)
    assert record.index == 2


def test_a_reader_that_raises_leaves_its_connection_usable(record):
    with pytest.raises(ZeroDivisionError):
        record.read(lambda reader: 1 / 0)
    assert record.read(lambda reader: reader.index) == 1


def test_a_connection_whose_server_hung_up_is_replaced(postgres_store):
    for use in (
        lambda: postgres_store.write(KIND, add_node, now=1)[0],
        lambda: postgres_store.read(lambda reader: reader.index),
    ):
        assert postgres_store.index >= 1
        connections[postgres_store.alias].connection.close()
        with pytest.raises((OperationalError, InterfaceError)):
            use()
        assert use() == 2
