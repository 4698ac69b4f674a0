"""Node pools: how many nodes each has, what they can give, and who holds it.

In: a reader and who looks. Out: the contexts of their pages, in a fixed number of reads; nodes and
allocations are summed by the database.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.node_pools import BUILT_IN_POOLS
from cluster.store.ports import Namespaces, PoolFace, RecordReader, RoomHeld
from dashboard.governance import Share, pool_sentence, pool_shares
from dashboard.queries.holders import MAX_HOLDERS, job_holders
from dashboard.subscription import Subscription, topic_text
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number
from scheduler.state.nouns import NODE_POOLS
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.node import NodePool


class PoolLine(msgspec.Struct, frozen=True, kw_only=True):
    """One pool of the list."""

    pool: NodePool
    face: PoolFace
    held: RoomHeld
    shares: tuple[Share, ...]


def pools_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list."""
    return {
        **_listed(reader),
        "crumbs": crumbs((gettext("Node pools"), "")),
        "live_topics": "pools",
        "may_write": viewer.access.has_any_pool() and viewer.access.writes("node"),
    }


def pools_panel(reader: RecordReader, _subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """What of the list a live frame renders again."""
    return _listed(reader)


def pool_page(reader: RecordReader, viewer: Viewer, *, name: str) -> dict[str, Any]:
    """The context of one pool. Raises Absent."""
    parts = _one(reader, name, viewer.namespaces)
    if parts is None:
        raise Absent
    return {
        **parts,
        "crumbs": crumbs((gettext("Node pools"), "/pools/"), (name, "")),
        "live_topics": topic_text("pools", name),
        "may_write": viewer.access.allows_pool(name, "write"),
    }


def pool_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """What of it a live frame renders again; `pool` is None once it is gone."""
    found = _one(reader, subscription.key, subscription.namespaces)
    return {"pool": None} if found is None else found


def _listed(reader: RecordReader) -> dict[str, Any]:
    faces, held = _faces(reader), _held(reader)
    pools = reader.list_all(NODE_POOLS)
    lines = [_line(pool, faces, held) for pool in pools]
    empty = sum(not line.face.nodes for line in lines)
    told = gettext("has no node") if empty == 1 else gettext("have no node")
    return {
        "lines": lines,
        "strong": f"{count_of(len(lines), '{count} node pool', '{count} node pools')}.",
        "rest": f"{number(empty)} {told}." if empty else gettext("Each has nodes."),
    }


def _one(reader: RecordReader, name: str, namespaces: Namespaces) -> dict[str, Any] | None:
    pool = reader.get(NODE_POOLS, name)
    if pool is None:
        return None
    faces = _faces(reader)
    line = _line(pool, faces, _held(reader))
    strong, rest = pool_sentence(line.face, line.held)
    own = pool.scheduler_configuration
    oversubscribes = own.memory_oversubscription_enabled if own is not None else None
    # Where all nodes are in it, what its nodes hold is what any node holds.
    has_all = name == ALL_NODE_POOLS or 0 < line.face.nodes == faces[ALL_NODE_POOLS].nodes
    of_pool = "" if has_all else name
    found = reader.held_by_job(namespaces, MAX_HOLDERS, of_pool)
    return {
        "pool": pool,
        "face": line.face,
        "shares": line.shares,
        "strong": strong,
        "rest": rest,
        "is_built_in": name in BUILT_IN_POOLS,
        "algorithm": (own.scheduler_algorithm if own is not None else "")
        or gettext("the cluster's"),
        "oversubscription": {None: gettext("the cluster's"), True: "on", False: "off"}[
            oversubscribes
        ],
        **job_holders(found, line.held.cpu_mhz, line.held.memory_mb),
    }


def _line(pool: NodePool, faces: Mapping[str, PoolFace], held: Mapping[str, RoomHeld]) -> PoolLine:
    face, taken = faces.get(pool.name, PoolFace()), held.get(pool.name, RoomHeld())
    return PoolLine(pool=pool, face=face, held=taken, shares=pool_shares(face, taken))


def _faces(reader: RecordReader) -> dict[str, PoolFace]:
    faces = reader.pool_faces()
    return {**faces, ALL_NODE_POOLS: PoolFace(*map(sum, zip(*faces.values(), strict=True)))}


def _held(reader: RecordReader) -> dict[str, RoomHeld]:
    held = reader.held_by_pool()
    return {**held, ALL_NODE_POOLS: RoomHeld(*map(sum, zip(*held.values(), strict=True)))}
