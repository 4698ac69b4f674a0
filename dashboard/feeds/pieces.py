"""What a feed tells of a change, piece by piece, as the browser understands it."""

from typing import Literal

import msgspec

from dashboard.graphs.drawing import GraphChanges, GraphMarkup


class Html(
    msgspec.Struct, frozen=True, kw_only=True, tag="html", tag_field="kind", omit_defaults=True
):
    """Put rendered markup where `target` (an element id) says.

    `replace` exchanges the element itself; `upsert` does so too, and puts it first into
    `container` when it is not there yet; `remove` takes it away; `append` adds to the end of
    `target`.
    """

    target: str
    mode: Literal["replace", "upsert", "remove", "append"] = "replace"
    html: str = ""
    container: str = ""


class RowOrder(
    msgspec.Struct, frozen=True, kw_only=True, tag="rows", tag_field="kind", omit_defaults=True
):
    """The rows of a list: `target` holds these, in this order, and no others.

    A row that is not in `html` is as it was. A page that does not have it reads the list again.
    """

    target: str
    #: Ids of the rows' elements.
    order: tuple[str, ...]
    #: By id, the rows that are new or changed.
    html: dict[str, str] = {}
    #: What stands there instead of rows.
    empty: str = ""


class Drawing(msgspec.Struct, frozen=True, kw_only=True, tag="graph", tag_field="kind"):
    """All of a graph; the browser merges it by layer and key into `[data-graph=<key>]`."""

    graph: GraphMarkup


class Redrawing(msgspec.Struct, frozen=True, kw_only=True, tag="patch", tag_field="kind"):
    """What changed in a graph since the last drawing or redrawing of this topic."""

    patch: GraphChanges


class Facts(
    msgspec.Struct, frozen=True, kw_only=True, tag="facts", tag_field="kind", omit_defaults=True
):
    """Plain texts for the elements `[data-fact=<name>]`."""

    values: dict[str, str]
    #: One sentence for the status line, at most once a second.
    say: str = ""


class Moved(msgspec.Struct, frozen=True, kw_only=True, tag="moved", tag_field="kind"):
    """Arrows of a graph along which something moved: they thicken for one beat."""

    key: str
    edges: dict[str, int]


Piece = Html | RowOrder | Drawing | Redrawing | Facts | Moved
