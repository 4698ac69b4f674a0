"""How the drain of a node stands, in words.

In: the cards of its board. Out: a strong clause and the counts.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext, ngettext

from dashboard.wording import clock_time, number, span
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import JobType
from scheduler.structs.node import LastDrain, Node


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation on the board."""

    alloc: Allocation
    column: str
    icon: str
    tone: str
    strong: str
    text: str = ""
    replacement: Allocation | None = None
    #: What keeps its job from going on, and with it this allocation.
    blocker: Evaluation | None = None
    #: Where it was rehearsed: a key of the labels, and words.
    verdict: str = ""
    rehearsed: str = ""

    @property
    def verdict_icon(self) -> str:
        """Of whether it goes as rehearsed."""
        return {"differs": "warning", "to-come": "pending"}.get(self.verdict, "check")


def milestones(cards: Sequence[Card]) -> dict[str, Any]:
    """How many of how many had each milestone."""
    moves = [card for card in cards if card.alloc.job_type == JobType.SERVICE]
    return {
        "replaced": sum(card.column == "running" for card in moves),
        "replaced_soon": sum(card.column == "placed" for card in moves),
        "to_replace": len(moves),
        "drained": sum(card.alloc.is_client_terminal for card in cards),
        "to_drain": len(cards),
    }


def sentence(
    node: Node, last: LastDrain, cards: Sequence[Card], shown: Sequence[Card]
) -> dict[str, str]:
    """Counts are of all; only what the viewer may see is named."""
    counts = _counts(cards)
    if node.drain_strategy is None:
        if node.last_drain is None:
            return {"strong": gettext("This node has never been drained."), "rest": ""}
        if last.status == "canceled":
            return {
                "strong": gettext("Canceled at {updated_at}.").format(
                    updated_at=clock_time(last.updated_at)
                ),
                "rest": counts,
            }
        return {
            "strong": gettext("Complete since {updated_at}.").format(
                updated_at=clock_time(last.updated_at)
            ),
            "rest": counts,
        }
    if not cards:
        return {"strong": gettext("Nothing to move:"), "rest": gettext("the node is empty.")}
    return {"strong": _held_up(shown) or "Moving.", "rest": counts}


def _counts(cards: Sequence[Card]) -> str:
    done = milestones(cards)
    moving = done["to_replace"]
    parts = [
        told.format(there=number(there), count=number(wanted))
        for there, wanted, told in (
            (
                done["replaced"],
                moving,
                ngettext(
                    "{there} of {count} replacement runs",
                    "{there} of {count} replacements run",
                    moving,
                ),
            ),
            (
                done["drained"],
                done["to_drain"],
                ngettext(
                    "{there} of {count} allocation stopped",
                    "{there} of {count} allocations stopped",
                    done["to_drain"],
                ),
            ),
        )
        if wanted
    ]
    return f"{', '.join(parts)}." if parts else gettext("Nothing had to move.")


def _held_up(cards: Iterable[Card]) -> str:
    """The first of those that cannot go on, and how many wait for the same; "" without any."""
    held = [card for card in cards if card.tone == "blocked"]
    if not held:
        return ""
    first = held[0]
    more = sum(card.blocker == first.blocker for card in held) - 1
    who = (
        gettext("{alloc} and {more} more wait").format(alloc=first.alloc.name, more=number(more))
        if more
        else gettext("{alloc} waits").format(alloc=first.alloc.name)
    )
    return (
        gettext("{who}: their job waits for room.")
        if more
        else gettext("{who}: its job waits for room.")
    ).format(who=who)


def deadline_words(node: Node, now: int) -> str:
    """How long it may still take."""
    strategy = node.drain_strategy
    if strategy is None:
        return ""
    if strategy.deadline < 0:
        return gettext("at once, by force")
    if not strategy.force_deadline:
        return gettext("none: it waits without limit")
    if strategy.force_deadline <= now:
        return gettext("passed at {force_deadline}: what is left is stopped").format(
            force_deadline=clock_time(strategy.force_deadline)
        )
    return gettext("{time} left").format(time=span(strategy.force_deadline - now))
