"""Who moves and who waits after a rehearsal: groups of jobs under what became of them.

In: lines of groups, the totals. Out: sections of a table whose numbers add up.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from django.utils.translation import gettext

from cluster.rehearsal.result import RehearsalTotals, WaitReason
from dashboard.rehearsed import RehearsedGroupLine
from dashboard.wording import count_of, number, span

#: Groups of a section that are shown before the rest is folded.
_SHOWN = 5


class MovedGroup(NamedTuple):
    """One group under one outcome."""

    line: RehearsedGroupLine
    allocations: int
    #: How many run at the worst moment, of how many that are wanted.
    lowest: str
    why: str
    why_node: WaitReason | None
    #: Nodes more like the nearest one, as one more change; "" where that says nothing.
    try_told: str = ""
    try_url: str = ""


class MovedSection(NamedTuple):
    """Groups that share an outcome."""

    key: str
    #: What a badge says, and its state.
    word: str
    state: str
    title: str
    lines: tuple[MovedGroup, ...]
    #: Groups that are folded, and how many allocations theirs are.
    folded: int
    folded_allocations: int
    folded_told: str


def job_sections(
    lines: Sequence[RehearsedGroupLine],
    with_nodes_like: Callable[[str], str],
    *,
    opened: bool = False,
) -> tuple[MovedSection, ...]:
    """Waiting, refused, moving; each worst first.

    `with_nodes_like`: the address of the form with nodes more like one of that name.
    """
    waits = [each for each in lines if each.value.waits + each.value.held]
    refused = [each for each in waits if _is_refused(each)]
    moving = sorted(
        (each for each in lines if each.value.placed),
        key=lambda each: (_share(each), -each.value.priority),
    )
    waiting = [each for each in waits if not _is_refused(each)]
    tried = {
        id(each): with_nodes_like(each.why_node.node_name)
        for each in waiting
        if each.why_node is not None and each.value.waiting and each.value.waiting.missing
    }
    most = len(lines) if opened else _SHOWN
    sections = (
        _section("wait", gettext("wait"), "blocked", waiting, most, tried),
        _section("refused", gettext("refused"), "failed", refused, most, {}),
        _section("move", gettext("find a place"), "complete", moving, most, {}),
    )
    return tuple(section for section in sections if section.lines)


def _section(
    key: str,
    word: str,
    state: str,
    lines: Sequence[RehearsedGroupLine],
    shown: int,
    tried: Mapping[int, str],
) -> MovedSection:
    is_move = key == "move"
    made = [_line(each, tried.get(id(each), ""), is_move=is_move) for each in lines]
    shown = shown if len(made) > shown + 1 else len(made)
    rest = made[shown:]
    total = number(sum(each.allocations for each in made))
    titles = {
        "wait": gettext("Wait · {total}"),
        "refused": gettext("Refused by a quota · {total}"),
        "move": gettext("Find a place · {total} of {groups}, lowest first"),
    }
    return MovedSection(
        key=key,
        word=word,
        state=state,
        title=titles[key].format(
            total=total, groups=count_of(len(made), "{count} group", "{count} groups")
        ),
        lines=tuple(made[:shown]),
        folded=len(rest),
        folded_allocations=sum(each.allocations for each in rest),
        folded_told=_folded_told(rest) if is_move else "",
    )


def _line(each: RehearsedGroupLine, try_url: str, *, is_move: bool) -> MovedGroup:
    value = each.value
    if is_move:
        why, why_node = _moved_told(each), None
    else:
        why, why_node = each.why, each.why_node
    return MovedGroup(
        line=each,
        allocations=value.placed if is_move else value.waits + value.held,
        lowest=gettext("{lowest} of {count} run").format(
            lowest=number(value.lowest), count=number(value.count)
        )
        if value.count
        else gettext("{lowest} run").format(lowest=number(value.lowest)),
        why=why,
        why_node=why_node,
        try_told=gettext("nodes more like {name}").format(name=why_node.node_name)
        if try_url and why_node
        else "",
        try_url=try_url,
    )


def _moved_told(each: RehearsedGroupLine) -> str:
    value = each.value
    if value.after >= value.count:
        return gettext("whole after {span}").format(span=span(value.done_at))
    return gettext("ends with {after} of {count}").format(
        after=number(value.after), count=number(value.count)
    )


def _folded_told(rest: Sequence[MovedGroup]) -> str:
    whole = [
        each.line.value.done_at for each in rest if each.line.value.after >= each.line.value.count
    ]
    if len(whole) < len(rest) or not whole:
        return ""
    return gettext("whole after {first} to {last}").format(
        first=span(min(whole)), last=span(max(whole))
    )


def _share(each: RehearsedGroupLine) -> float:
    value = each.value
    return value.lowest / value.count if value.count else 1.0


def _is_refused(each: RehearsedGroupLine) -> bool:
    waiting = each.value.waiting
    return waiting is not None and waiting.is_of_quota


def refused_count(lines: Sequence[RehearsedGroupLine]) -> int:
    """Allocations that a quota refuses."""
    return sum(each.value.waits for each in lines if _is_refused(each))


def sum_told(totals: RehearsalTotals) -> str:
    """`2 801 find a place + 49 wait + 2 are held up = 2 852`."""
    if not totals.need_place:
        return gettext("nothing needs a new place")
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (totals.placed, gettext("find a place")),
            (totals.waits, gettext("wait")),
            (totals.held, gettext("held up")),
        )
        if count
    ]
    return gettext("{parts} = {total}").format(
        parts=" + ".join(parts), total=number(totals.need_place)
    )
