"""A number that changes in steps, over time: a line, its limit, its marks.

In: changes with their instants. Out: paths in user units, and the words beside them.
"""

from collections.abc import Sequence

import msgspec

WIDTH, HEIGHT = 600.0, 120.0

#: Instant, number before, number after; None for a note that changed nothing.
Step = tuple[int, int, int | None]


class StepChart(msgspec.Struct, frozen=True, kw_only=True):
    """The drawing. `top` is the number at its upper edge."""

    line: str
    #: Where something was noted that changed nothing.
    marks: tuple[float, ...]
    #: The height of the limit; None without one, or where it lies far above.
    limit: float | None
    top: int
    half: int
    numbers: tuple[int, ...]
    first: int
    last: int


def step_chart(steps: Sequence[Step], *, now_count: int, limit: int = 0) -> StepChart:
    """Oldest first, at least one that changed the number; ends at `now_count`."""
    changed = [(at, before, after) for at, before, after in steps if after is not None]
    numbers = [changed[0][1], *(after for _, _, after in changed), now_count]
    top = _round_up(max(*numbers, 1))
    if 0 < limit <= 2 * top:
        top = max(top, limit)
    start, end = steps[0][0], steps[-1][0]
    # The first step has space before it, the last one after it.
    scale = (WIDTH - 100) / (end - start) if end > start else 0.0

    def across(at: int) -> float:
        return round(50 + (at - start) * scale, 1)

    def down(count: int) -> float:
        return round(HEIGHT - count * HEIGHT / top, 1)

    path = [f"M0 {down(numbers[0]):g}"]
    for at, before, after in changed:
        path.append(f"H{across(at):g}V{down(before):g}V{down(after):g}")
    path.append(f"H{WIDTH - 25:g}V{down(now_count):g}H{WIDTH:g}")
    return StepChart(
        line="".join(path),
        marks=tuple(across(at) for at, _, after in steps if after is None),
        limit=down(limit) if 0 < limit <= top else None,
        top=top,
        half=top // 2,
        numbers=tuple(numbers),
        first=start,
        last=end,
    )


def _round_up(count: int) -> int:
    """The next number of one or two digits and zeros: 960 gives 960, 961 gives 970."""
    unit: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit
