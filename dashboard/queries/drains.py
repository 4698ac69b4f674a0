"""Drains: which are under way, and one drain's board, allocation by allocation.

In: a reader and a node's id. Out: the contexts of `drains.html` and `drain.html`. An allocation
counts as drained only when its node has stopped it; replaced only when its successor runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.store.ports import RecordReader, StoryFilter
from dashboard.queries.allocations import state_of
from dashboard.queries.drain_beside import (
    MOST_LINES,
    beside_rehearsal,
    finish_lines,
    held_lines,
    rehearsed_told,
    with_verdicts,
)
from dashboard.queries.drain_events import MAX_LINES, drain_lines
from dashboard.queries.drain_words import Card, deadline_words, milestones, sentence
from dashboard.queries.staged_drains import staged_lines, turn_of
from dashboard.queries.stories import StripLine, seen_stories, strip_of
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.why_waiting import why_it_waits
from dashboard.wording import count_of, natural, span
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.node import LastDrain, Node
from scheduler.structs.story import Story, StoryKind

SECOND = 1_000_000_000
_DRAINS = frozenset({StoryKind.DRAIN})
#: Newest stories of drains, read to say who began those in the list.
STORIES_READ = 200
#: Drains that are over, in the list.
MAX_ENDED = 20
#: Cards a column shows; the rest is counted.
MAX_CARDS = 40

COLUMNS = (
    ("waiting", gettext_noop("Not marked yet")),
    ("marked", "Marked"),
    ("stopping", "Stopping"),
    ("stopped", "Stopped"),
    ("placed", gettext_noop("Replacement placed")),
    ("running", gettext_noop("Replacement running")),
)
_ICONS = {
    "waiting": "pending", "marked": "pending", "stopping": "stop", "stopped": "stop",
    "placed": "applying", "running": "running",
}  # fmt: skip


def drains_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list."""
    may = viewer.may_with_nodes
    return {**drains_parts(reader, viewer.now), "live_topics": "drains", "may": may}


def drains_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """The list, rendered again when a node changes."""
    return {**drains_parts(reader, now), "may": subscription.may}


def drains_parts(reader: RecordReader, now: int) -> dict[str, Any]:
    """Drains under way and those that ended, newest first; two reads whatever their number.

    Of the ended ones those whose node is still closed: the others are history of their node.
    """
    nodes = [
        node
        for node in reader.closed_nodes()
        if node.last_drain is not None or node.drain_strategy
    ]
    running = [node for node in nodes if node.drain_strategy is not None]
    ended = sorted(
        (node for node in nodes if node.drain_strategy is None),
        key=lambda node: node.last_drain.updated_at if node.last_drain else 0,
        reverse=True,
    )
    reader.preload(nodes=[node.id for node in running])
    shown = [*running, *ended[:MAX_ENDED]]
    names = reader.token_names(_accessors(shown))
    stories = _stories_by_node(reader, shown)
    draining = gettext("{nodes} now.").format(
        nodes=count_of(len(running), "{count} node drains", "{count} nodes drain")
    )
    return {
        "running": [_line(reader, node, names, stories, now) for node in running],
        "ended": [_line(reader, node, names, stories, now) for node in ended[:MAX_ENDED]],
        "strong": draining if running else gettext("No node drains now."),
        "staged": staged_lines(reader),
    }


def _accessors(nodes: Iterable[Node]) -> frozenset[str]:
    """The tokens that asked for their drains, where nobody is named."""
    drains = (node.last_drain for node in nodes if node.last_drain is not None)
    return frozenset(last.accessor_id for last in drains if not last.meta.get("by")) - {""}


def _stories_by_node(reader: RecordReader, nodes: Sequence[Node]) -> dict[str, Story]:
    """The newest drain's story of each, among the newest that are kept; in one read."""
    if not nodes:
        return {}
    found = reader.stories(StoryFilter(kinds=_DRAINS), STORIES_READ)
    wanted = {node.id for node in nodes}
    stories = sorted((row.story for row in found), key=lambda story: story.create_index)
    return {key: story for story in stories for key in story.node_ids if key in wanted}


def _line(
    reader: RecordReader,
    node: Node,
    names: Mapping[str, str],
    stories: Mapping[str, Story],
    now: int,
) -> dict[str, Any]:
    last = node.last_drain or LastDrain()
    story = stories.get(node.id)
    left = reader.node_use(node.id).held.alloc_count if node.drain_strategy else 0
    return {
        "node": node,
        "status": "draining" if node.drain_strategy else last.status or "complete",
        "last": last,
        "left": left,
        "deadline": deadline_words(node, now),
        "reason": last.meta.get("message") or last.meta.get("reason", ""),
        "by": drained_by(last, names) or (story.actor if story is not None else ""),
        "story": story,
    }


