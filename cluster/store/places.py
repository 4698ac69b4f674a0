"""Where every node stands and what is taken of it, for pictures of thousands at once.

In: a reader. Out: faces and sums of all nodes; of a body only the few fields are decoded that no
column has. One statement each, whatever the number of nodes.
"""

from collections.abc import Sequence

import msgspec

from cluster.store.node_labels import Labels, labels_of
from cluster.store.ports import NodePlace, NodeSum
from cluster.store.reader import DjangoStateReader
from cluster.store.used_by_nodes import NodeUsed
from scheduler.structs.identity import JobKey
from scheduler.structs.wire import Wire

_HELD = "client_status NOT IN ('complete', 'failed', 'lost')"


class _Described(Wire, frozen=True):
    """Of a node's body, what people group by."""

    node_class: str = ""
    meta: dict[str, str] = {}
    attributes: dict[str, str] = {}


class _Sum(Wire, frozen=True):
    cpu: int = 0
    memory_mb: int = 0
    alloc_count: int = 0


class _Taken(Wire, frozen=True):
    """Of the use of a node, one of its sums."""

    held: _Sum = _Sum()


_NODES: msgspec.msgpack.Decoder[_Described] = msgspec.msgpack.Decoder(_Described)
_USES: msgspec.msgpack.Decoder[_Taken] = msgspec.msgpack.Decoder(_Taken)


def node_places(
    reader: DjangoStateReader, keys: Sequence[str], story_id: str = ""
) -> list[NodePlace]:
    """All nodes, or those of a story, in no order; `labels` are their values of `keys`."""
    of_story = " WHERE id IN (SELECT node_id FROM story_node WHERE story_id = %s)"
    found = reader.rows(
        "SELECT id, name, datacenter, node_pool, status, eligibility, is_draining, cpu_mhz,"  # noqa: S608 - our own text
        f" memory_mb, body FROM node{of_story if story_id else ''}",
        (story_id,) if story_id else (),
    )
    labels = labels_of(keys)
    return [_place(row, labels) for row in found]


def _place(row: tuple[object, ...], told: Labels) -> NodePlace:
    *columns, body = row
    assert isinstance(body, bytes | memoryview)
    node_id, name, datacenter, pool, status, eligibility, draining, cpu, memory = columns
    described = _NODES.decode(body)
    return NodePlace(
        id=str(node_id),
        name=str(name),
        datacenter=str(datacenter),
        pool=str(pool),
        node_class=described.node_class,
        status=str(status),
        eligibility=str(eligibility),
        is_draining=bool(draining),
        cpu_mhz=int(str(cpu)),
        memory_mb=int(str(memory)),
        labels=told(described.meta, described.attributes),
    )


def node_sums(reader: DjangoStateReader) -> dict[str, NodeSum]:
    """What is held of each node that anything was ever placed on."""
    found = reader.rows("SELECT node_id, body FROM node_use", ())
    return {str(node_id): held_of_node(body) for node_id, body in found}


def held_of_node(body: bytes | memoryview) -> NodeSum:
    """What is held of a node, from the stored body of its use."""
    held = _USES.decode(body).held
    return NodeSum(held.cpu, held.memory_mb, held.alloc_count)


def node_used(reader: DjangoStateReader) -> dict[str, NodeUsed]:
    """What each node said with its last heartbeat that its tasks use together."""
    found = reader.rows(
        "SELECT node_id, used_cpu_mhz, used_memory_mb, beat_at FROM node_beat"
        " WHERE used_memory_mb IS NOT NULL",
        (),
    )
    return {str(row[0]): NodeUsed(int(row[1]), int(row[2]), int(row[3])) for row in found}


def held_places(reader: DjangoStateReader, key: JobKey) -> dict[str, str]:
    """The node of each allocation of a job that has not ended there, by the allocation's id."""
    found = reader.rows(
        f"SELECT id, node_id FROM allocation WHERE namespace = %s AND job_id = %s AND {_HELD}",  # noqa: S608 - our own text
        (key.namespace, key.job_id),
    )
    return {str(alloc_id): str(node_id) for alloc_id, node_id in found}
