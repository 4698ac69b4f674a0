"""One story, live: told anew when something of it changes, of the drawing only what differs."""

from collections.abc import Sequence

from cluster.operations.story_rights import hidden_kinds
from cluster.store.ports import RecordReader
from dashboard.feeds.feed import NO_PARTS, Feed, Panel, Parts, rendered
from dashboard.feeds.lists import ListFeed
from dashboard.feeds.pieces import Drawing, Html, Piece, Redrawing
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.geometry import Graph
from dashboard.queries.story import Shown, story_panel
from dashboard.stories.lane_choice import WORST, LaneChoice
from dashboard.stories.whole import Whole, graph_key, whole_of
from dashboard.subscription import Subscription
from scheduler.state.events import StateEvent, Topic
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.story import Story


class StoriesFeed(ListFeed):
    """The list and the head of its page, read again together."""

    def concerns(self, event: StateEvent) -> bool:
        """Stories, evaluations and rollouts that may be seen."""
        if isinstance(event.value, Story) and not event.namespace:
            return event.value.kind not in hidden_kinds(self.subscription.may)
        return super().concerns(event)

    def is_due(self, now: int) -> bool:
        """Whether the list is to be read again, and its head with it."""
        is_due = super().is_due(now)
        if is_due:
            self._stale |= {panel.target for panel in self.panels}
        return is_due


class StoryFeed(Feed):
    """Loaded once; every flush reads the story again, as whoever opens its page now does."""

    def __init__(self, subscription: Subscription, parts: Parts = NO_PARTS) -> None:
        super().__init__(subscription, parts)
        self.story_id, _, text = subscription.key.partition("/")
        self.how = LaneChoice.from_text(text)
        self.ids: set[str] = set()
        self._story: Story | None = None
        self._fresh: Graph | None = None
        key = graph_key(self.story_id, self.how)
        self._drawn = DrawnGraph(Graph(key=key, title="", view=(0, 0, 0, 0), lanes=()))

    def load(self, reader: RecordReader) -> None:
        """Read which evaluations it has, and draw it."""
        self._story = reader.story(self.story_id)
        whole = self._whole(reader, 0)
        if whole is not None:
            self._drawn = DrawnGraph(whole.graph)

    def _whole(self, reader: RecordReader, now: int) -> Whole | None:
        story = reader.story(self.story_id)
        if story is None:
            return None
        self._story = story
        whole = whole_of(reader, story, now, namespaces=self.subscription.namespaces, how=self.how)
        self.ids = {face.id for face in whole.gathered.faces}
        return whole

    def concerns(self, event: StateEvent) -> bool:
        """Its own row, its evaluations and their steps, its deployment, its nodes."""
        if event.topic is Topic.LIFECYCLE:
            return event.key.partition("/")[0] in self.ids
        if isinstance(event.value, Evaluation):
            if event.value.story_id == self.story_id:
                self.ids.add(event.key)
            return event.key in self.ids and self.subscription.shows(event.namespace)
        if event.topic is Topic.STORY:
            return event.key == self.story_id
        story = self._story
        if story is None:
            return False
        if event.topic is Topic.NODE:
            return event.key in story.node_ids
        if event.topic in (Topic.DEPLOYMENT, Topic.ALLOCATION):
            job = getattr(event.value, "job_id", "")
            return bool(job) and (event.namespace, job) == (story.namespace, story.job_id)
        return False

    def _rendered(self, panels: Sequence[Panel], reader: RecordReader, now: int) -> list[Html]:
        """All panels from one look at the story, which is the drawing's as well."""
        if not panels:
            return []
        whole = self._whole(reader, now)
        if whole is None:
            return []
        self._fresh = whole.graph
        chosen = "" if self.how.chosen == WORST else self.how.chosen
        shown = Shown(opened=self.how.opened, by=self.how.by, chosen=chosen)
        told = story_panel(reader, whole, shown, self.subscription.may)
        context = {**told, "now": now}
        return [
            Html(target=panel.target, html=rendered(panel.template, context)) for panel in panels
        ]

    def standing(self, now: int) -> tuple[Piece, ...]:
        """The graph as all viewers of this feed have it."""
        del now
        return (Drawing(graph=self._drawn.whole()),)

    def flush(self, reader: RecordReader | None, now: int) -> tuple[Piece, ...]:
        """What changed; of the graph only the items that did."""
        self._fresh = None
        pieces = super().flush(reader, now)
        fresh = self._taken()
        if fresh is None:
            return pieces
        return (*pieces, Redrawing(patch=self._drawn.redraw(fresh)))

    def _taken(self) -> Graph | None:
        """The drawing that the panels of this flush were told from."""
        return self._fresh
