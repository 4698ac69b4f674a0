"""The page Now, live: counts, moves and the waiting room follow every change from memory."""

from dashboard.live.messages import Drawing, Facts, Html, Moved, Piece
from dashboard.live.rooms import Room, rendered
from dashboard.live.subscriptions import Subscription
from dashboard.overview import WINDOW, Overview
from dashboard.queries.overview import overview_parts
from dashboard.viewer import own
from scheduler.ports import StateReader
from scheduler.state.events import StateEvent
from scheduler.structs.evaluation import LifecycleStep

#: Moves leave the window by themselves: the map is drawn again this often, ns.
_AGEING = WINDOW // 12


class OverviewRoom(Room):
    """Loaded once, then counted on; no flush asks the database."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self._overview = Overview(subscription.namespaces)
        self._counted_index = 0
        self._has_changed = False
        self._drawn_at = 0
        self._flows: dict[str, int] = {}

    def load(self, reader: StateReader) -> None:
        """Read what is counted."""
        self._overview.load(own(reader))
        self._counted_index = reader.index

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        # What was committed while the room was loaded comes as a frame too.
        if index > self._counted_index:
            self._has_changed |= self._overview.take(event, index)

    def observe_step(self, step: LifecycleStep) -> bool:
        """A hint moves its evaluation on the map; the record will not move it again."""
        moved = self._overview.take_step(step)
        self._has_changed |= moved
        return moved

    def is_due(self, now: int) -> bool:
        """Whether moves have grown old since the last drawing."""
        return bool(self._flows) and now >= self._drawn_at + _AGEING

    def flush(self, reader: StateReader | None, now: int) -> tuple[Piece, ...]:
        """Everything but the rows, when anything changed or grew old."""
        pieces = super().flush(reader, now)
        if not (self._has_changed or self.is_due(now)):
            return pieces
        return (*pieces, *self.standing(now))

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The map, the figures, the waiting room, the needs."""
        self._has_changed = False
        self._drawn_at = now
        parts = {**overview_parts(self._overview, now), "now": now}
        before, self._flows = self._flows, self._overview.flows(now)
        moved = {
            arrow: count for arrow, count in self._flows.items() if count > before.get(arrow, 0)
        }
        said = f"{parts['strong']} {parts['rest']}"
        panels = {
            "now-sentence": "dashboard/partials/_now_sentence.html",
            "waiting-room": "dashboard/partials/_waiting_room.html",
            "needs": "dashboard/partials/_needs.html",
            "map-list": "dashboard/partials/_map_list.html",
        }
        return (
            Drawing(graph=parts["map"]),
            Moved(key="map", edges=moved),
            Facts(values=parts["figures"], say=said),
            *(
                Html(target=target, html=rendered(template, {**parts, "id": target}))
                for target, template in panels.items()
            ),
        )
