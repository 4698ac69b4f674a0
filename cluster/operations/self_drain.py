"""A node that drains itself because its agent was told to end (node-agent-2.md 15.4)."""

from cluster.operations.errors import NotFound
from cluster.operations.node_identities import NODE_NOT_FOUND, require_proof
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes.node_drain import DrainNote, set_drain
from scheduler.state.writes.stories import drain_begins
from scheduler.structs.node import DrainStrategy

#: Why, as the node's history and its drain tell it.
SHUTTING_DOWN = "shutting down"


def drain_itself(
    store: StateStore,
    node_id: str,
    strategy: DrainStrategy,
    *,
    by: Caller,
    secret: str = "",
    now: int,
) -> int:
    """Start the node's own drain, of which it says the deadline; one under way goes on.

    Returns the index; 0 when nothing was written. The node stays ineligible afterwards.
    """

    def work(change: Change) -> None:
        node = change.node(node_id)
        if node is None:
            raise NotFound(NODE_NOT_FOUND)
        require_proof(change, node, secret, by=by, now=now)
        if node.drain_strategy is None:
            drain_begins(change, node, "", SHUTTING_DOWN)
            set_drain(change, node, strategy, DrainNote(meta={"message": SHUTTING_DOWN}))

    index, _ = store.write(WriteKind.NODE_DRAIN, work, now=now, by=by)
    return index
