"""Who moves and who waits after a rehearsal: groups of jobs under what became of them.

In: lines of groups, the totals. Out: sections of a table whose numbers add up.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.utils.translation import gettext

from cluster.rehearsal.result import RehearsalTotals, Rehearsed, WaitReason
from dashboard.queries.what_if_helps import GroupName, best_of_groups, help_told
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
    #: What would help it most; "" where nothing that was rehearsed does.
    help: str = ""


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
    lines: Sequence[RehearsedGroupLine], result: Rehearsed, *, opened: bool = False
) -> tuple[MovedSection, ...]:
    """Waiting, refused, moving; each worst first."""
    waits = [each for each in lines if each.value.waits + each.value.held]
    refused = [each for each in waits if _is_refused(each)]
    moving = sorted(
        (each for each in lines if each.value.placed),
        key=lambda each: (_share(each), -each.value.priority),
    )
    waiting = [each for each in waits if not _is_refused(each)]
    helps = {name: help_told(each) for name, each in best_of_groups(result).items()}
    most = len(lines) if opened else _SHOWN
    sections = (
        _section("wait", gettext("wait"), "blocked", waiting, most, helps),
        _section("refused", gettext("refused"), "failed", refused, most, helps),
        _section("move", gettext("find a place"), "complete", moving, most, {}),
    )
    return tuple(section for section in sections if section.lines)


def _section(
    key: str,
    word: str,
    state: str,
    lines: Sequence[RehearsedGroupLine],
    shown: int,
    helps: Mapping[GroupName, str],
) -> MovedSection:
    is_move = key == "move"
    made = [_line(each, helps, is_move=is_move) for each in lines]
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


def _line(
    each: RehearsedGroupLine, helps: Mapping[GroupName, str], *, is_move: bool
) -> MovedGroup:
    value = each.value
    name = value.namespace, value.job_id, value.task_group
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
        help=helps.get(name, ""),
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
