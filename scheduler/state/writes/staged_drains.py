"""A staged drain takes its next steps: what one write changes of it and of its nodes.

In: an open change, a staged drain, or a reader of the record. Out: rows put. Whether anything is
due is decided here alone, for the watcher that asks and for the write that does it.
"""

from msgspec.structs import replace

from scheduler.ports import Change, StateReader
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.writes.node_drain import DrainNote, set_drain
from scheduler.state.writes.stories import drain_begins
from scheduler.structs.node import DrainStrategy
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus

#: Nodes that begin in one write.
MOST_BEGUN = 100


def under_way(reader: StateReader, drain: StagedDrain) -> list[str]:
    """Nodes that had their turn and drain still, whoever asked for that."""
    nodes = (reader.node(node_id) for node_id in drain.draining)
    return [node.id for node in nodes if node is not None and node.drain_strategy is not None]


def is_due(reader: StateReader, drain: StagedDrain) -> bool:
    """Whether another node may begin, or all are done."""
    if drain.status is not StagedDrainStatus.RUNNING:
        return False
    draining = len(under_way(reader, drain))
    return draining < drain.at_once if drain.waiting else not draining


def go_on(change: Change, drain: StagedDrain) -> StagedDrain:
    """Let the next nodes begin, as many as are free; the drain as it is stored then.

    Nodes that are gone are passed over; one that drains already counts as begun.
    """
    draining = under_way(change, drain)
    begun = drain.begun
    for node_id in drain.waiting[:MOST_BEGUN]:
        if len(draining) >= drain.at_once:
            break
        begun += 1
        if _begin(change, drain, node_id):
            draining.append(node_id)
    is_over = begun == len(drain.node_ids) and not draining
    return put_staged(
        change,
        replace(
            drain,
            begun=begun,
            draining=tuple(draining),
            status=StagedDrainStatus.COMPLETE if is_over else drain.status,
        ),
    )


def put_staged(change: Change, drain: StagedDrain) -> StagedDrain:
    """Store it, stamped with this write."""
    stored = replace(drain, modify_time=change.now, modify_index=change.index)
    change.put(STAGED_DRAINS, stored)
    return stored


def _begin(change: Change, drain: StagedDrain, node_id: str) -> bool:
    """Whether the node drains now."""
    node = change.node(node_id)
    if node is None:
        return False
    if node.drain_strategy is None:
        strategy = DrainStrategy(
            deadline=drain.deadline, ignore_system_jobs=drain.ignore_system_jobs
        )
        set_drain(change, node, strategy, DrainNote(accessor_id=drain.by_id, meta=drain.meta))
        drain_begins(change, node, drain.id, drain.meta.get("message", ""))
    return True
