"""Scenario memory: what a million live allocations cost a scheduler worker.

In: options. Out: resident bytes per allocation of the mirror a worker keeps, with and without a
port each, and how long a full garbage collection stops it. Allocations themselves are not kept.
"""

import gc
from collections.abc import Iterator
from time import thread_time

import psutil
from msgspec import msgpack
from msgspec.structs import replace

from cluster.bench.offline import identifier, make_node
from cluster.bench.scenario import Figures, Options
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse, PortUse, UseSum, shared

_ALLOCATIONS = 1_000_000
_ON_A_NODE = 100
_FIRST_PORT = 20_000


def run(options: Options) -> Figures:
    """Fill a mirror without ports, then with one per allocation."""
    count = options.scaled(_ALLOCATIONS)
    nodes = max(1, count // _ON_A_NODE)
    bare, bare_pause = _cost(nodes, with_ports=False)
    ported, ported_pause = _cost(nodes, with_ports=True)
    total = nodes * _ON_A_NODE
    return {
        "allocations": float(total),
        "nodes": float(nodes),
        "bytes_per_allocation": bare / total,
        "bytes_per_allocation_with_a_port": ported / total,
        "full_collection_ms": bare_pause * 1000,
        "full_collection_with_ports_ms": ported_pause * 1000,
    }


def _cost(nodes: int, *, with_ports: bool) -> tuple[float, float]:
    """Resident bytes a filled mirror adds, nodes included; seconds of a full collection."""
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    table = NodeTable.build(
        (make_node(number, cpu=100_000, memory_mb=1_000_000) for number in range(nodes)),
        {use.node_id: use for use in _uses(nodes, with_ports=with_ports)},
    )
    after = process.memory_info().rss
    began = thread_time()
    gc.collect()
    pause = thread_time() - began
    assert table.row_count == nodes, "kept until it was measured"
    return float(after - before), pause


def _uses(nodes: int, *, with_ports: bool) -> Iterator[NodeUse]:
    """Sums as the mirror gets them: decoded from rows, not shared with anything."""
    decoder = msgpack.Decoder(NodeUse)
    for number in range(nodes):
        ports = tuple(
            PortUse(
                host_ip="10.0.0.1",
                value=_FIRST_PORT + place,
                alloc_id=identifier(f"{number}/{place}"),
            )
            for place in range(_ON_A_NODE if with_ports else 0)
        )
        held = UseSum(
            cpu=100 * _ON_A_NODE, memory_mb=64 * _ON_A_NODE, alloc_count=_ON_A_NODE, ports=ports
        )
        node_id = identifier(f"node {number}")
        row = NodeUse(node_id=node_id, held=held, planned=replace(held))
        yield shared(decoder.decode(msgpack.encode(row)))
