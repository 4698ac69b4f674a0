"""Storing stories: that one begins, and which nodes have part in it.

In: an open change, a story or a node. Out: rows put, and the story's id. Which story something is
part of is decided in `story_roots`.
"""

from msgspec.structs import replace

from scheduler.access.caller import Caller, CallerKind
from scheduler.ports import Change
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.job import Job
from scheduler.structs.node import LOST, Node, NodeStatus
from scheduler.structs.story import (
    NAMED_NODES,
    Story,
    StoryKind,
    StoryNode,
    story_id,
    story_of_action,
    version_story_id,
)

#: Within this after the last node of a loss fell silent or came back, more of it belongs to it.
TOGETHER = 60_000_000_000


def begin(change: Change, story: Story, *, is_new: bool = False) -> str:
    """Store a story that begins now, unless it has begun; its id. `is_new`: it cannot have."""
    if is_new or change.get(STORIES, story.id) is None:
        change.put(
            STORIES,
            replace(
                story,
                actor=person_of(change.by),
                create_time=change.now,
                modify_time=change.now,
                create_index=change.index,
                modify_index=change.index,
            ),
        )
    return story.id


def person_of(by: Caller) -> str:
    """What people call whoever asked; empty where the cluster itself or an agent did."""
    by_nobody = by.kind in (CallerKind.CLUSTER, CallerKind.AGENT)
    return "" if by_nobody else by.name or by.id


def version_story(change: Change, job: Job, kind: StoryKind, text: str, parent: str = "") -> str:
    """The story that this version of a job began; it begins now, if it has not."""
    story = Story(
        id=version_story_id(job.key, job.create_index, job.version),
        kind=kind,
        namespace=job.namespace,
        job_id=job.id,
        parent_job_id=job.parent_id,
        job_create_index=job.create_index,
        job_version=job.version,
        text=text,
        parent_id=parent,
    )
    # No other write can have begun that of a version which comes with this one.
    return begin(change, story, is_new=job.job_modify_index == change.index)


def goes_back(change: Change, left: Job, back: Job, version: int) -> None:
    """The rollout that brings an old version back was set going by that of the one it leaves."""
    story = change.get(STORIES, version_story_id(back.key, back.create_index, back.version))
    if story is None:
        return
    text = f"version {version} came back as version {back.version}"
    from_ = version_story_id(left.key, left.create_index, left.version)
    change.put(STORIES, replace(story, text=text, parent_id=from_))


def cluster_story(change: Change, kind: StoryKind, text: str) -> str:
    """Something that was done to the whole cluster."""
    return begin(change, Story(id=story_id(kind.value, change.index), kind=kind, text=text))


def drain_begins(change: Change, node: Node, action: str, reason: str) -> str:
    """The drain of a node; all that are drained by one action are one story."""
    name = story_of_action(action) if action else story_id("drain", node.id, change.index)
    story = Story(id=name, kind=StoryKind.DRAIN, reason=reason)
    return _with_node(change, story, node.id)


def drain_story(change: Change, node_id: str) -> str:
    """The newest drain of a node; one that nobody knew of begins now."""
    link = _current(change, node_id)
    if link is not None and link.kind is StoryKind.DRAIN:
        return link.story_id
    drains = [
        link
        for link in change.list_by(STORY_NODES, "node", node_id)
        if link.kind is StoryKind.DRAIN
    ]
    if drains:
        return max(drains, key=lambda each: each.index).story_id
    story = Story(id=story_id("drain", node_id, change.index), kind=StoryKind.DRAIN)
    return _with_node(change, story, node_id)


def loss_begins(change: Change, before: Node, look: str = "", text: str = "") -> str:
    """A node is lost; all that are lost in one look of the leader are one story."""
    link = _current(change, before.id)
    if link is not None and link.kind is StoryKind.LOSS and before.status in LOST:
        # It was lost before, and still is.
        return link.story_id
    name = story_id("loss", look) if look else story_id("loss", before.id, change.index)
    story = Story(id=name, kind=StoryKind.LOSS, text=text)
    return _with_node(change, story, before.id)


def node_told(change: Change, before: Node | None, after: Node, *, has_work: bool) -> str:
    """What the word of a node is part of: a loss, a return, or a change where it made work.

    Empty when it is nothing to tell. Whoever comes back at once was never away: that is a part of
    the loss.
    """
    moved = before is not None and before.status is not after.status
    if before is not None and moved and after.status in LOST:
        return loss_begins(change, before)
    if before is not None and moved and before.status is not NodeStatus.READY:
        link = _current(change, after.id)
        if link is not None and link.kind is StoryKind.RETURN:
            return link.story_id
        if link is not None and link.kind is StoryKind.LOSS:
            return _returned(change, after, link)
    return node_changes(change, after) if has_work else ""


def node_changes(
    change: Change,
    node: Node,
    text: str = "",
    kind: StoryKind = StoryKind.NODE_CHANGE,
) -> str:
    """Something that concerns one node and was neither a drain nor a loss."""
    story = Story(id=story_id(kind.value, node.id, change.index), kind=kind, text=text)
    return _with_node(change, story, node.id)


def newest_story_of_node(change: Change, node_id: str) -> str:
    """What a node was last part of; empty when nobody knows."""
    link = _current(change, node_id)
    return link.story_id if link is not None else ""


def _returned(change: Change, node: Node, link: StoryNode) -> str:
    if change.now - link.at <= TOGETHER:
        return _with_node(change, Story(id=link.story_id, kind=StoryKind.LOSS), node.id)
    name = story_id("return", link.story_id)
    story = Story(id=name, kind=StoryKind.RETURN, parent_id=link.story_id)
    return _with_node(change, story, node.id)


def _current(change: Change, node_id: str) -> StoryNode | None:
    return next(iter(change.list_by(STORY_NODES, "current", node_id)), None)


def _with_node(change: Change, story: Story, node_id: str) -> str:
    """Let a node have part in a story, which begins if it has not."""
    found = change.get(STORIES, story.id)
    if found is None:
        begin(change, replace(story, node_ids=(node_id,), node_count=1), is_new=True)
    elif change.get(STORY_NODES, (node_id, story.id)) is None:
        change.put(
            STORIES,
            replace(
                found,
                node_ids=(*found.node_ids, node_id)[:NAMED_NODES],
                node_count=found.node_count + 1,
                modify_time=change.now,
                modify_index=change.index,
            ),
        )
    before = _current(change, node_id)
    if before is not None and before.story_id != story.id:
        change.put(STORY_NODES, replace(before, current=False))
    kind = found.kind if found is not None else story.kind
    change.put(
        STORY_NODES,
        StoryNode(
            story_id=story.id, node_id=node_id, kind=kind, at=change.now, index=change.index
        ),
    )
    return story.id
