"""The messages a browser understands, each with the index it brings the page to.

In: what changed. Out: JSON text, made once for everybody who follows the same thing. A `frame`
says from which index (`since`) to which (`index`) its topic is now complete; a page that is at
another one resyncs.
"""

from typing import Literal

import msgspec

from dashboard.graphs.geometry import Graph, GraphPatch


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


class Drawing(msgspec.Struct, frozen=True, kw_only=True, tag="graph", tag_field="kind"):
    """The newest geometry of a graph; the browser merges it by keys into `[data-graph=<key>]`."""

    graph: Graph


class Redrawing(msgspec.Struct, frozen=True, kw_only=True, tag="patch", tag_field="kind"):
    """What changed in a graph since the last drawing or redrawing of this topic."""

    patch: GraphPatch


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


Piece = Html | Drawing | Redrawing | Facts | Moved


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag="frame", tag_field="type"):
    """Everything that changed for one topic in one flush."""

    topic: str
    since: int
    index: int
    #: When the newest change was committed, ms since the epoch: the badge shows the lag.
    at: int
    pieces: tuple[Piece, ...]


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag="beat", tag_field="type"):
    """All topics of this socket are complete up to `index`."""

    index: int
    at: int


class Hint(msgspec.Struct, frozen=True, kw_only=True, tag="hint", tag_field="type"):
    """Pieces ahead of the record (a step not yet committed): no index, may be lost."""

    topic: str
    pieces: tuple[Piece, ...]


class Reload(msgspec.Struct, frozen=True, kw_only=True, tag="reload", tag_field="type"):
    """The page cannot be brought up to date by frames: load it again."""

    reason: str
    index: int


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused", tag_field="type"):
    """A topic that does not exist or that this person may not follow."""

    topic: str
    reason: str


Message = Frame | Beat | Hint | Reload | Refused

_encoder = msgspec.json.Encoder()


def encoded(message: Message) -> str:
    """The text that goes over the socket."""
    return _encoder.encode(message).decode()
