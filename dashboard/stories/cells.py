"""The allocations of a rollout as squares: what runs the version, what waits, what is to come.

In: a Whole. Out: one path for each class, so that hundreds are three elements.
"""

import msgspec
from django.utils.translation import gettext

from dashboard.stories.whole import Whole
from dashboard.wording import number

_STEP = 10
_IN_A_ROW = 50
#: More are not drawn each for itself.
MOST = 1000


class CellClass(msgspec.Struct, frozen=True, kw_only=True):
    """Squares that look alike."""

    css: str
    state: str
    count: int
    words: str
    path: str


class Cells(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, in reading order."""

    width: int
    height: int
    total: int
    told: str
    classes: tuple[CellClass, ...]


def cells_of(whole: Whole) -> Cells | None:
    """The squares of a rollout's allocations; None of other stories."""
    rollout = whole.facts.rollout
    if rollout is None or not 0 < rollout.wanted <= MOST:
        return None
    healthy = min(rollout.healthy, rollout.wanted)
    waiting = min(whole.facts.waiting, rollout.wanted - healthy)
    left = rollout.wanted - healthy - waiting
    is_over = not whole.facts.is_open
    rest = gettext("never ran it") if is_over else gettext("to come")
    kinds = (
        ("full", "running", healthy, gettext("run v{version}").format(version=rollout.version)),
        ("set", "blocked", waiting, gettext("wait")),
        ("hole", "", left, rest),
    )
    classes, start = [], 0
    for css, state, count, words in kinds:
        if count:
            path = "".join(_square(place, css) for place in range(start, start + count))
            classes.append(CellClass(css=css, state=state, count=count, words=words, path=path))
        start += count
    columns = min(rollout.wanted, _IN_A_ROW)
    rows = -(-rollout.wanted // _IN_A_ROW)
    return Cells(
        width=columns * _STEP - 2,
        height=rows * _STEP - 2,
        total=rollout.wanted,
        told=", ".join(f"{number(each.count)} {each.words}" for each in classes),
        classes=tuple(classes),
    )


def _square(place: int, css: str) -> str:
    row, column = divmod(place, _IN_A_ROW)
    inset = 0 if css == "full" else 0.75
    x, y, size = column * _STEP + inset, row * _STEP + inset, 8 - 2 * inset
    return f"M{x:g} {y:g}h{size:g}v{size:g}h{-size:g}z"
