"""Nodes as columns, and how they roll forward."""

import msgspec
import numpy as np

from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse, UseSum
from scheduler.structs.node import (
    NodeMemory,
    NodeStatus,
    ReservedCpu,
    ReservedResources,
)
from tests.builders import make_node

USE = UseSum(cpu=100, memory_mb=200, disk_mb=300, alloc_count=2)


def test_rows_are_in_order_of_id_and_capacity_is_without_what_is_reserved():
    kept = ReservedResources(cpu=ReservedCpu(cpu_shares=500), memory=NodeMemory(memory_mb=192))
    two, one = make_node(2, reserved_resources=kept), make_node(1, node_max_allocs=3)
    table = NodeTable.build([two, one], {two.id: NodeUse(node_id=two.id, held=USE)})
    assert [table.row_of(one.id), table.row_of(two.id), table.row_of("?")] == [0, 1, -1]
    assert table.cpu_capacity.tolist() == [4000, 3500]
    assert table.memory_capacity.tolist() == [8192, 8000]
    assert table.cpu_used.tolist() == [0, 100]
    assert table.memory_used.tolist() == [0, 200]
    assert table.disk_used.tolist() == [0, 300]
    assert table.alloc_count.tolist() == [0, 2]
    assert table.max_allocs.tolist() == [3, 0]
    assert table.use_at(0) == NodeUse(node_id=one.id)


def test_a_column_has_a_code_per_value_and_follows_changes_of_its_own_property_only():
    one, two = make_node(1, meta={"rack": "r1"}), make_node(2)
    table = NodeTable.build([one, two], {})
    racks, datacenters = table.column("${meta.rack}"), table.column("${node.datacenter}")
    assert (racks.codes.tolist(), racks.values) == ([0, -1], ("r1",))
    assert racks.where(lambda _: False, missing=True).tolist() == [False, True]
    table.put_node(msgspec.structs.replace(two, meta={"rack": "r2"}))
    assert table.column("${node.datacenter}") is datacenters
    assert table.column("${meta.rack}").equal_to("r2").tolist() == [False, True]


def test_changes_make_a_new_table_and_leave_the_old_one():
    one, two, three = make_node(1), make_node(2), make_node(3)
    before = NodeTable.build([one, two], {})
    after = before.with_changes(
        nodes=[three, msgspec.structs.replace(two, status=NodeStatus.DOWN)],
        uses=[NodeUse(node_id=two.id, held=USE), NodeUse(node_id="gone", held=USE)],
        removed=[one.id],
    )
    assert (before.node_count, before.ready.tolist()) == (2, [True, True])
    assert before.cpu_used.tolist() == [0, 0]
    assert (after.node_count, after.row_of(one.id)) == (2, -1)
    # The row of the removed node is taken by the new one; the other keeps its own.
    assert [after.row_of(three.id), after.row_of(two.id)] == [0, 1]
    assert (after.ready.tolist(), after.present.tolist()) == ([True, False], [True, True])
    assert after.cpu_used.tolist() == [0, 100]


def test_a_changed_node_keeps_what_is_held_of_it():
    node = make_node(1)
    table = NodeTable.build([node], {node.id: NodeUse(node_id=node.id, held=USE)})
    table.put_node(msgspec.structs.replace(node, status=NodeStatus.DOWN))
    assert table.cpu_used.tolist() == [100]
    assert table.use_at(0).held == USE


def test_a_removed_row_is_empty_and_counts_nowhere():
    node = make_node(1)
    table = NodeTable.build([node, make_node(2)], {node.id: NodeUse(node_id=node.id, held=USE)})
    table.remove_node(node.id)
    table.remove_node("never there")
    assert table.present.tolist() == [False, True]
    assert table.column("${node.unique.id}").codes.tolist() == [-1, 0]
    assert not table.cpu_capacity[0]
    assert not table.ready[0]


def test_tie_keys_depend_on_the_id_alone():
    one, two = make_node(1), make_node(2)
    grown = NodeTable()
    for node in (two, one):
        grown.put_node(node)
    built = NodeTable.build([one, two], {})
    assert np.array_equal(grown.keys[::-1], built.keys)
