"""What a graph is made of when all is placed: nodes, edges, labels, in user units (1 unit = 1 px).

`svg` writes them as markup and `mermaid` as text; both decide nothing. Every item has a key, by
which `drawing` finds what changed in a later version of the same graph.
"""

import msgspec

STADIUM = "stadium"
CIRCLE = "circle"
#: Letters of a title that fit in full size: with an id beside it (both counted), in a circle.
BESIDE_ID = 18
IN_CIRCLE = 8


class Graph(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A drawn graph. Text in it is plain text; whoever draws it escapes."""

    key: str
    title: str
    description: str = ""
    view: tuple[float, float, float, float]
    nodes: tuple["GraphNode", ...] = ()
    edges: tuple["GraphEdge", ...] = ()
    labels: tuple["ArrowLabel", ...] = ()
    discs: tuple["Disc", ...] = ()
    #: Behind all else, from top to bottom; None for a drawing that never has any.
    lanes: tuple["GraphLane", ...] | None = None


class GraphLane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A band across the drawing: a phase of a story, with its name in the gutter at its left."""

    key: str
    title: str
    subs: tuple[str, ...] = ()
    #: The name screen readers say.
    name: str
    #: A tone of labels.py where it needs somebody.
    state: str = ""
    y: float
    width: float
    height: float
    gutter: float
    href: str = ""


class GraphNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One state, evaluation or event."""

    key: str
    #: A tone of labels.py; "possible" when not reached.
    state: str
    #: The name screen readers say.
    name: str
    shape: str = STADIUM
    #: Left top corner of a stadium, centre of a circle.
    x: float
    y: float
    width: float
    height: float
    icon: str = ""
    lines: tuple["Line", ...] = ()
    href: str = ""
    is_quasi: bool = False
    is_tombstone: bool = False
    is_folded: bool = False
    #: Where the subject stands now: pulses.
    is_current: bool = False
    is_selected: bool = False

    @property
    def focus(self) -> tuple[float, float, float, float, float]:
        """The focus stadium, 5 outside: x, y, width, height, corner radius."""
        height = self.height + 10
        return self.x - 5, self.y - 5, self.width + 10, height, height / 2

    @property
    def radius(self) -> float:
        """Corner radius of a stadium, radius of a circle."""
        return self.height / 2

    @property
    def focus_radius(self) -> float:
        """Radius of the focus circle."""
        return self.radius + 5

    @property
    def icon_place(self) -> tuple[float, float]:
        """Left top corner of the icon."""
        return self.x + 12, self.y + self.height / 2 - 8

    @property
    def behind(self) -> tuple[tuple[float, float], ...]:
        """The outlines behind a folded node, the farther one first."""
        return ((self.x + 6, self.y - 6), (self.x + 3, self.y - 3)) if self.is_folded else ()


class Line(msgspec.Struct, frozen=True, array_like=True):
    """One text in a node; role is title, title-long, sub, id, count or count-long."""

    role: str
    x: float
    y: float
    text: str


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An arrow. `kind`: step, link, cause, new, next; `path`: "", taken, other, possible, hot."""

    key: str
    source: str
    target: str
    kind: str = "step"
    path: str = ""
    #: SVG path data.
    line: str
    labels: tuple["ArrowLabel", ...] = ()
    #: An arrowhead at the beginning as well.
    is_double: bool = False
    #: What Mermaid writes on the arrow when the drawing has no label there.
    text: str = ""

    @property
    def marker(self) -> str:
        """The id of its arrowhead."""
        return f"arrow-{self.path}" if self.path in ("taken", "other", "hot") else "arrow"


class ArrowLabel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Text beside an arrow; `flow` is a number set in strong type after it."""

    x: float
    y: float
    text: str = ""
    flow: str = ""
    #: middle, start or end
    anchor: str = "middle"


class Disc(msgspec.Struct, frozen=True):
    """The number of a step, on its arrow."""

    key: str
    x: float
    y: float
    text: str

    @property
    def baseline(self) -> float:
        """Where its text stands."""
        return self.y + 3.5


def stadium_lines(
    corner: tuple[float, float],
    size: tuple[float, float],
    title: str,
    *,
    sub: str = "",
    right: tuple[str, str] = ("id", ""),
) -> tuple[Line, ...]:
    """The texts of a stadium: title, a line below it, and `right` = (role, text) at its end."""
    (x, y), (width, height) = corner, size
    middle = y + height / 2
    role, text = right
    is_tight = role == "id" and bool(text) and len(title + text) > BESIDE_ID
    title_role = "title-long" if is_tight else "title"
    lines = [Line(title_role, x + 35, middle - 3 if sub else middle + 4.5, title)]
    if sub:
        lines.append(Line("sub", x + 35, middle + 13, sub))
    if role == "id" and text:
        lines.append(Line(role, x + width - 16, middle - 3, text))
    elif text:
        role = "count-long" if len(text) > 5 or len(title + text) > 12 else role
        lines.append(Line(role, x + width - 13, middle + 5, text))
    return tuple(lines)


def circle_lines(
    x: float, y: float, titles: tuple[str, ...], subs: tuple[str, ...] = ()
) -> tuple[Line, ...]:
    """Centred texts of a circle, 15 apart; `subs` below the titles."""
    named = ("title-long" if len(title) > IN_CIRCLE else "title" for title in titles)
    roles = (*named, *("sub" for _ in subs))
    first = y + 4 - 15 * (len(roles) - 1) / 2
    return tuple(
        Line(role, x, first + 15 * row, text)
        for row, (role, text) in enumerate(zip(roles, (*titles, *subs), strict=True))
    )
