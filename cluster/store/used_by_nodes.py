"""What the tasks of nodes use: what a record tells of it, and how it is asked."""

from typing import NamedTuple, Protocol


class NodeUsed(NamedTuple):
    """What the tasks of a node used together when it last said so, and when that was, ns."""

    cpu_mhz: int
    memory_mb: int
    at: int


class NodeUsedReader(Protocol):
    """The part of a record's reader that is asked for what nodes use."""

    def node_used(self) -> dict[str, NodeUsed]:
        """What each node's tasks use, of those that say so with their heartbeats, by its id."""
