"""The chain of one evaluation, live: members join as they are made, states follow each step.

One feed per way of showing it: over time, as it grew, tidied. Each brings what its page shows.
"""

from cluster.store.ports import RecordReader
from dashboard.chains import (
    Chain,
    chain_of,
    links_of,
    member_of,
    members_of,
    newest_steps,
    tombstone_of,
)
from dashboard.feeds.feed import NO_PARTS, Feed, Parts, rendered
from dashboard.feeds.pieces import Drawing, Html, Piece, Redrawing
from dashboard.graphs.chain import ChainLayout, graph_key
from dashboard.graphs.chain_tree import chain_tree
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.geometry import Graph
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.evaluation import Evaluation, LifecycleStep


class TimelineFeed(Feed):
    """Knows the members; its panels are rendered again when one of them changes."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self.evaluations: dict[str, Evaluation] = {}

    def load(self, reader: RecordReader) -> None:
        """Gather the chain as it is."""
        self._gathered(reader)

    def _gathered(self, reader: RecordReader) -> Chain:
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


class ChainFeed(TimelineFeed):
    """Keeps one layout, so that a node once placed stays where every viewer saw it."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self.layout = ChainLayout(graph_key(subscription.key), selected=subscription.key)
        self.newest: dict[str, LifecycleStep] = {}
        self._is_redrawn = False
        self._drawn = DrawnGraph(self.layout.graph())

    def load(self, reader: RecordReader) -> None:
        """Gather the chain as it is, and place its members."""
        chain = self._gathered(reader)
        self.newest = newest_steps(reader, chain)
        self.layout.update(members_of(chain, self.newest))
        self._drawn = DrawnGraph(self._laid_out())

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
        """The graph as all viewers of this feed have it, and the tree."""
        return Drawing(graph=self._drawn.whole()), self._tree()

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What changed; of the graph only the items that did."""
        pieces = super().flush(reader, now)
        if not self._is_redrawn:
            return pieces
        self._is_redrawn = False
        return (*pieces, Redrawing(patch=self._drawn.redraw(self._laid_out())), self._tree())

    def _tree(self) -> Html:
        context = {"branches": chain_tree(self.layout), "is_root": True, "id": "tree"}
        return Html(target="tree", html=rendered("dashboard/partials/_tree.html", context))


class TidyFeed(ChainFeed):
    """Places all anew at each change, as the page does that somebody opens now."""

    def _laid_out(self) -> Graph:
        members = tuple(self.layout.members.values())
        key = self.subscription.key
        self.layout = ChainLayout(graph_key(key, is_tidy=True), selected=key)
        self.layout.update(members)
        self.layout.tidy()
        return self.layout.graph()
