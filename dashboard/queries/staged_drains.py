"""Staged drains: the lines of their list, and the page of one, node by node.

In: a reader and an id. Out: contexts. Who is done, who drains and who waits follows from the
record of the drain and of its nodes.
"""

from collections import Counter
from typing import Any

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number, span
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.node import Node
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus
from scheduler.structs.story import story_of_action

#: Nodes that the page names; those that wait are counted beyond it.
MAX_NODES = 200


class StagedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of a staged drain."""

    place: int
    node_id: str
    #: None: it was purged.
    node: Node | None
    #: done, draining, waiting, left or gone.
    state: str
    allocations: int = 0


def staged_lines(reader: RecordReader) -> list[dict[str, Any]]:
    """Those that run, the oldest first."""
    running = reader.list_by(STAGED_DRAINS, "status", StagedDrainStatus.RUNNING.value)
    drains = sorted(running, key=lambda drain: (drain.create_index, drain.id))
    reader.preload(nodes=[node_id for drain in drains for node_id in drain.node_ids])
    return [{"drain": drain, "counts": _counts(reader, drain), **_said(drain)} for drain in drains]


def turn_of(reader: RecordReader, node_id: str) -> dict[str, Any] | None:
    """The staged drain that runs and has this node: its id, the node's turn, of how many."""
    for drain in reader.list_by(STAGED_DRAINS, "status", StagedDrainStatus.RUNNING.value):
        if node_id in drain.node_ids:
            place = drain.node_ids.index(node_id) + 1
            return {"id": drain.id, "turn": place, "count": len(drain.node_ids)}
    return None


def staged_page(reader: RecordReader, viewer: Viewer, *, drain_id: str) -> dict[str, Any]:
    """The context of one. Raises Absent."""
    parts = staged_parts(reader, drain_id)
    if parts is None:
        raise Absent
    return {
        **parts,
        "crumbs": crumbs(("Drains", "/drains/"), (gettext("In stages"), "")),
        "live_topics": f"staged:{drain_id}",
        "may": viewer.may_with_nodes,
    }


def staged_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """The page's parts, rendered again when one of its nodes changes."""
    parts = staged_parts(reader, subscription.key) or {"is_gone": True}
    return {"page_index": reader.index, "now": now, "may": subscription.may, **parts}


def staged_parts(reader: RecordReader, drain_id: str) -> dict[str, Any] | None:
    """Everything the page says; None when it is not, or no longer, kept."""
    drain = reader.get(STAGED_DRAINS, drain_id)
    if drain is None:
        return None
    reader.preload(nodes=drain.node_ids)
    counts = _counts(reader, drain)
    shown = drain.node_ids[:MAX_NODES]
    nodes = [_node(reader, drain, place) for place in range(len(shown))]
    story = reader.story(story_of_action(drain.id))
    strong, rest = _sentence(reader, drain, counts)
    return {
        "drain": drain,
        "counts": counts,
        "nodes": nodes,
        "more": len(drain.node_ids) - len(nodes),
        "strong": strong,
        "rest": rest,
        "deadline": _deadline(drain),
        "story_id": story.id if story is not None else "",
        **_said(drain),
    }


def _node(reader: RecordReader, drain: StagedDrain, place: int) -> StagedNode:
    node_id = drain.node_ids[place]
    node = reader.node(node_id)
    use = reader.node_use(node_id) if node is not None else None
    return StagedNode(
        place=place + 1,
        node_id=node_id,
        node=node,
        state=_state(drain, place, node),
        allocations=use.held.alloc_count if use is not None else 0,
    )


def _state(drain: StagedDrain, place: int, node: Node | None) -> str:
    if node is None:
        return "gone"
    if node.drain_strategy is not None:
        return "draining"
    if place < drain.begun:
        last = node.last_drain
        return "left" if last is not None and last.status == "canceled" else "done"
    return "waiting" if drain.status is StagedDrainStatus.RUNNING else "left"


def _counts(reader: RecordReader, drain: StagedDrain) -> Counter[str]:
    nodes = [reader.node(node_id) for node_id in drain.node_ids]
    return Counter(_state(drain, place, node) for place, node in enumerate(nodes))


def _said(drain: StagedDrain) -> dict[str, str]:
    return {
        "reason": drain.meta.get("message") or drain.meta.get("reason", ""),
        "by": drain.meta.get("by") or drain.by_name,
    }


def _sentence(reader: RecordReader, drain: StagedDrain, counts: Counter[str]) -> tuple[str, str]:
    of = gettext("{done} of {node}").format(
        done=number(counts["done"]),
        node=count_of(len(drain.node_ids), "{count} node", "{count} nodes"),
    )
    strong = ngettext("{of} is done.", "{of} are done.", counts["done"]).format(of=of)
    if drain.status is not StagedDrainStatus.RUNNING:
        left = counts["left"]
        words = count_of(left, "{count} was left as it is.", "{count} were left as they are.")
        words = words if left else ""
        return strong, gettext("It is {status}. {words}").format(
            status=drain.status.value, words=words
        ).strip()
    parts = [count_of(counts["draining"], "{count} drains now", "{count} drain now")]
    if drain.waiting:
        upcoming = reader.node(drain.waiting[0])
        name = upcoming.name if upcoming is not None else ""
        parts.append(
            count_of(counts["waiting"], "{count} waits for a turn", "{count} wait for a turn")
        )
        parts += [gettext("next is {name}").format(name=name)] if name else []
    return strong, f"{', '.join(parts)}."


def _deadline(drain: StagedDrain) -> str:
    if drain.deadline < 0:
        return gettext("at once, by force")
    return (
        gettext("{deadline} for each node").format(deadline=span(drain.deadline))
        if drain.deadline
        else "none"
    )
