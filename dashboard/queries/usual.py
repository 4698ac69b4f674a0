"""How the last ten minutes went and what is usual: lines and words of the figures of *Now*.

In: a reader, namespaces, `now`. Out: what the figures show beside their values. Told are stored
facts alone: when evaluations ended, how long plans took, when tasks ran, histories of nodes. An
hour that the record knows nothing of is no usual one, and a line begins where all is known.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.utils.translation import gettext

from cluster.store.changed_lately import Ran
from cluster.store.past_nodes import NodeThen
from cluster.store.ports import Listing, Namespaces, NodeFace, RecordReader
from dashboard.faces import is_ready
from dashboard.stories.heat import place_then
from dashboard.wording import NONE, clock_time, count_of, number, span
from scheduler.state import nouns
from scheduler.structs.evaluation import Step

SECOND = 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
#: Points of a line, a minute each; earlier days that are compared with.
MINUTES, DAYS = 10, 7
#: Evaluations and allocations whose times are read; of more, the newest.
MOST_READ, MOST_RUN = 5_000, 2_000
#: Evaluations whose plans are looked at.
PLANNED = 100
_ANSWERED = Step.PLAN_ANSWERED
_WIDTH, _HEIGHT = 80, 24


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside a value: a line in a picture of 80 by 24, and words."""

    line: str = ""
    told: str = ""
    #: The value, where it is read and not counted on.
    value: str = ""


class BesideFigures(NamedTuple):
    """Of each figure that is made from the record."""

    ended: Beside
    made: Beside
    plans: Beside
    running: Beside
    ready: Beside


def usual(
    reader: RecordReader,
    namespaces: Namespaces,
    now: int,
    running: int,
    nodes: Collection[NodeFace],
) -> BesideFigures:
    """All of them, in a fixed number of reads; `running` and `nodes` are those of now."""
    begin = now - HOUR
    taken = reader.ended_pairs((begin, now), namespaces, MOST_READ)
    lately = reader.lately(now - MINUTES * MINUTE, namespaces, MOST_RUN)
    instants = [now - (MINUTES - place) * MINUTE for place in range(MINUTES + 1)]
    instants = [at for at in instants if at >= lately.whole_from]
    return BesideFigures(
        ended=_ended(reader, namespaces, now, taken),
        made=_made(taken, now),
        plans=_plans(reader, namespaces),
        running=Beside(line=swing(ran_at(instants, running, lately.runs))),
        ready=Beside(line=swing(ready_at(instants, nodes, lately.nodes))),
    )


