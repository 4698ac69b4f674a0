"""The chain of one evaluation, live: members join as they are made, states follow each step.

One room per way of showing it: over time, as it grew, tidied. Each brings what its page shows.
"""

from dashboard.chains import (
    Chain,
    chain_of,
    links_of,
    member_of,
    members_of,
    newest_steps,
    tombstone_of,
)
from dashboard.graphs.chain import ChainLayout, graph_key
from dashboard.graphs.chain_tree import chain_tree
from dashboard.graphs.geometry import Graph, patch_between
from dashboard.live.messages import Drawing, Html, Piece, Redrawing
from dashboard.live.rooms import Room, rendered
from dashboard.live.subscriptions import Subscription
from scheduler.ports import StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.evaluation import Evaluation, LifecycleStep


class TimelineRoom(Room):
    """Knows the members; its panels are rendered again when one of them changes."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self.evaluations: dict[str, Evaluation] = {}

    def load(self, reader: StateReader) -> None:
        """Gather the chain as it is."""
        self._gathered(reader)

    def _gathered(self, reader: StateReader) -> Chain:
        chain = chain_of(reader, self.subscription.key)
        self.evaluations = chain.evaluations
        return chain

    def concerns(self, event: StateEvent) -> bool:
        """Members, their steps, and evaluations that a member names or that name a member."""
        if not self.subscription.shows(event.namespace):
            return False
        if event.topic is Topic.LIFECYCLE:
            return event.key.partition("/")[0] in self.evaluations
        if not isinstance(event.value, Evaluation):
            return False
        if event.key in self.evaluations or links_of(event.value) & self.evaluations.keys():
            return True
        return any(event.key in links_of(item) for item in self.evaluations.values())

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if isinstance(event.value, Evaluation) and event.deleted:
            self.evaluations.pop(event.key, None)
        elif isinstance(event.value, Evaluation):
            self.evaluations[event.key] = event.value


class ChainRoom(TimelineRoom):
    """Keeps one layout, so that a node once placed stays where every viewer saw it."""

    def __init__(self, subscription: Subscription) -> None:
        """See Room."""
        super().__init__(subscription)
        self.layout = ChainLayout(graph_key(subscription.key), selected=subscription.key)
        self.newest: dict[str, LifecycleStep] = {}
        self._is_redrawn = False
        self._drawn = self.layout.graph()

    def load(self, reader: StateReader) -> None:
        """Gather the chain as it is, and place its members."""
        chain = self._gathered(reader)
        self.newest = newest_steps(reader, chain)
        self.layout.update(members_of(chain, self.newest))
        self._drawn = self._laid_out()

    def _laid_out(self) -> Graph:
        return self.layout.graph()

    def _note(self, event: StateEvent, index: int) -> None:
        super()._note(event, index)
        if isinstance(event.value, LifecycleStep):
            self.observe_step(event.value)
        elif isinstance(event.value, Evaluation) and event.deleted:
            self.layout.update([tombstone_of(event.value)])
            self._is_redrawn = True
        elif isinstance(event.value, Evaluation):
            self._redraw(event.key)

    def observe_step(self, step: LifecycleStep) -> bool:
        """Steps of members count, the highest number last, hinted or recorded."""
        known = self.newest.get(step.eval_id)
        if step.eval_id not in self.evaluations or (known and known.number >= step.number):
            return False
        self.newest[step.eval_id] = step
        self._redraw(step.eval_id)
        return True

    def _redraw(self, eval_id: str) -> None:
        member = member_of(self.evaluations[eval_id], newest=self.newest.get(eval_id))
        self.layout.update([member])
        self._is_redrawn = True

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The graph as all viewers of this room have it, and the tree."""
        return Drawing(graph=self._drawn), self._tree()

    def flush(self, reader: StateReader | None, now: int) -> tuple[Piece, ...]:
        """What changed; of the graph only the items that did."""
        pieces = super().flush(reader, now)
        if not self._is_redrawn:
            return pieces
        self._is_redrawn = False
        before, self._drawn = self._drawn, self._laid_out()
        return (*pieces, Redrawing(patch=patch_between(before, self._drawn)), self._tree())

    def _tree(self) -> Html:
        context = {"branches": chain_tree(self.layout), "is_root": True, "id": "tree"}
        return Html(target="tree", html=rendered("dashboard/partials/_tree.html", context))


class TidyRoom(ChainRoom):
    """Places all anew at each change, as the page does that somebody opens now."""

    def _laid_out(self) -> Graph:
        members = tuple(self.layout.members.values())
        key = self.subscription.key
        self.layout = ChainLayout(graph_key(key, is_tidy=True), selected=key)
        self.layout.update(members)
        self.layout.tidy()
        return self.layout.graph()
