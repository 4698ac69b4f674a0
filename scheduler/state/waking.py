"""Which story made the room that woke an evaluation: told by the row that made it.

In: a reader and what a step says woke it. Out: the id of a story; empty where it is not known any
more, or never was.
"""

from scheduler.ports import StateReader
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Cause, CauseKind


def waking_story(reader: StateReader, cause: Cause) -> str:
    """The story of the node that was opened, or of what ended the allocation."""
    if cause.kind is CauseKind.NODE:
        return _of_node(reader, cause.id, cause.index)
    alloc = reader.allocation(cause.id) if cause.kind is CauseKind.ALLOCATION else None
    return _of_allocation(reader, alloc, cause.index) if alloc is not None else ""


def _of_allocation(reader: StateReader, alloc: Allocation, until: int) -> str:
    if alloc.preempted_by_allocation:
        winner = reader.allocation(alloc.preempted_by_allocation)
        return _of_evaluation(reader, winner.eval_id) if winner is not None else ""
    if not alloc.is_server_terminal:
        # It ran to its end, or failed: whatever placed it is over so far.
        return _of_evaluation(reader, alloc.eval_id)
    if alloc.desired_transition.migrate:
        drained = _of_node(reader, alloc.node_id, until)
        if drained:
            return drained
    stories = reader.list_by(STORIES, "job", alloc.job_key)
    return next((each.id for each in reversed(stories) if each.create_index <= until), "")


def _of_node(reader: StateReader, node_id: str, until: int) -> str:
    links = [link for link in reader.list_by(STORY_NODES, "node", node_id) if link.index <= until]
    return max(links, key=lambda link: link.index).story_id if links else ""


def _of_evaluation(reader: StateReader, eval_id: str) -> str:
    found = reader.evaluation(eval_id) or reader.evaluation_stub(eval_id)
    return found.story_id if found else ""
