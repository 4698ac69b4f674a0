"""Register, drain, open, close, forget and time out nodes: one transaction each.

In: a store, what is asked, `now`, ids, and the leader's fence where a watcher asks. Out: facts for
the answer, or `OperationRefused` with nothing written. The evaluations ride in the same write.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.node_identities import (
    NODE_NOT_FOUND,
    hash_secret,
    holds_secret,
    require_proof,
)
from cluster.operations.node_registration import check_registration
from cluster.operations.rights import require_management, require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateReader, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.state.writes.node_drain import DrainNote, finish_drain, set_drain, set_eligibility
from scheduler.state.writes.node_evaluations import (
    node_evaluations,
    registration_needs_evaluations,
    status_needs_evaluations,
)
from scheduler.state.writes.nodes import (
    add_node_event,
    delete_node,
    update_node_status,
    write_node,
)
from scheduler.state.writes.stories import (
    drain_begins,
    drain_story,
    loss_begins,
    node_changes,
    node_told,
)
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.node import (
    DrainStrategy,
    Node,
    NodeEligibility,
    NodeEvent,
    NodeStatus,
)
from scheduler.structs.story import StoryKind

#: What a new node may say of its own status; everything else is decided by the server.
_FIRST_STATUSES = frozenset({NodeStatus.INITIALIZING, NodeStatus.READY})


class NodeWritten(msgspec.Struct, frozen=True, kw_only=True):
    """What a write to a node left behind. `index` is 0 when there was nothing to write."""

    node: Node
    index: int = 0
    eval_ids: tuple[str, ...] = ()

    @property
    def eval_create_index(self) -> int:
        """The index that brought the evaluations."""
        return self.index if self.eval_ids else 0


class DrainRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a node's drain."""

    #: None cancels. Of it, `deadline` and `ignore_system_jobs` are the caller's to say.
    strategy: DrainStrategy | None = None
    #: When cancelling: open the node for allocations again.
    mark_eligible: bool = False
    note: DrainNote = DrainNote()
    #: What nodes that are drained together share; their drain is one story.
    action: str = ""


def register_node(  # noqa: PLR0913 - what an agent shows of itself
    store: StateStore,
    node: Node,
    *,
    by: Caller,
    secret: str,
    may_join: bool,
    now: int,
    ids: IDSource,
) -> NodeWritten:
    """Take in what an agent says of its node; `may_join`: it also showed a valid join token.

    The right to this is that token, or the secret the node joined with; no other stands for them.
    A known node keeps its status, drain, eligibility and history whatever the agent sends.
    """
    check_registration(node, secret)
    told = replace(
        node,
        secret_id=hash_secret(secret),
        identity_signing_key_id="",
        status=node.status if node.status in _FIRST_STATUSES else NodeStatus.INITIALIZING,
        events=(),
        drain_strategy=None,
        last_drain=None,
        last_missed_heartbeat_index=0,
        last_alloc_update_index=0,
    )

    def work(change: Change) -> NodeWritten:
        before = change.node(node.id)
        if before is None and not may_join:
            raise NotAllowed("a node's first registration needs a valid join token")
        if before is not None and before.secret_id and not holds_secret(before, secret):
            raise NotAllowed("node secret ID does not match. Not registering node.")
        after = write_node(change, told)
        needed = registration_needs_evaluations(before, after)
        return _with_evaluations(change, after, ids, needed=needed, before=before)

    return _write(store, WriteKind.NODE_REGISTRATION, work, by=by, now=now)


def update_status(  # noqa: PLR0913 - what an agent says of its node
    store: StateStore,
    node_id: str,
    status: NodeStatus,
    *,
    by: Caller,
    secret: str = "",
    now: int,
    ids: IDSource,
    event: NodeEvent | None = None,
) -> NodeWritten:
    """Ask for a status; the answer's node says which one it got (control-plane.md 9.3)."""

    def work(change: Change) -> NodeWritten:
        before = _known(change, node_id)
        require_proof(change, before, secret, by=by, now=now)
        after = update_node_status(change, node_id, status, event)
        if after is before:
            return NodeWritten(node=after)
        needed = status_needs_evaluations(before.status, after.status)
        return _with_evaluations(change, after, ids, needed=needed, before=before)

    return _write(store, WriteKind.NODE_REGISTRATION, work, by=by, now=now)


