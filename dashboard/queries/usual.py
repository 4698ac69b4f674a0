"""How the last hour compares with what is usual at this hour: figures of *Now*, with a line each.

In: a reader, namespaces, `now`. Out: figures in words, and lines of twelve stretches of five
minutes; of plans, of as many parts of the newest. An hour that the record knows nothing of is no
usual one.
"""

from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import Listing, Namespaces, RecordReader
from dashboard.wording import count_of, number, span
from scheduler.state import nouns
from scheduler.structs.evaluation import Step

SECOND = 1_000_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
STRETCHES, DAYS = 12, 7
#: Evaluations whose times are read; of more, the newest.
MOST_READ = 5_000
#: Evaluations whose plans are looked at.
PLANNED = 100
_ANSWERED = Step.PLAN_ANSWERED
_WIDTH, _HEIGHT = 80, 24


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure with its line and what it is compared with."""

    label: str
    value: str
    #: The points of a line in a picture of 80 by 24.
    line: str
    usual: str


def usual_figures(reader: RecordReader, namespaces: Namespaces, now: int) -> list[Figure]:
    """Evaluations that ended in the last hour, and how long they took from being made."""
    begin, stretch = now - HOUR, HOUR // STRETCHES
    days = [(begin - day * DAY, now - day * DAY) for day in range(1, DAYS + 1)]
    parts = [(begin + part * stretch, begin + (part + 1) * stretch) for part in range(STRETCHES)]
    counts = reader.ended_counts([*days, *parts], namespaces)
    earlier = [count for count in counts[:DAYS] if count]
    ended = counts[DAYS:]
    taken = reader.ended_pairs((begin, now), namespaces, MOST_READ)
    slow = [
        _p95([at - made for made, at in taken if since <= at < until]) for since, until in parts
    ]
    read = count_of(len(taken), "{count} evaluation", "{count} evaluations")
    newest = (
        gettext("of the newest {read}").format(read=read)
        if len(taken) == MOST_READ
        else gettext("of {read}").format(read=read)
    )
    return [
        Figure(
            label=gettext("Evaluations ended, last hour"),
            value=number(sum(ended)),
            line=points(ended),
            usual=_usual_told(earlier),
        ),
        Figure(
            label=gettext("Made to ended, p95"),
            value=span(_p95([at - made for made, at in taken])) if taken else "none",
            line=points(slow),
            usual=newest if taken else gettext("none ended"),
        ),
        _plans_figure(reader, namespaces),
    ]


def _plans_figure(reader: RecordReader, namespaces: Namespaces) -> Figure:
    """How long the applier took for plans of the newest evaluations, oldest first in its line."""
    newest = Listing(namespaces=namespaces, limit=PLANNED, reverse=True)
    ids = [item.id for item in reader.page(nouns.EVALUATIONS, newest)[:PLANNED]]
    lives = reader.lives_of(ids)
    answers = [
        step for each in reversed(ids) for step in lives.get(each, ()) if step.step is _ANSWERED
    ]
    taken = [step.duration_ns for step in answers]
    refused = sum(bool(step.nodes) for step in answers)
    size = max(-(-len(taken) // STRETCHES), 1)
    return Figure(
        label=gettext("Plan checked and written, p95"),
        value=span(_p95(taken)) if taken else "none",
        line=points([_p95(taken[at : at + size]) for at in range(0, len(taken), size)]),
        usual=gettext("of {plan}, {refused} refused in part").format(
            plan=count_of(len(taken), "{count} plan", "{count} plans"), refused=number(refused)
        )
        if taken
        else gettext("no plan of the newest {evaluation}").format(
            evaluation=count_of(PLANNED, "{count} evaluation", "{count} evaluations")
        ),
    )


def _usual_told(earlier: Sequence[int]) -> str:
    if not earlier:
        return gettext("no earlier day to compare with")
    usual = sorted(earlier)[len(earlier) // 2]
    return gettext("usual {usual} at this hour, {day}").format(
        usual=number(usual), day=count_of(len(earlier), "{count} day", "{count} days")
    )


def _p95(values: Sequence[int]) -> int:
    """The value that 95 of 100 do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)] if ordered else 0


def points(values: Sequence[int]) -> str:
    """A line through these values, the largest at the top, as an SVG has its points."""
    top = max(values, default=0) or 1
    step = _WIDTH / max(len(values) - 1, 1)
    return " ".join(
        f"{place * step:.0f},{_HEIGHT - 2 - (_HEIGHT - 4) * value / top:.0f}"
        for place, value in enumerate(values)
    )
