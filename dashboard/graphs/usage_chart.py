"""A measurement over time: a line on an area, what is reserved, gaps where nothing is known.

In: rows with their times in seconds. Out: paths in user units, what stands at the axes. The plot
is stretched to its place: words are no part of it.
"""

from collections.abc import Sequence

import msgspec

WIDTH, HEIGHT = 600.0, 120.0
#: What is reserved is no part of the scale when it is so many times what was used at most.
FAR = 5.0
_TIMES = 5

#: Seconds since 1970, and the value; None: not known.
Measure = tuple[int, float | None]


class UsageChart(msgspec.Struct, frozen=True, kw_only=True):
    """The drawing. `top` is the value at its upper edge, in the unit of the rows."""

    line: str
    area: str
    #: Heights of what is reserved and of the limit; None without one, or far above.
    reserved: float | None
    limit: float | None
    top: float
    #: Seconds since 1970, from the left edge to the right.
    times: tuple[int, ...]
    newest: float | None
    largest: float


def usage_chart(
    rows: Sequence[Measure],
    *,
    start: int,
    end: int,
    step: int,
    reserved: float = 0,
    limit: float = 0,
) -> UsageChart:
    """Rows from `start` to `end`, oldest first, `step` seconds apart; others are not drawn."""
    shown = [(at, value) for at, value in rows if start <= at <= end]
    known = [value for _, value in shown if value is not None]
    largest = max(known, default=0.0)
    drawn = [each for each in (reserved, limit) if 0 < each <= FAR * max(largest, 1e-9)]
    top = nice_top(max([largest, *drawn]))

    def down(value: float) -> float:
        return round(HEIGHT - value * HEIGHT / top, 1)

    def across(at: int) -> float:
        return round((at - start) * WIDTH / max(1, end - start), 1)

    lines, areas = [], []
    for run in _runs(shown, step):
        points = [f"{across(at):g} {down(value):g}" for at, value in run]
        path = "M" + "L".join(points)
        # A point alone is drawn as a short stroke.
        lines.append(path if len(run) > 1 else f"{path}h2")
        areas.append(f"{path}L{across(run[-1][0]):g} {HEIGHT:g}H{across(run[0][0]):g}Z")
    return UsageChart(
        line="".join(lines),
        area="".join(areas),
        reserved=down(reserved) if reserved in drawn else None,
        limit=down(limit) if limit in drawn else None,
        top=top,
        times=tuple(start + (end - start) * number // (_TIMES - 1) for number in range(_TIMES)),
        newest=known[-1] if known else None,
        largest=largest,
    )


def nice_top(value: float) -> float:
    """The next round number, as people count; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    return next(power * each for each in steps if power * each >= value * 0.999999)


def _runs(rows: Sequence[Measure], step: int) -> list[list[tuple[int, float]]]:
    """Rows without a gap between them; a row that is missing or unknown makes one."""
    runs: list[list[tuple[int, float]]] = []
    before = None
    for at, value in rows:
        if value is None:
            before = None
            continue
        if before is None or at - before > step * 3 // 2:
            runs.append([])
        runs[-1].append((at, value))
        before = at
    return runs
