"""How nodes stood and what was held of them at an earlier index, as far as rows of now tell it.

In: a reader, an index and its instant. Out: the histories of nodes that changed since, and by how
much more (or less) was held of each node. Two statements; of a body only what no column has.
"""

from collections import Counter
from typing import Any

import msgspec

from cluster.store.past_nodes import HeldMore, NodeThen, PastNodes
from cluster.store.reader import DjangoStateReader
from cluster.store.timestamps import instant
from scheduler.structs.allocation import CLIENT_TERMINAL
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeEvent
from scheduler.structs.wire import Instant, Wire

_TERMINAL = frozenset(status.value for status in CLIENT_TERMINAL)
_ENDED = ", ".join(f"'{status}'" for status in sorted(_TERMINAL))
_SECOND = 1_000_000_000


class _Remembered(Wire, frozen=True):
    """Of a node's body, what tells how it stood before."""

    status_updated_at: int = 0
    events: tuple[NodeEvent, ...] = ()


class _TaskEnd(Wire, frozen=True):
    finished_at: Instant = 0


class _Ended(Wire, frozen=True):
    """Of an allocation's body, when its tasks ended."""

    task_states: dict[str, _TaskEnd] = {}


_NODES: msgspec.msgpack.Decoder[_Remembered] = msgspec.msgpack.Decoder(_Remembered)
_ALLOCS: msgspec.msgpack.Decoder[_Ended] = msgspec.msgpack.Decoder(_Ended)


def past_of_nodes(reader: DjangoStateReader, index: int, at: int) -> PastNodes:
    """What changed since of nodes and of what is held of them, as it was before."""
    return PastNodes(memories_since(reader, index), _held_since(reader, index, at))


def memories_since(reader: DjangoStateReader, index: int) -> dict[str, NodeThen]:
    """The histories of nodes that changed after an index."""
    found = {}
    for node_id, made, body in reader.rows(
        "SELECT id, create_index, body FROM node WHERE modify_index > %s", (index,)
    ):
        known = _NODES.decode(body)
        at = known.status_updated_at * _SECOND
        found[str(node_id)] = NodeThen(int(made), at, known.events)
    return found


def held_then(reader: DjangoStateReader, key: JobKey, index: int, at: int) -> dict[str, int]:
    """By node, how many allocations of a job it held at an index whose instant is `at`."""
    rows = reader.rows(
        "SELECT node_id, client_status, modify_index, modified_at,"  # noqa: S608 - our own text
        f" CASE WHEN client_status IN ({_ENDED}) AND modify_index > %s THEN body END"
        " FROM allocation WHERE namespace = %s AND job_id = %s AND create_index <= %s",
        (index, *key, index),
    )
    found: Counter[str] = Counter()
    for node_id, status, changed, modified, body in rows:
        if int(changed) <= index:
            is_held = status not in _TERMINAL
        else:
            is_held = _was_held(status, body, modified, at)
        found[str(node_id)] += is_held
    return +found


def _held_since(reader: DjangoStateReader, index: int, at: int) -> dict[str, HeldMore]:
    rows = reader.rows(
        "SELECT node_id, client_status, create_index, modified_at, cpu_mhz, memory_mb,"  # noqa: S608 - our own text
        f" CASE WHEN client_status IN ({_ENDED}) THEN body END"
        " FROM allocation WHERE modify_index > %s",
        (index,),
    )
    more: dict[str, HeldMore] = {}
    for node_id, status, made, modified, cpu, memory, body in rows:
        holds = status not in _TERMINAL
        held = int(made) <= index and _was_held(status, body, modified, at)
        if held == holds:
            continue
        sign = 1 if held else -1
        before = more.get(str(node_id), HeldMore())
        more[str(node_id)] = HeldMore(
            before.cpu_mhz + sign * int(cpu),
            before.memory_mb + sign * int(memory),
            before.allocations + sign,
        )
    return more


def _was_held(status: str, body: Any, modified: Any, at: int) -> bool:
    """Whether one that was there at an instant, and has changed since, was held then."""
    return status not in _TERMINAL or _ended_at(body, modified) > at


def _ended_at(body: Any, modified: Any) -> int:
    """When its last task ended; of one whose tasks never said so, when it changed last."""
    ends = [task.finished_at for task in _ALLOCS.decode(body).task_states.values()]
    return max(ends) if ends and all(ends) else instant(modified)
