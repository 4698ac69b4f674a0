"""The list of nodes, live: a row is a node and what is taken of it, which change apart.

In: frames. Out: rows, read together once per flush for all viewers; counts, from memory.
"""

from collections.abc import Mapping, Sequence

from cluster.store.ports import NodeFace, RecordReader
from dashboard.faces import face_of
from dashboard.feeds.feed import NEW_ROWS, NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Facts, Html, Piece
from dashboard.queries.nodes import node_row, node_texts
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic
from scheduler.structs.node import Node

_ROW = "dashboard/partials/_node_row.html"


class NodesFeed(Feed):
    """Nodes that changed since the last flush."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        #: In the order of their changes; whether the node is new.
        self._changed: dict[str, bool] = {}
        self._faces: dict[str, NodeFace] = {}
        self._told: dict[str, str] = {}
        self._is_recounted = False

    def load(self, reader: RecordReader) -> None:
        """Read what is said of all nodes."""
        self._faces = {face.id: face for face in reader.node_faces()}
        self._told = node_texts(self._faces.values())

    def concerns(self, event: StateEvent) -> bool:
        """Nodes and their use."""
        return event.topic in (Topic.NODE, Topic.NODE_USE)

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        is_new = event.topic is Topic.NODE and getattr(event.value, "create_index", 0) == index
        self._changed[event.key] = self._changed.pop(event.key, False) or is_new
        if event.topic is Topic.NODE:
            self._is_recounted = True
            self._faces.pop(event.key, None)
            if isinstance(event.value, Node) and not event.deleted:
                self._faces[event.key] = face_of(event.value)

    @property
    def needs_reader(self) -> bool:
        """Rows are read."""
        return bool(self._changed) or super().needs_reader

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """The rows of the nodes that changed; those that are gone leave."""
        pieces = super().flush(reader, now)
        if self._is_recounted:
            self._is_recounted = False
            self._told = node_texts(self._faces.values())
            pieces += self.standing(now)
        if reader is None:
            return pieces
        changed = self.changed()
        self._changed.clear()
        return pieces + _rows(changed, reader, now)

    def changed(self) -> dict[str, bool]:
        """The nodes whose rows are to be told, and whether each is new."""
        return dict(list(self._changed.items())[-NEW_ROWS:])

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The sentence and the counts."""
        del now
        return (Facts(values=self._told),)

    def replay(
        self, frames: Sequence[EventFrame], reader: RecordReader, now: int
    ) -> tuple[Piece, ...]:
        missed = NodesFeed(self.subscription)
        for frame in frames:
            missed.observe(frame)
        return _rows(missed.changed(), reader, now)


def _rows(changed: Mapping[str, bool], reader: RecordReader, now: int) -> tuple[Piece, ...]:
    reader.preload(nodes=changed)
    return tuple(_row(node_id, reader, now, is_new=is_new) for node_id, is_new in changed.items())


def _row(node_id: str, reader: RecordReader, now: int, *, is_new: bool) -> Html:
    target = f"node-rows-{node_id}"
    row = node_row(reader, node_id)
    if row is None:
        return Html(target=target, mode="remove")
    html = rendered(_ROW, {**row, "now": now})
    if not is_new:
        return Html(target=target, html=html)
    return Html(target=target, mode="upsert", html=html, container="node-rows")