def drained_by(last: LastDrain, names: Mapping[str, str]) -> str:
    """Who asked for it, as far as it was told; `names`: of tokens, by their accessor ids."""
    if told := last.meta.get("by"):
        return told
    if not last.accessor_id:
        return ""
    name = names.get(last.accessor_id)
    if name is None:
        return gettext("a token that is gone")
    return (
        gettext("token “{name}”").format(name=name) if name else gettext("a token without a name")
    )


def drain_page(reader: RecordReader, viewer: Viewer, *, node_id: str) -> dict[str, Any]:
    """The context of one drain's board; a node that never drained has none."""
    parts = drain_parts(reader, node_id, viewer.namespaces, viewer.now)
    if parts is None:
        raise Absent
    node = parts["node"]
    return {
        **parts,
        "crumbs": crumbs(("Drains", "/drains/"), (node.name or node.id[:8], "")),
        "live_topics": f"drains:{node_id}",
        "may": viewer.may_with_nodes,
    }


def drain_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """The board, rendered again when an allocation of it changes."""
    parts = drain_parts(reader, subscription.key, subscription.namespaces, now)
    return {"page_index": reader.index, "may": subscription.may, **(parts or {"is_gone": True})}


def drain_parts(
    reader: RecordReader, node_id: str, namespaces: frozenset[str] | None, now: int
) -> dict[str, Any] | None:
    """Everything the board says, in a fixed number of reads whatever moves."""
    node = reader.node(node_id)
    if node is None:
        return None
    last = node.last_drain or LastDrain()
    moving = on_board(reader.allocations_by_node(node_id), last)
    reader.preload(allocs=[item.next_allocation for item in moving if item.next_allocation])
    blocked = _blocked(reader, moving)
    cards = [_card(reader, node, item, blocked.get(item.job_key)) for item in moving]
    seen = [card for card in cards if namespaces is None or card.alloc.namespace in namespaces]
    strip = strip_of(reader, seen_stories(namespaces, {NODE_READ}), node_id=node_id, kinds=_DRAINS)
    newest: Sequence[StripLine] = strip["stories"]
    is_over = node.drain_strategy is None
    stories = [line.story for line in newest]
    beside = beside_rehearsal(reader, stories, last, namespaces, is_over=is_over)
    shown = with_verdicts(seen, beside)
    held = held_lines(shown)
    left = sum(not card.alloc.is_client_terminal for card in cards)
    own = (
        event
        for event in node.events
        if event.subsystem == "Drain" and event.timestamp >= last.started_at
    )
    lines = drain_lines(own, shown)
    return {
        "node": node,
        **strip,
        "beside": beside,
        "rehearsed": rehearsed_told(shown),
        "held": held[:MOST_LINES],
        "more_held": len(held[MOST_LINES:]),
        "finish": finish_lines(node, held, left),
        "staged": turn_of(reader, node_id),
        "last": last,
        "never": node.last_drain is None and node.drain_strategy is None,
        "status": "draining" if node.drain_strategy else last.status or "complete",
        "columns": _columns(shown),
        "total": len(cards),
        "redacted": len(cards) - len(shown),
        **milestones(cards),
        **sentence(node, last, cards, shown),
        "deadline": deadline_words(node, now),
        "deadline_at": node.drain_strategy.force_deadline if node.drain_strategy else 0,
        "is_forced": bool(node.drain_strategy and node.drain_strategy.deadline < 0),
        "ignores_system": bool(node.drain_strategy and node.drain_strategy.ignore_system_jobs),
        "reason": last.meta.get("message") or last.meta.get("reason", ""),
        "by": drained_by(last, reader.token_names(_accessors([node])))
        or (newest[0].story.actor if newest else ""),
        "ticket": last.meta.get("ticket", ""),
        "lines": lines[:MAX_LINES],
        "more_lines": max(len(lines) - MAX_LINES, 0),
    }


def on_board(allocs: Iterable[Allocation], last: LastDrain) -> list[Allocation]:
    """Those that were alive when the drain began."""
    began = last.started_at
    if not began:
        return []
    return [
        item
        for item in allocs
        if item.create_time < began + SECOND
        and not (item.is_client_terminal and item.modify_time < began)
    ]


