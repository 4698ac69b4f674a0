"""Rows of usage as figures: charts with their words, and the same as a table.

In: sums of rows, what was set aside for them. Out: a part of the context of the panel of usage.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.operations.usage_rows import ROWS, STEP_S, Sums
from dashboard.graphs.usage_chart import Measure, UsageChart, usage_chart
from dashboard.wording import amount, data_size

SECOND = 1_000_000_000
#: What can be looked at: word of the address, word of the page, seconds.
SPANS = (("10m", gettext_noop("10 min"), 600), ("1h", "1 h", ROWS * STEP_S))
#: Rows of the table; each is the mean of those that it stands for.
_TABLE_ROWS = 20


class UsageFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One chart with its words."""

    name: str
    now: str
    told: str
    top: str
    half: str
    chart: UsageChart
    label: str


class UsageLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    at: int
    cpu: str
    memory: str


class UsageWish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to see: how long, and of one task alone or of all."""

    span: str = SPANS[0][0]
    task: str = ""

    @property
    def seconds(self) -> int:
        return {word: seconds for word, _, seconds in SPANS}[self.span]


class Reserved(msgspec.Struct, frozen=True, kw_only=True):
    """What was set aside, in megahertz and bytes; 0: nothing, or not known."""

    #: Completes "of 500 MHz".
    word: str = "reserved"

    cpu: float = 0.0
    memory: float = 0.0
    memory_max: float = 0.0


def drawn_usage(
    sums: Sums, reserved: Reserved, asked: UsageWish, *, now: int, since: int
) -> dict[str, Any]:
    """Figures and table up to `now`; `since`: nothing was measured before. Both in ns."""
    end = now // SECOND
    start = end - asked.seconds
    rows = [place for place, at in enumerate(sums.at) if start <= at <= end]
    if not rows:
        return {
            "problem": "none",
            "strong": gettext("Nothing was measured in this time."),
            "text": gettext(
                "A row is noted each ten seconds for a task that runs and can be measured."
            ),
        }
    cpu = [(sums.at[place], sums.cpu_ticks[place]) for place in rows]
    memory = [(sums.at[place], float(sums.memory_bytes[place])) for place in rows]
    return {
        "figures": (
            _figure("CPU", cpu, mhz_told, (start, end), (reserved.word, reserved.cpu)),
            _figure(
                "Memory",
                memory,
                bytes_told,
                (start, end),
                (reserved.word, reserved.memory),
                reserved.memory_max,
            ),
        ),
        "lines": _table(cpu, memory),
        "remembered_since": since if since // SECOND > start else 0,
    }


def _figure(
    name: str,
    rows: Sequence[Measure],
    told: Callable[[float], str],
    window: tuple[int, int],
    reserved: tuple[str, float],
    limit: float = 0,
) -> UsageFigure:
    (start, end), (word, most) = window, reserved
    # Round numbers are those of the unit that is written.
    unit = 1.0 if told is mhz_told else _unit_of(max([most, *(value or 0.0 for _, value in rows)]))
    chart = usage_chart(
        [(at, None if value is None else value / unit) for at, value in rows],
        start=start,
        end=end,
        step=STEP_S,
        reserved=most / unit,
        limit=limit / unit,
    )
    now = told(chart.newest * unit) if chart.newest is not None else gettext("not known yet")
    of = [gettext("of {told} {word}").format(told=told(most), word=word)] if most else []
    if most and chart.reserved is None:
        of.append(gettext("far above what is drawn"))
    if limit:
        of.append(gettext("may take up to {told}").format(told=told(limit)))
    return UsageFigure(
        name=name,
        now=now,
        told=", ".join(of),
        top=told(chart.top * unit),
        half=told(chart.top * unit / 2),
        chart=chart,
        label=gettext("{name}: {part}; at most {told} here").format(
            name=name, part=", ".join([now, *of]), told=told(chart.largest * unit)
        ),
    )


def _table(cpu: Sequence[Measure], memory: Sequence[Measure]) -> list[UsageLine]:
    """The newest first, few enough to be read."""
    every = -(-len(cpu) // _TABLE_ROWS)
    lines = []
    for end in range(len(cpu), 0, -every):
        some = slice(max(0, end - every), end)
        shares = [value for _, value in cpu[some] if value is not None]
        sizes = [value for _, value in memory[some] if value is not None]
        lines.append(
            UsageLine(
                at=cpu[end - 1][0] * SECOND,
                cpu=mhz_told(sum(shares) / len(shares)) if shares else gettext("not known"),
                memory=bytes_told(sum(sizes) / len(sizes)) if sizes else gettext("not known"),
            )
        )
    return lines


def mhz_told(value: float) -> str:
    """Megahertz with their unit, small ones to a tenth."""
    return (
        amount(round(value), "MHz")
        if value >= 10 or not value
        else f"{value:.1f}\N{NO-BREAK SPACE}MHz"
    )


def _unit_of(size: float) -> float:
    """Bytes of the largest unit of which there is one."""
    unit = 1.0
    while size >= unit * 1024:
        unit *= 1024
    return unit


def bytes_told(value: float) -> str:
    """Bytes in the unit that suits them."""
    return data_size(round(value))
