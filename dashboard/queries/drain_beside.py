"""Beside the board of a drain: what holds it up, what would let it finish, how it was rehearsed.

In: the board's cards, the node, the drain's story. Out: lines of two panels, and cards that say
whether they went as rehearsed. What would help is only asked of the scheduler where somebody
follows a line.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import Namespaces, RecordReader
from dashboard.queries.composed import AskedChange, fields_of_rows
from dashboard.queries.drain_words import Card
from dashboard.stories.rehearsed import Compared, ComparedLine, compared
from dashboard.wording import count_of, number
from scheduler.structs.node import LastDrain, Node
from scheduler.structs.story import Story

#: Lines of each panel.
MOST_LINES = 5
_SECOND = 1_000_000_000


class DrainHoldUp(msgspec.Struct, frozen=True, kw_only=True):
    """One or several allocations that wait for the same."""

    card: Card
    more: int
    #: Since when their job waits.
    since: int


class FinishLine(msgspec.Struct, frozen=True, kw_only=True):
    """What would let the drain go on, and where it is done."""

    icon: str
    told: str
    about: str
    url: str = ""
    verb: str = ""
    #: When it comes by itself; 0: it does not.
    at: int = 0


def held_lines(cards: Iterable[Card]) -> list[DrainHoldUp]:
    """What holds it up, the longest first."""
    found: dict[str, list[Card]] = {}
    for card in cards:
        if card.blocker is not None:
            found.setdefault(f"{card.blocker.id} {card.column} {card.text}", []).append(card)
    lines = [
        DrainHoldUp(card=first, more=len(others), since=first.blocker.create_time)
        for first, *others in found.values()
        if first.blocker is not None
    ]
    return sorted(lines, key=lambda line: (line.since, line.card.alloc.name))


def finish_lines(node: Node, held: Sequence[DrainHoldUp], left: int) -> list[FinishLine]:
    """What would let it finish, where something holds it up; `left`: allocations still here."""
    if node.drain_strategy is None or not held:
        return []
    groups = dict.fromkeys(
        (line.card.blocker.id, line.card.alloc.job_id, line.card.alloc.task_group)
        for line in held
        if line.card.blocker is not None
    )
    lines = [
        FinishLine(
            icon="scheduler",
            told=gettext("Let {group} of {job} find room").format(group=group, job=job_id),
            about=gettext("The real scheduler says which single changes would."),
            url=f"/explain/{eval_id}/?{urlencode({'group': group, 'unblock': '1'})}#unblock",
            verb=gettext("Ask"),
        )
        for eval_id, job_id, group in list(groups)[:MOST_LINES]
    ]
    rows = [AskedChange("drain", {"where": "name", "is": node.name})]
    lines.append(
        FinishLine(
            icon="rehearsal",
            told=gettext("Rehearse what is left of it"),
            about=gettext(
                "More changes can be made at once: nodes opened or added, a quota raised."
            ),
            url=f"/what-if/?{urlencode(fields_of_rows(rows))}",
            verb=gettext("Open What if"),
        )
    )
    if node.drain_strategy.force_deadline:
        stopped = count_of(left, "{count} allocation is", "{count} allocations are")
        lines.append(
            FinishLine(
                icon="clock",
                told=gettext("Wait for the deadline"),
                about=gettext(
                    "{stopped} here still; what is then left is stopped by force."
                ).format(stopped=stopped),
                at=node.drain_strategy.force_deadline,
            )
        )
    return lines


def beside_rehearsal(
    reader: RecordReader,
    stories: Iterable[Story],
    last: LastDrain,
    namespaces: Namespaces,
    *,
    is_over: bool,
) -> Compared | None:
    """The drain beside the newest rehearsal of it; None where there is none.

    Of a drain of several nodes the rehearsal is of all of them.
    """
    story = next(iter(stories), None)
    if story is None or story.create_time < last.started_at - _SECOND:
        return None
    return compared(reader, story, namespaces, is_over=is_over)


def with_verdicts(cards: Sequence[Card], found: Compared | None) -> list[Card]:
    """The cards with what was rehearsed of each."""
    if found is None:
        return list(cards)
    by_alloc = {line.alloc_id: line for line in found.lines}
    told = []
    for card in cards:
        after = card.replacement.id if card.replacement is not None else ""
        line = by_alloc.get(after) or by_alloc.get(card.alloc.id)
        if line is None:
            told.append(card)
            continue
        how = {"verdict": line.verdict, "rehearsed": _told(line)}
        told.append(msgspec.structs.replace(card, **how))
    return told


def rehearsed_told(cards: Iterable[Card]) -> str:
    """Such as `3 of 4 as rehearsed`; "" where nothing was."""
    verdicts = [card.verdict for card in cards if card.verdict]
    if not verdicts:
        return ""
    return gettext("{same} of {count} as rehearsed").format(
        same=number(verdicts.count("as-rehearsed")), count=number(len(verdicts))
    )


def _told(line: ComparedLine) -> str:
    if line.verdict == "as-rehearsed":
        return gettext("as rehearsed")
    where: dict[str, Any] = {"node": line.rehearsed_on}
    if line.verdict == "to-come":
        return gettext("rehearsed to go to {node}").format(**where)
    if line.was_to_wait:
        return gettext("differs here: it was rehearsed to wait")
    return gettext("differs here: rehearsed on {node}").format(**where)
