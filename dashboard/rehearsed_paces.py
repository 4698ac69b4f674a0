"""The table of a drain's paces: the same drain with so many nodes at a time, side by side.

In: a result as its reader may know it. Out: lines for a template; every number is the result's.
"""

from typing import NamedTuple

from django.utils.translation import gettext

from cluster.rehearsal.result import RehearsalEnd, Rehearsed, RehearsedGroup, RehearsedPace
from cluster.rehearsal.wire import HIDDEN
from dashboard.wording import count_of, number, one_of, span

_CUT = frozenset({RehearsalEnd.TIME, RehearsalEnd.EVALUATIONS})
#: Of `n` nodes: all together, a third at a time, one after another.
_THIRD = 3
#: Drains of more nodes are rehearsed at their own pace alone: it would take too long.
MOST_COMPARED = 200


class PaceLine(NamedTuple):
    """One pace, for the table."""

    at_once: int
    word: str
    note: str
    #: It ended before it was known what becomes of it.
    is_cut: bool
    placed: str
    waits: str
    moved_again: str
    lowest: str
    below: str
    takes: str


def paces_for(count: int, at_once: int) -> list[int]:
    """What a drain of so many nodes is rehearsed at; empty where there is nothing to compare."""
    if not 1 < count <= MOST_COMPARED:
        return []
    own = at_once if 0 < at_once < count else 0
    third = -(-count // _THIRD)
    return [pace for pace in dict.fromkeys([own, 0, third, 1]) if pace < count]


def pace_lines(result: Rehearsed) -> list[PaceLine]:
    """All together first."""
    known = [pace for pace in result.paces if pace.ending not in _CUT]
    some_wait = any(map(_without, known))
    spans = [pace.lasts for pace in known]
    lines = []
    for pace in result.paces:
        notes = []
        if pace in known and some_wait and not _without(pace):
            notes.append(gettext("nobody waits"))
        if pace in known and len(known) > 1 and pace.lasts == min(spans) != sorted(spans)[1]:
            notes.append(gettext("quickest"))
        lines.append(_line(pace, ", ".join(notes)))
    return lines


def pace_sentence(result: Rehearsed) -> str:
    """The quickest pace at which nobody waits, where some do at that of the result; else ""."""
    totals = result.totals
    calm = [pace for pace in result.paces if pace.ending not in _CUT and not _without(pace)]
    if not calm or not totals.waits + totals.held:
        return ""
    best = min(calm, key=lambda pace: pace.lasts)
    if not best.at_once:
        return gettext("With all nodes together nobody waits.")
    return gettext("With {count} at a time nobody waits.").format(count=number(best.at_once))


def _without(pace: RehearsedPace) -> int:
    """How many find no place."""
    return pace.waits + pace.held


def _line(pace: RehearsedPace, note: str) -> PaceLine:
    hurt, without = pace.lowest, _without(pace)
    below = [
        told
        for count, told in (
            (
                pace.fall_below,
                count_of(pace.fall_below, "{count} group on the way", "{count} groups on the way"),
            ),
            (
                pace.end_below,
                count_of(pace.end_below, "{count} group in the end", "{count} groups in the end"),
            ),
        )
        if count
    ]
    return PaceLine(
        at_once=pace.at_once,
        word=gettext("{count} at a time").format(count=number(pace.at_once))
        if pace.at_once
        else gettext("all together"),
        note=note,
        is_cut=pace.ending in _CUT,
        placed=gettext("{count} of {wanted}").format(
            count=number(pace.placed), wanted=number(pace.need_place)
        ),
        waits=number(without) if without else "",
        moved_again=number(pace.moved_again) if pace.moved_again else "",
        lowest=_lowest(hurt) if hurt is not None else "",
        below=one_of(below, "and") if below else "",
        takes=span(pace.lasts),
    )


def _lowest(group: RehearsedGroup) -> str:
    is_hidden = group.job_id == HIDDEN
    name = gettext("a job you may not read") if is_hidden else f"{group.job_id}.{group.task_group}"
    return gettext("{name} {count} of {wanted}").format(
        name=name, count=number(group.lowest), wanted=number(group.count)
    )
