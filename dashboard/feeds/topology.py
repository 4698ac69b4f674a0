"""The topology, live: nodes and their sums are held here, so that no change asks the database.

In: frames. Out: the racks that look different, the sums and the sentence, at most once in
`BETWEEN`; longer where a frame was large. What is selected is read again when it changes.
"""

from typing import Any

from cluster.store.ports import NodePlace, NodeSum, RecordReader
from cluster.store.used_by_nodes import NodeUsed
from dashboard.faces import place_of
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Html, Piece
from dashboard.graphs.racks import rack_html
from dashboard.queries.topology import read_fleet, selected_parts, shown_map
from dashboard.subscription import Subscription
from dashboard.topology import MappedNodes, rack_keys, rack_label
from dashboard.topology_view import TopologyView
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_use import NodeUse
from scheduler.structs.allocation import Allocation
from scheduler.structs.node import Node

_SECOND = 1_000_000_000
#: Nanoseconds between two looks, and more for each rack that was told.
BETWEEN, PER_RACK = _SECOND, 40_000_000
#: How often what nodes use is read again, which no frame tells.
USED_EVERY = 10 * _SECOND
_PARTS = "dashboard/partials/"


class TopologyFeed(Feed):
    """One view of the map."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        view = TopologyView.from_text(subscription.key)
        is_hidden = view.lit is not None and not subscription.shows(view.namespace)
        self._view = TopologyView() if is_hidden else view
        self._places: dict[str, NodePlace] = {}
        self._sums: dict[str, NodeSum] = {}
        #: Of the lit job, where each allocation is held.
        self._lit: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._is_dirty = False
        self._is_asked = False
        self._next_look = 0
        self._used: dict[str, NodeUsed] = {}
        self._used_at = 0

    def load(self, reader: RecordReader) -> None:
        """Read what the map is made of, and know what the page shows."""
        fleet = read_fleet(reader, self._view)
        self._places, self._sums = dict(fleet.places), dict(fleet.sums)
        self._used = dict(fleet.used)
        if self._view.lit is not None:
            self._lit = reader.held_places(self._view.lit)
        self._told = self._drawn()

    def concerns(self, event: StateEvent) -> bool:
        """Nodes, what is held of them, and the lit job's allocations."""
        if isinstance(event.value, Allocation):
            on_it = event.value.node_id == self._view.node != ""
            return event.value.job_key == self._view.lit or on_it
        return event.topic in (Topic.NODE, Topic.NODE_USE)

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        self._is_dirty = True
        value = event.value
        if isinstance(value, Allocation):
            self._note_allocation(value, is_gone=event.deleted)
        elif event.topic is Topic.NODE:
            self._places.pop(event.key, None)
            if isinstance(value, Node) and not event.deleted:
                self._places[event.key] = place_of(value, rack_keys())
        elif isinstance(value, NodeUse):
            held = value.held
            self._sums[event.key] = NodeSum(held.cpu, held.memory_mb, held.alloc_count)

    def _note_allocation(self, alloc: Allocation, *, is_gone: bool) -> None:
        if alloc.job_key != self._view.lit:
            return
        self._lit.pop(alloc.id, None)
        if not is_gone and not alloc.is_client_terminal:
            self._lit[alloc.id] = alloc.node_id

    def is_due(self, now: int) -> bool:
        """Whether something has changed and the last look is old enough."""
        is_old = bool(self._used) and now >= self._used_at + USED_EVERY
        if not (self._is_dirty or is_old) or now < self._next_look:
            return False
        self._is_dirty, self._is_asked, self._next_look = False, True, now + BETWEEN
        return True

    @property
    def asks_at(self) -> int | None:
        """The next look, where something changed since the last."""
        return self._next_look if self._is_dirty else None

    @property
    def needs_reader(self) -> bool:
        """Drawing thousands of nodes is too long for the event loop."""
        return self._is_asked

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What looks different since the last look."""
        if reader is None or not self._is_asked:
            return ()
        self._is_asked = False
        if now >= self._used_at + USED_EVERY:
            self._used, self._used_at = reader.node_used(), now
        before, self._told = self._told, self._drawn()
        news = {key: html for key, html in self._told.items() if before.get(key) != html}
        pieces = self._pieces(before, news)
        self._next_look = now + BETWEEN + PER_RACK * len(pieces)
        if self._view.rack or self._view.node:
            pieces.append(self._selected(reader, now))
        return tuple(pieces)

    def _pieces(self, before: dict[str, str], news: dict[str, str]) -> list[Piece]:
        racks = [key for key in self._told if key.startswith("rack-")]
        if racks != [key for key in before if key.startswith("rack-")]:
            # Racks came or went: the map is drawn whole.
            news = {"topology-map": rendered(f"{_PARTS}_topology_map.html", self._context())} | {
                key: html for key, html in news.items() if key.startswith("topology-")
            }
        return [Html(target=key, html=html) for key, html in news.items()]

    def standing(self, now: int) -> tuple[Piece, ...]:
        """Nothing; but what is told next is told whole where the picture is older than a page."""
        del now
        if self._is_dirty or self._is_asked:
            self._told = dict.fromkeys(self._told, "")
        return ()

    def everything(self, reader: RecordReader, now: int) -> tuple[Piece, ...]:
        """The whole map, for a viewer who comes back."""
        context = self._context()
        pieces: list[Piece] = [
            Html(
                target=f"topology-{part}", html=rendered(f"{_PARTS}_topology_{part}.html", context)
            )
            for part in ("told", "sums", "map")
        ]
        if self._view.rack or self._view.node:
            pieces.append(self._selected(reader, now))
        return tuple(pieces)

    def forget_told(self) -> None:
        """Tell all of it at the next look."""
        super().forget_told()
        self._told = dict.fromkeys(self._told, "")
        self._is_dirty = True

    def _fleet(self) -> MappedNodes:
        lit: dict[str, int] | None = None
        if self._view.lit is not None:
            lit = {}
            for node_id in self._lit.values():
                lit[node_id] = lit.get(node_id, 0) + 1
        return MappedNodes(
            self._places, self._sums, rack_label(self._places.values()), lit, self._used
        )

    def _context(self) -> dict[str, Any]:
        return shown_map(self._fleet(), self._view)

    def _drawn(self) -> dict[str, str]:
        """Each part of the page by its target."""
        context = self._context()
        drawn = {
            f"topology-{part}": rendered(f"{_PARTS}_topology_{part}.html", context)
            for part in ("told", "sums")
        }
        if self._view.view:
            return drawn | {"topology-map": rendered(f"{_PARTS}_topology_map.html", context)}
        for place in context["map"].places:
            told = rendered(f"{_PARTS}_topology_place.html", {"place": place})
            drawn[f"place-{place.key}"] = told
            drawn |= {f"rack-{rack.key}": rack_html(rack.drawing) for rack in place.racks}
        return drawn

    def _selected(self, reader: RecordReader, now: int) -> Piece:
        namespaces = self.subscription.namespaces
        context = selected_parts(reader, self._fleet(), self._view, namespaces) | {"now": now}
        html = rendered(f"{_PARTS}_topology_selected.html", context)
        return Html(target="topology-selected", html=html)
