"""Candidates: pool, readiness, datacenters."""

import msgspec
import pytest

from scheduler.engine.feasibility.readiness import candidate_rows, matches_datacenter
from scheduler.state.node_table import NodeTable
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from tests.builders import make_job, make_node
from tests.scheduler.engine.scene import Scene, job_of

NODES = {
    "ready": make_node(1),
    "down": make_node(2, status=NodeStatus.DOWN),
    "draining": make_node(3, drain_strategy=DrainStrategy()),
    "closed": make_node(4, scheduling_eligibility=NodeEligibility.INELIGIBLE),
    "elsewhere": make_node(5, datacenter="dc9"),
    "second": make_node(6, datacenter="dc2"),
    "gpu": make_node(7, node_pool="gpu"),
}


def candidates(**fields):
    table = NodeTable.build(NODES.values(), {})
    rows = candidate_rows(table, make_job(**fields))
    return {name for name, node in NODES.items() if rows[table.row_of(node.id)]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"datacenters": ("dc1", "dc2")}, {"ready", "second"}, id="T01-listed"),
        pytest.param(
            {"datacenters": ("*",)}, {"ready", "second", "elsewhere"}, id="T01-everywhere"
        ),
        pytest.param(
            {"datacenters": ("dc1", "dc2", "dc9")},
            {"ready", "second", "elsewhere"},
            id="T01-all-listed",
        ),
        pytest.param(
            {"datacenters": ("dc*",)}, {"ready", "second", "elsewhere"}, id="T01-by-pattern"
        ),
        pytest.param({"datacenters": ("dc1",), "node_pool": "gpu"}, {"gpu"}, id="T01-pool"),
        pytest.param(
            {"datacenters": ("dc1",), "node_pool": "all"}, {"ready", "gpu"}, id="T01-all-pools"
        ),
        pytest.param({"datacenters": ("dc1",), "node_pool": "none"}, set(), id="no-such-pool"),
    ],
)
def test_candidates(fields, expected):
    assert candidates(**fields) == expected


def test_t01_the_stack_names_nodes_that_are_not_ready_in_this_pool_only():
    drained = msgspec.structs.replace(NODES["gpu"], status=NodeStatus.DOWN)
    nodes = [*(node for name, node in NODES.items() if name != "gpu"), drained]
    found = Scene(nodes, job_of(datacenters=("dc1", "dc2"))).stack.candidates
    assert set(found.node_ids) == {NODES["ready"].id, NODES["second"].id}
    assert found.not_ready == {NODES[name].id for name in ("down", "draining", "closed")}
    assert found.by_datacenter == {"dc1": 1, "dc2": 1}


@pytest.mark.parametrize(
    ("datacenter", "pattern", "expected"),
    [
        ("dc1", "dc1", True),
        ("dc1", "DC1", False),
        ("dc1", "dc*", True),
        ("dc", "dc*", True),
        ("dc", "dc*1", False),
        ("eu-dc1", "*-dc?", False),
        ("eu-dc1", "eu-*", True),
        ("a.c", "a*c", True),
        ("abc", "a.c", False),
        ("anything", "*", True),
        ("dc1", "", False),
    ],
)
def test_datacenter_patterns(datacenter, pattern, expected):
    assert matches_datacenter(datacenter, (pattern,)) is expected
