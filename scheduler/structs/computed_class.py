"""The hash that lets one feasibility answer serve many nodes (placement.md 5).

In: a node. Out: its computed class. Which checks may be answered by class is not known here.
"""

from hashlib import blake2b

import msgspec

from scheduler.structs.device import DeviceAttribute
from scheduler.structs.node import Node

_UNIQUE = "unique."
_ESCAPING_PREFIXES = ("${unique.", "${node.unique.", "${attr.unique.", "${meta.unique.")
_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


def computed_class(node: Node) -> str:
    """`v1:<uint64>`, equal for nodes that no constraint can tell apart unless it escapes.

    Left out on purpose: identity, resources, drivers, volumes, networks, device instances and
    everything whose key starts with `unique.`.
    """
    parts = (
        node.datacenter,
        node.node_class,
        node.node_pool or "default",
        _shared(node.attributes),
        _shared(node.meta),
        [
            (group.vendor, group.type, group.name, _shared(group.attributes))
            for group in node.node_resources.devices
        ],
    )
    digest = blake2b(_ENCODER.encode(parts), digest_size=8).digest()
    return f"v1:{int.from_bytes(digest, 'big')}"


def escapes_class(l_target: str, r_target: str) -> bool:
    """Whether a constraint on these targets can differ between nodes of one class."""
    return l_target.startswith(_ESCAPING_PREFIXES) or r_target.startswith(_ESCAPING_PREFIXES)


def _shared(
    values: dict[str, str] | dict[str, DeviceAttribute],
) -> dict[str, str | DeviceAttribute]:
    return {key: value for key, value in values.items() if not key.startswith(_UNIQUE)}
