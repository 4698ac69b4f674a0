"""Drain many nodes, a few at a time: begin, go on, cancel; one transaction each.

In: a store, what is asked, `now`, ids, and the leader's fence where the watcher asks. Out: the
staged drain as it is stored, or `OperationRefused` with every problem named and nothing written.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from cluster.jobspec.problems import Problem
from cluster.operations.errors import Conflict, NotFound, OperationRefused
from cluster.operations.rights import require_management, require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.node_drain import DrainNote, set_drain, set_eligibility
from scheduler.state.writes.node_evaluations import node_evaluations
from scheduler.state.writes.staged_drains import go_on, is_due, put_staged, under_way
from scheduler.state.writes.stories import drain_story, node_changes
from scheduler.structs.node import Node, NodeEligibility
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus

NOT_FOUND = "staged drain not found"
#: Nodes of one.
MOST_NODES = 1_000
#: Those that have ended are kept, so many.
MOST_KEPT = 200
#: Problems that a refusal names.
_MOST_NAMED = 20


class StagedDrainRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: which nodes in which order, how many at once, and how each drains."""

    node_ids: tuple[str, ...]
    at_once: int
    deadline: int = 0
    ignore_system_jobs: bool = False
    #: Close all of them before the first begins, so that nothing moves twice.
    close_first: bool = False
    meta: dict[str, str] = {}


def start_staged_drain(
    store: StateStore, request: StagedDrainRequest, *, by: Caller, now: int, ids: IDSource
) -> StagedDrain:
    """Begin one; its first nodes drain in the same write."""
    require_writes(by, "node")

    def work(change: Change) -> StagedDrain:
        problems = list(why_not_staged(change, request))
        if problems:
            more = len(problems) - _MOST_NAMED
            told = [f"{each.path}: {each.message}" for each in problems[:_MOST_NAMED]]
            raise OperationRefused("; ".join(told + ([f"and {more} more"] if more > 0 else [])))
        for old in _outlived(change.list_all(STAGED_DRAINS)):
            change.delete(STAGED_DRAINS, old.id)
        closed = _close(change, request.node_ids) if request.close_first else ()
        drain = StagedDrain(
            id=ids.next_id(),
            node_ids=request.node_ids,
            at_once=request.at_once,
            deadline=request.deadline,
            ignore_system_jobs=request.ignore_system_jobs,
            closed=closed,
            by_id=by.id,
            by_name=by.name,
            meta=request.meta,
            create_time=now,
            create_index=change.index,
        )
        return go_on(change, drain)

    return store.write(WriteKind.NODE_DRAIN, work, now=now, by=by)[1]


def advance_staged_drain(
    store: StateStore, drain_id: str, *, by: Caller, now: int, fence: Fence | None = None
) -> StagedDrain | None:
    """Let the next nodes begin where any may, or write down that it is over; None: nothing is due.

    Asked twice, it is done once: what is due is looked up in the same write.
    """
    require_management(by)
    drain = store.read(lambda reader: reader.get(STAGED_DRAINS, drain_id))
    if drain is None or drain.status is not StagedDrainStatus.RUNNING:
        return None

    def work(change: Change) -> StagedDrain | None:
        stored = change.get(STAGED_DRAINS, drain_id)
        return go_on(change, stored) if stored is not None and is_due(change, stored) else None

    return store.write(WriteKind.NODE_DRAIN, work, now=now, by=by, fence=fence)[1]


def cancel_staged_drain(
    store: StateStore,
    drain_id: str,
    *,
    mark_eligible: bool = False,
    by: Caller,
    now: int,
    ids: IDSource,
) -> StagedDrain:
    """No further node begins, and those that drain stop doing so; what has moved stays moved.

    `mark_eligible` opens the nodes that drained and those closed for it. Raises Conflict for one
    that has ended.
    """
    require_writes(by, "node")

    def work(change: Change) -> StagedDrain:
        drain = change.get(STAGED_DRAINS, drain_id)
        if drain is None:
            raise NotFound(NOT_FOUND)
        if drain.status is not StagedDrainStatus.RUNNING:
            raise Conflict(f"the staged drain is {drain.status.value} already")
        note = DrainNote(accessor_id=by.id)
        for node_id in under_way(change, drain):
            node = _there(change, node_id)
            story = drain_story(change, node_id)
            after = set_drain(change, node, None, note, mark_eligible=mark_eligible)
            if mark_eligible:
                _evaluate(change, after, ids, story)
        if mark_eligible:
            for node_id in set(drain.closed).intersection(drain.waiting):
                _open(change, node_id, ids)
        return put_staged(change, replace(drain, draining=(), status=StagedDrainStatus.CANCELED))

    return store.write(WriteKind.NODE_DRAIN, work, now=now, by=by)[1]


def why_not_staged(reader: StateReader, request: StagedDrainRequest) -> Iterator[Problem]:
    """Everything for which `start_staged_drain` refuses it; nothing where it would begin."""
    count = len(request.node_ids)
    if not count:
        yield Problem("NodeIDs", "names no node")
    if count > MOST_NODES:
        yield Problem("NodeIDs", f"{count} nodes; at most {MOST_NODES} in one staged drain")
        return
    if not 1 <= request.at_once <= MOST_NODES:
        yield Problem("AtOnce", f"must be from 1 to {MOST_NODES}")
    running = reader.list_by(STAGED_DRAINS, "status", StagedDrainStatus.RUNNING.value)
    taken = {node_id: drain.id for drain in running for node_id in drain.node_ids}
    seen: set[str] = set()
    for number, node_id in enumerate(request.node_ids):
        place = f"NodeIDs[{number}]"
        node = reader.node(node_id)
        if node_id in seen:
            yield Problem(place, f"node {node_id} is named twice")
        elif node is None:
            yield Problem(place, f"there is no node {node_id}")
        elif node_id in taken:
            told = f"node {node.name} is in staged drain {taken[node_id]}, which runs"
            yield Problem(place, told)
        elif node.drain_strategy is not None:
            yield Problem(place, f"node {node.name} drains already")
        seen.add(node_id)


def _close(change: Change, node_ids: Sequence[str]) -> tuple[str, ...]:
    """Close the nodes that are open; those."""
    nodes = [_there(change, node_id) for node_id in node_ids]
    open_ones = [node for node in nodes if node.scheduling_eligibility is NodeEligibility.ELIGIBLE]
    for node in open_ones:
        set_eligibility(change, node, NodeEligibility.INELIGIBLE)
    return tuple(node.id for node in open_ones)


def _open(change: Change, node_id: str, ids: IDSource) -> None:
    node = change.node(node_id)
    if node is None or node.scheduling_eligibility is NodeEligibility.ELIGIBLE:
        return
    if node.drain_strategy is not None:
        # Somebody drains it by itself meanwhile.
        return
    after = set_eligibility(change, node, NodeEligibility.ELIGIBLE)
    _evaluate(change, after, ids, node_changes(change, after, "opened for allocations"))


def _evaluate(change: Change, node: Node, ids: IDSource, story: str) -> None:
    made = node_evaluations(change, node, ids, now=change.now, text="")
    write_evaluations(change, (each.changed(story_id=story) for each in made))


def _there(change: Change, node_id: str) -> Node:
    node = change.node(node_id)
    assert node is not None, "asked before, in this write"
    return node


def _outlived(drains: Sequence[StagedDrain]) -> Sequence[StagedDrain]:
    ended = [drain for drain in drains if drain.status is not StagedDrainStatus.RUNNING]
    ended.sort(key=lambda drain: (drain.modify_index, drain.id))
    return ended[: max(0, len(ended) + 1 - MOST_KEPT)]
