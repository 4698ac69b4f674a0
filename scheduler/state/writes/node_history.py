"""The lines of a node's history: the newest ten are kept, each with the index that brought it."""

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.structs.node import Node, NodeEvent

KEPT_EVENTS = 10


def with_event(change: Change, node: Node, event: NodeEvent) -> Node:
    """The node with one more line; nothing is put."""
    stamped = replace(event, timestamp=event.timestamp or change.now, create_index=change.index)
    return replace(node, events=(*node.events, stamped)[-KEPT_EVENTS:])
