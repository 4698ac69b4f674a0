"""A rack as SVG: a square of 8 px for each node, all squares of one look in one path.

In: the looks of nodes in their order. Out: markup, a few hundred characters a rack; names come
from people and are escaped here. Nothing carries meaning by its colour alone: the rack's number
stands beside it in words.
"""

from collections.abc import Iterable, Sequence
from html import escape

import msgspec

#: Squares in a row, and the side of one with its gap.
COLUMNS, SIDE = 8, 8
LOST, LIT = "gone", "lit"
#: Drawn over the square of a node that is also full to some degree.
RING, HOLE, SILENT = "ring", "hole", "silent"
#: A node that does not say what darkness would mean.
UNTOLD = "untold"
#: One that a rehearsal adds: a ring of another tone.
ADDED = "added"
_ORDER = ("h1", "h2", "h3", "h4", "h5", UNTOLD, LIT, HOLE, SILENT, LOST, RING, ADDED)
#: Of looks that are drawn as a ring, the tone.
_RINGS = {RING: "draining", ADDED: "complete"}


class RackDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """One rack: what is drawn, and what is said."""

    key: str
    name: str
    #: Beside the name: a share, how many of a job run there, or `lost`.
    mark: str
    #: Of the mark, where it needs somebody.
    state: str = ""
    #: For who does not see it.
    label: str
    url: str
    is_selected: bool = False
    #: Of each node in order, its looks: one of `h1` to `h5`, `gone`, `lit`, and what lies over it.
    looks: tuple[tuple[str, ...], ...] = ()
    #: The place of the node that is selected.
    selected: int = -1


def rack_html(rack: RackDrawing) -> str:
    """The list item of a rack."""
    rows = max(-(-len(rack.looks) // COLUMNS), 1)
    state = f' data-state="{escape(rack.state)}"' if rack.state else ""
    current = ' aria-current="true"' if rack.is_selected else ""
    chosen = ""
    if rack.selected >= 0:
        x, y = _corner(rack.selected)
        chosen = f'<rect class="selected-node" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}"/>'
    return (
        f'<li id="rack-{escape(rack.key)}"{state}><a href="{escape(rack.url)}"{current}'
        f' aria-label="{escape(rack.label)}"><span><em>{escape(rack.name)}</em>'
        f" <b>{escape(rack.mark)}</b></span>"
        f'<svg class="cells" viewBox="0 0 {COLUMNS * SIDE} {rows * SIDE}"'
        f' aria-hidden="true">{_paths(rack.looks)}{chosen}</svg></a></li>'
    )


def racks_html(racks: Iterable[RackDrawing]) -> str:
    """The items of a list of racks."""
    return "".join(map(rack_html, racks))


def _paths(looks: Sequence[tuple[str, ...]]) -> str:
    by_look: dict[str, list[int]] = {}
    for place, each in enumerate(looks):
        for look in each:
            by_look.setdefault(look, []).append(place)
    return "".join(_path(look, by_look[look]) for look in _ORDER if look in by_look)


def _path(look: str, places: Iterable[int]) -> str:
    tone = _RINGS.get(look)
    state = f' data-state="{tone}"' if tone else ""
    look = RING if tone else look
    drawn = "".join(_SHAPES.get(look, _square)(*_corner(place)) for place in places)
    return f'<path class="{look}"{state} d="{drawn}"/>'


def _corner(place: int) -> tuple[int, int]:
    row, column = divmod(place, COLUMNS)
    return column * SIDE, row * SIDE


def _square(x: int, y: int) -> str:
    return f"M{x + 1} {y + 1}h6v6h-6z"


def _edge(x: int, y: int) -> str:
    return f"M{x + 1.75} {y + 1.75}h4.5v4.5h-4.5z"


def _barred(x: int, y: int) -> str:
    return f"{_edge(x, y)}M{x + 2.5} {y + 4}h3"


def _cross(x: int, y: int) -> str:
    return f"M{x + 2} {y + 2}l4 4m0-4l-4 4"


def _dot(x: int, y: int) -> str:
    return f"M{x + 3} {y + 3}h2v2h-2z"


_SHAPES = {UNTOLD: _dot, LOST: _cross, RING: _edge, HOLE: _edge, SILENT: _barred}
