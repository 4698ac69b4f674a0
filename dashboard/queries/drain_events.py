"""What happened in a drain, newest first: on the node, and to each allocation that it moves.

In: the node's events, the cards of its board. Out: lines of a table. Only what the record keeps an
instant of is told: when an allocation was marked is not kept.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from django.utils.translation import gettext

from dashboard.queries.drain_words import Card
from dashboard.queries.node_events import told_event
from dashboard.wording import span
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import NodeEvent

#: Lines that are shown; the rest is counted.
MAX_LINES = 40


class DrainLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    at: int
    #: Of the icon and the word before it.
    tone: str
    icon: str
    word: str
    told: str
    #: The allocation that it happened to, and the evaluation that made it; empty of the node.
    alloc_id: str = ""
    eval_id: str = ""


def drain_lines(events: Iterable[NodeEvent], cards: Sequence[Card]) -> list[DrainLine]:
    """All of them."""
    lines = [_of_node(event) for event in events]
    lines += [line for card in cards for line in _of_card(card)]
    return sorted(lines, key=lambda line: (-line.at, line.told))


def _of_node(event: NodeEvent) -> DrainLine:
    told = told_event(event)
    details = "".join(f" {key} {value}" for key, value in told.details.items())
    return DrainLine(
        at=event.timestamp, tone="draining", icon="draining", word=gettext("node"),
        told=f"{told.message}{details}",
    )  # fmt: skip


def _of_card(card: Card) -> Iterator[DrainLine]:
    alloc, after = card.alloc, card.replacement
    if alloc.is_client_terminal:
        yield DrainLine(
            at=_ended_at(alloc), tone="stopped", icon="stop", word=gettext("stopped"),
            told=gettext("{name} stopped").format(name=alloc.name), alloc_id=alloc.id,
        )  # fmt: skip
    if after is None:
        return
    where = after.node_name or after.node_id[:8]
    yield DrainLine(
        at=after.create_time, tone="placed", icon="applying", word=gettext("placed"),
        told=gettext("{name} placed on {node}").format(name=after.name, node=where),
        alloc_id=after.id, eval_id=after.eval_id,
    )  # fmt: skip
    if started := _started_at(after):
        told = gettext("{name} runs on {node} after {time}")
        yield DrainLine(
            at=started, tone="running", icon="running", word=gettext("running"),
            told=told.format(
                name=after.name, node=where, time=span(max(started - after.create_time, 0))
            ),
            alloc_id=after.id,
        )  # fmt: skip


def _ended_at(alloc: Allocation) -> int:
    """When its last task ended, by its node's clock; else when that was told."""
    ended = [state.finished_at for state in alloc.task_states.values() if state.finished_at]
    return max(ended, default=alloc.modify_time)


def _started_at(alloc: Allocation) -> int:
    """When its first task started; 0 before."""
    started = [state.started_at for state in alloc.task_states.values() if state.started_at]
    return min(started, default=0)
