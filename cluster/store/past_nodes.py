"""What is remembered of how nodes stood, and of what was held of them, at an earlier index."""

from collections.abc import Mapping
from typing import NamedTuple

from scheduler.structs.node import NodeEvent


class NodeThen(NamedTuple):
    """Of a node that changed since, what tells how it stood before."""

    create_index: int
    #: When its status last changed, to the second, ns.
    status_since: int
    #: The newest lines of its history, oldest first.
    events: tuple[NodeEvent, ...]


class HeldMore(NamedTuple):
    """By how much more was held of a node then than now; less is below zero."""

    cpu_mhz: int = 0
    memory_mb: int = 0
    allocations: int = 0


class PastNodes(NamedTuple):
    """By the ids of nodes; what is missing is as it is now."""

    memories: Mapping[str, NodeThen]
    held_more: Mapping[str, HeldMore]
