"""The messages a browser understands, each with the index it brings the page to.

In: what changed. Out: JSON text, made once for everybody who follows the same thing. A `frame`
says from which index (`since`) to which (`index`) its topic is now complete; a page that is at
another one resyncs.
"""

import msgspec

from dashboard.feeds.pieces import Piece


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag="frame", tag_field="type"):
    """Everything that changed for one topic in one flush."""

    topic: str
    since: int
    index: int
    #: When the newest change was committed, ms since the epoch: the badge shows the lag.
    at: int
    pieces: tuple[Piece, ...]


class UpToDate(msgspec.Struct, frozen=True, kw_only=True, tag="beat", tag_field="type"):
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


class TopicRefused(msgspec.Struct, frozen=True, kw_only=True, tag="refused", tag_field="type"):
    """A topic that does not exist or that this person may not follow."""

    topic: str
    reason: str


class TroubleTold(msgspec.Struct, frozen=True, kw_only=True, tag="trouble", tag_field="type"):
    """What does not work now, in the words of the banner; both empty once it is over."""

    strong: str = ""
    text: str = ""
    #: Whether nothing can be changed meanwhile.
    stops: bool = False


Message = Frame | UpToDate | Hint | Reload | TopicRefused | TroubleTold

_encoder = msgspec.json.Encoder()


def encoded(message: Message) -> str:
    """The text that goes over the socket."""
    return _encoder.encode(message).decode()