def make_ready(change: Change, node_id: str, ids: IDSource) -> None:
    """Have a node that waited to report be ready by the write that takes its reports in.

    One that waits for something else, or does not wait, stays as it is. Whoever writes has looked
    at the node's proof.
    """
    before = change.node(node_id)
    if before is None or before.status is not NodeStatus.INITIALIZING:
        return
    after = update_node_status(change, node_id, NodeStatus.READY)
    needed = status_needs_evaluations(before.status, after.status)
    _with_evaluations(change, after, ids, needed=needed, before=before)


def mark_node_unresponsive(  # noqa: PLR0913 - what a watcher knows
    store: StateStore,
    node_id: str,
    *,
    look: str = "",
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> NodeWritten:
    """Its heartbeat is overdue: `disconnected` if that is worth waiting for, else `down`."""
    require_management(by)

    def work(change: Change) -> NodeWritten:
        before = _known(change, node_id)
        status = unresponsive_status(change, before, now)
        event = NodeEvent(message="Node heartbeat missed", subsystem="Cluster")
        after = update_node_status(change, node_id, status, event)
        needed = status_needs_evaluations(before.status, after.status)
        story = loss_begins(change, before, look)
        return _with_evaluations(change, after, ids, needed=needed, story=story)

    return _write(store, WriteKind.NODE_REGISTRATION, work, by=by, now=now, fence=fence)


def unresponsive_status(reader: StateReader, node: Node, now: int) -> NodeStatus:
    """`disconnected` while an allocation on it may still come back (control-plane.md 8.3)."""
    if node.status in (NodeStatus.DOWN, NodeStatus.INITIALIZING):
        return NodeStatus.DOWN
    waiting = any(
        _may_return(reader, alloc, now)
        for alloc in reader.allocations_by_node(node.id)
        if alloc.desired_status is DesiredStatus.RUN
    )
    return NodeStatus.DISCONNECTED if waiting else NodeStatus.DOWN


def drain_node(
    store: StateStore, node_id: str, request: DrainRequest, *, by: Caller, now: int, ids: IDSource
) -> NodeWritten:
    """Start, change or cancel a drain; the drainer does the rest."""
    require_writes(by, "node")

    def work(change: Change) -> NodeWritten:
        before = _known(change, node_id)
        eligible = request.mark_eligible
        after = set_drain(change, before, request.strategy, request.note, mark_eligible=eligible)
        was_closed = before.scheduling_eligibility is NodeEligibility.INELIGIBLE
        needed = was_closed and request.strategy is None and eligible
        story = _drain_story(change, before, request)
        return _with_evaluations(change, after, ids, needed=needed, story=story)

    return _write(store, WriteKind.NODE_DRAIN, work, by=by, now=now)


def complete_drain(
    store: StateStore,
    node_ids: tuple[str, ...],
    *,
    by: Caller,
    now: int,
    deadline_reached: bool = False,
    fence: Fence | None = None,
) -> int:
    """The drainer is done with these nodes; those no longer draining are passed over.

    Returns the index of the write.
    """
    require_management(by)

    def work(change: Change) -> None:
        for node_id in node_ids:
            node = change.node(node_id)
            if node is not None and node.drain_strategy is not None:
                finish_drain(change, node, deadline_reached=deadline_reached)

    index, _ = store.write(WriteKind.NODE_DRAIN, work, now=now, by=by, fence=fence)
    return index


def set_node_eligibility(
    store: StateStore, node_id: str, eligibility: str, *, by: Caller, now: int, ids: IDSource
) -> NodeWritten:
    """Open or close a node for new allocations; the same value as before writes nothing."""
    require_writes(by, "node")
    if eligibility not in set(NodeEligibility):
        raise OperationRefused(f'invalid scheduling eligibility "{eligibility}"')
    wanted = NodeEligibility(eligibility)

    def work(change: Change) -> NodeWritten:
        before = _known(change, node_id)
        if wanted is before.scheduling_eligibility:
            return NodeWritten(node=before)
        if wanted is NodeEligibility.ELIGIBLE and before.drain_strategy is not None:
            raise OperationRefused(
                "can not set node's scheduling eligibility to eligible while it is draining"
            )
        after = set_eligibility(change, before, wanted)
        if wanted is NodeEligibility.INELIGIBLE:
            return NodeWritten(node=after)
        # Told even where it makes no evaluation: it may wake those that wait.
        story = node_changes(change, after, "opened for allocations")
        return _with_evaluations(change, after, ids, needed=True, story=story)

    return _write(store, WriteKind.NODE_ELIGIBILITY, work, by=by, now=now)


def evaluate_node(
    store: StateStore, node_id: str, *, by: Caller, now: int, ids: IDSource
) -> NodeWritten:
    """Look again at every job that the node concerns."""
    require_writes(by, "node")

    def work(change: Change) -> NodeWritten:
        node, text = _known(change, node_id), "an operator asked for it"
        story = node_changes(change, node, text, StoryKind.EVALUATION)
        return _with_evaluations(change, node, ids, needed=True, text=text, story=story)

    return _write(store, WriteKind.EVALUATION_UPDATED, work, by=by, now=now)


def purge_node(
    store: StateStore, node_id: str, *, by: Caller, now: int, ids: IDSource
) -> NodeWritten:
    """Forget the node. Its allocations are lost through the evaluations this makes."""
    require_writes(by, "node")

    def work(change: Change) -> NodeWritten:
        _known(change, node_id)
        gone = replace(delete_node(change, node_id), modify_index=change.index)
        name = gone.name or gone.id
        text = f"node {name} was purged"
        story = loss_begins(change, gone, text=text)
        return _with_evaluations(change, gone, ids, needed=True, text=text, story=story)

    return _write(store, WriteKind.NODE_DEREGISTRATION, work, by=by, now=now)


def add_node_events(
    store: StateStore,
    node_id: str,
    events: tuple[NodeEvent, ...],
    *,
    by: Caller,
    secret: str = "",
    now: int,
) -> int:
    """Lines that the agent adds to its node's history; returns the index."""

    def work(change: Change) -> None:
        require_proof(change, _known(change, node_id), secret, by=by, now=now)
        for event in events:
            add_node_event(change, node_id, event)

    index, _ = store.write(WriteKind.NODE_STREAM_EVENT, work, now=now, by=by)
    return index


def _known(change: Change, node_id: str) -> Node:
    node = change.node(node_id)
    if node is None:
        raise NotFound(NODE_NOT_FOUND)
    return node


def _may_return(reader: StateReader, alloc: Allocation, now: int) -> bool:
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    if group is None:
        return False
    lost_after = group.disconnect.lost_after if group.disconnect else 0
    lost_after = lost_after or group.max_client_disconnect or 0
    if lost_after <= 0:
        return False
    if alloc.client_status is not ClientStatus.UNKNOWN:
        return True
    return _unknown_since(alloc) + lost_after > now


def _unknown_since(alloc: Allocation) -> int:
    return max(
        (
            state.time
            for state in alloc.alloc_states
            if state.field == 0 and state.value == ClientStatus.UNKNOWN
        ),
        default=0,
    )


def _with_evaluations(  # noqa: PLR0913 - what a write knows of a node
    change: Change,
    node: Node,
    ids: IDSource,
    *,
    needed: bool,
    text: str = "",
    before: Node | None = None,
    story: str = "",
) -> NodeWritten:
    """Add the evaluations of a write to it, where it needs any."""
    made = node_evaluations(change, node, ids, now=change.now, text=text) if needed else ()
    story = story or node_told(change, before, node, has_work=bool(made))
    stored = write_evaluations(change, (each.changed(story_id=story) for each in made))
    return NodeWritten(node=node, eval_ids=tuple(evaluation.id for evaluation in stored))


def _drain_story(change: Change, node: Node, request: DrainRequest) -> str:
    if node.drain_strategy is not None:
        return drain_story(change, node.id)
    if request.strategy is None:
        return ""
    return drain_begins(change, node, request.action, request.note.meta.get("message", ""))


def _write(
    store: StateStore,
    kind: str,
    work: Callable[[Change], NodeWritten],
    *,
    by: Caller,
    now: int,
    fence: Fence | None = None,
) -> NodeWritten:
    before: list[int] = []

    def counted(change: Change) -> NodeWritten:
        before[:] = [change.index]
        return work(change)

    index, written = store.write(kind, counted, now=now, by=by, fence=fence)
    return replace(written, index=index if [index] == before else 0)