def may_be_held_up(alloc: Allocation) -> bool:
    """Whether it waits for a replacement, which an evaluation of its job may find no room for."""
    return alloc.job_type == JobType.SERVICE


def _blocked(reader: RecordReader, moving: Iterable[Allocation]) -> dict[JobKey, Evaluation]:
    """By job, the evaluation that waits for room."""
    return reader.blocked_among({item.job_key for item in moving if may_be_held_up(item)})


def _card(reader: RecordReader, node: Node, alloc: Allocation, blocker: Evaluation | None) -> Card:
    after = reader.allocation(alloc.next_allocation) if alloc.next_allocation else None
    column, tone, strong, text = _place(node, alloc, after)
    if blocker is None or not may_be_held_up(alloc):
        blocker = None
    elif column == "stopped":
        text = gettext("its replacement waits for room:")
    elif column == "waiting" and node.drain_strategy is not None:
        # Whoever only waits for a turn is held up by nothing.
        why = why_it_waits(blocker)
        tone, strong = "blocked", gettext("held up")
        text = gettext("its job waits for room{part}").format(part=": " + why if why else "")
    else:
        blocker = None
    return Card(
        alloc=alloc, column=column, icon=_ICONS[column], tone=tone, strong=strong, text=text,
        replacement=after, blocker=blocker,
    )  # fmt: skip


def _place(node: Node, alloc: Allocation, after: Allocation | None) -> tuple[str, str, str, str]:
    """Column, tone, what is said, and why."""
    if after is not None and alloc.is_client_terminal:
        where = gettext("on {node_name}").format(node_name=after.node_name or after.node_id[:8])
        if after.client_status is ClientStatus.PENDING:
            return "placed", "placed", where, gettext("not running yet")
        if after.client_status is ClientStatus.RUNNING:
            return (
                "running",
                "running",
                where,
                gettext("after {until_running}").format(until_running=span(_until_running(after))),
            )
        return (
            "running",
            "finished",
            where,
            gettext("has ended since: {client_status}").format(
                client_status=after.client_status.value
            ),
        )
    if alloc.is_client_terminal:
        return "stopped", "stopped", state_of(alloc), _why_no_replacement(alloc)
    if alloc.is_server_terminal:
        text = (
            gettext("its replacement is placed on {node_name}").format(node_name=after.node_name)
            if after
            else gettext("told to stop")
        )
        return "stopping", "stopping", "stopping", text
    if alloc.desired_transition.migrate:
        return "marked", "marked", "marked", gettext("an evaluation of its job moves it next")
    if node.drain_strategy is None:
        return "waiting", "canceled", "stays", gettext("the drain ended before it was moved")
    return ("waiting", *_why_here(node, alloc))


def _why_no_replacement(alloc: Allocation) -> str:
    return {
        JobType.SERVICE: gettext("no replacement placed yet"),
        JobType.SYSTEM: gettext("system: runs once on each node, so not elsewhere"),
    }.get(JobType(alloc.job_type), gettext("batch: not begun anew elsewhere"))


def _why_here(node: Node, alloc: Allocation) -> tuple[str, str, str]:
    strategy = node.drain_strategy
    if alloc.job_type == JobType.SYSTEM:
        ignored = strategy is not None and strategy.ignore_system_jobs
        text = (
            gettext("system jobs are left running")
            if ignored
            else gettext("system: stays until others left")
        )
        return "canceled" if ignored else "marked", "last", text
    if alloc.job_type in (JobType.BATCH, JobType.SYSBATCH):
        return "delayed", gettext("left to finish"), gettext("batch: stopped only at the deadline")
    return (
        "marked",
        gettext("waits for its turn"),
        gettext("so many of its group move at a time: max_parallel"),
    )


def _until_running(after: Allocation) -> int:
    """From the replacement's making to its start, ns."""
    started = [state.started_at for state in after.task_states.values() if state.started_at]
    return max(min(started, default=after.modify_time) - after.create_time, 0)


def _columns(cards: Sequence[Card]) -> list[dict[str, Any]]:
    columns = []
    for key, title in COLUMNS:
        own = sorted(
            (card for card in cards if card.column == key),
            key=lambda card: (card.tone != "blocked", natural(card.alloc.name)),
        )
        columns.append(
            {
                "key": key, "title": title, "count": len(own), "cards": own[:MAX_CARDS],
                "hidden": max(len(own) - MAX_CARDS, 0),
            }
        )  # fmt: skip
    return columns