def _ended(
    reader: RecordReader, namespaces: Namespaces, now: int, taken: Sequence[tuple[int, int]]
) -> Beside:
    """By the minute; the most of one in the last hour, and what is usual at this hour."""
    begin = now - HOUR
    days = [(begin - day * DAY, now - day * DAY) for day in range(1, DAYS + 1)]
    parts = [(now - (place + 1) * MINUTE, now - place * MINUTE) for place in range(MINUTES)]
    counts = reader.ended_counts([*days, *parts], namespaces)
    earlier = sorted(count for count in counts[:DAYS] if count)
    told = []
    if earlier:
        told.append(_usual_told(earlier[len(earlier) // 2]))
    by_minute = Counter((now - at) // MINUTE for _, at in taken)
    if by_minute:
        ago, most = max(by_minute.items(), key=lambda pair: (pair[1], -pair[0]))
        told.append(
            gettext("most {most} at {time}").format(
                most=number(most), time=clock_time(now - (ago + 1) * MINUTE)[:5]
            )
        )
    return Beside(
        line=points(counts[DAYS:][::-1]),
        told=", ".join(told) or gettext("none in the last hour"),
    )


def _usual_told(in_an_hour: int) -> str:
    a_minute = round(in_an_hour / 60)
    if not a_minute:
        return gettext("usual less than 1")
    return gettext("usual {count}").format(count=number(a_minute))


def _made(taken: Sequence[tuple[int, int]], now: int) -> Beside:
    """From being made to having ended: of the last ten minutes, beside the last hour."""
    if not taken:
        return Beside(value=NONE, told=gettext("none ended in the last hour"))
    minutes: list[list[int]] = [[] for _ in range(MINUTES)]
    for made, at in taken:
        place = MINUTES - 1 - (now - at) // MINUTE
        if 0 <= place < MINUTES:
            minutes[place].append(at - made)
    lately = [each for minute in minutes for each in minute]
    hour = [at - made for made, at in taken]
    return Beside(
        value=span(_p95(lately)) if lately else NONE,
        line=points([_p95(minute) for minute in minutes]),
        told=gettext("last hour {hour}, worst {worst}").format(
            hour=span(_p95(hour)), worst=span(max(hour))
        ),
    )


def _plans(reader: RecordReader, namespaces: Namespaces) -> Beside:
    """How long the applier took for plans of the newest evaluations, oldest first in its line."""
    newest = Listing(namespaces=namespaces, limit=PLANNED, reverse=True)
    ids = [item.id for item in reader.page(nouns.EVALUATIONS, newest)[:PLANNED]]
    lives = reader.lives_of(ids)
    answers = [
        step for each in reversed(ids) for step in lives.get(each, ()) if step.step is _ANSWERED
    ]
    if not answers:
        none = gettext("no plan of the newest {evaluation}").format(
            evaluation=count_of(PLANNED, "{count} evaluation", "{count} evaluations")
        )
        return Beside(value=NONE, told=none)
    taken = [step.duration_ns for step in answers]
    refused = sum(bool(step.nodes) for step in answers)
    size = max(-(-len(taken) // MINUTES), 1)
    return Beside(
        value=span(_p95(taken)),
        line=points([_p95(taken[at : at + size]) for at in range(0, len(taken), size)]),
        told=gettext("{refused} of {plan} refused in part").format(
            plan=count_of(len(taken), "{count} plan", "{count} plans"), refused=number(refused)
        ),
    )


def ran_at(instants: Iterable[int], running: int, runs: Iterable[Ran]) -> list[int]:
    """How many ran at each instant, from how many do and when those that changed did."""
    changed = list(runs)
    same = running - sum(not run.ended for run in changed)
    return [
        max(same, 0)
        + sum(run.started <= at and (not run.ended or at < run.ended) for run in changed)
        for at in instants
    ]


def ready_at(
    instants: Iterable[int], nodes: Collection[NodeFace], changed: Mapping[str, NodeThen]
) -> list[int]:
    """How many nodes took work at each instant, by the lines of the histories of those changed."""
    told = list(instants)
    ready = [sum(is_ready(node) for node in nodes if node.id not in changed)] * len(told)
    for node in nodes:
        if node.id in changed:
            for place, took in enumerate(_took_work(node, changed[node.id], told)):
                ready[place] += took
    return ready


def _took_work(node: NodeFace, then: NodeThen, instants: Iterable[int]) -> Iterator[bool]:
    """At each instant; how it stood is told anew only where a line or its status lies between."""
    lines = then.events
    times = [line.timestamp for line in lines]
    before: tuple[int, bool] | None = None
    took = False
    for at in instants:
        passed = bisect_right(times, at)
        stood = passed, then.status_since + SECOND <= at
        if stood != before:
            before = stood
            index = lines[passed - 1].create_index if passed else 0
            if not passed and lines:
                index = lines[0].create_index - 1
            took = then.create_index <= index and is_ready(place_then(node, then, index, at))
        yield took


def _p95(values: Sequence[int]) -> int:
    """The value that 95 of 100 do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)] if ordered else 0


def points(values: Sequence[int], low: int = 0) -> str:
    """A line as an SVG has its points: the largest value at the top, `low` at the foot."""
    room = max(values, default=0) - low
    step = _WIDTH / max(len(values) - 1, 1)
    return " ".join(
        f"{place * step:.0f},"
        f"{_HEIGHT - 2 - ((_HEIGHT - 4) * (value - low) / room if room else 0):.0f}"
        for place, value in enumerate(values)
    )


def swing(values: Sequence[int]) -> str:
    """A line of what hardly changes: the least below, and level in the middle without a change."""
    if len(set(values)) == 1:
        return " ".join(
            f"{at * _WIDTH // (len(values) - 1 or 1)},{_HEIGHT // 2}" for at in range(len(values))
        )
    return points(values, min(values, default=0))
