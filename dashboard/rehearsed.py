"""What a rehearsal found, as pages say it: the sentence, the sums, lines of tables.

In: a result as its reader may know it, or a scenario. Out: values for templates. Every sentence
and every number is the result's; nothing is guessed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from django.utils.translation import gettext, ngettext

from cluster.rehearsal.result import (
    RehearsalEnd,
    RehearsalTotals,
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedNode,
    RehearsedOutcome,
    WaitReason,
)
from cluster.rehearsal.wire import HIDDEN
from cluster.rehearsal.words import ASSUMED, ENDED
from dashboard.rehearsed_ends import ended_by_drain
from dashboard.wording import MINUS, NONE, count_of, number, obstacle_word, one_of, span

#: Lines that a page shows; the whole is in the API.
MOST_GROUPS = 100
MOST_ALLOCATIONS = 300
MOST_NODES = 60
#: Groups whose names stand in the sentence, nodes whose names stand in a change.
_NAMED = 3
_MOST_BARS = 40
_WAITING = frozenset({RehearsedOutcome.WAITS, RehearsedOutcome.HELD})


class RehearsedSentence(NamedTuple):
    """The sentence: its strong part, the rest, and the tone of both."""

    strong: str
    rest: str
    tone: str


class RehearsedSum(NamedTuple):
    """A number with its word and what stands below it."""

    word: str
    figure: str
    note: str = ""
    tone: str = ""


class TimeBar(NamedTuple):
    """A stretch of a time line, in percent of it."""

    left: str
    width: str
    waits: bool = False


class RehearsedGroupLine(NamedTuple):
    """One group of a job, for the table of groups."""

    value: RehearsedGroup
    is_hidden: bool
    is_hurt: bool
    lowest: str
    end: str
    why: str
    why_node: WaitReason | None
    done: str
    at_once: str
    bars: tuple[TimeBar, ...]


class RehearsedAllocationLine(NamedTuple):
    """One allocation, for the table of allocations."""

    value: RehearsedAllocation
    is_hidden: bool
    score: str
    next_best: str
    why: str
    why_node: WaitReason | None
    moved: str
    #: Of its new node; "" of one that only the rehearsal adds.
    to_url: str = ""


def sentence(result: Rehearsed) -> RehearsedSentence:
    """How it ends, in words."""
    totals = result.totals
    without = totals.need_place - totals.placed
    hurt = [group for group in result.groups if group.after < group.count]
    is_cut = result.ending in (RehearsalEnd.TIME, RehearsalEnd.EVALUATIONS)
    tone = "blocked" if without or totals.end_below or is_cut else "complete"
    strong = " ".join(_strong(totals))
    return RehearsedSentence(strong, _ends_below(totals.end_below, hurt), tone)


def _strong(totals: RehearsalTotals) -> Iterator[str]:
    """Who finds a place, and who does not: a sentence each."""
    wanted, placed = totals.need_place, totals.placed
    if not wanted:
        yield gettext("Nothing needs a new place.")
        if totals.stopped:
            yield count_of(
                totals.stopped, "{count} allocation stops.", "{count} allocations stop."
            )
    elif wanted == placed:
        yield ngettext(
            "The one that needs a place finds one.",
            "All {count} that need a place find one.",
            wanted,
        ).format(count=number(wanted))
    else:
        yield ngettext(
            "{placed} of {wanted} that need a place finds one.",
            "{placed} of {wanted} that need a place find one.",
            placed,
        ).format(placed=number(placed), wanted=number(wanted))
        waits = [
            told.format(count=number(count))
            for count, told in (
                (totals.waits, gettext("{count} would wait")),
                (totals.held, gettext("{count} would be held up")),
            )
            if count
        ]
        if waits:
            yield gettext("{who}.").format(who=one_of(waits, "and"))


def _ends_below(count: int, hurt: Sequence[RehearsedGroup]) -> str:
    if not count:
        return gettext("No group of a job ends below its count.")
    named = [
        gettext("{group_name} with {after} of {count}").format(
            group_name=_group_name(group), after=number(group.after), count=number(group.count)
        )
        for group in hurt[:_NAMED]
    ]
    more = count - len(named)
    if more and named:
        named.append(count_of(more, "{count} more", "{count} more"))
    verb = "ends" if count == 1 else "end"
    told = ngettext(
        "{group} {verb} below its count", "{group} {verb} below their count", count
    ).format(group=count_of(count, "{count} group", "{count} groups"), verb=verb)
    return f"{told}: {one_of(named, 'and')}." if named else f"{told}."


def _group_name(group: RehearsedGroup) -> str:
    return HIDDEN if group.job_id == HIDDEN else f"{group.job_id}.{group.task_group}"


def sums(result: Rehearsed) -> list[RehearsedSum]:
    """The rehearsal in numbers."""
    totals = result.totals
    others = [
        f"{number(count)} {word}"
        for count, word in (
            (totals.finishes, gettext("left to finish")),
            (totals.stopped, "stop"),
            (totals.updated, gettext("stay, changed")),
        )
        if count
    ]
    kept = number(totals.end_below) if totals.end_below else "none"
    below = gettext("{kept} of them in the end").format(kept=kept) if totals.fall_below else ""
    return [
        RehearsedSum(gettext("Need a place"), number(totals.need_place), ", ".join(others)),
        RehearsedSum(
            gettext("Find a place"),
            number(totals.placed),
            gettext("on {node}").format(
                node=count_of(totals.destinations, "{count} node", "{count} nodes")
            )
            if totals.placed
            else "",
        ),
        RehearsedSum(
            "Wait",
            number(totals.waits + totals.held),
            gettext("{held} of them held up").format(held=number(totals.held))
            if totals.held
            else "",
            "blocked" if totals.waits + totals.held else "",
        ),
        RehearsedSum(
            gettext("Groups below their count"),
            number(totals.fall_below),
            below,
            "blocked" if totals.fall_below else "",
        ),
        RehearsedSum(
            gettext("Until all is calm"),
            span(result.lasts),
            gettext("{evaluation} of {job}").format(
                evaluation=count_of(
                    totals.evaluations, "{count} evaluation", "{count} evaluations"
                ),
                job=count_of(totals.jobs, "{count} job", "{count} jobs"),
            ),
        ),
    ]


def notes(result: Rehearsed) -> list[str]:
    """Why it ended early, where it did, and what it takes for granted."""
    ending = [ENDED[result.ending]] if ENDED[result.ending] else []
    return [*ending, *(_sentence(ASSUMED[each]) for each in result.assumptions)]


def group_lines(result: Rehearsed) -> list[RehearsedGroupLine]:
    """Groups, worst first."""
    shown = result.groups[:MOST_GROUPS]
    moves: dict[tuple[str, str, str], list[RehearsedAllocation]] = {}
    for each in result.allocations:
        moves.setdefault((each.namespace, each.job_id, each.task_group), []).append(each)
    return [
        _group_line(
            group, moves.get((group.namespace, group.job_id, group.task_group), ()), result
        )
        for group in shown
    ]


def _group_line(
    group: RehearsedGroup, moves: Sequence[RehearsedAllocation], result: Rehearsed
) -> RehearsedGroupLine:
    is_hidden = group.job_id == HIDDEN
    waits = group.waits + group.held
    is_drain = any(node.fate == "drained" for node in result.nodes)
    at_once = (
        gettext("drained {max_parallel} at once").format(max_parallel=number(group.max_parallel))
        if is_drain and group.max_parallel and moves
        else ""
    )
    why, why_node = _why(group.waiting, _added(result)) if waits else ("", None)
    return RehearsedGroupLine(
        value=group,
        is_hidden=is_hidden,
        is_hurt=group.lowest < min(group.before, group.count) or group.after < group.count,
        lowest=_of(group.lowest, group.count),
        end=_of(group.after, group.count),
        why=why,
        why_node=why_node,
        done=gettext("{waits} wait").format(waits=number(waits)) if waits else span(group.done_at),
        at_once=at_once,
        # Of groups that are not told apart no one has moves of its own.
        bars=() if is_hidden else _bars(moves, result.lasts, has_waits=bool(waits)),
    )


def _bars(
    moves: Sequence[RehearsedAllocation], lasts: int, *, has_waits: bool
) -> tuple[TimeBar, ...]:
    """When something of the group moves, stretches that touch as one; then how long others wait.

    What ends because the deadline has come does not move: it waited until then.
    """
    if lasts <= 0:
        return ()
    joined: list[list[int]] = []
    moving = (each for each in moves if each.outcome not in _WAITING)
    for begin, end in sorted(_stretches(moving)):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    bars = [_bar(begin, end, lasts) for begin, end in joined[:_MOST_BARS]]
    if has_waits:
        bars.append(_bar(joined[-1][1] if joined else 0, lasts, lasts, waits=True))
    return tuple(bars)


def _stretches(moves: Iterable[RehearsedAllocation]) -> Iterator[tuple[int, int]]:
    for each in moves:
        known = [
            moment
            for moment in (each.asked_at, each.started_at, each.healthy_at, each.stopped_at)
            if moment >= 0
        ]
        if known:
            yield min(known), max(known)


def _bar(begin: int, end: int, lasts: int, *, waits: bool = False) -> TimeBar:
    left = min(100 * begin / lasts, 99.0)
    width = min(max(100 * (end - begin) / lasts, 1.0), 100 - left)
    return TimeBar(f"{left:.1f}%", f"{width:.1f}%", waits)


def allocation_lines(result: Rehearsed) -> list[RehearsedAllocationLine]:
    """Allocations, those that wait first."""
    added, ended = _added(result), ended_by_drain(result)
    lines = [_allocation_line(each, added) for each in result.allocations[:MOST_ALLOCATIONS]]
    why = gettext("the drain ends it; batch work is not begun anew elsewhere")
    return [line._replace(why=why) if line.value.id in ended else line for line in lines]


def _allocation_line(each: RehearsedAllocation, added: frozenset[str]) -> RehearsedAllocationLine:
    why, why_node = _why(each.waiting, added) if each.waiting else ("", None)
    next_best = ""
    if each.next_node_name and each.next_score is not None:
        next_best = f"{each.next_node_name} {_score(each.next_score)}"
    if each.preempted_by:
        why = gettext("pushed out by work of a higher priority")
    return RehearsedAllocationLine(
        value=each,
        is_hidden=each.job_id == HIDDEN,
        score=NONE if each.score is None else _score(each.score),
        next_best=next_best,
        why=why,
        why_node=why_node,
        moved=_moved(each),
        to_url=f"/nodes/{quote(each.to_node_id)}/"
        if each.to_node_id and each.to_node_id not in added
        else "",
    )


def _score(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)


def _moved(each: RehearsedAllocation) -> str:
    """When: asked to go, its successor runs."""
    if each.outcome is RehearsedOutcome.PLACED and each.started_at >= 0:
        return span(each.started_at)
    if each.outcome is RehearsedOutcome.STOPPED and each.stopped_at >= 0:
        return span(each.stopped_at)
    return NONE


def _added(result: Rehearsed) -> frozenset[str]:
    """Nodes that only the rehearsal has: they have no page."""
    return frozenset(node.id for node in result.nodes if node.fate == "added")


def _why(waiting: WaitReason | None, added: frozenset[str]) -> tuple[str, WaitReason | None]:
    """Why it waits, and the node that the page links at the end of that."""
    told = _reason(waiting)
    if waiting is None or not waiting.node_id:
        return told, None
    if waiting.node_id in added:
        return f"{told} {waiting.node_name}", None
    return told, waiting


def _reason(waiting: WaitReason | None) -> str:
    """What lacks, and by how much on the node that lacks least (which the page links)."""
    if waiting is None:
        return gettext("its turn did not come")
    word = obstacle_word(waiting.reason) if waiting.reason else waiting.text
    if waiting.missing and waiting.node_name:
        unit = {"cpu": "MHz", "memory": "MiB"}.get(waiting.reason, "")
        return gettext("{word}: short by {missing}{part} on").format(
            word=word, missing=number(waiting.missing), part=" " + unit if unit else ""
        )
    return (
        gettext("{word}: nearest is").format(word=word)
        if waiting.node_name
        else word or gettext("no node takes it")
    )


def node_lines(result: Rehearsed) -> list[RehearsedNode]:
    """Nodes that something was done to, and those whose use changed."""
    return list(result.nodes[:MOST_NODES])


def _of(some: int, count: int) -> str:
    """Of how many are wanted; groups of system jobs want no number."""
    if not count:
        return number(some)
    return gettext("{some} of {count}").format(some=number(some), count=number(count))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def below_half(result: Rehearsed) -> int:
    """Groups of which at some time fewer than half of those wanted ran, where more did before."""
    return sum(
        group.lowest * 2 < group.count and group.lowest < group.before for group in result.groups
    )
